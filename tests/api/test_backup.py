#!/usr/bin/env python3
"""Backups of a running server: made under load, fetched, restored elsewhere, refused, cut short, swept."""
import glob
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time

from lib import CALL_S, Server, arguments, must, run

KEPT = 16
ID = re.compile(r"^\d{8}t\d{6}z-[0-9a-f]{8}$")


def ended(server, operation, seconds=CALL_S):
    """The operation when it has ended."""
    end = time.monotonic() + seconds
    while True:
        got = must(server.get(f"/v1/operations/{operation}"), 200).json
        if got["state"] != "running":
            return got
        if time.monotonic() > end:
            raise AssertionError(f"{got} does not end")
        time.sleep(0.01)


def begin(server, query="", **kw):
    return server.call("POST", "/v1/backups" + query, **kw)


def make(server, query=""):
    """The backup that was made."""
    operation = ended(server, must(begin(server, query), 202).json["operation"])
    assert operation["state"] == "succeeded", operation
    return operation["result"]["backup"]


def files(server):
    return sorted(os.path.basename(p) for p in glob.glob(os.path.join(server.data, "backups", "*")))


def stellard(*words):
    return subprocess.run([os.path.join(arguments().objdir, "stellard"), *words],
                          capture_output=True, text=True, timeout=CALL_S, check=False)


def fetch(server, backup, path):
    answer = must(server.get(f"/v1/backups/{backup['id']}/content"), 200)
    with open(path, "wb") as file:
        file.write(answer.body)
    return answer


def fill(server, megabytes):
    """A store of some size: its revisions hold text that does not compress."""
    must(server.put("/v1/tenants/fill", {}), 201)
    etag = None
    for number in range(megabytes * 4):
        body = {"qos_policy": {f"j{i}": {"priority": 3, "description": f"{number} " + "x" * 1000}
                               for i in range(250)}}
        etag = must(server.put("/v1/tenants/fill/policy", body, etag), 200, 201).etag


def a_backup_is_made_listed_fetched_and_removed(tap, server):
    tap.equal(server.get("/v1/backups").json, {"items": []}, "at first there is none")
    tap.ok("last_backup" not in server.get("/v1/server").json, "and the server says so")
    tap.ok("stellar_last_backup_age_seconds" not in server.get("/metrics").body.decode(),
           "an age that there is not is absent")
    must(server.put("/v1/tenants/a", {}), 201)
    answer = begin(server, "?reason=before+the+upgrade", headers={"Idempotency-Key": "k1"})
    tap.status(answer, 202, "POST begins one")
    tap.equal(answer.headers["Location"], answer.json["location"], "and names its operation")
    operation = ended(server, answer.json["operation"])
    tap.equal((operation["kind"], operation["state"], operation["progress"]),
              ("backup", "succeeded", {"done": 100, "total": 100}), "which succeeds")
    backup = operation["result"]["backup"]
    again = begin(server, "?reason=before+the+upgrade", headers={"Idempotency-Key": "k1"})
    tap.ok(again.json.get("replayed") and again.json["operation"] == operation["id"],
           "the same key again makes no second one", again)
    tap.ok(ID.match(backup["id"]) and backup["generation"] == 1, "its id and generation", backup)
    tap.equal(server.get("/v1/backups").json, {"items": [backup]}, "it is listed")
    tap.equal(server.get(f"/v1/backups/{backup['id']}").json, backup, "and found")
    tap.equal(server.get("/v1/server").json["last_backup"], backup, "the server shows it")
    metrics = server.get("/metrics").body.decode()
    age = float(re.search(r"^stellar_last_backup_age_seconds (\S+)$", metrics, re.M).group(1))
    tap.ok(0 <= age < 600 and "stellar_backups 1\n" in metrics, "so do the metrics", metrics)
    answer = server.get(f"/v1/backups/{backup['id']}/content")
    tap.equal((len(answer.body), hashlib.sha256(answer.body).hexdigest()),
              (backup["size_bytes"], backup["sha256"]), "its content has the size and the sum")
    part = server.get(f"/v1/backups/{backup['id']}/content", headers={"Range": "bytes=100-199"})
    tap.equal((part.status, part.body), (206, answer.body[100:200]), "a range of it can be read")
    mode = [os.stat(os.path.join(server.data, "backups", f)).st_mode & 0o777 for f in files(server)]
    tap.equal(mode, [0o600, 0o600], "only the server's user may read the files")
    tap.status(server.call("DELETE", f"/v1/backups/{backup['id']}?reason=old"), 204, "it goes")
    tap.status(server.get(f"/v1/backups/{backup['id']}"), 404, "and is gone")
    tap.status(server.get(f"/v1/backups/{backup['id']}/content"), 404, "its content too")
    tap.status(server.call("DELETE", f"/v1/backups/{backup['id']}"), 404, "once")
    rows = [(r["action"], r.get("reason", "")) for r in
            server.get(f"/v1/audit?subject=backup/{backup['id']}").json["items"]]
    tap.equal(rows, [("backup.delete", "old"), ("backup.read", ""), ("backup.read", ""),
                     ("backup.create", "before the upgrade")], "all of it is in the audit")
    tap.status(server.get("/v1/backups/..%2f..%2fstellar/content"), 400, "no way out of the folder")
    for name in ("stellar.db", "x" * 300):
        tap.status(server.get(f"/v1/backups/{name}/content"), 404, f"'{name[:20]}' is no backup")
    end = time.monotonic() + CALL_S
    while files(server) and time.monotonic() < end:
        time.sleep(0.01)
    tap.equal(files(server), [], "no file is left")


def lists_have_pages_and_the_oldest_goes(tap, server):
    made = [make(server) for _ in range(KEPT)]
    tap.equal(server.get("/v1/backups").json["items"],
              sorted(made, key=lambda b: b["id"], reverse=True), f"{KEPT} are kept, newest first")
    first = server.get("/v1/backups?page_size=10").json
    second = server.get("/v1/backups?page_size=10&page_token=" + first["next_page_token"]).json
    tap.equal((len(first["items"]), len(second["items"]), "next_page_token" in second),
              (10, KEPT - 10, False), "in pages of ten")
    oldest = min(made, key=lambda b: b["id"])
    newest = make(server)
    items = server.get("/v1/backups").json["items"]
    tap.ok(len(items) == KEPT and newest in items and oldest not in items, "one more ends the oldest")
    actions = [r["action"] for r in
               server.get(f"/v1/audit?subject=backup/{oldest['id']}").json["items"]]
    tap.equal(actions, ["backup.delete", "backup.create"], "which the audit says")
    end = time.monotonic() + CALL_S
    while len(files(server)) > 2 * KEPT and time.monotonic() < end:
        time.sleep(0.01)
    tap.equal(len(files(server)), 2 * KEPT, "and its files are gone")
    code = server.stop()
    tap.equal(code, 0, "the server ends")
    server.start()
    tap.equal(server.get("/v1/backups").json["items"], items, "a restart forgets none")


def made_under_load_and_restored_elsewhere(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    fill(server, 4)
    stop, stored, faults = threading.Event(), [], []

    def write():
        try:
            etag, number = None, 0
            while not stop.is_set():
                body = {"qos_policy": {"job": {"priority": 3, "description": str(number)}}}
                etag = must(server.put("/v1/tenants/a/policy", body, etag), 200, 201).etag
                stored.append((number, etag))
                number += 1
        except Exception as e:
            faults.append(e)

    thread = threading.Thread(target=write)
    thread.start()
    while len(stored) < 20 and not faults:
        time.sleep(0.01)
    before = stored[-1]
    backup = make(server)
    after = len(stored)
    second = make(server)
    stop.set()
    thread.join()
    tap.equal(faults, [], "writes go on while a copy is made")
    tap.ok(second["generation"] >= backup["generation"], "a later copy is not older")
    copy = os.path.join(server.data, "fetched.db")
    fetch(server, backup, copy)
    other = Server(server.args)
    got = stellard("restore", "--data", other.data, "--from", copy)
    tap.equal(got.returncode, 0, "it can be restored elsewhere: " + got.stdout + got.stderr)
    shutil.copy(os.path.join(server.data, "admin.token"), other.data)  # the store knows it
    other.start()
    try:
        answer = must(other.get("/v1/tenants/a/policy"), 200)
        number = int(answer.json["qos_policy"]["job"]["description"])
        tap.ok(before[0] <= number <= after + 1 and (number, answer.etag) in stored,
               "the copy has what was stored before it was begun, and nothing by half",
               (before, number, after))
        tap.equal(other.get("/v1/generations/current").json["generation"], backup["generation"],
                  "its generation is the one that was said")
        tap.ok(other.get("/v1/audit:verify").json["valid"], "its audit is whole")
        tap.equal(other.get("/v1/backups").json["items"], [],
                  "a new folder has no backups, whatever the store went through")
    finally:
        tap.equal(other.stop(), 0, "the other server ends cleanly")
        other.remove()


def a_restore_keeps_newer_backups(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    old = make(server)
    must(server.put("/v1/tenants/b", {}), 201)
    new = make(server)
    path = os.path.join(server.data, "backups", old["id"] + ".db")
    refused = stellard("restore", "--data", server.data, "--from", path)
    tap.ok(refused.returncode == 1 and str(server.proc.pid) in refused.stderr,
           "a running server's store is not replaced", refused)
    tap.equal(server.stop(), 0, "it ends")
    tap.equal(stellard("restore", "--data", server.data, "--from", path).returncode, 0,
              "then it goes back to the older one, straight from the folder")
    server.start()
    tap.status(server.get("/v1/tenants/b"), 404, "what came later is not there")
    tap.equal([b["id"] for b in server.get("/v1/backups").json["items"]], [new["id"], old["id"]],
              "the newer backup still is")
    path = os.path.join(server.data, "backups", new["id"] + ".db")
    with open(path, "r+b") as file:
        file.seek(new["size_bytes"] // 2)
        file.write(b"no page of a database " * 400)
    tap.equal(server.stop(), 0, "it ends")
    bad = stellard("restore", "--data", server.data, "--from", path)
    tap.equal(bad.returncode, 1, "a damaged copy is refused: " + bad.stderr.strip()[-120:])
    server.start()
    tap.status(server.get("/v1/tenants/a"), 200, "and the store is as it was")


def one_at_a_time_and_can_be_cancelled(tap, server):
    fill(server, 24)
    answer = must(begin(server), 202)
    second = begin(server)
    tap.ok(second.status == 409 and second.json["code"] == "backup-running",
           "while one is made a second is refused", second)
    cancelled = server.call("POST", answer.json["location"] + ":cancel")
    operation = ended(server, answer.json["operation"])
    if cancelled.status == 202:
        tap.equal((operation["state"], operation["result"]["problem"]["code"]),
                  ("cancelled", "cancelled"), "it can be cancelled")
        tap.equal((server.get("/v1/backups").json["items"], files(server)), ([], []),
                  "and nothing is left")
    else:
        tap.ok(cancelled.json["code"] in ("too-late", "operation-finished"),
               "it was too quick to be cancelled", cancelled)
    tap.ok(make(server), "the next one can be made")
    must(begin(server), 202)
    tap.equal(server.stop(), 0, "a server that is stopped meanwhile ends cleanly")
    whole = len(glob.glob(os.path.join(server.data, "backups", "*.json")))
    tap.ok(len(files(server)) == 2 * whole, "and leaves no half of one", files(server))
    server.start()
    tap.ok(all(o["state"] != "running" for o in server.get("/v1/operations").json["items"]),
           "no operation is left running")


def killed_in_the_middle(tap, server):
    fill(server, 8)
    kept = make(server)
    folder = os.path.join(server.data, "backups")
    cut = 0
    for delay in (0, 0.004, 0.01, 0.02, 0.04, 0.08):
        answer = must(begin(server), 202)
        time.sleep(delay)
        server.kill()
        cut += any(".part" in f for f in files(server))
        server.start()
        shown = server.get("/v1/backups").json["items"]
        wrong = [b for b in shown if hashlib.sha256(
            open(os.path.join(folder, b["id"] + ".db"), "rb").read()).hexdigest() != b["sha256"]]
        tap.ok(kept in shown and not wrong, f"kill -9 after {delay} s: what is shown is whole", wrong)
        tap.equal(files(server), sorted(b["id"] + s for b in shown for s in (".db", ".json")),
                  "and nothing else is left")
        state = server.get(answer.json["location"]).json["state"]
        tap.ok(state in ("interrupted", "succeeded"), f"its operation was {state}")
    tap.ok(cut > 0, "at least one copy was cut short")
    tap.ok(make(server), "the next one can be made")


def strangers_files_are_left_alone(tap, server):
    backup = make(server)
    folder = os.path.join(server.data, "backups")
    tap.equal(server.stop(), 0, "the server ends")
    lost = "20260102t030405z-0123abcd"
    for name in ("notes.txt", backup["id"] + ".db.gz", lost + ".db", lost + ".db.part",
                 lost + ".db.part-journal", lost + ".json.AbCdEf"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("x")
    bad = "20260102t030406z-0123abcd"
    for suffix, text in ((".db", "x"), (".json", json.dumps({"id": bad, "size_bytes": 1}))):
        with open(os.path.join(folder, bad + suffix), "w", encoding="utf-8") as file:
            file.write(text)
    server.start()
    tap.equal(files(server), sorted(["notes.txt", backup["id"] + ".db", backup["id"] + ".db.gz",
                                     backup["id"] + ".json", bad + ".db", bad + ".json"]),
              "what was cut short goes, what is somebody's stays")
    tap.equal(server.get("/v1/backups").json["items"], [backup],
              "a copy whose description is broken is not shown")
    tap.ok("is left alone" in server.log_text(), "the log says so")
    os.unlink(os.path.join(folder, backup["id"] + ".db"))
    gone = server.get(f"/v1/backups/{backup['id']}/content")
    tap.ok(gone.status == 500 and gone.json["code"] == "backup-lost", "a lost file is told", gone)


def no_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 1024 * 1024, 2 * 1024 * 1024))


def a_full_disk_leaves_nothing(tap, server):
    fill(server, 4)
    tap.equal(server.stop(), 0, "the server ends")
    server.start(preexec=no_room)  # the store is larger than any new file may become
    operation = ended(server, must(begin(server), 202).json["operation"])
    tap.equal((operation["state"], operation.get("result", {}).get("problem", {}).get("code")),
              ("failed", "storage-full"), "the operation fails for want of room")
    tap.ok(server.data not in json.dumps(operation), "and shows no path of the machine")
    tap.equal(server.get("/v1/backups").json["items"], [], "there is no backup")
    tap.equal(files(server), [], "and no file")
    tap.ok("stellar_backups_failed_total 1\n" in server.get("/metrics").body.decode(),
           "the metrics count it")
    tap.status(server.get("/v1/tenants/fill"), 200, "the server goes on")


run([a_backup_is_made_listed_fetched_and_removed, lists_have_pages_and_the_oldest_goes,
     made_under_load_and_restored_elsewhere, a_restore_keeps_newer_backups,
     one_at_a_time_and_can_be_cancelled, killed_in_the_middle, strangers_files_are_left_alone,
     a_full_disk_leaves_nothing])
