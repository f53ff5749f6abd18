#!/usr/bin/env python3
"""What the server says of itself, and whom it tells Prometheus to ask."""
import http.client
import json
import os
import shutil
import subprocess
import time

from lib import fixture, must, run


def of_itself(tap, server):
    agent, _ = fixture(server)
    must(agent.receipt(), 201)
    stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    stream.request("GET", "/v1/events", headers={"Accept": "text/event-stream",
                                                 "Authorization": "Bearer " + server.admin})
    tap.equal(stream.getresponse().status, 200, "a stream is open")
    seen = must(server.get("/v1/server"), 200).json
    tap.equal((seen["connections"]["streams"], seen["connections"]["open"] >= 2), (1, True),
              "streams and connections are counted")
    tap.equal(seen["generation"], must(server.get("/v1/generations/current"), 200).json["generation"],
              "the generation")
    newest = must(server.get("/v1/audit?page_size=1"), 200).json["items"][0]
    tap.equal(seen["audit"], {"id": newest["id"], "hash": newest["hash"]}, "the end of the audit")
    anchor = f"{seen['audit']['id']}:{seen['audit']['hash']}"
    tap.ok(must(server.get(f"/v1/audit:verify?anchor={anchor}"), 200).json["valid"],
           "which is an anchor")
    size = os.path.getsize(os.path.join(server.data, "stellar.db"))
    tap.ok(seen["store"]["file_bytes"] == size and seen["store"]["log_bytes"] > 0 and
           seen["store"]["queue_depth"] == 0, "sizes of the store", (seen["store"], size))
    tap.ok(seen["started"] < seen["time"] and "certificate" not in seen, "since when; no TLS here")
    text = subprocess.run([f"{server.args.objdir}/stellard", "--version"], check=True, timeout=30,
                          capture_output=True, text=True).stdout
    tap.ok(seen["version"] in text.split(), "the version", (seen["version"], text))
    stream.close()


def whom_to_ask(tap, server):
    tap.equal(must(server.get("/v1/http-sd"), 200).json, [], "no nodes, none to ask")
    for i in range(3):
        must(server.put(f"/v1/nodes/n{i}", {"labels": {"rack": "ab"[i % 2], "gpu-model.x": "h"},
                                            "metrics_address": f"10.0.0.{i}:9100"}), 201)
    must(server.put("/v1/nodes/n3", {"labels": {"rack": "a"}}), 201)
    answer = must(server.get("/v1/http-sd"), 200)
    tap.equal(answer.headers["Content-Type"], "application/json", "the type that Prometheus wants")
    tap.equal(answer.json[1], {"targets": ["10.0.0.1:9100"], "labels": {
        "node": "n1", "__meta_stellar_sync": "idle", "__meta_stellar_label_rack": "b",
        "__meta_stellar_label_gpu_model_x": "h"}}, "a target")
    tap.equal([t["labels"]["node"] for t in answer.json], ["n0", "n1", "n2"],
              "nodes with an address only")
    some = must(server.get("/v1/http-sd?selector=rack%3Da"), 200).json
    tap.equal([t["labels"]["node"] for t in some], ["n0", "n2"], "chosen by label")
    bad = server.put("/v1/nodes/n4", {"metrics_address": "10.0.0.4"})
    tap.ok(bad.status == 422 and bad.json["errors"][0]["pointer"] == "/metrics_address" and
           "port" in bad.json["errors"][0]["message"], "an address without port is refused", bad)
    must(server.put("/v1/nodes/n1", {}, '"1"'), 200)
    tap.equal(len(must(server.get("/v1/http-sd"), 200).json), 2, "one that gives it up is gone")


def all_of_them(tap, server):
    """More than are looked at in one go."""
    nodes = [{"name": f"n{i:04}", "node": {"metrics_address": f"10.{i // 250}.0.{i % 250 + 1}:9100"}}
             for i in range(1001)]
    archive = {"format": "stellar-export", "version": 1, "content": {"nodes": nodes}}
    must(server.call("POST", "/v1/import", archive), 202)
    end = time.monotonic() + 30
    while len(must(server.get("/v1/http-sd"), 200).json) != 1001:
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    names = [t["labels"]["node"] for t in must(server.get("/v1/http-sd"), 200).json]
    tap.equal(names, [n["name"] for n in nodes], "each once, in order, in one answer")


def by_prometheus(tap, server):
    if not shutil.which("promtool"):
        tap.ok(True, "Prometheus takes the list # SKIP promtool (prometheus) is not installed")
        return
    must(server.put("/v1/nodes/n1", {"labels": {"rack": "a"}, "metrics_address": "10.0.0.1:9100"}), 201)
    config = os.path.join(server.data, "prometheus.yml")
    secret = os.path.join(server.data, "prometheus.token")
    with open(secret, "w", encoding="utf-8") as f:
        f.write(server.token("auditor")["token"])
    with open(config, "w", encoding="utf-8") as f:
        json.dump({"scrape_configs": [{
            "job_name": "nodes",
            "http_sd_configs": [{"url": f"http://127.0.0.1:{server.port}/v1/http-sd",
                                 "authorization": {"type": "Bearer", "credentials_file": secret}}],
            "relabel_configs": [{"action": "labelmap", "regex": "__meta_stellar_label_(.+)"}]}]}, f)
    done = subprocess.run(["promtool", "check", "service-discovery", "--timeout=5s", config, "nodes"],
                          capture_output=True, text=True, timeout=60, check=False)
    try:
        labels = json.loads(done.stdout)[0]["labels"]
    except (ValueError, LookupError):
        labels = {}
    tap.equal({k: labels.get(k) for k in ("node", "rack", "__address__")},
              {"node": "n1", "rack": "a", "__address__": "10.0.0.1:9100"}, "Prometheus takes the list")


run([of_itself, whom_to_ask, all_of_them, by_prometheus])
