"""What nodes count, taken in beside VictoriaMetrics and prometheus-pushgateway: the same values, the same client."""
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

QPS = 16
BATCH_S = 10
ROUNDS = 2  # of the batches that are sent as fast as they are taken
CONNECTIONS = 16
START_S = 120
SETTLE_S = 8  # until what was taken is on disk
READS_PER_S = 50
QUERY_CONNECTIONS = 4


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def disk_bytes(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def send(bench, port, to, start_us, rounds, *more):
    done = subprocess.run([f"{bench.bin}/bench_telemetry", "--port", str(port), "--to", to, "--nodes",
                           str(bench.args.nodes), "--rounds", str(rounds), "--conns", str(CONNECTIONS), "--start-us",
                           str(start_us), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: bench_telemetry to {to}: {done.stderr.decode()}")
    result = json.loads(done.stdout)
    if result["errors"]:
        print(f"  WARNING: {result['errors']} batches were not taken (last {result['last_bad_status']})")
    return result


def flood(bench, process, port, to, start_us, *more):
    """As fast as they are taken; what it costs."""
    cpu = process.cpu_ms()
    result = send(bench, port, to, start_us, ROUNDS, *more)
    time.sleep(SETTLE_S)
    result["cpu_ms"] = (process.cpu_ms() - cpu) / result["batches"]
    result["values_per_s"] = result["values"] / result["seconds"]
    return result


def row(who, r, extra, ours=None):
    text = (f"  {who}: {r['per_s']:.0f} batches/s ({r['per_s'] * QPS:.0f} queue pairs/s, {r['values_per_s'] / 1e6:.2f} "
            f"million values/s), p99 {r['p99_us'] / 1e3:.1f} ms, {r['cpu_ms']:.3f} ms of CPU a batch{extra}")
    if ours:
        text += (f": ours {ours['per_s'] / r['per_s']:.2f} x its batches/s, {ours['cpu_ms'] / r['cpu_ms']:.2f} x its CPU "
                 "a batch")
    print(text, flush=True)


def make_nodes(bench, server):
    count = bench.args.nodes
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        def make(i):
            server.call("PUT", f"/v1/nodes/n{i}", {}, If_None_Match="*")
            return server.call("POST", f"/v1/nodes/n{i}/token", {})[1]["token"]
        tokens = list(pool.map(make, range(count)))
    path = f"{bench.folder}/tokens"
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(tokens) + "\n")
    return path


def reads(bench, port, seconds, path, headers, conns, rate=None):
    argv = [f"{bench.bin}/bench_load", "--port", str(port), "--conns", str(conns), "--seconds", str(seconds),
            "--method", "GET", "--path", path]
    for header in headers:
        argv += ["--header", header]
    if rate:
        argv += ["--rate", str(rate)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE)


def read_result(process):
    result = json.loads(process.communicate(timeout=120)[0])
    if result["errors"]:
        print(f"  WARNING: {result['errors']} answers were not 2xx (last {result['last_bad_status']})")
    return result


def paced(bench, server, start_us, tokens):
    """As the fleet sends: each node once in ten seconds, while somebody reads the API."""
    path, cpu = "/v1/nodes?page_size=100", server.cpu_ms()
    alone = read_result(reads(bench, server.port, 5, path, (server.auth,), 4, READS_PER_S))
    cpu = server.cpu_ms()
    readers = reads(bench, server.port, BATCH_S, path, (server.auth,), 4, READS_PER_S)
    result = send(bench, server.port, "stellar", start_us, 1, "--tokens", tokens, "--rate",
                  str(bench.args.nodes / BATCH_S))
    together = read_result(readers)
    print(f"  {bench.args.nodes} nodes, each every {BATCH_S} s: {result['batches'] / result['seconds']:.0f} batches/s taken, "
          f"p99 {result['p99_us'] / 1e3:.1f} ms, {(server.cpu_ms() - cpu) / result['seconds'] / 10:.0f} % of a core with "
          f"{READS_PER_S} reads/s of 100 nodes beside it: their p99 {together['p99_us'] / 1e3:.1f} ms, alone "
          f"{alone['p99_us'] / 1e3:.1f} ms", flush=True)


def queries(bench, server, start_us, victoria_port):
    begin = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start_us / 1e6 - 60))
    ours = read_result(reads(bench, server.port, bench.args.seconds, "/v1/telemetry?node=n{conn}&kind=qp&metric=tx_bytes"
                             f"&step=10s&from={begin}", (server.auth,), QUERY_CONNECTIONS))
    text = (f"  a node's {QPS} queue pairs in steps of 10 s, {QUERY_CONNECTIONS} at a time: {ours['per_s']:.0f}/s, "
            f"p99 {ours['p99_us'] / 1e3:.1f} ms")
    if victoria_port:
        peer = read_result(reads(
            bench, victoria_port, bench.args.seconds,
            "/api/v1/query_range?query=rate(stellar_qp_tx_bytes_total%7Bnode%3D%22n{conn}%22%7D%5B10s%5D)"
            f"&start={start_us // 1000000 - 60}&end={int(time.time())}&step=10s", (), QUERY_CONNECTIONS))
        text += (f"; VictoriaMetrics {peer['per_s']:.0f}/s, p99 {peer['p99_us'] / 1e3:.1f} ms: "
                 f"{ours['per_s'] / peer['per_s']:.2f} x its queries/s")
    print(text, flush=True)


def run_victoria(bench, start, wait_for, ours, start_us):
    program = shutil.which("victoria-metrics")
    if not program:
        print("  peer VictoriaMetrics: skipped, not installed (Debian package victoria-metrics)")
        return 0
    port = free_port()
    victoria = start([program, f"-storageDataPath={bench.folder}/victoria", f"-httpListenAddr=127.0.0.1:{port}",
                      "-search.latencyOffset=0s", "-http.connTimeout=1h"], f"{bench.folder}/victoria.log")
    wait_for(lambda: socket.create_connection(("127.0.0.1", port), 1), "victoria-metrics", START_S)
    result = flood(bench, victoria, port, "victoria", start_us)
    urllib.request.urlopen(f"http://127.0.0.1:{port}/internal/force_flush", timeout=60).read()
    row("VictoriaMetrics", result, f", {disk_bytes(bench.folder + '/victoria') / result['values']:.2f} bytes on disk a value, "
        f"{victoria.rss_mib():.0f} MiB", ours)
    return port


def run_pushgateway(bench, start, wait_for, ours, start_us):
    program = shutil.which("prometheus-pushgateway")
    if not program:
        print("  peer pushgateway: skipped, not installed (Debian package prometheus-pushgateway)")
        return
    port = free_port()
    # It checks each push against all the others otherwise: seconds a push, with thousands of nodes.
    gateway = start([program, f"--web.listen-address=127.0.0.1:{port}", "--push.disable-consistency-check"],
                    f"{bench.folder}/pushgateway.log")
    wait_for(lambda: socket.create_connection(("127.0.0.1", port), 1), "prometheus-pushgateway", START_S)
    result = flood(bench, gateway, port, "pushgateway", start_us)
    row("pushgateway (keeps the last value alone, no disk; its check of consistency off)", result,
        f", {gateway.rss_mib():.0f} MiB", ours)
    gateway.stop()


def compare(bench, server, start, wait_for):
    tokens = make_nodes(bench, server)
    start_us = (int(time.time()) - (ROUNDS + 1) * BATCH_S) * 1000000
    ours = flood(bench, server, server.port, "stellar", start_us, "--tokens", tokens)
    raw = disk_bytes(f"{bench.folder}/data/telemetry/raw")
    row("stellard", ours, f", {raw / ours['values']:.2f} bytes on disk a value, {server.rss_mib():.0f} MiB")
    paced(bench, server, start_us + ROUNDS * BATCH_S * 1000000, tokens)
    run_pushgateway(bench, start, wait_for, ours, start_us)
    queries(bench, server, start_us, run_victoria(bench, start, wait_for, ours, start_us))


def run(bench, stellard, process, wait_for):
    print(f"{bench.args.nodes} nodes' batches of {QPS} queue pairs x 3 counters x 10 samples, {CONNECTIONS} connections")
    started = [stellard(bench.args.objdir, bench.folder)]

    def start(*words):
        started.append(process(*words))
        return started[-1]
    try:
        compare(bench, started[0], start, wait_for)
    finally:
        for one in started:
            if one.proc.poll() is None:
                one.stop()
