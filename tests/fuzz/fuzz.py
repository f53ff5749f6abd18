#!/usr/bin/env python3
"""Builds every fuzzer (tests/fuzz/fuzz_LAYER_*.c) with libFuzzer, ASan and UBSan and runs each.

fuzz.py --srcdir S --seconds N [--only NAME] [--jobs J]

Works in obj-fuzz/ of the current folder: configure runs there, the archives are built by the
Makefile, and each fuzzer is linked with -fsanitize=fuzzer. New inputs stay in
obj-fuzz/corpus/NAME; the repository's corpus is only read. A crash, leak or timeout makes the
exit status 1; its input stays as obj-fuzz/NAME-*: put it into tests/fuzz/corpus/NAME with the fix.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

WORK = "obj-fuzz"
CC = os.environ.get("FUZZ_CC", "clang-14")
INPUT_MAX = "4096"
TIMEOUT_S = "10"  # of one input


def sh(*args, **kwargs):
    return subprocess.run(args, check=True, **kwargs)


def build(srcdir):
    os.makedirs(WORK, exist_ok=True)
    env = dict(os.environ, CC=CC, CFLAGS="-O1 -g -fsanitize=fuzzer-no-link")
    sh(os.path.join(srcdir, "configure"), "--enable-sanitize=address,undefined", cwd=WORK, env=env,
       stdout=subprocess.DEVNULL)
    # What the Makefile knows (layers below a layer, their libraries) is asked, not repeated.
    with open(os.path.join(WORK, "fuzz.mk"), "w", encoding="utf-8") as f:
        f.write("include Makefile\n"
                "fuzz-link-%: obj/tests/fuzz/%.o\n"
                "\t$(MAKE) -f fuzz.mk $(call libs,$(call fuzz_layer,$*))\n"
                "\t$(CC) $(LDFLAGS) -fsanitize=fuzzer $< $(call libs,$(call fuzz_layer,$*)) "
                "$(call syslibs,$(call fuzz_layer,$*)) -o $*\n")


def names(srcdir, only):
    found = sorted(os.path.basename(p)[:-2]
                   for p in glob.glob(os.path.join(srcdir, "tests/fuzz/fuzz_*_*.c")))
    return [n for n in found if only is None or n == only]


def run(srcdir, name, seconds):
    """(name, passed, last lines)"""
    own = os.path.join(WORK, "corpus", name)
    given = os.path.join(os.path.abspath(srcdir), "tests/fuzz/corpus", name)
    os.makedirs(own, exist_ok=True)
    args = ["./" + name, f"-max_total_time={seconds}", f"-max_len={INPUT_MAX}",
            f"-timeout={TIMEOUT_S}", "-rss_limit_mb=2048", "-print_final_stats=1",
            f"-artifact_prefix={name}-", os.path.join("corpus", name)]
    if os.path.isdir(given):
        args.append(given)
    done = subprocess.run(args, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    text = done.stdout.decode("utf-8", "replace")
    with open(os.path.join(WORK, name + ".log"), "w", encoding="utf-8") as f:
        f.write(text)
    units = re.search(r"number_of_executed_units:\s*(\d+)", text)
    return name, done.returncode == 0, units.group(1) if units else "?", text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--seconds", type=int, default=60, help="of each fuzzer")
    parser.add_argument("--only", help="the name of one fuzzer")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    srcdir = os.path.abspath(args.srcdir)
    build(srcdir)
    todo = names(srcdir, args.only)
    if not todo:
        sys.exit("fuzz.py: no such fuzzer")
    for name in todo:
        sh("make", "-s", "-f", "fuzz.mk", "fuzz-link-" + name, cwd=WORK,
           stdout=subprocess.DEVNULL)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, passed, units, text in pool.map(lambda n: run(srcdir, n, args.seconds), todo):
            print(f"{'ok    ' if passed else 'FAILED'} {name}: {units} inputs in {args.seconds} s")
            if not passed:
                failed += 1
                print("\n".join(text.splitlines()[-60:]))
    print(f"fuzz: {len(todo)} fuzzers, {failed} failed")
    sys.exit(1 if failed else 0)


main()
