#!/usr/bin/env python3
"""Prints what the server says by a stable id and the web UI has no Chinese of, and each Chinese of an id that is not there any more.

texts.py SRC
"""
import os
import re
import sys

I18N = "webui/src/i18n"


def read(src, name):
    with open(os.path.join(src, name), encoding="utf-8") as f:
        return f.read()


def rows(text, second=r"[^|]+"):
    """The first cell of each row whose first cell is an id."""
    return set(re.findall(rf"^\| ([a-z][a-z0-9-]*) \| {second} \|", text, re.M)) - {"id", "code"}


def rules(src):
    """Of documents, of hardware, and of health: those that the web UI shows as findings and incidents."""
    text = read(src, "doc/rules.md").split("More ids come from", 1)
    more = set(re.findall(r"`([a-z-]+)`\s+\(", text[1].split("One that is", 1)[0]))
    health = re.findall(r"^\| ([a-z][a-z0-9-]*) \|(?: [^|]* \|){6}$", read(src, "doc/health.md"), re.M)
    return rows(text[0]) | more | (set(health) - {"id"})


def steps(src):
    text = read(src, "fleet/runbook_table.c")
    return (set(re.findall(r'struct runbook_step \w+ = \{\s*\.id = "([a-z-]+)"', text)),
            set(re.findall(r'struct runbook \w+ = \{\s*\.name = "([a-z-]+)"', text)))


def told(src, name, table):
    text = read(src, f"{I18N}/{name}").split(f"export const {table}", 1)[1].split("\n};", 1)[0]
    return set(re.findall(r'^  "?([a-z][a-z0-9-]*)"?: [\["]', text, re.M))


def main(src):
    wanted_steps, symptoms = steps(src)
    for name, table, wanted in (("zh_problems.ts", "problemsZh", rows(read(src, "doc/problems.md"), r"[0-9, ]+")),
                                ("zh_rules.ts", "rulesZh", rules(src)),
                                ("zh_runbooks.ts", "stepsZh", wanted_steps),
                                ("zh_runbooks.ts", "symptomsZh", symptoms)):
        if not wanted:
            print(f"{table}: nothing was found that it has to have: see tests/web/texts.py")
        there = told(src, name, table)
        for key in sorted(wanted - there):
            print(f"no Chinese of {key} in {table} ({I18N}/{name})")
        for key in sorted(there - wanted):
            print(f"Chinese of {key} in {table}, which is not there any more ({I18N}/{name})")


main(sys.argv[1])
