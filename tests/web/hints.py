#!/usr/bin/env python3
"""Prints each description of the contract's documents that the web UI has no Chinese of, and each Chinese of none.

hints.py SRC
"""
import json
import os
import re
import sys

DOCUMENTS = ("policy.json", "fabric.json", "campaign.json", "verification.json",
             "placement.json")  # what SchemaForm shows
VALUES = ("examples", "default", "const", "enum")


def descriptions(schema):
    if isinstance(schema, list):
        for item in schema:
            yield from descriptions(item)
    elif isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            yield schema["description"]
        for key, value in schema.items():
            if key not in VALUES:
                yield from descriptions(value)


def main(src):
    wanted = set()
    for name in DOCUMENTS:
        with open(os.path.join(src, "schemas", name), encoding="utf-8") as f:
            wanted |= set(descriptions(json.load(f)))
    with open(os.path.join(src, "webui/src/i18n/zh_hints.ts"), encoding="utf-8") as f:
        told = {json.loads(line) for line in re.findall(r'^  ("(?:[^"\\]|\\.)*"): "', f.read(), re.M)}
    for text in sorted(wanted - told):
        print(f"no Chinese in webui/src/i18n/zh_hints.ts: {text}")
    for text in sorted(told - wanted):
        print(f"Chinese of a hint that is not there any more: {text}")


main(sys.argv[1])
