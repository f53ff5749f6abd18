"""schemas/openapi.yaml as what answers are held against."""
import json
import os
import re

import yaml

# What every operation can answer (the description of the contract says so).
ANYWHERE = {400, 401, 403, 413, 414, 415, 429, 500, 501, 503, 507}
LIBRARY_REFUSES = 431  # a head that does not fit the HTTP library's memory, which answers in HTML by itself
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
LIMITS = (("minLength", len, int.__ge__), ("maxLength", len, int.__le__), ("minItems", len, int.__ge__),
          ("maxItems", len, int.__le__), ("minProperties", len, int.__ge__),
          ("maxProperties", len, int.__le__))


class Document:
    def __init__(self, srcdir):
        self.folder = os.path.join(srcdir, "schemas")
        with open(os.path.join(self.folder, "openapi.yaml"), encoding="utf-8") as f:
            self.root = yaml.load(f, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self.files = {}
        self.patterns = None

    def file(self, name):
        if name not in self.files:
            with open(os.path.join(self.folder, name), encoding="utf-8") as f:
                self.files[name] = json.load(f)
        return self.files[name]

    def resolve(self, value, root=None):
        """Follows $ref; returns the value and the document that its own references mean."""
        root = root if root is not None else self.root
        while isinstance(value, dict) and "$ref" in value:
            ref = value["$ref"]
            if not ref.startswith("#"):
                value = root = self.file(ref)
                continue
            value = root
            for part in [p for p in ref[1:].split("/") if p]:
                value = value[part.replace("~1", "/").replace("~0", "~")]
        return value, root

    def operations(self):
        for path, item in self.root["paths"].items():
            shared = item.get("parameters", [])
            for method, op in item.items():
                if method != "parameters":
                    yield method.upper(), path, op, shared + op.get("parameters", [])

    def find(self, method, path):
        """The operation that a request is for, None = no path or method of the contract."""
        if self.patterns is None:
            self.patterns = [(m, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(p)) + "$"),
                              p.count("{"), op) for m, p, op, _ in self.operations()]
        found = [(count, op) for m, pattern, count, op in self.patterns
                 if m == method and pattern.match(path.partition("?")[0])]
        return min(found, key=lambda f: f[0])[1] if found else None


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults_of_value(schema, value, at):
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r:.80} is not in {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r:.80} is not {schema['const']!r}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at}: {value!r:.80} does not match {schema['pattern']}"
    if has_type(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{at}: {value!r} is outside its range"
    for word, measure, right in LIMITS:
        kind = {"Length": str, "Items": list, "Properties": dict}[word[3:]]
        if word in schema and isinstance(value, kind) and not right(measure(value), schema[word]):
            yield f"{at}: {word} is {schema[word]}, this has {measure(value)}"


def faults_of_object(doc, schema, value, at, root):
    for key in schema.get("required", []):
        if key not in value:
            yield f"{at}: '{key}' is missing"
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    others = schema.get("additionalProperties")
    for key, sub in value.items():
        fitting = [s for p, s in patterns.items() if re.search(p, key)]
        if key in known:
            fitting.append(known[key])
        for one in fitting:
            yield from faults(doc, one, sub, f"{at}/{key}", root)
        if not fitting and others is False:
            yield f"{at}: '{key}' is not described"
        elif not fitting and isinstance(others, dict):
            yield from faults(doc, others, sub, f"{at}/{key}", root)


def faults(doc, schema, value, at="", root=None):
    """The part of JSON Schema that answers are described with."""
    schema, root = doc.resolve(schema, root)
    if schema is True or schema == {}:
        return
    wanted = schema.get("type")
    if wanted and not any(has_type(value, t) for t in
                          (wanted if isinstance(wanted, list) else [wanted])):
        yield f"{at or '/'}: {value!r:.80} is no {wanted}"
        return
    yield from faults_of_value(schema, value, at)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            tried = [list(faults(doc, s, value, at, root)) for s in schema[key]]
            if all(tried):
                yield f"{at}: fits none of {key}; the nearest: {min(tried, key=len)[0]}"
    for sub in schema.get("allOf", []):
        yield from faults(doc, sub, value, at, root)
    if isinstance(value, dict):
        yield from faults_of_object(doc, schema, value, at, root)
    if isinstance(value, list) and "items" in schema:
        for i, sub in enumerate(value):
            yield from faults(doc, schema["items"], sub, f"{at}/{i}", root)


def faults_of_problem(doc, answer):
    kind = answer.headers.get("Content-Type")
    if kind != "application/problem+json":
        return [f"a problem of the type {kind}"]
    problem = answer.json
    wrong = list(faults(doc, {"$ref": "#/components/schemas/Problem"}, problem))
    if problem.get("status") != answer.status:
        wrong.append(f"the problem's status is {problem.get('status')}")
    return wrong + [f"'{k}' is missing" for k in ("title", "detail", "request_id") if not problem.get(k)]


def is_rehearsal(answer):
    return answer.body[:1] == b"{" and answer.json.get("dry_run") is True


def faults_of(doc, method, path, answer):
    if method == "HEAD" or answer.status == 304 or (method == "OPTIONS" and answer.status < 400):
        return [f"{answer.status} with a body"] if answer.body else []
    if answer.status == LIBRARY_REFUSES:
        return []
    op = doc.find(method, path)
    wrong = faults_of_problem(doc, answer) if answer.status >= 400 else []
    if op is None:
        # The pages of the web UI are no part of the contract.
        page = answer.status == 200 and not path.startswith("/v1")
        return wrong + ([] if page or answer.status in ANYWHERE | {404, 405} else
                        [f"{answer.status} of what no operation is"])
    described, _ = doc.resolve(op["responses"].get(str(answer.status)))
    if described is None:
        return wrong + ([] if answer.status in ANYWHERE else [f"{answer.status} is not described"])
    if answer.status >= 400:
        return wrong
    for name, header in described.get("headers", {}).items():
        if name not in answer.headers and header.get("required", True) and not is_rehearsal(answer):
            wrong.append(f"the header {name} is missing")
    content = described.get("content", {})
    kind = (answer.headers.get("Content-Type") or "").partition(";")[0]
    if not content:
        return wrong + (["a body where none is described"] if answer.body else [])
    if kind not in content:
        return wrong + [f"the type {kind} is not described"]
    if kind.endswith("json"):
        found = faults(doc, content[kind].get("schema", {}), answer.json)
        # Fewer members were asked for.
        wrong += [f for f in found if "fields=" not in path or not f.endswith("is missing")]
    return wrong


def faults_of_answer(doc, method, path, answer):
    """How an answer leaves the contract; [] = it does not."""
    op = doc.find(method, path)
    name = op["operationId"] if op else f"{method} {path[:100]}"
    return [f"{name} {answer.status}: {fault}" for fault in faults_of(doc, method, path, answer)]
