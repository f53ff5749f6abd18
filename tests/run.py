#!/usr/bin/env python3
"""Runs groups of tests, reads their TAP, prints what failed and one closing line of counts.

run.py --srcdir S --objdir O [--sanitize LIST] GROUP...
Groups: lint unit fuzz api web clang lab. Each test program is one process with a time limit; what it
leaves running in its own process group is ended. A skipped test prints its reason and is counted.
A job of the lab that fails is run once more, as its guests are emulated and share the host's cores:
one that passes then is printed and counted as unsteady, one that fails twice has failed.
Exit code 0 only when nothing failed and something passed.
"""
import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

LIMIT_S = {"lint": 600, "unit": 300, "fuzz": 120, "api": 600, "web": 600, "clang": 900, "lab": 600}
JOBS = {"lint": 2, "unit": 2, "fuzz": 2, "api": 2, "web": 1, "clang": 1, "lab": 1}
RUNS = {"lab": 2}  # the other groups: 1
TAP = re.compile(r"^(ok|not ok)\b\s*\d*\s*-?\s*(.*)$")


class Result:
    """What one program said: lists of sentences, and its output when something went wrong."""

    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped = name, [], [], []
        self.output, self.seconds, self.unsteady = "", 0.0, None


def read_tap(result, text):
    for line in text.splitlines():
        m = TAP.match(line)
        if not m:
            continue
        what = m.group(2)
        if re.search(r"#\s*skip", what, re.I):
            result.skipped.append(what)
        elif m.group(1) == "ok":
            result.passed.append(what)
        else:
            result.failed.append(what)


def run_program(name, argv, limit, env, cwd=None):
    result = Result(name)
    start = time.monotonic()
    proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
    timed_out = False

    def end():
        nonlocal timed_out
        timed_out = True
        os.killpg(proc.pid, signal.SIGKILL)

    timer = threading.Timer(limit, end)
    timer.start()
    out = proc.stdout.read().decode(errors="replace")
    rc = proc.wait()
    timer.cancel()
    try:  # what the test left behind in its own group
        os.killpg(proc.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    result.seconds = time.monotonic() - start
    read_tap(result, out)
    if timed_out:
        result.failed.append(f"{name}: ended after {limit} s without finishing")
    elif rc == 77:
        reason = ([x for x in out.splitlines() if x.strip()] or ["no reason given"])[-1]
        result.skipped.append(f"{name} # skip {reason}")
    elif rc != 0 and not result.failed:
        result.failed.append(f"{name}: exit code {rc}")
    elif rc == 0 and not (result.passed or result.skipped or result.failed):
        result.failed.append(f"{name}: ran no test")
    result.output = out
    return result


def run_steadily(runs, *how):
    """The last of at most `runs` runs; the one before it, which failed, is its `unsteady`."""
    result = run_program(*how)
    for _ in range(runs - 1):
        if not result.failed:
            break
        first, result = result, run_program(*how)
        result.unsteady = first
    return result


def programs(group, args):
    """(name, argv) of each program of a group."""
    s, o = args.srcdir, args.objdir
    if group == "unit":
        for path in sorted(glob.glob(f"{o}/tests/unit/*/test_*")):
            if os.access(path, os.X_OK) and "." not in os.path.basename(path):
                yield os.path.relpath(path, f"{o}/tests"), [path]
    elif group == "fuzz":
        for src in sorted(glob.glob(f"{s}/tests/fuzz/fuzz_*_*.c")):
            name = os.path.basename(src)[:-2]
            yield f"fuzz/{name}", [f"{o}/tests/fuzz/{name}", f"{s}/tests/fuzz/corpus/{name}"]
    elif group == "api":
        for path in sorted(glob.glob(f"{s}/tests/api/test_*.py")):
            yield f"api/{os.path.basename(path)}", [sys.executable, path, "--objdir", o,
                                                    "--srcdir", s]
    elif group in ("lint", "clang"):
        pattern = "clang_*.sh" if group == "clang" else "lint_*.sh"
        for path in sorted(glob.glob(f"{s}/tests/lint/{pattern}")):
            yield f"{group}/{os.path.basename(path)}", ["sh", path, s, o]
    elif group == "web":
        for path in sorted(glob.glob(f"{s}/tests/web/check_*")):
            first = [sys.executable] if path.endswith(".py") else ["sh"]
            yield f"web/{os.path.basename(path)}", [*first, path, s, o]
    elif group == "lab":
        for path in sorted(glob.glob(f"{s}/tests/lab/check_*.sh")):
            yield f"lab/{os.path.basename(path)}", ["sh", path, s, o]


def report(result, quiet_skips):
    if result.unsteady:
        report(result.unsteady, quiet_skips)
        print(f"     unsteady: {result.name} was run again after this")
    mark = "FAIL" if result.failed else "ok"
    print(f"{mark:4} {result.name}: {len(result.passed)} passed, {len(result.failed)} failed, "
          f"{len(result.skipped)} skipped ({result.seconds:.1f} s)")
    for what in result.skipped:
        if not quiet_skips:
            print(f"     skipped: {what}")
    if result.failed:
        for what in result.failed:
            print(f"     failed: {what}")
        print("     ---- its output, the last 120 lines")
        for line in result.output.splitlines()[-120:]:
            print("     | " + line)
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--objdir", default="obj")
    parser.add_argument("--sanitize", default="")
    parser.add_argument("groups", nargs="+", choices=sorted(LIMIT_S))
    args = parser.parse_args()
    args.srcdir, args.objdir = os.path.abspath(args.srcdir), os.path.abspath(args.objdir)

    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", LC_ALL="C.UTF-8", STELLAR_SANITIZE=args.sanitize,
               STELLAR_SRCDIR=args.srcdir, STELLAR_OBJDIR=args.objdir)
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=0:exitcode=66:second_deadlock_stack=1:"
                   f"suppressions={args.srcdir}/tests/lint/tsan.supp")
    slow = 4 if args.sanitize else 1
    totals = [0, 0, 0]
    unsteady = 0
    for group in args.groups:
        work = list(programs(group, args))
        if not work:
            print(f"FAIL {group}: no test was found")
            totals[1] += 1
            continue
        with ThreadPoolExecutor(JOBS[group]) as pool:
            futures = [pool.submit(run_steadily, RUNS.get(group, 1), name, argv,
                                   LIMIT_S[group] * slow, env) for name, argv in work]
            for future in futures:
                result = future.result()
                report(result, False)
                unsteady += result.unsteady is not None and not result.failed
                for i, part in enumerate((result.passed, result.failed, result.skipped)):
                    totals[i] += len(part)
    again = f", {unsteady} unsteady" if unsteady else ""
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped{again}")
    sys.exit(0 if totals[1] == 0 and totals[0] > 0 else 1)


main()
