#!/usr/bin/env python3
"""doc/knob-table.md out of the table of knob kinds (fleet/knob.c) and of what is known of each.

knob_table.py SRCDIR            checks: the kinds are those of FACTS, each is in linux_knobs[] and in the
                                schemas, each lab cell names a job and a test text that stands in it, and
                                the committed document is the generated one. Prints TAP.
knob_table.py SRCDIR --write    writes the document
"""
import json
import os
import re
import sys

DOCUMENT = "doc/knob-table.md"
HEAD = """# Every knob: interface, unit, disruption, drivers, proof

Made by `tests/lint/knob_table.py SRCDIR --write` out of the table of knob kinds; the lint holds it against that and the lab jobs.
Values and order are in [knobs.md](knobs.md). "Drivers" are those of Linux 6.1 whose sources have the operation, or the vendor's package
where it says so; none of them was run here. The lab's cell names a check in `tests/lab/jobs/`: the knob was set by a plan and read by a program that knows
nothing of the product. All kinds are also changed by hand there, and the drift is found (agent_drift.sh).

| knob | what it is | interface | unit | disruption | drivers | proven in the lab by |
|---|---|---|---|---|---|---|
"""
STATES_HEAD = """
## States, and how a change by hand is seen

A state of a node has three values for a knob: `live`, `persisted` (what the system or the device keeps by itself) and `next_boot` (what the next load
or boot gives). The one in bold is held against the plan. Where there is `live` alone, the column "what outlives a boot" says why: of such a knob nothing but the
agent's own last good plan outlives a boot, and the agent sets it again and says how long it was away (`gap`). The column "seen by" is the event that
begins a look; each minute everything is looked at anyway. "Owner" is by what a value is known as ours or as another's, which is never touched; where
it is empty nothing on the node tells who set a value, and a state says `unknown`.

| knob | states | seen by | what outlives a boot | owner |
|---|---|---|---|---|
"""
ROW = re.compile(r'\{"([a-z]+\.[a-z]+)", (\d+), \w+, KNOB_VIEW_(\w+), DISRUPTION_(\w+),\s*(?:NULL|"[^"]*"),'
                 r'\s*"([^"]*)"\}', re.S)
FILES = "inotify"
DRIVER = "nothing: the driver starts with its own values"
KERNEL = "nothing: the kernel keeps it in memory"
TIMED = "the timed check alone: the kernel announces no change of it"

# kind -> by what its owner is known; of every kind whose source tells one
OWNERS = {
    "host.modparam": "ours: set in stellar.conf",
    "host.file": "ours by its first line, else another's",
    "dcb.dcbx": "another's while an agent of DCBX manages the port",
    "devlink.rate": "ours: nodes named stellar..., leaves in them",
    "tc.clsact": "ours while it holds no filter but ours",
    "tc.qdisc": "ours by its handle 5e11:, else another's",
    "tc.class": "ours: below 5e11:",
    "tc.red": "ours: below 5e11:",
    "tc.flower": "ours by its cookie, else another's",
    "solar.page": "always ours",
}

# kind -> what begins a look, what outlives a boot
SEEN = {
    "host.modparam": (FILES, "the file of modprobe.d; a parameter that cannot be written live is in effect with the next load"),
    "host.sysctl": (FILES, KERNEL + "; files of sysctl.d are left to their owner"),
    "host.thp": (FILES, KERNEL + ", and starts with what its command line says"),
    "host.file": (FILES, "the file itself: what is there is what the next boot finds"),
    "devlink.param": ("devlink \"config\"", "the permanent values, in the device; what a driver runs with is not told"),
    "link.mtu": ("rtnetlink LINK", DRIVER),
    "link.coalesce": ("ethtool \"monitor\"", DRIVER),
    "link.arp": (FILES, KERNEL),
    "link.pause": ("ethtool \"monitor\"", DRIVER),
    "dcb.dcbx": (TIMED, DRIVER),
    "dcb.app": ("rtnetlink DCB", KERNEL),
    "dcb.ets": ("rtnetlink DCB", DRIVER),
    "dcb.maxrate": ("rtnetlink DCB", DRIVER),
    "dcb.buffer": ("rtnetlink DCB", DRIVER),
    "dcb.pfc": ("rtnetlink DCB", DRIVER),
    "roce.cc": (FILES, DRIVER),
    "roce.tos": (FILES, "nothing: configfs is in memory"),
    "devlink.rate": ("devlink \"config\"", "nothing: functions are made anew"),
    "tc.clsact": ("rtnetlink TC", KERNEL),
    "tc.qdisc": ("rtnetlink TC", KERNEL),
    "tc.class": ("rtnetlink TC", KERNEL),
    "tc.red": ("rtnetlink TC", KERNEL),
    "tc.flower": ("rtnetlink TC", KERNEL),
    "solar.page": (FILES, "nothing: /run is in memory"),
}
NICS = "mlx5, bnxt, ice, hns3, qede"

# kind -> interface, unit, drivers, job, test text
FACTS = {
    "host.modparam": ("/etc/modprobe.d/stellar.conf, /sys/module/*/parameters", "text", "any module", "dp_selftest.sh",
                      "modprobe would use it"),
    "host.sysctl": ("/proc/sys", "text", "any kernel", "dp_selftest.sh", "sysctl"),
    "host.thp": ("/sys/kernel/mm/transparent_hugepage", "mode", "any kernel", "dp_selftest.sh", "huge pages"),
    "host.file": ("/etc/stellar/env", "variables", "any kernel", "knobs_port.sh",
                  "file: a shell that sources it has the variables"),
    "devlink.param": ("devlink PARAM_SET", "of the parameter", "mlx5, bnxt, ice, and others with parameters",
                      "agent_reload.py", "approved, the driver is reloaded and has it"),
    "link.mtu": ("rtnetlink IFLA_MTU", "bytes", "all", "dp_selftest.sh", "mtu"),
    "link.coalesce": ("ethtool netlink COALESCE_SET", "us, frames", "most NICs, each its own part of it",
                      "knobs_port.sh", "coalesce: ethtool shows the time"),
    "link.arp": ("/proc/sys/net/ipv4/conf/*", "the kernel's", "all", "knobs_port.sh", "arp: the kernel shows it"),
    "link.pause": ("ethtool netlink PAUSE_SET", "on or off", "most NICs", "knobs_port.sh",
                   "pause: ethtool shows it"),
    "dcb.dcbx": ("dcbnl SDCBX", "mode bits", NICS, "knobs_device.sh", "dcbx: the kernel shows it"),
    "dcb.app": ("dcbnl IEEE APP (DSCP)", "DSCP, priority", NICS, "dp_selftest.sh", "app"),
    "dcb.ets": ("dcbnl IEEE ETS", "percent", NICS + ", mlx4", "dp_selftest.sh", "ets"),
    "dcb.maxrate": ("dcbnl IEEE MAXRATE (kbit/s)", "bit/s", "mlx5, mlx4", "dp_selftest.sh", "maxrate"),
    "dcb.buffer": ("dcbnl BUFFER", "bytes", "mlx5", "dp_selftest.sh", "buffer"),
    "dcb.pfc": ("dcbnl IEEE PFC", "priorities", NICS + ", mlx4", "dp_selftest.sh", "pfc"),
    "roce.cc": ("files of the driver: sysfs, debugfs or configfs", "of the parameter",
                "mlx5; bnxt and irdma with the vendor's package", "knobs_device.sh", "cc: the kernel shows the CNP's DSCP"),
    "roce.tos": ("configfs rdma_cm", "TOS byte", "every RDMA device", "knobs_device.sh", "tos: the kernel shows it"),
    "devlink.rate": ("devlink RATE_SET (bytes/s)", "bit/s", "mlx5, ice (later kernels)", "knobs_device.sh",
                     "rate: and the first function"),
    "tc.clsact": ("rtnetlink NEWQDISC", "", "all", "dp_selftest.sh", "the hook as tc has it"),
    "tc.qdisc": ("rtnetlink NEWQDISC", "class", "all; traffic that the kernel sees", "dp_selftest.sh",
                 "the default class"),
    "tc.class": ("rtnetlink NEWTCLASS (bytes/s)", "bit/s", "all; traffic that the kernel sees", "dp_selftest.sh",
                 "class as tc has it"),
    "tc.red": ("rtnetlink NEWQDISC", "bytes, probability", "all; traffic that the kernel sees", "knobs_port.sh",
               "red: RoCE packets are marked"),
    "solar.page": ("/run/stellar/solar/PORT.page", "bit/s", "any; programs that use libsolar", "knobs_port.sh",
                   "solar: an independent reader has the page"),
    "tc.flower": ("rtnetlink NEWTFILTER", "match, bit/s", "software: all; in the NIC: mlx5, bnxt, ice, ingress alone",
                  "dp_selftest.sh", "tos key and mask"),
}


def text(src, path):
    with open(os.path.join(src, path), encoding="utf-8") as f:
        return f.read()


def kinds(src):
    """[(name, view, disruption, what it is)] in the order of the table."""
    table = text(src, "fleet/knob.c").split("knob_kinds[] = {", 1)[1].split("\n};", 1)[0]
    return [(name, view.lower(), disruption.lower().replace("_", "-"), what)
            for name, _, view, disruption, what in ROW.findall(table)]


def programs(src):
    """kind -> the source that programs it."""
    found = {}
    for name in os.listdir(os.path.join(src, "datapath")):
        if name.startswith("knob_") and name.endswith(".c"):
            source = text(src, "datapath/" + name)
            found.update({kind: source for kind in re.findall(r'\.kind = "([a-z.]+)"', source)})
    return found


def states(view, source):
    """The values that the source reads into a state; the one that counts is in bold."""
    if ".persisted =" not in source:
        return "**live**"
    return "live, persisted, **next boot**" if view == "next_boot" else "**live**, persisted, next boot"


def document(src, rows):
    lines, more, source = [], [], programs(src)
    for name, view, disruption, what in rows:
        interface, unit, drivers, job, test = FACTS[name]
        cells = (name, what, interface, unit, disruption, drivers, f"{job}: \"{test}\"")
        lines.append("| " + " | ".join(cells) + " |\n")
        more.append("| " + " | ".join((name, states(view, source[name]), *SEEN[name], OWNERS.get(name, ""))) + " |\n")
    return HEAD + "".join(lines) + STATES_HEAD + "".join(more)


def checks(src, rows):
    names = [name for name, _, _, _ in rows]
    count = len(re.findall(r'^    \{"', text(src, "fleet/knob.c").split("knob_kinds[] = {", 1)[1], re.M))
    yield "every row of fleet/knob.c is read", len(names) == count, f"{len(names)} of {count}"
    yield "facts are told of every kind and of no other", sorted(names) == sorted(FACTS), \
        sorted(set(names) ^ set(FACTS))
    yield "what begins a look is told of every kind and of no other", sorted(names) == sorted(SEEN), \
        sorted(set(names) ^ set(SEEN))
    missing = [n for n in names if n not in programs(src)]
    yield "every kind is programmed by a datapath/knob_*.c", not missing, missing
    told = [n for n in names if re.search("KNOB_OWNER_(STELLAR|OTHER)", programs(src).get(n, ""))]
    yield "the owner is told of every kind whose source tells one, and of no other", sorted(told) == sorted(OWNERS), \
        sorted(set(told) ^ set(OWNERS))
    for path in ("schemas/plan.json", "schemas/state.json"):
        enum = json.dumps(json.loads(text(src, path)))
        missing = [n for n in names if f'"{n}"' not in enum]
        yield f"every kind is in {path}", not missing, missing
    drift = text(src, "tests/lab/jobs/agent_drift.sh")
    for name in names:
        if name not in FACTS:
            continue
        job, test = FACTS[name][3:]
        found = f'"{test}"' in text(src, "tests/lab/jobs/" + job)
        yield f"{name}: its proof stands in {job}", found, test
        if SEEN.get(name, ("",))[0] != TIMED:
            yield f"{name}: agent_drift.sh changes it by hand", f'    ("{name}", ' in drift, name


def main():
    src = sys.argv[1]
    rows = kinds(src)
    if "--write" in sys.argv[2:]:
        with open(os.path.join(src, DOCUMENT), "w", encoding="utf-8") as f:
            f.write(document(src, rows))
        return 0
    results = list(checks(src, rows))
    try:
        same = text(src, DOCUMENT) == document(src, rows)
    except (KeyError, OSError):
        same = False
    results.append((f"{DOCUMENT} is what knob_table.py writes", same, "run it with --write"))
    for n, (what, good, more) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {n} - {what}")
        if not good:
            print(f"# {more}")
    print(f"1..{len(results)}")
    return 0 if all(good for _, good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
