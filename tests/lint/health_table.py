#!/usr/bin/env python3
"""The tables of doc/health.md out of fleet/health_table.c and fleet/incident.c.

health_table.py SRCDIR            checks that the document has what the sources say. Prints TAP.
health_table.py SRCDIR --write    writes the tables into the document
"""
import os
import re
import sys

DOCUMENT = "doc/health.md"
ROW = re.compile(r'\{\.id = "([a-z-]+)",(.*?)\)\}', re.S)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
MEASURES = {"VALUE": "is", "MAGNITUDE": "is, without sign,", "INCREASE": "counted in a look",
            "RATE": "counted a second", "SHARE_PPM": "of a million of", "TIMES": "times",
            "MARGIN": "below"}


def texts(source):
    return re.sub(r'"\s+"', "", source)


def names(body, member):
    found = re.search(r"\.%s = \{(.*?)\}" % member, body, re.S)
    return TEXT.findall(found.group(1)) if found else []


def amounts(source, limits):
    """C's constants as numbers; NONE as None."""
    out = []
    for limit in limits:
        limit = re.sub(r"HEALTH_[A-Z_]+", lambda m: re.search(r"#define %s\s+(\d+)" % m.group(0), source).group(1), limit)
        out.append(None if limit.strip() == "NONE" else eval(limit, {"__builtins__": {}}))
    return out


def says(body, table):
    args = re.search(r"SAYS\((.*)", body, re.S).group(1)
    cable = re.search(r'#define CABLE "(.*)"', table).group(1)
    return TEXT.findall(texts(args.replace("CABLE", '"%s"' % cable)))


def rule_row(rule, body, table, header):
    body = texts(body)
    kind, source, measure = re.search(r"ON\((\w+), (\w+), (\w+)\)", body).groups()
    kind = kind.split("_")[1].lower()
    warning, critical, unit = re.search(r'LIMITS\((.*?), (.*?), "(.*?)"\)', body, re.S).groups()
    warning, critical = amounts(header, [warning, critical])
    once = re.search(r"AT_ONCE\((\d+)\)", body)
    n, m, k = (1, 1, once.group(1)) if once else re.search(r"RAISED\((\d+), (\d+), (\d+)\)", body).groups()
    window = re.search(r"\.window = (\w+)", body)
    inputs = " + ".join("`%s`" % name for name in names(body, "inputs"))
    bases = ", else ".join("`%s`" % name for name in names(body, "bases"))
    gate = re.search(r'\.gate = "(\w+)"', body)
    looks = inputs + (" %s %s" % (MEASURES[measure], bases) if bases else "" if measure == "VALUE" else
                      " " + MEASURES[measure])
    if window:
        looks += ", of %d looks" % amounts(header, [window.group(1)])[0]
    if gate:
        looks += ", where `%s`" % gate.group(1)
    bad = "<=" if ".at_most = true" in body else ">="
    limits = " / ".join("-" if limit is None else "%s %d" % (bad, limit) for limit in (warning, critical))
    what, hint, origin = says(body, table)
    return "| %s | %s | %s | %s%s | %s of %s, %s | %s. %s | %s |" % (
        rule, kind, looks, limits, " " + unit if unit else "", n, m, k, what, hint, origin)


def tables(src):
    def read(path):
        with open(os.path.join(src, path), encoding="utf-8") as file:
            return file.read()
    table, header, causes = read("fleet/health_table.c"), read("fleet/health.h"), read("fleet/incident.c")
    rows = [rule_row(rule, body + ")", table, header) for rule, body in ROW.findall(table)]
    symptoms = {}
    for cause, symptom, scope in re.findall(r'\{"([a-z-]+)", "([a-z-]+)", (\w+)\}', causes):
        symptoms.setdefault((cause, scope.lower()), []).append(symptom)
    return {
        "rules": ["| id | subject | looks at | warning / critical | raised, cleared | what, and what to do | from |",
                  "|---|---|---|---|---|---|---|"] + rows,
        "causes": ["| cause | explains, of the same | |", "|---|---|---|"] +
                  ["| %s | %s | %s |" % (cause, scope, ", ".join(which))
                   for (cause, scope), which in symptoms.items()],
    }


def main():
    src = sys.argv[1]
    path = os.path.join(src, DOCUMENT)
    with open(path, encoding="utf-8") as file:
        old = file.read()
    new, found = old, tables(src)
    for name, lines in found.items():
        mark = re.compile(r"(<!-- %s -->\n).*?(<!-- end -->)" % name, re.S)
        new = mark.sub(lambda m: m.group(1) + "\n".join(lines) + "\n" + m.group(2), new)
    if sys.argv[2:] == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
        return 0
    checks = [("the sources have rules and causes", len(found["rules"]) > 40 and len(found["causes"]) > 10),
              ("doc/health.md has the tables of the sources (--write)", new == old)]
    print("1..%d" % len(checks))
    for i, (what, good) in enumerate(checks, 1):
        print("%s %d - %s" % ("ok" if good else "not ok", i, what))
    return 0 if all(good for _, good in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
