#!/usr/bin/env python3
"""Agents' own metrics: Prometheus learns from the server whom to ask, asks the agent, and answers queries."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from lib import arguments, must, run

WAIT_S = 90


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def process(log, words):
    with open(log, "ab") as out:
        proc = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield proc
    finally:
        proc.terminate()
        try:
            proc.wait(30)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


@contextlib.contextmanager
def agent(server, folder, *more, node="n1"):
    token = os.path.join(folder, "token")
    with open(token, "w", encoding="utf-8") as out:
        out.write(server.node(node))
    with process(os.path.join(folder, "agent.log"),
                 [os.path.join(arguments().objdir, "stellar-agent"), "--provider", "sim", "--node", node,
                  "--server", f"http://127.0.0.1:{server.port}", "--token-file", token,
                  "--state-dir", os.path.join(folder, "state"), *more]) as proc:
        yield proc


def page(port, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def until(look):
    """What look() says once it says something."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError, urllib.error.URLError):
            seen = look()
            if seen:
                return seen
        time.sleep(0.2)
    return None


def a_page(tap, server):
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with agent(server, folder, "--metrics-listen", f"127.0.0.1:{port}", "--telemetry", "off") as proc:
            text = until(lambda: "stellar_qp_" in page(port) and page(port)) or ""
            tap.ok(re.search(r'^stellar_qp_tx_bytes_total\{node="n1",device="sim0",qp="17",pid="1000"\} [1-9]\d*$',
                             text, re.M), "a queue pair's bytes are on the page", text[:2000])
            families = re.findall(r"^# TYPE (\S+) ", text, re.M)
            tap.equal(len(families), len(set(families)), "each metric has one block")
            if shutil.which("promtool"):
                done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                                      text=True, timeout=60, check=False)
                tap.equal((done.returncode, done.stderr), (0, ""), "promtool has nothing to say about it")
            else:
                tap.ok(True, "promtool has nothing to say about it # SKIP promtool (prometheus) is not installed")
            try:
                page(port, "/")
                tap.ok(False, "another path is not there")
            except urllib.error.HTTPError as e:
                tap.equal(e.code, 404, "another path is not there")
            tap.equal(os.listdir(os.path.join(folder, "state")).count("telemetry"), 0,
                      "telemetry that is off is kept nowhere")
            tap.equal(must(server.get("/v1/telemetry/latest?node=n1"), 200).json["items"], [],
                      "and is not sent")
            proc.terminate()
            tap.equal(proc.wait(30), 0, "SIGTERM ends an agent with metrics as any other")
            with open(os.path.join(folder, "agent.log"), encoding="utf-8") as log:
                tap.ok("stopping; the node stays as it is" in log.read(), "which says so")


def looks_and_batches(tap, server):
    with tempfile.TemporaryDirectory() as folder:
        with agent(server, folder, "--telemetry-interval", "200ms", "--telemetry-batch", "400ms"):
            def points():
                answer = must(server.get("/v1/telemetry?node=n1&kind=port&device=sim0/0&metric=tx_bytes&step=1s"), 200)
                return len(answer.json["series"]) == 1 and answer.json["series"][0]["points"]
            tap.ok(until(points), "short batches come soon")


def by_prometheus(tap, server):
    if not shutil.which("prometheus"):
        tap.ok(True, "Prometheus asks the agents # SKIP prometheus is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        config, secret = os.path.join(folder, "prometheus.yml"), os.path.join(folder, "secret")
        ports = [free_port(), free_port()]
        with open(secret, "w", encoding="utf-8") as out:
            out.write(server.token("auditor")["token"])
        with open(config, "w", encoding="utf-8") as out:
            json.dump({"scrape_configs": [{
                "job_name": "nodes", "scrape_interval": "1s",
                "http_sd_configs": [{"url": f"http://127.0.0.1:{server.port}/v1/http-sd", "refresh_interval": "1s",
                                     "authorization": {"type": "Bearer", "credentials_file": secret}}],
                "relabel_configs": [{"action": "labelmap", "regex": "__meta_stellar_label_(.+)"}]}]}, out)

        def query(text):
            answer = json.loads(page(ports[1], "/api/v1/query?query=" + urllib.parse.quote(text)))
            return answer["data"]["result"]
        with agent(server, folder, "--metrics-listen", f"127.0.0.1:{ports[0]}"), \
                process(os.path.join(folder, "prometheus.log"),
                        ["prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{ports[1]}",
                         f"--storage.tsdb.path={folder}/data"]):
            tag = must(server.get("/v1/nodes/n1"), 200).etag
            must(server.put("/v1/nodes/n1", {"labels": {"rack": "a"},
                                             "metrics_address": f"127.0.0.1:{ports[0]}"}, tag), 200)
            found = until(lambda: query('rate(stellar_port_tx_bytes_total{node="n1",device="sim0/0",rack="a"}[20s])'))
            log = open(os.path.join(folder, "prometheus.log"), encoding="utf-8").read()
            tap.ok(found and len(found) == 1 and float(found[0]["value"][1]) > 0,
                   "Prometheus found the agent at the server and counts its bytes", (found, log[-2000:]))
            tap.equal([r["value"][1] for r in query('up{job="nodes",node="n1"}')], ["1"], "the agent is up")


run([a_page, looks_and_batches, by_prometheus])
