#!/usr/bin/env python3
"""First paint, a table of 10,000 nodes, and the size of the web UI, beside Prometheus' page of graphs and a bare one.

web.py --srcdir S --objdir O [--rounds N] [--nodes N]
Pages are asked in turn, each by a browser that has nothing of it yet. Nothing is asserted: machines are noisy.
Loopback only; ends only what it started.
"""
import argparse
import concurrent.futures
import glob
import http.client
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

from bench import Process, Stellard, free_port, wait_for

NAME, PASSWORD = "bench", "correct horse battery"
PAINT_MS, TABLE_MS, BUNDLE = 150, 300, 204800  # what is wanted
CLIENTS = 8
DRIVE_S = 900
PLAIN = b"<!doctype html><html lang=en><title>plain</title><h1>plain</h1><p>A page without a script."


class Plain(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PLAIN)))
        self.end_headers()
        self.wfile.write(PLAIN)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def put_nodes(server, names):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for name in names:
        body = json.dumps({"labels": {"rack": f"r{int(name.split('-')[1]) % 100}", "row": name[-1]}})
        client.request("PUT", f"/v1/nodes/{name}", body, {
            "Authorization": f"Bearer {server.token}", "Content-Type": "application/json", "If-None-Match": "*"})
        answer = client.getresponse()
        text = answer.read()
        if answer.status != 201:
            raise SystemExit(f"bench: {name}: {answer.status} {text.decode()}")
    client.close()


def start_prometheus(folder):
    if not shutil.which("prometheus"):
        print("  peer Prometheus: skipped, not installed (Debian package prometheus)")
        return None, None
    port = free_port()
    with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as f:
        f.write("global: {scrape_interval: 1m}\n")
    peer = Process(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                    f"--web.listen-address=127.0.0.1:{port}"], f"{folder}/prometheus.log")

    def ready():
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        client.request("GET", "/-/ready")
        return client.getresponse().status == 200

    wait_for(ready, "prometheus")
    return peer, f"http://127.0.0.1:{port}/graph"


def spread(values):
    return f"{statistics.median(values):.0f} ms [{min(values):.0f}-{max(values):.0f}]"


def told(result, nodes):
    print(f"first contentful paint, nothing cached, median of {len(result['login'])} in turn; target {PAINT_MS} ms")
    for what, key in (("log in", "login"), ("overview", "overview")):
        text = f"  {what}: {spread(result[key])}"
        for peer, values in result["peers"].items():
            if values:
                text += f"; {statistics.median(result[key]) / statistics.median(values):.2f} x {peer}"
        print(text)
    for peer, values in result["peers"].items():
        print(f"  peer {peer}: {spread(values)}")
    tables = result["tables"]
    gaps = sorted(gap for table in tables for gap in table["gaps"])
    print(f"table of {nodes} nodes, median of {len(tables)}; target {TABLE_MS} ms")
    print(f"  from the address to rows that can be used: {spread([t['firstMs'] for t in tables])}")
    print(f"  to every row: {spread([t['readyMs'] for t in tables])}; of that "
          f"{spread([t['firstAskedMs'] for t in tables])} until the nodes are asked for, "
          f"{spread([t['readMs'] for t in tables])} for {tables[0]['answers']} answers")
    print(f"  scrolled from end to end in {len(tables[0]['gaps'])} steps: a frame takes {gaps[len(gaps) // 2]:.1f} ms, "
          f"p95 {gaps[int(len(gaps) * 0.95)]:.1f} ms, at most {gaps[-1]:.1f} ms; over 50 ms: "
          f"{sum(gap > 50 for gap in gaps)} of {len(gaps)}; without rows: {sum(t['blank'] for t in tables)}")
    print(f"  from a key in the filter to its one row: {spread([t['filterMs'] for t in tables])}")


def size(objdir):
    dist = f"{objdir}/webui/dist"
    total = 0
    for path in glob.glob(f"{dist}/**", recursive=True):
        if os.path.isfile(path) and not path.endswith((".br", ".gz")):
            sizes = [os.path.getsize(p) for p in (path, path + ".br", path + ".gz") if os.path.exists(p)]
            total += min(sizes)
    print(f"all files of the web UI, compressed: {total} bytes; target {BUNDLE}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--objdir", default="obj")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--nodes", type=int, default=10000)
    args = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("bench: no Chromium; run: ./configure --install-deps")
    folder = tempfile.mkdtemp(prefix="stellar-bench-")
    started, plain = [], http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain)
    try:
        size(args.objdir)
        server = Stellard(args.objdir, folder)
        started.append(server)
        server.call("POST", "/v1/users", {"name": NAME, "role": "admin", "password": PASSWORD})
        names = [f"node-{i}" for i in range(args.nodes)]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda part: put_nodes(server, part), [names[i::CLIENTS] for i in range(CLIENTS)]))
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        peers = {"a page without a script": f"http://127.0.0.1:{plain.server_port}/"}
        prometheus, graph = start_prometheus(folder)
        if prometheus:
            started.append(prometheus)
            peers["Prometheus' graphs"] = graph
        what = {"url": server.url, "name": NAME, "password": PASSWORD, "peers": peers, "rounds": args.rounds,
                "rows": args.nodes}
        env = dict(os.environ, STELLAR_CHROMIUM=chromium, STELLAR_BENCH=json.dumps(what))
        out = subprocess.run(["node", "tests/bench.mjs"], cwd=f"{args.objdir}/webui", env=env, timeout=DRIVE_S,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        if out.returncode != 0:
            raise SystemExit("bench: the drive of the browser failed")
        told(json.loads(out.stdout), args.nodes)
    finally:
        plain.server_close()
        for process in started:
            process.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
