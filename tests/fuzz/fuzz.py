#!/usr/bin/env python3
"""Builds every fuzzer (tests/fuzz/fuzz_LAYER_*.c) with libFuzzer, ASan and UBSan and runs each.

fuzz.py --srcdir S --seconds N [--only NAME...] [--jobs J]

Works in obj-fuzz/ of the current folder: configure runs there, the archives are built by the
Makefile, and each fuzzer is linked with -fsanitize=fuzzer. New inputs stay in
obj-fuzz/corpus/NAME; the repository's corpus is only read. Fuzzers of documents begin with the
words of schemas/*.json. A crash, leak or timeout makes the exit status 1; its input stays as
obj-fuzz/NAME-*: put it into tests/fuzz/corpus/NAME with the fix.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

WORK = "obj-fuzz"
CC = os.environ.get("FUZZ_CC", "clang-14")
INPUT_MAX = "4096"
TIMEOUT_S = "10"  # of one input
DICT = "words.dict"
DICT_MAX = 600  # words; more would only dilute each
TAKES_NO_WORDS = ("fuzz_datapath_", "fuzz_server_csr", "fuzz_fleet_telemetry")


def sh(*args, **kwargs):
    return subprocess.run(args, check=True, **kwargs)


def build(srcdir):
    os.makedirs(WORK, exist_ok=True)
    env = dict(os.environ, CC=CC, CFLAGS="-O1 -g -fsanitize=fuzzer-no-link")
    sh(os.path.join(srcdir, "configure"), "--disable-webui", "--enable-sanitize=address,undefined", cwd=WORK, env=env,
       stdout=subprocess.DEVNULL)
    # What the Makefile knows (layers below a layer, their libraries) is asked, not repeated.
    with open(os.path.join(WORK, "fuzz.mk"), "w", encoding="utf-8") as f:
        f.write("include Makefile\n"
                ".SECONDEXPANSION:\n"
                "fuzz-link-%: obj/tests/fuzz/%.o $$(call libs,$$(call fuzz_layer,$$*))\n"
                "\t$(CC) $(LDFLAGS) -fsanitize=fuzzer $^ $(call syslibs,$(call fuzz_layer,$*)) "
                "-o $*\n")


def words_of(value):
    """Names of members and values of enumerations of a schema."""
    if isinstance(value, dict):
        properties = value.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        yield from (w for w in value.get("enum", ()) if isinstance(w, str))
        for sub in value.values():
            yield from words_of(sub)
    elif isinstance(value, list):
        for sub in value:
            yield from words_of(sub)


def write_dict(srcdir):
    words = set()
    for path in sorted(glob.glob(os.path.join(srcdir, "schemas/*.json"))):
        with open(path, encoding="utf-8") as f:
            words.update(words_of(json.load(f)))
    plain = sorted(w for w in words if re.fullmatch(r"[\w.:-]{1,60}", w, re.ASCII))[:DICT_MAX]
    with open(os.path.join(WORK, DICT), "w", encoding="utf-8") as f:
        f.writelines(f'"\\"{w}\\""\n' for w in plain)


def names(srcdir, only):
    found = sorted(os.path.basename(p)[:-2]
                   for p in glob.glob(os.path.join(srcdir, "tests/fuzz/fuzz_*_*.c")))
    return [n for n in found if not only or n in only]


def run(srcdir, name, seconds):
    """(name, passed, what was done, output)"""
    own = os.path.join(WORK, "corpus", name)
    given = os.path.join(os.path.abspath(srcdir), "tests/fuzz/corpus", name)
    os.makedirs(own, exist_ok=True)
    args = ["./" + name, f"-max_total_time={seconds}", f"-max_len={INPUT_MAX}",
            f"-timeout={TIMEOUT_S}", "-rss_limit_mb=2048", "-print_final_stats=1",
            f"-artifact_prefix={name}-", os.path.join("corpus", name)]
    if not name.startswith(TAKES_NO_WORDS):
        args.append(f"-dict={DICT}")
    if os.path.isdir(given):
        args.append(given)
    done = subprocess.run(args, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    text = done.stdout.decode("utf-8", "replace")
    with open(os.path.join(WORK, name + ".log"), "w", encoding="utf-8") as f:
        f.write(text)
    units = re.search(r"number_of_executed_units:\s*(\d+)", text)
    edges = re.findall(r"\bcov: (\d+)", text)
    told = f"{units.group(1) if units else '?'} inputs, {edges[-1] if edges else '?'} edges"
    return name, done.returncode == 0, told, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--seconds", type=int, default=60, help="of each fuzzer")
    parser.add_argument("--only", nargs="+", help="names of fuzzers")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    srcdir = os.path.abspath(args.srcdir)
    build(srcdir)
    todo = names(srcdir, args.only)
    if not todo:
        sys.exit("fuzz.py: no such fuzzer")
    write_dict(srcdir)
    sh("make", "-s", f"-j{args.jobs}", "-f", "fuzz.mk", *("fuzz-link-" + n for n in todo), cwd=WORK,
       stdout=subprocess.DEVNULL)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, passed, told, text in pool.map(lambda n: run(srcdir, n, args.seconds), todo):
            print(f"{'ok    ' if passed else 'FAILED'} {name}: {told} in {args.seconds} s", flush=True)
            if not passed:
                failed += 1
                print("\n".join(text.splitlines()[-60:]))
    print(f"fuzz: {len(todo)} fuzzers, {failed} failed")
    sys.exit(1 if failed else 0)


main()
