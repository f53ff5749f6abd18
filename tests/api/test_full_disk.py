#!/usr/bin/env python3
"""The store's file cannot grow: uploads get a problem, reads go on, nothing answered is lost."""
import json
import os
import resource
import subprocess
import threading
import time

from lib import CALL_S, FABRIC, Server, Tap, arguments, finish, must, planned

ROOM_BYTES = 3 * 1024 * 1024


def no_room():
    """For the child, which must live with the signal of a file that grows over the limit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM_BYTES, ROOM_BYTES))


def policy(number):
    return {"qos_policy": {f"job_{i}": {"priority": 3, "description": f"{number} " + "x" * 1000}
                           for i in range(40)}}


def archive(count, name="t"):
    return {"format": "stellar-export", "version": 1, "content": {
        "tenants": [{"name": f"{name}{i}", "tenant": {}} for i in range(count)]}}


def ended(server, location):
    end = time.monotonic() + CALL_S
    while time.monotonic() < end:
        operation = must(server.get(location), 200).json
        if operation["state"] != "running":
            return operation
        time.sleep(0.01)
    return operation


def bring(server, body):
    return server.call("POST", "/v1/import", body)


def operations(tap, args):
    """Not even the end of an operation can be stored."""
    server = Server(args)
    server.start()
    limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    locations = []
    for _ in range(4):
        begun = must(bring(server, archive(20000)), 202)  # long enough to lose its room
        resource.prlimit(server.proc.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        operation = ended(server, begun.json["location"])
        tap.equal(operation["state"], "interrupted",
                  "an operation whose end cannot be stored does not claim to run")
        tap.equal(server.get("/v1/tenants").json["items"], [], "and nothing of it is stored")
        refused = [bring(server, archive(1, "x")) for _ in range(5)]
        tap.ok(all(a.status in (500, 503, 507) for a in refused), "none begins now", refused)
        resource.prlimit(server.proc.pid, resource.RLIMIT_FSIZE, limit)
        locations.append(begun.json["location"])
    first = bring(server, archive(3))
    end = time.monotonic() + CALL_S
    while first.status == 503 and time.monotonic() < end:
        first = bring(server, archive(3))
    tap.status(first, 202, "with room again an operation begins")
    tap.equal(ended(server, first.json["location"])["state"], "succeeded", "and ends well")
    states = {ended(server, location)["state"] for location in locations}
    names = [t["name"] for t in server.get("/v1/tenants").json["items"]]
    tap.equal((states, names), ({"interrupted"}, ["t0", "t1", "t2"]),
              "those before stay what they were, and what was refused was not begun")
    finish(tap, server, "operations: the server ends cleanly")


def small_disk(tap, args):
    """A file system of its own with no room left."""
    if os.geteuid() != 0:
        print("ok - a small file system # SKIP needs root")
        return
    server = Server(args)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", server.data], check=False).returncode != 0:
        print("ok - a small file system # SKIP no tmpfs can be mounted")
        return
    try:
        server.start()
        must(server.put("/v1/tenants/a", {}), 201)
        filler = os.path.join(server.data, "filler")
        with open(filler, "wb", buffering=0) as f:
            try:
                while f.write(bytes(65536)):
                    pass
            except OSError:
                pass
        etag, answers = None, []
        for number in range(100):
            answer = server.put("/v1/tenants/a/policy", policy(number), etag)
            etag = answer.etag if answer.status in (200, 201) else etag
            answers.append(answer)
            if answer.status >= 500:
                break
        full = answers[-1]
        tap.ok(full.status == 507 and full.json["code"] == "storage-full" and server.data not in str(full.body),
               "a change that the disk has no room for is 507", full)
        begun = bring(server, archive(2000))
        tap.ok(begun.status == 507 or
               ended(server, begun.json["location"])["state"] in ("failed", "interrupted"),
               "an import does not succeed", begun)
        copied = server.call("POST", "/v1/backups")
        tap.ok(copied.status == 507 or
               ended(server, copied.json["location"])["state"] in ("failed", "interrupted"),
               "nor a backup", copied)
        os.unlink(filler)
        tap.status(server.put("/v1/tenants/a/policy", policy(999), etag), 200 if etag else 201,
                   "with room again changes go on")
        tap.ok(must(server.get("/v1/audit:verify"), 200).json["valid"], "and the log is whole")
        tap.equal([t["name"] for t in server.get("/v1/tenants").json["items"]], ["a"], "nothing is half there")
        tap.equal(server.stop(), 0, "the server ends cleanly")
    finally:
        server.stop()
        subprocess.run(["umount", server.data], check=True)
        server.remove()


def agent_without_room(tap, args):
    """No file of an agent may grow: its node stays as it is, says so, and follows when there is room again."""
    server = Server(args).start()
    must(server.put("/v1/fabric", FABRIC), 201)
    token = os.path.join(server.data, "n1.token")
    with open(token, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write(server.node("n1"))
    log = os.path.join(server.data, "agent.log")
    proc = subprocess.Popen(
        [os.path.join(args.objdir, "stellar-agent"), "--node", "n1", "--server", f"http://127.0.0.1:{server.port}",
         "--state-dir", os.path.join(server.data, "n1"), "--provider", "sim", "--sim-ports", "1", "--token-file", token],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def keep():
        for line in proc.stderr:  # a pipe: its log is no file that may not grow
            with open(log, "ab") as out:
                out.write(line)

    threading.Thread(target=keep, daemon=True).start()

    def until(look):
        end = time.monotonic() + CALL_S
        while time.monotonic() < end and proc.poll() is None:
            node = must(server.get("/v1/nodes/n1"), 200).json
            if look(node):
                return node
            time.sleep(0.05)
        return None

    def profile(mtu):
        answer = server.get("/v1/fabric")
        body = answer.json
        body["fabric_profile"]["mtu_bytes"] = mtu
        must(server.put("/v1/fabric", body, answer.etag), 200)

    def said(text):
        with open(log, encoding="utf-8") as file:
            return text in file.read()

    tap.ok(until(lambda node: node["sync"] == "in-sync"), "an agent follows its plan")
    resource.prlimit(proc.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    profile(1500)
    tap.ok(until(lambda node: said("nothing was changed")), "without room for its journal it changes nothing, and says so",
           (proc.poll(), open(log, encoding="utf-8").read()[-3000:]))
    tap.ok(proc.poll() is None, "it lives")
    resource.prlimit(proc.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    profile(9000)
    tap.ok(until(lambda node: node["sync"] == "in-sync"), "with room again it follows", open(log, encoding="utf-8").read()[-3000:])
    proc.terminate()
    tap.equal(proc.wait(CALL_S), 0, "and ends well")
    finish(tap, server, "the agent's server ends cleanly")


def main():
    args, tap = arguments(), Tap()
    agent_without_room(tap, args)
    operations(tap, args)
    small_disk(tap, args)
    server = Server(args)
    server.start(preexec=no_room)
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/a", {}), 201)
    token = server.node("n1")
    etag, stored, refused = None, 0, []
    for number in range(1, 400):
        answer = server.put("/v1/tenants/a/policy", policy(number), etag)
        if answer.status in (200, 201):
            etag, stored = answer.etag, number
        else:
            refused.append(answer)
            if len(refused) == 5:
                break
    tap.ok(stored > 10 and len(refused) == 5, f"after {stored} uploads there is no room", refused)
    tap.ok(all(a.status == 507 and json.loads(a.body)["code"] == "storage-full" and
               a.headers["Content-Type"].startswith("application/problem+json") for a in refused),
           "each refused upload says that there is no room, as on a full disk", refused)
    tap.ok(server.data not in str([a.body for a in refused]), "that shows no path of the machine")
    tap.ok(server.proc.poll() is None, "the server lives")
    got = must(server.get("/v1/tenants/a/policy"), 200)
    tap.equal((got.json, got.etag), (policy(stored), etag), "reads give the last stored policy")
    tap.equal(server.get("/v1/tenants/a/policy/revisions?page_size=1").json["items"][0]["number"],
              int(etag.strip('"')), "and its history")
    tap.equal(server.get("/healthz", token=None).status, 200, "it says that it is alive")
    planned(server, "n1")
    tap.status(server.get("/v1/agent/plan", token=token), 200, "agents still get their plan")
    tap.status(server.put("/v1/tenants/a/policy", {"qos_policy": {}}, etag), 422,
               "a wrong policy is still told what is wrong")
    dry = server.call("PUT", "/v1/tenants/a/policy?dry_run=1", policy(0), {"If-Match": etag})
    tap.status(dry, 200, "a dry run still works")
    code = server.stop()
    tap.equal(code, 0, "it ends cleanly")
    server.start()
    got = must(server.get("/v1/tenants/a/policy"), 200)
    tap.equal((got.json, got.etag), (policy(stored), etag), "with room again nothing is lost")
    must(server.put("/v1/tenants/a/policy", policy(1000), etag), 200)
    tap.ok(True, "and uploads go on")
    finish(tap, server)
    tap.done()


main()
