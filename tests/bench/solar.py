#!/usr/bin/env python3
"""Solar-RDMA beside its peers, in alternating rounds on one machine: figures, ratios, and the aims.

solar.py --objdir O [--rounds N] [--time MS] [--only PART] [--json FILE]
Parts: idle, loaded, bulk, cpu, tenants. Peers: the kernel's TCP (in solar-perf's own two processes, and
iperf3), UCX (ucx-utils), libfabric (libfabric-bin). One that is not installed, or that did not come to
an end, is "not measured", with the reason. Nothing is asserted: only ratios within one run say
something, and those only as far as nothing else ran. Exit code 77: no link can be made here.
"""
import argparse
import contextlib
import json
import os
import secrets
import shutil
import statistics
import sys
import tempfile
import time

import solar_link
import solar_peers
from solar_link import ADDRESSES, PORT, Failed, Link

PARTS = ("idle", "loaded", "bulk", "cpu", "tenants")
UCX_ENV = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "link0"}
PEER_PORT = 5301
PING_PORT = PORT + 1  # of the server of the small messages, where there are two
LINK_MBPS, TENANT_MBPS = 1000, 500
TENANT_ROUNDS = 20
FLOWS = 4  # of the kernel's TCP, the load
WARM_S = 0.5


class Bench:
    def __init__(self, args, folder):
        self.args, self.rows, self.aims, self.missing = args, [], [], {}
        self.perf = os.path.abspath(f"{args.objdir}/solar-perf")
        self.key = f"{folder}/key"
        with open(self.key, "w", encoding="ascii") as f:
            f.write(secrets.token_hex(32))

    # What is measured, and what of it is kept -----------------------------------------------------

    def keep(self, part, who, **values):
        for what, value in values.items():
            if value is None:
                continue
            row = next((r for r in self.rows if (r["part"], r["who"], r["what"]) == (part, who, what)), None)
            if row is None:
                row = {"part": part, "who": who, "what": what, "rounds": []}
                self.rows.append(row)
            row["rounds"].append(round(value, 4))

    def median(self, part, who, what):
        rounds = [r["rounds"] for r in self.rows if (r["part"], r["who"], r["what"]) == (part, who, what)]
        return statistics.median(rounds[0]) if rounds else None

    def measure(self, part, who, program, function):
        if program and not shutil.which(program):
            self.missing[part, who] = f"{program} is not installed"
            return
        try:
            self.keep(part, who, **function())
        except (Failed, ValueError) as e:
            self.missing[part, who] = str(e)

    def aim(self, text, value, holds):
        self.aims.append({"aim": text, "value": value, "met": None if value is None else holds(value)})

    # Peers ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def solar_server(self, link, port=PORT, *options):
        argv = [self.perf, "--serve", "--key-file", self.key, "--address", ADDRESSES[1], "--port", str(port),
                *self.line(link), *options]
        with link.server(argv, port) as process:
            yield process

    @staticmethod
    def line(link):
        return ["--line", str(link.rate_mbps)] if link.rate_mbps else []

    def solar_argv(self, link, server, test, *options, port=PORT):
        return [self.perf, "--connect", ADDRESSES[1], "--port", str(port), "--key-file", self.key, "--address",
                ADDRESSES[0], "--server-pid", str(server.pid), "--format", "json", *self.line(link), *options, test]

    def solar(self, link, server, test, *options, rounds=1, port=PORT):
        options = ["--rounds", str(rounds), "--time", str(self.args.time), *options]
        limit = solar_link.LIMIT_S + rounds * self.args.time / 100
        return solar_peers.solar_perf(link.client(self.solar_argv(link, server, test, *options, port=port),
                                                  limit_s=limit))

    def ucx(self, link, test, size, count):
        argv = ["ucx_perftest", "-p", str(PEER_PORT)]
        with link.server(argv, PEER_PORT, UCX_ENV):
            return solar_peers.ucx(link.client([*argv, ADDRESSES[1], "-t", test, "-s", str(size), "-n", str(count),
                                                "-w", str(count // 10), "-f", "-v"], UCX_ENV))

    def fabric(self, link, provider, endpoint, size, count):
        argv = ["fi_pingpong", "-p", provider, "-e", endpoint, "-I", str(count), "-S", str(size)]
        with link.server([*argv, "-B", str(PEER_PORT)], PEER_PORT):
            return solar_peers.fi_pingpong(link.client([*argv, "-P", str(PEER_PORT), ADDRESSES[1]], limit_s=30))

    def iperf(self, link, *options):
        with link.server(["iperf3", "-s", "-1", "-p", str(PEER_PORT)], PEER_PORT):
            return solar_peers.iperf3(link.client(["iperf3", "-c", ADDRESSES[1], "-p", str(PEER_PORT), "-J", "-t",
                                                   f"{max(self.args.time / 1000, 1):.0f}", *options]))

    # Parts ------------------------------------------------------------------------------------------

    def both(self, part, link, server, test, figures, *options, port=PORT, tcp=True):
        """A round of solar-perf and one of TCP between the same processes."""
        try:
            for row in self.solar(link, server, test, *(["--tcp"] if tcp else []), *options, port=port):
                self.keep(part, row["transport"], **figures(row))
        except (Failed, ValueError) as e:
            self.missing[part, "solar"] = str(e)

    def idle(self):
        """UCX looks without end, so Solar and TCP do too; libfabric, and what they do by default, sleep."""
        def figures(r):
            return {"p50_us": r["p50_us"], "p99_us": r["p99_us"], "mean_us": r["mean_us"]}

        count = max(self.args.time * 10, 1000)
        sleeps, polls = "idle, looks for 50 us", "idle, polls"
        with Link() as link, self.solar_server(link) as server, \
                self.solar_server(link, PING_PORT, "--spin", "1000000") as poller:
            link.pause(poller)
            for _ in range(self.args.rounds):
                self.both(sleeps, link, server, "send_lat", figures)
                for provider in ("net", "tcp"):
                    self.measure(sleeps, f"libfabric {provider}", "fi_pingpong",
                                 lambda p=provider: pick(self.fabric(link, p, "msg", 64, count), "mean_us"))
                with link.awake(poller):
                    self.both(polls, link, poller, "send_lat", figures, "--spin", "1000000", port=PING_PORT)
                self.measure(polls, "ucx tcp", "ucx_perftest",
                             lambda: pick(self.ucx(link, "tag_lat", 64, count), "p50_us", "mean_us"))
        own = self.median(polls, "solar", "p50_us")
        self.aim("idle: half a round trip of 64 bytes, p50, at most 4.5 us", own, lambda v: v <= 4.5)
        self.aim("idle: its ratio to UCX tcp, p50, at most 1", ratio(own, self.median(polls, "ucx tcp", "p50_us")),
                 lambda v: v <= 1)
        self.aim("idle: its ratio to libfabric net, mean, at most 1", ratio(
            self.median(sleeps, "solar", "mean_us"), self.median(sleeps, "libfabric net", "mean_us")), lambda v: v <= 1)

    def loaded(self):
        for name, high in (("loaded", ()), ("loaded, small first", (PING_PORT,))):
            with Link(LINK_MBPS, high) as link, self.solar_server(link) as bulk, \
                    self.solar_server(link, PING_PORT) as pings:
                for _ in range(self.args.rounds):
                    self.measure(name, "solar", None, lambda: self.under_solar(link, bulk, pings))
                    self.measure(name, "tcp", "iperf3", lambda: self.under_tcp(link, pings))
            own, peer = (self.median(name, who, "p99_us") for who in ("solar", "tcp"))
            self.aim(f"{name}: p99 of 64 bytes, at most 60 us", own, lambda v: v <= 60)
            self.aim(f"{name}: TCP's p99 over it, at least 50", ratio(peer, own), lambda v: v >= 50)
            self.aim(f"{name}: bulk, percent of the link with headers, at least 95",
                     self.median(name, "solar", "link_percent"), lambda v: v >= 95)

    def under_load(self, link, pings, *options):
        """Small messages for a round, and how full the link was meanwhile."""
        time.sleep(WARM_S)
        begin, sent = time.monotonic(), link.sent_bytes()
        rows = self.solar(link, pings, "send_lat", *options, port=PING_PORT)
        took, sent = time.monotonic() - begin, link.sent_bytes() - sent
        return {**pick(rows[-1], "p50_us", "p99_us", "p999_us"),
                "link_percent": sent * 8 / took / (link.rate_mbps * 1e4)}

    def under_solar(self, link, bulk, pings):
        argv = self.solar_argv(link, bulk, "write_bw", "--rounds", "1", "--time", "600000")
        process = link.start(0, argv)
        try:
            return self.under_load(link, pings)
        finally:
            alive = process.poll() is None
            link.end(process)
            link.started.remove(process)
            if not alive:
                raise Failed("the load ended early")

    def under_tcp(self, link, pings):
        with link.server(["iperf3", "-s", "-p", str(PEER_PORT)], PEER_PORT):
            process = link.start(0, ["iperf3", "-c", ADDRESSES[1], "-p", str(PEER_PORT), "-t", "600", "-P", str(FLOWS)])
            try:
                return self.under_load(link, pings, "--tcp")
            finally:
                link.end(process)
                link.started.remove(process)

    def bulk(self):
        count = max(self.args.time // 4, 100)
        with Link() as link, self.solar_server(link) as server:
            for _ in range(self.args.rounds):
                self.both("bulk", link, server, "write_bw", lambda r: {"gbps": r["gbps"]})
                self.measure("bulk", "iperf3 tcp", "iperf3", lambda: pick(self.iperf(link), "gbps"))
                self.measure("bulk", "ucx tcp put", "ucx_perftest",
                             lambda: pick(self.ucx(link, "ucp_put_bw", 1 << 20, count), "gbps"))
                self.measure("bulk", "libfabric net, ping-pong", "fi_pingpong",
                             lambda: pick(self.fabric(link, "net", "msg", 1 << 20, count // 2), "gbps"))
                self.measure("bulk", "libfabric udp;ofi_rxd, ping-pong", "fi_pingpong",
                             lambda: pick(self.fabric(link, "udp;ofi_rxd", "rdm", 1 << 16, count // 2), "gbps"))
        peers = [self.median("bulk", r["who"], "gbps") for r in self.rows
                 if r["part"] == "bulk" and r["who"] != "solar"]
        self.aim("bulk: its ratio to the best peer, at least 1",
                 ratio(self.median("bulk", "solar", "gbps"), max(peers, default=None)), lambda v: v >= 1)

    def cpu(self):
        def figures(r):
            return {"percent_per_gbps": r["cpu_percent"] / r["gbps"], "gbps": r["gbps"]}

        for spin, name in (("50", "cpu, looks for 50 us"), ("0", "cpu, sleeps")):  # of both transports and ends
            with Link() as link, self.solar_server(link, PORT, "--spin", spin) as server:
                for _ in range(self.args.rounds):
                    self.both(name, link, server, "cpu", figures, "--rate", str(LINK_MBPS), "--spin", spin)
                    if spin == "0":
                        self.measure(name, "udp, a call a packet", "iperf3", lambda: self.packets(link))
        own = self.median(name, "solar", "percent_per_gbps")
        self.aim("cpu: percent of a core for 1 Gbit/s, both processes, at most 11", own, lambda v: v <= 11)
        self.aim("cpu: UDP's with a call a packet over it, at least 6",
                 ratio(self.median(name, "udp, a call a packet", "percent_per_gbps"), own), lambda v: v >= 6)

    def packets(self, link):
        return pick(self.iperf(link, "-u", "-b", f"{LINK_MBPS}M", "-l", "1428"), "percent_per_gbps", "gbps")

    def tenants(self):
        def figures(r):
            return {"difference_percent": r["difference_percent"], "gbps": r["gbps"]}

        rounds = TENANT_ROUNDS if self.args.rounds > 1 else 1
        with Link(TENANT_MBPS) as link, self.solar_server(link) as server:
            for policy, count in (("none", min(rounds, 5)), ("limit", min(rounds, 5)), ("weight", rounds)):
                for _ in range(count):  # TCP has no weights
                    self.both(f"tenants, {policy}", link, server, "tenants", figures, "--policy", policy, "--rate",
                              str(TENANT_MBPS), tcp=policy != "weight")
        rounds = [r["rounds"] for r in self.rows
                  if r["part"] == "tenants, weight" and r["what"] == "difference_percent"]
        self.aim("tenants: difference of two that weigh the same, median, at most 1 %",
                 self.median("tenants, weight", "solar", "difference_percent"), lambda v: v <= 1)
        self.aim(f"tenants: the worst of {len(rounds[0]) if rounds else 0}, at most 2 %",
                 max(rounds[0]) if rounds else None, lambda v: v <= 2)

    # Report -----------------------------------------------------------------------------------------

    def print_table(self, parts):
        print(f"\n{'part':<20} {'who':<33} {'what':<19} {'median':>10} {'least':>10} {'most':>10} rounds")
        for r in sorted(self.rows, key=lambda r: parts.index(r["part"].split(",")[0])):
            v = r["rounds"]
            print(f"{r['part']:<20} {r['who']:<33} {r['what']:<19} {statistics.median(v):>10.2f} {min(v):>10.2f} "
                  f"{max(v):>10.2f} {len(v):>6}")
        for (part, who), reason in self.missing.items():
            some = any((r["part"], r["who"]) == (part, who) for r in self.rows)
            print(f"{part:<20} {who:<33} {'some rounds not' if some else 'not'} measured: {reason}")
        print("\nmet  value       aim")
        for a in self.aims:
            met = {None: "-", True: "yes", False: "no"}[a["met"]]
            print(f"{met:<4} {'not measured' if a['value'] is None else format(a['value'], '<11.2f')} {a['aim']}")


def pick(values, *names):
    return {name: values[name] for name in names}


def ratio(a, b):
    return a / b if a is not None and b else None


def read_file(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def machine():
    return {"cores": os.cpu_count(), "load": os.getloadavg()[0], "kernel": os.uname().release,
            "tcp": read_file("/proc/sys/net/ipv4/tcp_congestion_control")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objdir", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--time", type=int, default=1000, help="of a round, in milliseconds")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--json", help="all rounds, into this file")
    args = parser.parse_args()
    reason = solar_link.why_not()
    if reason:
        print(f"bench-solar: skipped: {reason}")
        return 77
    before = machine()
    print(f"Solar-RDMA beside its peers, {args.rounds} rounds of {args.time} ms in turn; {before['cores']} cores, load "
          f"{before['load']:.1f}, TCP is {before['tcp']}", flush=True)
    parts = [p for p in PARTS if not args.only or p in args.only]
    with tempfile.TemporaryDirectory(prefix="solar-bench-") as folder:
        bench = Bench(args, folder)
        for part in parts:
            print(f"  {part} ...", flush=True)
            getattr(bench, part)()
    after = machine()
    bench.print_table(parts)
    print(f"load at the end {after['load']:.1f}; above {before['cores']} others ran too, and decided with")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"before": before, "after": after, "rounds": args.rounds, "time_ms": args.time,
                       "rows": bench.rows, "aims": bench.aims,
                       "not_measured": [{"part": p, "who": w, "why": y} for (p, w), y in bench.missing.items()]},
                      f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
