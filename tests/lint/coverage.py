"""Every problem code of the server and every rule id, against the documents and the tests.

A code is documented by a row of doc/problems.md with its statuses, a rule by doc/rules.md. A code or a
rule is tested when a test names it: a string of tests/api or tests/unit, an expectation of
tests/golden, or an example of schemas/openapi.yaml (each of which is run). A code of one plain word
counts only where `code` or its status stands in the same line or the two before.
"""
import glob
import json
import os
import re
import sys

# What no test can reach from outside, and why. A row that is not needed fails too.
UNREACHABLE = {}

STATUS_CODE = re.compile(r'(?<![\w.])([45]\d\d),\s*"([a-z]+(?:-[a-z]+)*)"')
WRITE_KIND = re.compile(r'\.refused = "([a-z-]+)"')
ERR_NAME = re.compile(r'\[ERR_(\w+)\] = (\d+)')
RULE = (re.compile(r'#define RULE_\w+\s+"([a-z-]+)"'), re.compile(r'\.rule = "([a-z-]+)"'),
        re.compile(r'finding_addf?\([^;"]*,\s*"([a-z-]+)",\s*FINDING_'))
RULE_ID = re.compile(r'^const struct rule .*?\.id = "([a-z-]+)"', re.S | re.M)


def text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def read(src, *patterns):
    return {p: text(p) for pattern in patterns
            for p in sorted(glob.glob(os.path.join(src, pattern), recursive=True))}


def find_codes(src):
    """code -> set of statuses"""
    found = {}
    files = read(src, "server/*.c")
    for source in files.values():
        for status, code in STATUS_CODE.findall(source):
            found.setdefault(code, set()).add(status)
        for code in WRITE_KIND.findall(source):
            found.setdefault(code, set()).add("422")
    for name, status in ERR_NAME.findall(files[os.path.join(src, "server/http_reply.c")]):
        if name != "OK":
            code = "internal" if status == "500" else name.lower().replace("_", "-")
            found.setdefault(code, set()).add(status)
    return found


def find_rules(src):
    found = set()
    for path, source in read(src, "fleet/**/*.[ch]", "server/*.[ch]").items():
        for pattern in RULE:
            found.update(pattern.findall(source))
        if "/rules/" in path:
            found.update(RULE_ID.findall(source))
    compat = json.loads(text(os.path.join(src, "schemas/compat.json")))
    found.update(rule["id"] for rule in compat["rules"])
    return found


def documented_codes(src):
    rows = re.findall(r"^\| ([a-z-]+) \| ([\d, ]+) \| (.+) \| (.+) \|$",
                      text(os.path.join(src, "doc/problems.md")), re.M)
    return {code: set(statuses.split(", ")) for code, statuses, _, _ in rows}, \
        [code for code, _, _, _ in rows]


def tested(src):
    lines = []
    for source in read(src, "tests/api/*.py", "tests/unit/**/*.[ch]", "tests/golden/**/*.json").values():
        lines += source.splitlines()
    contract = text(os.path.join(src, "schemas/openapi.yaml")).splitlines()
    return lines, contract


def is_tested(word, statuses, lines, contract):
    quoted = re.compile(r"""["']%s\\?["']""" % word)
    shown = re.compile(r"\b(code|rule): %s\b" % word)
    plain = statuses and "-" not in word
    near = ["code", *(statuses or ())]
    return any(quoted.search(line) and
               (not plain or any(word in text for word in near for text in lines[max(i - 2, 0):i + 1]))
               for i, line in enumerate(lines)) or any(shown.search(line) for line in contract)


def main():
    src = sys.argv[1]
    checks = []
    codes, rules = find_codes(src), find_rules(src)
    shown, order = documented_codes(src)
    lines, contract = tested(src)
    # The map of errors to codes and a write_kind's 422 are looked for by their names alone.
    rows = text(os.path.join(src, "doc/rules.md"))
    checks.append(("the sources have codes and rules", [] if len(codes) > 60 and len(rules) > 20 else
                   [f"found only {len(codes)} codes and {len(rules)} rules: the patterns are out of date"]))
    checks.append(("doc/problems.md has every code with its statuses",
                   [f"{c}: {', '.join(sorted(s))}, documented: {', '.join(sorted(shown.get(c, [])))}"
                    for c, s in sorted(codes.items()) if shown.get(c) != s]))
    checks.append(("and none that is gone", sorted(set(shown) - set(codes))))
    checks.append(("each once, by name", [] if order == sorted(set(order)) else
                   [c for a, c in zip(order, order[1:]) if a >= c]))
    missing = {c for c, s in codes.items() if not is_tested(c, s, lines, contract)}
    checks.append(("every code is asserted by a test", sorted(missing - set(UNREACHABLE))))
    checks.append(("what needs no test has none", sorted(set(UNREACHABLE) - missing)))
    checks.append(("doc/rules.md has every rule",
                   [r for r in sorted(rules) if not re.search(r"(^\| |`)%s( \||`)" % r, rows, re.M)]))
    checks.append(("every rule is asserted by a test",
                   [r for r in sorted(rules) if not is_tested(r, None, lines, contract)]))
    failed = 0
    for i, (sentence, wrong) in enumerate(checks, 1):
        print(f"{'not ok' if wrong else 'ok'} {i} - {sentence}")
        for line in wrong:
            print("# " + line)
        failed += bool(wrong)
    print(f"1..{len(checks)}")
    sys.exit(1 if failed else 0)


main()
