#!/usr/bin/env python3
"""Problems by their codes: those that no test of a route comes by on its way. tests/lint/coverage.py
says which codes are asserted nowhere."""
import hashlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from lib import CALL_S, POLICY, Answer, fixture, inventory, must, run

LINK = {"current_gen": 4, "max_gen": 4, "current_width": 16, "max_width": 16}


def refused(tap, answer, status, code, sentence):
    tap.ok(answer is not None and answer.status == status and answer.json["code"] == code and
           answer.headers["Content-Type"] == "application/problem+json" and answer.json["detail"],
           f"{code}: {sentence}", answer)


def raw(server, head, body=b""):
    """One request as these bytes; the connection ends after the answer's body."""
    with socket.create_connection(("127.0.0.1", server.port), CALL_S) as s:
        s.sendall((head + f"\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n\r\n").encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += s.recv(65536)
        top, _, rest = data.partition(b"\r\n\r\n")
        lines = top.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:])
        while len(rest) < int(headers["Content-Length"]):
            rest += s.recv(65536)
        return Answer(int(lines[0].split()[1]), headers, rest)


def heads_and_queries(tap, server):
    fixture(server)
    key = {"Idempotency-Key": "k1"}
    must(server.call("POST", "/v1/tokens", {"role": "auditor"}, key), 201)
    refused(tap, server.call("POST", "/v1/tokens", {"role": "operator"}, key), 422,
            "idempotency-key-reused", "a key with another request")
    for text, status in (("k" * 128, 201), ("k" * 129, 400), ("", 400)):
        answer = server.call("POST", "/v1/tokens", {"role": "auditor"}, {"Idempotency-Key": text})
        if status == 400:
            refused(tap, answer, 400, "invalid-header", f"a key of {len(text)} bytes")
        else:
            tap.status(answer, status, f"a key of {len(text)} bytes is one")
    for method, path in (("POST", "/v1/nodes/a%20b/token"), ("POST", "/v1/nodes/%C3%A9/join-token"),
                         ("GET", "/v1/switches/" + "x" * 300)):
        refused(tap, server.call(method, path), 422, "invalid-name", path[:30])
    for kind in (None, "text/plain", "application/merge-patch+json"):
        headers = {"If-Match": "*", "Content-Type": kind or ""}
        refused(tap, server.call("PUT", "/v1/tenants/a", {}, headers), 415,
                "unsupported-media-type", f"a document that is said to be {kind}")
    query = "?override=bw-limit-floor"
    refused(tap, server.put("/v1/tenants/a/policy" + query, POLICY, "*"), 400, "reason-required",
            "an override of a policy")
    archive = {"format": "stellar-export", "version": 1, "content": {}}
    refused(tap, server.call("POST", "/v1/import" + query, archive), 400, "reason-required",
            "an override of an import")
    refused(tap, raw(server, "POST /v1/tokens HTTP/1.1\r\nTransfer-Encoding: gzip"), 501,
            "not-implemented", "an encoding that is not chunked")
    path = f"/v1/firmware/images?component=mlx5_core&version=1.2.3&sha256={hashlib.sha256(b'x').hexdigest()}"
    refused(tap, raw(server, f"POST {path} HTTP/1.1\r\nContent-Type: application/octet-stream\r\n"
                     "Transfer-Encoding: chunked", b"1\r\nx\r\n0\r\n\r\n"), 411, "length-required",
            "a file in chunks")
    wrong = server.call("POST", "/v1/firmware/images?sha256=0", b"x",
                        {"Content-Type": "application/octet-stream"})
    refused(tap, wrong, 400, "invalid-parameter", "an upload without what it is")
    tap.ok(len(wrong.json["errors"]) == 3 and {e["rule"] for e in wrong.json["errors"]} == {"parameter"},
           "every parameter is told at once", wrong)


def sizes(tap, server):
    fixture(server)
    blank = json.dumps(POLICY).encode()
    for size, status in ((1 << 20, 200), ((1 << 20) + 1, 413)):
        answer = server.call("PUT", "/v1/tenants/a/policy", blank.ljust(size), {"If-Match": "*"})
        if status == 413:
            refused(tap, answer, 413, "too-large", f"a body of {size} bytes")
        else:
            tap.status(answer, status, f"a body of {size} bytes is taken")
    jobs = {f"j{i}": {"priority": 2, "description": "x" * 900} for i in range(1000)}
    must(server.put("/v1/tenants/b/policy", {"qos_policy": jobs}), 201)
    more = {f"k{i}": v for i, v in enumerate(jobs.values())}
    grown = server.call("PATCH", "/v1/tenants/b/policy", {"qos_policy": more},
                        {"If-Match": "*", "Content-Type": "application/merge-patch+json"})
    refused(tap, grown, 422, "too-large", "a patch that makes a document larger than a body may be")
    tap.equal(len(server.get("/v1/tenants/b/policy").json["qos_policy"]), 1000, "nothing was stored")


def archive_of(count, text):
    return {"format": "stellar-export", "version": 1, "content": {
        "tenants": [{"name": f"t{i}", "tenant": {"description": text}} for i in range(count)]}}


def running(server, started):
    return must(server.get(started.json["location"]), 200).json


def ended(server, started):
    end = time.monotonic() + CALL_S
    while running(server, started)["state"] == "running":
        assert time.monotonic() < end, "an import does not end"
        time.sleep(0.02)


def operations_that_are_many_or_late(tap, server):
    # What comes while one is being stored waits for the writer, and begins at once, together.
    for attempt in range(8):
        long = must(server.call("POST", "/v1/import", archive_of(10000, f"{attempt}")), 202)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: server.call("POST", "/v1/import", archive_of(1, "x")),
                                    range(8)))
        for started in [long, *(a for a in answers if a.status == 202)]:
            ended(server, started)
        answers = [a for a in answers if a.status != 202]
        if answers:
            break
    refused(tap, answers[0] if answers else None, 503, "busy", "one more import than may run")
    late = None
    for attempt in range(16):  # between the end of the reading and the end of the storing
        started = must(server.call("POST", "/v1/import", archive_of(5000, f"late {attempt}")), 202)
        while (now := running(server, started))["state"] == "running" and \
                now["progress"]["done"] < now["progress"]["total"]:
            time.sleep(0.005)
        time.sleep(0.01 * attempt)
        late = server.call("POST", started.json["location"] + ":cancel")
        ended(server, started)
        if late.status == 409 and late.json["code"] == "too-late":
            break
    refused(tap, late, 409, "too-late", "an import that is being stored")
    tap.ok(running(server, started)["state"] == "succeeded" and
           server.get("/v1/tenants/t4999").json["description"].startswith("late"),
           "it goes on to its end")


def gpu_node(name):
    """Hardware that passes every rule."""
    report = inventory(name)
    report["gpus"] = [{"id": "0000:07:00.0", "model": "NVIDIA A100-SXM4-80GB", "pcie": dict(LINK),
                       "memory_bytes": 85899345920, "nvlink_bps": 4800000000000}]
    report["ports"][0].update(rdma_device="solar0", pcie=dict(LINK))
    report["cpu"] = {"model": "Neoverse-N1", "architecture": "aarch64", "iommu": "smmuv3"}
    return report


def hardware_rules(tap, server):
    """Each rule that hardware is held against, at one value that fails it."""
    token = server.node("n1")
    must(server.call("PUT", "/v1/agent/inventory", gpu_node("n1"), token=token), 200)
    tap.equal(server.get("/v1/nodes/n1/findings").json["items"], [], "good hardware has no finding")
    slow = {"current_gen": 3, "max_gen": 4, "current_width": 16, "max_width": 16}
    for rule, gpu, cpu in (
            ("compat-gpu-model", {"model": "NVIDIA V100-SXM2-32GB"}, {}),
            ("compat-gpu-nvlink", {"nvlink_bps": 4799999999999}, {}),
            ("compat-gpu-pcie", {"pcie": slow}, {}),
            ("compat-cpu-smmu", {}, {"iommu": "smmuv2"})):
        report = gpu_node("n1")
        report["gpus"][0].update(gpu)
        report["cpu"].update(cpu)
        answer = must(server.call("PUT", "/v1/agent/inventory", report, token=token), 200)
        tap.equal({(f["rule"], f["severity"]) for f in answer.json["findings"]}, {(rule, "warning")},
                  f"{rule} and nothing else")
    made = must(server.put("/v1/switches/sw1", {"pfc": False, "ecn": True}), 201)
    tap.equal([(f["rule"], f["severity"]) for f in made.json["findings"]],
              [("compat-switch-pfc", "warning")], "a switch without priority flow control")


run([heads_and_queries, sizes, operations_that_are_many_or_late, hardware_rules])
