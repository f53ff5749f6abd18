#!/usr/bin/env python3
"""Turns the built files of the web UI into a C table: assets.py FOLDER > asset_files.c

Each file FOLDER/PATH becomes a row of asset_files[] (server/assets.h), with the bytes of PATH.br and
PATH.gz beside it when they are there. What lies in assets/ has the hash of its content in its name.
"""
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
         ".webmanifest": "application/manifest+json", ".woff2": "font/woff2", ".txt": "text/plain"}
CODINGS = (("BROTLI", ".br"), ("GZIP", ".gz"), ("PLAIN", ""))


def files(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if os.path.splitext(name)[1] not in (".br", ".gz"):
                yield "/" + os.path.relpath(path, folder).replace(os.sep, "/"), path


def main():
    folder = sys.argv[1]
    rows = []
    print('#include "server/assets.h"\n')
    for number, (path, name) in enumerate(sorted(files(folder))):
        kind = TYPES.get(os.path.splitext(name)[1])
        if kind is None or any(c in path for c in '"\\'):
            sys.exit(f"assets.py: {path} is of no type that assets.py knows")
        with open(name, "rb") as f:
            plain = f.read()
        parts = []
        for coding, suffix in CODINGS:
            if not os.path.exists(name + suffix):
                continue
            with open(name + suffix, "rb") as f:
                data = f.read()
            array = f"file_{number}_{coding.lower()}"
            print(f"static const unsigned char {array}[] = {{")
            for at in range(0, len(data), 24):
                print(",".join(str(b) for b in data[at:at + 24]) + ",")
            print("0};\n")
            parts.append(f"[ASSET_{coding}] = {{{array}, sizeof({array}) - 1}}")
        hashed = "true" if path.startswith("/assets/") else "false"
        digest = hashlib.sha256(plain).hexdigest()[:16]
        rows.append(f'    {{"{path}", "{kind}", "{digest}", {hashed}, {{{", ".join(parts)}}}}},')
    print("const struct asset_file asset_files[] = {")
    print("\n".join(rows))
    print("    {.path = NULL}};")


main()
