#!/usr/bin/env python3
"""Puts a program's own option list into its manual page: options.py PAGE.scd PROGRAM > PAGE

The line @OPTIONS@ of the page becomes what PROGRAM --help says, so that the two cannot differ.
"""
import re
import subprocess
import sys

OPTION = re.compile(r"^  ?(?:-\w, )?(--[a-z-]+(?:[ =]\S+)?) {1,}(\S.*)$")
MORE = re.compile(r"^ {10,}(\S.*)$")


def options(program):
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True,
                          timeout=30).stdout
    found = []
    for line in text.splitlines():
        option, more = OPTION.match(line), MORE.match(line)
        if option:
            found.append([option.group(1), option.group(2)])
        elif more and found:
            found[-1][1] += " " + more.group(1)
    if not found:
        raise SystemExit(f"{program} --help lists no options")
    return found


def escaped(text):
    return re.sub(r"([\\*_<>#`~\[\]])", r"\\\1", text)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        page = f.read()
    if "\n@OPTIONS@\n" in page:
        blocks = [f"*{escaped(name)}*\n\t{escaped(text)}\n" for name, text in options(sys.argv[2])]
        page = page.replace("\n@OPTIONS@\n", "\n" + "\n".join(blocks))
    sys.stdout.write(page)


main()
