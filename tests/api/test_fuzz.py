#!/usr/bin/env python3
"""A short run of tests/fuzz/api_fuzz.py with seeds that stay: `make fuzz` has the long one."""
import os
import sys

from lib import Tap, arguments

COUNT = 400  # answers of each seed


def main():
    args, tap = arguments(), Tap()
    sys.path.insert(0, os.path.join(args.srcdir, "tests/fuzz"))
    from api_fuzz import run
    for seed in (1, 2):
        faults, code, count = run(args, seed, count=COUNT)
        tap.ok(not faults, f"seed {seed}: no answer is a failure or outside the contract", "\n".join(faults))
        tap.ok(code == 0 and count >= COUNT, f"seed {seed}: the server ends cleanly", (code, count))
    tap.done()


main()
