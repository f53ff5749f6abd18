#!/usr/bin/env python3
"""Turns schemas/openapi.yaml into the table of what stellarctl can call: operations.py FILE > FILE.c

The rows are `struct operation` of cli/operation.h, in the order of the file.
"""
import sys

import yaml

METHODS = ("get", "put", "post", "delete", "patch", "head")
PLACES = {"path": "OPERATION_PATH", "query": "OPERATION_QUERY", "header": "OPERATION_HEADER"}


def text(value):
    """A C string literal on one line; what is no ASCII goes in octal."""
    out = []
    for byte in " ".join(str(value).split()).encode():
        char = chr(byte)
        if char in '"\\?':
            out.append("\\" + char)
        else:
            out.append(char if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def resolve(document, node):
    while "$ref" in node:
        path = node["$ref"]
        if not path.startswith("#/"):
            raise SystemExit(f"{path}: only references into the document are followed")
        node = document
        for part in path[2:].split("/"):
            node = node[part]
    return node


def parameters(document, item, operation):
    """Those of the operation win over those of its path."""
    found = {}
    for given in item.get("parameters", []) + operation.get("parameters", []):
        one = resolve(document, given)
        if one["in"] in PLACES:
            found[(one["in"], one["name"])] = one
    return list(found.values())


def types(body):
    return list(body.get("content", {}))


def answers(document, operation):
    found = []
    for status, response in operation.get("responses", {}).items():
        if str(status).startswith("2"):
            found += [t for t in types(resolve(document, response)) if t not in found]
    return found


def strings(name, values):
    print(f"static const char *const {name}[] = {{"
          + "".join(text(v) + ", " for v in values) + "NULL};")


def emit(document, row, index):
    path, item, method, operation = row
    params = parameters(document, item, operation)
    body = resolve(document, operation.get("requestBody", {}))
    strings(f"bodies_{index}", types(body))
    strings(f"answers_{index}", answers(document, operation))
    if params:
        print(f"static const struct operation_param params_{index}[] = {{")
        for p in params:
            required = "true" if p.get("required") or p["in"] == "path" else "false"
            print(f"    {{{text(p['name'])}, {PLACES[p['in']]}, {required}, "
                  f"{text(p.get('description', ''))}}},")
        print("};")
    return (f"    {{.id = {text(operation['operationId'])}, .method = {text(method.upper())}, "
            f".path = {text(path)},\n     .summary = {text(operation.get('summary', ''))},\n     "
            f".params = {f'params_{index}' if params else 'NULL'}, .param_count = {len(params)},\n     "
            f".bodies = bodies_{index}, .answers = answers_{index},\n     "
            f".body_required = {'true' if body.get('required') else 'false'}}},")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        document = yaml.safe_load(f)
    print('#include "cli/operation.h"\n')
    rows = [(path, item, method, item[method]) for path, item in document["paths"].items()
            for method in METHODS if method in item]
    ids = [row[3]["operationId"] for row in rows]
    if len(ids) != len(set(ids)):
        raise SystemExit("an operationId stands there twice")
    table = [emit(document, row, index) for index, row in enumerate(rows)]
    print("\nconst struct operation operations[] = {")
    print("\n".join(table))
    print("};\nconst size_t operation_count = sizeof(operations) / sizeof(operations[0]);")


main()
