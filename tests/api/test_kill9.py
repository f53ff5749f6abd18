#!/usr/bin/env python3
"""kill -9 at random moments during concurrent uploads: every answered one is there, none is half."""
import os
import random
import sqlite3
import threading
import time

from lib import FABRIC, SLOW, Server, Tap, arguments, finish, must

ROUNDS = 5
TENANTS = 16
UPLOADS = 1000 // SLOW  # a round


def policy(number):
    return {"qos_policy": {"job": {"priority": 3, "description": f"upload {number}"}}}


class Tenant:
    def __init__(self, number):
        self.url = f"/v1/tenants/t{number}/policy"
        self.etag, self.answered, self.sent = None, 0, 0  # numbers of the last uploads


def upload(server, tenant, count, stop):
    """Uploads one after the other; remembers what was answered and what was only sent."""
    for _ in range(count):
        if stop.is_set():
            break
        number = tenant.sent + 1
        tenant.sent = number
        try:
            answer = server.put(tenant.url, policy(number), tenant.etag)
        except OSError:
            break
        except Exception:  # the connection ended in the middle of an answer
            break
        if answer.status not in (200, 201):
            raise AssertionError(answer)
        tenant.etag, tenant.answered = answer.etag, number
    server.drop_connection()


def check_file(tap, data, sentence):
    con = sqlite3.connect(os.path.join(data, "stellar.db"))
    tap.equal(con.execute("PRAGMA integrity_check").fetchall(), [("ok",)], f"{sentence}: intact")
    tap.equal(con.execute("PRAGMA foreign_key_check").fetchall(), [], f"{sentence}: keys fit")
    # A revision, its audit row, its event and its generation are one transaction.
    counts = {con.execute(q).fetchone()[0] for q in (
        "SELECT count(*) FROM revisions WHERE doc LIKE 'tenant/%'",
        "SELECT count(*) FROM audit WHERE action = 'policy.put'",
        "SELECT count(*) FROM events WHERE kind = 'policy.changed'",
        "SELECT count(*) FROM generations WHERE cause LIKE 'tenant/%/policy'")}
    tap.equal(len(counts), 1, f"{sentence}: no upload is half there")
    con.close()


def round_of(tap, server, tenants, number):
    stop = threading.Event()
    threads = [threading.Thread(target=upload, args=(server, t, UPLOADS // TENANTS, stop))
               for t in tenants]
    for t in threads:
        t.start()
    time.sleep(random.uniform(0.02, 0.6) * SLOW)
    server.kill()
    stop.set()
    for t in threads:
        t.join()
    check_file(tap, server.data, f"round {number}")
    server.start()
    lost, ahead = [], 0
    for tenant in tenants:
        answer = server.get(tenant.url)
        if answer.status == 404:
            if tenant.answered:
                lost.append((tenant.url, tenant.answered))
            continue
        stored = int(answer.json["qos_policy"]["job"]["description"].split()[1])
        if not tenant.answered <= stored <= tenant.sent:
            lost.append((tenant.url, tenant.answered, stored, tenant.sent))
        ahead += stored > tenant.answered
        revisions = server.get(tenant.url + "/revisions?page_size=1000").json["items"]
        if [r["number"] for r in revisions] != list(range(len(revisions), 0, -1)):
            lost.append((tenant.url, "revisions have a gap"))
        tenant.etag, tenant.answered = answer.etag, stored
    total = sum(t.answered for t in tenants)
    tap.equal(lost, [], f"round {number}: all answered uploads are there ({total} so far, {ahead} "
              "stored but not answered)")


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    must(server.put("/v1/fabric", FABRIC), 201)
    tenants = [Tenant(i) for i in range(TENANTS)]
    for i in range(TENANTS):
        must(server.put(f"/v1/tenants/t{i}", {}), 201)
    for number in range(1, ROUNDS + 1):
        round_of(tap, server, tenants, number)
    audit = server.get("/v1/audit?page_size=1000").json["items"]
    tap.ok(all(a["prev_hash"] == b["hash"] for a, b in zip(audit, audit[1:])),
           "the audit's chain is whole over all rounds")
    server.stop()
    check_file(tap, server.data, "at the end")
    finish(tap, server)
    tap.done()


main()
