#!/usr/bin/env python3
"""Each benchmark beside its peer in the same run, as ratios. Nothing is asserted: machines are noisy.

bench.py --srcdir S --objdir O [--seconds N] [--only NAME]
Peers: etcd through its JSON gateway (skipped with a reason when it is not installed), raw SQLite
commits, libmicrohttpd and SQLite with group commit in bare C (bench_bare.c), jansson's bare parse,
ovsdb-server's monitors (openvswitch-common), victoria-metrics and
prometheus-pushgateway, tc -b in the lab's guest. Loopback only; ends only what it started.
"""
import argparse
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import agents_tls
import control
import node
import startup
import telemetry

CONNECTIONS = (1, 16, 64)
PARTS = ("policies", "validate", "agents", "agents-tls", "events", "get2000", "dryrun", "startup",
         "datapath", "idle", "telemetry", "health")
POLICY = {"qos_policy": {f"job_{i}": {"priority": i % 8, "bw_limit": "60%", "demand": "75%",
                                      "description": "run {n}"} for i in range(9)}}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(probe, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            value = probe()
            if value:
                return value
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f"bench: {what} did not come up within {seconds} s")


def read_file(path):
    with open(path, encoding="utf-8") as f:
        return f.read().strip()


class Process:
    def __init__(self, argv, log):
        self.log = open(log, "wb")
        self.proc = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.log)

    def rss_mib(self):
        for line in read_file(f"/proc/{self.proc.pid}/status").splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def cpu_ms(self):
        with open(f"/proc/{self.proc.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        try:
            out, _ = self.proc.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            out, _ = self.proc.communicate()
        self.log.close()
        return out.decode()


class Stellard(Process):
    def __init__(self, objdir, folder):
        data = f"{folder}/data"
        super().__init__([f"{objdir}/stellard", "--data", data, "--listen", "127.0.0.1:0",
                          "--log-level", "warning"], f"{folder}/stellard.log")
        self.url = wait_for(lambda: os.path.exists(f"{data}/url") and read_file(f"{data}/url"),
                            "stellard")
        self.token = read_file(f"{data}/admin.token")
        self.port = int(self.url.rsplit(":", 1)[1])
        self.auth = f"Authorization: Bearer {self.token}"

    def call(self, method, path, body=None, timeout=90, **headers):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        for k, v in headers.items():
            request.add_header(k.replace("_", "-"), v)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
            return dict(answer.headers), json.loads(text) if text else None


def start_etcd(folder):
    if not shutil.which("etcd"):
        return None, None
    client, peer = free_port(), free_port()
    argv = ["etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls",
            f"http://127.0.0.1:{client}", "--advertise-client-urls", f"http://127.0.0.1:{client}",
            "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
            f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"]
    etcd = Process(argv, f"{folder}/etcd.log")

    def probe():
        with socket.create_connection(("127.0.0.1", client), 1):
            return True

    wait_for(probe, "etcd")
    time.sleep(1.5)
    return etcd, client


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.bin = f"{args.objdir}/tests/bench"

    def load(self, port, conns, method, path, body=None, headers=()):
        argv = [f"{self.bin}/bench_load", "--port", str(port), "--conns", str(conns), "--seconds",
                str(self.args.seconds), "--method", method, "--path", path]
        if body is not None:
            name = f"{self.folder}/body.json"
            with open(name, "w", encoding="utf-8") as f:
                f.write(body)
            argv += ["--body", name]
        for header in headers:
            argv += ["--header", header]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench: {' '.join(argv)}: {done.stderr.decode()}")
        result = json.loads(done.stdout)
        if result["errors"]:
            print(f"  WARNING: {result['errors']} answers were not 2xx (last {result['last_bad_status']})")
        return result

    def policies(self):
        print("durable policy PUT/s and GET/s (validated; revision + audit + event in one transaction)")
        raw = json.loads(subprocess.check_output([f"{self.bin}/bench_commit", self.folder,
                                                  str(self.args.seconds)]))
        print(f"  peer raw SQLite, 1 KiB row a commit: {raw['per_s']:.0f}/s")
        server = Stellard(self.args.objdir, self.folder)
        etcd, etcd_port = start_etcd(self.folder)
        if etcd is None:
            print("  peer etcd: skipped, not installed (Debian package etcd-server)")
        for conns in CONNECTIONS:  # a tenant a connection, so that no two race for one revision
            for i in range(conns):
                server.call("PUT", f"/v1/tenants/x{conns}-{i}", {}, If_None_Match="*")
        bare = Process([f"{self.bin}/bench_bare", self.folder], f"{self.folder}/bare.log")
        bare_port = int(bare.proc.stdout.readline())
        value = base64.b64encode(json.dumps(POLICY).encode()).decode()
        for conns in CONNECTIONS:
            ours = self.load(server.port, conns, "PUT", f"/v1/tenants/x{conns}-{{conn}}/policy",
                             json.dumps(POLICY), (server.auth, "If-Match: {etag}"))
            peer = etcd and self.load(etcd_port, conns, "POST", "/v3/kv/put", json.dumps(
                {"key": base64.b64encode(b"policy").decode(), "value": value}))
            self.row("PUT", conns, ours, peer,
                     self.load(bare_port, conns, "PUT", "/x{conn}", json.dumps(POLICY)), raw)
        for conns in CONNECTIONS:
            ours = self.load(server.port, conns, "GET", f"/v1/tenants/x{conns}-{{conn}}/policy", None,
                             (server.auth,))
            peer = etcd and self.load(etcd_port, conns, "POST", "/v3/kv/range", json.dumps(
                {"key": base64.b64encode(b"policy").decode()}))
            self.row("GET", conns, ours, peer, self.load(bare_port, conns, "GET", "/x{conn}"), None)
        memory = f"  memory after the run: stellard {server.rss_mib():.0f} MiB"
        if etcd:
            memory += f", etcd {etcd.rss_mib():.0f} MiB"
        print(memory)
        for process in filter(None, (server, etcd, bare)):
            process.stop()

    @staticmethod
    def row(what, conns, ours, peer, bare, raw):
        text = (f"  {what} x{conns}: {ours['per_s']:.0f}/s, p50 {ours['p50_us']} us, "
                f"p99 {ours['p99_us']} us")
        if peer:
            text += (f"; etcd {peer['per_s']:.0f}/s, p99 {peer['p99_us']} us: "
                     f"{ours['per_s'] / peer['per_s']:.2f} x etcd")
        text += f"; bare C {bare['per_s']:.0f}/s: {ours['per_s'] / bare['per_s']:.2f} x bare C"
        if raw:
            text += f"; {ours['per_s'] / raw['per_s']:.2f} x raw SQLite"
        print(text, flush=True)

    def validate(self):
        print("parse + checks + rules of a policy, one core, beside jansson's bare parse")
        v = json.loads(subprocess.check_output([f"{self.bin}/bench_validate",
                                                str(self.args.seconds)]))
        for size, label in (("small", "about 1 KiB"), ("large", "1,000 jobs")):
            ours, peer = v[f"{size}_per_s"], v[f"{size}_parse_per_s"]
            print(f"  {label} ({v[f'{size}_bytes']} bytes): {ours:.0f}/s ({1e3 / ours:.3f} ms each); "
                  f"bare parse {peer:.0f}/s: {ours / peer:.2f} x bare parse")

    def health(self):
        print("rules over each batch of 10,000 nodes x 16 queue pairs, one core; a batch is one hold "
              "of the desk's lock")
        h = json.loads(subprocess.check_output([f"{self.bin}/bench_health", "10000", "16", "3"]))
        print(f"  {h['per_s']:.0f} batches/s ({1e5 / h['per_s']:.1f} % of a core for one of each "
              f"node each 10 s), p50 {h['p50_us']} us, p99 {h['p99_us']} us, max {h['max_us']} us; "
              f"{h['resident_bytes_per_node'] / 1024:.0f} KiB a node")

    def agents(self):
        count = self.args.agents
        print(f"upload until {count} dp_sim agents applied and receipted (real HTTP, one load "
              "process, the agents' state folders in memory)")
        server = Stellard(self.args.objdir, self.folder)
        with open(f"{self.args.srcdir}/tests/lab/demo/fabric.json", encoding="utf-8") as f:
            fabric = json.load(f)
        fabric["fabric_profile"].pop("host", None)
        server.call("PUT", "/v1/fabric", fabric, If_None_Match="*")
        server.call("PUT", "/v1/tenants/t", {}, If_None_Match="*")
        tokens = []
        for i in range(count):
            server.call("PUT", f"/v1/nodes/n{i}", {"labels": {"all": "yes"}}, If_None_Match="*")
            tokens.append(server.call("POST", f"/v1/nodes/n{i}/token", {})[1]["token"])
        with open(f"{self.folder}/tokens", "w", encoding="utf-8") as f:
            f.write("\n".join(tokens) + "\n")
        load = Process([f"{self.bin}/bench_agents", "--server", server.url, "--tokens",
                        f"{self.folder}/tokens", "--nodes", str(count)], f"{self.folder}/agents.log")
        line = load.proc.stdout.readline().decode()
        if "ready" not in line:
            raise SystemExit(f"bench: bench_agents did not get ready: {line}")
        self.upload_rounds(server, load)
        load.stop()
        print(f"  memory: stellard {server.rss_mib():.0f} MiB")
        server.stop()

    def agents_tls(self):
        agents_tls.run(self.args.objdir, self.folder, self.args.agents)

    def events(self):
        control.events(self, Stellard, Process, start_etcd)

    def get2000(self):
        control.get2000(self, Stellard, Process)

    def dryrun(self):
        control.dryrun(self, Stellard)

    def startup(self):
        startup.run(self, Stellard, Process, start_etcd, POLICY)

    def datapath(self):
        node.datapath(self)

    def idle(self):
        node.idle(self, Stellard, Process)

    def telemetry(self):
        telemetry.run(self, Stellard, Process, wait_for)

    def upload_rounds(self, server, load):
        self.barrier(server)
        headers, _ = server.call("PUT", "/v1/tenants/t/policy", {"qos_policy": {
            "job": {"priority": 3, "bw_guarantee": "10%"}}}, If_None_Match="*")
        server.call("PUT", "/v1/tenants/t/placements/job", {"selector": {"all": "yes"}},
                    If_None_Match="*")
        self.barrier(server)
        times, cpu = [], (server.cpu_ms(), load.cpu_ms())
        for i in range(self.args.rounds):
            start = time.monotonic()
            headers, _ = server.call("PUT", "/v1/tenants/t/policy", {"qos_policy": {
                "job": {"priority": 3, "bw_guarantee": f"{11 + i}%"}}}, If_Match=headers["ETag"])
            self.barrier(server)
            times.append(time.monotonic() - start)
        times.sort()
        print(f"  {len(times)} uploads: median {times[len(times) // 2] * 1e3:.0f} ms, "
              f"worst {times[-1] * 1e3:.0f} ms until the last node's receipt is durable")
        print(f"  CPU an upload: stellard {(server.cpu_ms() - cpu[0]) / len(times):.0f} ms, all agents "
              f"together {(load.cpu_ms() - cpu[1]) / len(times):.0f} ms (of one core: they are one process)")

    @staticmethod
    def barrier(server):
        for _ in range(20):
            _, answer = server.call("GET", "/v1/generations/current?wait=applied&timeout=20s")
            if answer["applied"]:
                return
        raise SystemExit(f"bench: never applied: {json.dumps(answer)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--objdir", required=True)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=10000, help="that send telemetry")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", choices=PARTS)
    args = parser.parse_args()
    for name in PARTS:
        if args.only and args.only != name:
            continue
        with tempfile.TemporaryDirectory(prefix="stellar-bench-") as folder:
            getattr(Bench(args, folder), name.replace("-", "_"))()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
