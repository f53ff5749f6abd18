#!/usr/bin/env python3
"""Turns data files into a C table: embed.py TABLE FILE... > TABLE.c

Each file becomes one row {name, bytes, length} of `const struct embed_file TABLE[]` (see
base/embed.h); the table ends with a row of NULL. YAML files are embedded as JSON, with their
$ref to other files of the same folder left as they are.
"""
import json
import os
import sys


def content(path):
    if path.endswith(".yaml"):
        import yaml

        class Loader(yaml.SafeLoader):
            """Dates stay text."""

        Loader.yaml_implicit_resolvers = {
            k: [(t, r) for t, r in v if t != "tag:yaml.org,2002:timestamp"]
            for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
        with open(path, encoding="utf-8") as f:
            return json.dumps(yaml.load(f, Loader), separators=(",", ":")).encode()
    with open(path, "rb") as f:
        return f.read()


def main():
    table, paths = sys.argv[1], sys.argv[2:]
    print('#include "base/embed.h"\n')
    for i, path in enumerate(paths):
        data = content(path)
        print(f"static const unsigned char file_{i}[] = {{")
        for at in range(0, len(data), 20):
            print("    " + ", ".join(str(b) for b in data[at:at + 20]) + ",")
        print("    0};\n")
    print(f"const struct embed_file {table}[] = {{")
    for i, path in enumerate(paths):
        name = os.path.splitext(os.path.basename(path))[0]
        print(f'    {{"{name}", file_{i}, sizeof(file_{i}) - 1}},')
    print("    {NULL, NULL, 0}};")


main()
