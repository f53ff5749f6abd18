#!/usr/bin/env python3
"""Events as a stream: resumed without loss or repetition, filtered by rights, ended in time."""
import json
import os
import select
import socket
import sqlite3
import threading
import time

from lib import CREATE, POLICY, SLOW, CALL_S, Server, must, run

LIMIT_PER_CALLER = 64


class Stream:
    """A client of GET /v1/events that takes one event a call."""

    def __init__(self, server, token="admin", query="", last=None, method="GET", rcvbuf=None):
        self.sock = socket.socket()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(CALL_S)
        self.sock.connect(("127.0.0.1", server.port))
        token = server.admin if token == "admin" else token
        head = f"{method} /v1/events{query} HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n" \
               f"Authorization: Bearer {token}\r\n"
        head += f"Last-Event-ID: {last}\r\n" if last is not None else ""
        self.sock.sendall((head + "\r\n").encode())
        self.buffer, self.ended, self.last, self.comments = b"", False, None, 0
        self.head = self.until(b"\r\n\r\n") or b""
        self.status = int(self.head.split()[1])

    def until(self, mark):
        while mark not in self.buffer:
            data = self.sock.recv(65536)
            if not data:
                self.ended = True
                return None
            self.buffer += data
        text, self.buffer = self.buffer.split(mark, 1)
        return text

    def block(self):
        """The next block of lines, as a dict; None at the end."""
        text = self.until(b"\n\n")
        if text is None:
            return None
        fields = {}
        for line in text.decode().split("\n"):
            if line.startswith(":"):
                self.comments += 1
            else:
                name, value = line.split(": ", 1)
                fields[name] = value
        self.last = int(fields.get("id", self.last or 0))
        return fields

    def event(self):
        """The next block with data."""
        while True:
            fields = self.block()
            if fields is None:
                return None
            if "data" in fields:
                return dict(json.loads(fields["data"]), event=fields.get("event"))

    def quiet(self, seconds):
        """True when nothing comes for so long."""
        return not self.buffer and not select.select([self.sock], [], [], seconds)[0]

    def ends(self, seconds):
        self.sock.settimeout(seconds)
        try:
            while self.block() is not None:
                pass
        except (TimeoutError, socket.timeout):
            return False
        except ConnectionError:
            pass
        return True

    def close(self):
        self.sock.close()


def ids_of(server, **kw):
    items, path = [], "/v1/events?page_size=1000"
    while True:
        page = must(server.get(path, **kw), 200).json
        items += page["items"]
        if "next_page_token" not in page:
            return items
        path = f"/v1/events?page_size=1000&page_token={page['next_page_token']}"


def first_things(tap, server):
    must(server.put("/v1/tenants/a", {}), 201)
    stream = Stream(server)
    tap.ok(b"Content-Type: text/event-stream" in stream.head and b"no-store" in stream.head and
           stream.status == 200, "Accept: text/event-stream is answered with a stream", stream.head)
    tap.equal(stream.block(), {"retry": "2000", "id": "1"}, "it begins with where it begins")
    began = time.monotonic()
    answer = must(server.put("/v1/tenants/b", {}, headers={"X-Request-Id": "my-request"}), 201)
    got = stream.event()
    took = time.monotonic() - began
    listed = ids_of(server)[-1]
    tap.equal(got, dict(listed, event=None), "an event's data is its item in the list")
    tap.ok(got["subject"] == "tenant/b" and got["request_id"] == "my-request" and
           answer.headers["X-Request-Id"] == "my-request",
           "it names the request that caused it", got)
    tap.ok(took < 1 * SLOW, "it comes at once", took)
    tap.equal(server.get("/v1/events", headers={"Accept": "application/json"}).status, 200,
              "JSON stays a list")
    for name, bad in (("after", "?after=x"), ("after", "?after=-1"), ("kinds", "?kinds=A"),
                      ("kinds", "?kinds=" + ",".join("abcdefghijklmnopq")), ("kinds", "?kinds=,"),
                      ("subject", "?subject="), ("subject", "?subject=tenant/"),
                      ("subject", "?subject=" + "x" * 192)):
        answer = server.get("/v1/events" + bad, headers={"Accept": "text/event-stream"})
        tap.ok(answer.status == 400 and answer.json["code"] == "invalid-parameter" and
               name in answer.json["detail"], f"{bad[:20]} is refused", answer)
    tap.equal(Stream(server, last="1x").status, 400, "a Last-Event-ID that is none is refused")
    tap.equal(Stream(server, query="?kinds=" + ",".join("abcdefghijklmnop")).status, 200,
              "16 kinds are taken")
    head = Stream(server, method="HEAD")
    tap.ok(head.status == 200 and head.ends(5 * SLOW), "HEAD has no stream", head.head)


def resumes(tap, server):
    for i in range(5):
        must(server.put(f"/v1/tenants/t{i}", {}), 201)
    for kind, stream in (("after", Stream(server, query="?after=2")),
                         ("Last-Event-ID", Stream(server, query="?after=0", last=2))):
        tap.equal([stream.event()["id"] for _ in range(3)], [3, 4, 5], f"{kind} goes on behind it")
        tap.ok(stream.quiet(0.1), f"{kind}: and nothing else")
    stream = Stream(server, last=5)
    tap.equal(stream.block(), {"retry": "2000", "id": "5"}, "the newest one needs no past")
    must(server.put("/v1/tenants/t6", {}), 201)
    tap.equal(stream.event()["id"], 6, "and goes on")
    stream = Stream(server, last=99)
    got = stream.event()
    tap.ok(got["event"] == "resync" and stream.last == got["last"] == 6,
           "what has not happened is a resync", got)
    must(server.put("/v1/tenants/t7", {}), 201)
    tap.equal(stream.event()["id"], 7, "after which it goes on from now")
    server.stop()
    with sqlite3.connect(os.path.join(server.data, "stellar.db")) as db:
        db.execute("DELETE FROM events WHERE id <= 3")
    db.close()
    server.start()
    tap.equal(Stream(server, last=2).event()["event"], "resync", "what is not kept is a resync")
    tap.equal(Stream(server, last=3).event()["id"], 4, "the oldest one kept is none")
    tap.equal(Stream(server, last=7).block(), {"retry": "2000", "id": "7"},
              "a restart loses no place")


def filters(tap, server):
    for tenant in ("a", "ab", "b"):
        must(server.put(f"/v1/tenants/{tenant}", {}), 201)
    token = server.token("tenant-user", "a")["token"]
    own, policies, below, nodes, both = (
        Stream(server, token, "?after=0"), Stream(server, query="?after=0&kinds=policy.changed"),
        Stream(server, query="?after=0&subject=tenant/a"), Stream(server, query="?kinds=node.*"),
        Stream(server, token, "?after=0&subject=tenant/b"))
    must(server.put("/v1/tenants/b/policy", POLICY), 201)
    must(server.put("/v1/nodes/n1", {}), 201)
    must(server.put("/v1/tenants/a/policy", POLICY), 201)
    tap.equal([own.event()["subject"] for _ in range(2)], ["tenant/a", "tenant/a/policy"],
              "a tenant sees its own")
    tap.equal([policies.event()["subject"] for _ in range(2)],
              ["tenant/b/policy", "tenant/a/policy"], "kinds= takes its kinds")
    tap.equal([s if s.count("/") < 3 else s.rsplit("/", 1)[0] for s in (
        below.event()["subject"] for _ in range(3))],
        ["tenant/a", "tenant/a/token", "tenant/a/policy"], "subject= takes what is below it")
    tap.equal(nodes.event()["kind"], "node.changed", "kinds=node.* takes those of nodes")
    tap.ok(all(s.quiet(0.2) for s in (own, policies, below, nodes)), "and nothing else")
    tap.equal(both.block()["id"], "0", "a tenant may ask for another's")
    tap.ok(both.quiet(0.2), "and hears nothing")
    listed = must(server.get("/v1/events?kinds=policy.*&subject=tenant/a"), 200).json["items"]
    tap.equal([i["subject"] for i in listed], ["tenant/a/policy"], "the list takes the same")
    tap.equal(len(ids_of(server, token=token)), 2, "the list shows a tenant the same")
    agent = server.node("n2")
    tap.equal(Stream(server, agent).status, 403, "agents have no streams")
    must(server.call("DELETE", "/v1/tenants/a", headers={"If-Match": '"1"'}), 200)
    tap.ok(own.ends(5 * SLOW), "a tenant's streams end with it")
    must(server.put("/v1/tenants/a", {}), 201)
    heir = Stream(server, server.token("tenant-user", "a")["token"], "?after=0")
    tap.equal(heir.event()["kind"], "tenant.changed", "the heir of a name hears of itself")
    tap.ok(heir.quiet(0.2), "and not of its forerunner")


def ends(tap, server):
    made, other = server.token("auditor"), server.token("auditor")
    stream, stays = Stream(server, made["token"]), Stream(server, other["token"])
    stream.block(), stays.block()
    began = time.monotonic()
    must(server.call("DELETE", f"/v1/tokens/{made['id']}"), 204)
    tap.ok(stream.ends(5 * SLOW), "a revoked token ends its stream", time.monotonic() - began)
    tap.ok(stays.quiet(0.2), "and no other's")
    short = must(server.call("POST", "/v1/tokens", {"role": "auditor", "lifetime_s": 1}), 201).json
    stream = Stream(server, short["token"])
    tap.ok(stream.ends(5 * SLOW), "an expired token ends its stream")
    streams = [Stream(server, other["token"]) for _ in range(LIMIT_PER_CALLER - 1)]
    tap.equal({s.status for s in streams}, {200}, f"{LIMIT_PER_CALLER} streams of one caller")
    answer = server.get("/v1/events", headers={"Accept": "text/event-stream"}, token=other["token"])
    tap.ok(answer.status == 429 and answer.json["code"] == "too-many-streams" and
           answer.headers["Retry-After"] == "5", "one more is 429", answer)
    tap.equal(Stream(server).status, 200, "another caller has its own")
    for s in streams:
        s.close()
    stays.close()
    end = time.monotonic() + CALL_S
    while time.monotonic() < end and Stream(server, other["token"]).status != 200:
        must(server.put(f"/v1/tenants/x{time.monotonic_ns()}", {}), 201)  # finds them gone
    tap.ok(time.monotonic() < end, "closed ones make room")
    stream = Stream(server)
    began = time.monotonic()
    tap.equal(server.stop(), 0, "the server stops with streams open")
    tap.ok(stream.ends(5) and time.monotonic() - began < 3 * SLOW, "and ends them at once",
           time.monotonic() - began)
    server.start()


def heartbeat(tap, server):
    stream = Stream(server)
    stream.block()
    must(server.put("/v1/tenants/a", {}), 201)
    other = Stream(server, query="?kinds=none")
    other.block()
    began = time.monotonic()
    must(server.put("/v1/tenants/b", {}), 201)
    tap.equal([stream.event()["id"], stream.event()["id"]], [1, 2], "events come")
    other.sock.settimeout(20 * SLOW)
    tap.equal(other.block(), {"id": "2"}, "a quiet stream hears where the log is")
    took = time.monotonic() - began
    tap.ok(other.comments == 1 and 14 < took < 18 * SLOW, "after 15 s, as a comment", took)


def slow_clients(tap, server):
    """More than the sockets and the ring of newest events hold, read late: all comes, in order."""
    slow = Stream(server, query="?after=0", rcvbuf=4096)
    count, etag = 9000 // SLOW, None

    def write(name, n):
        etag = must(server.put(f"/v1/tenants/{name}", {}), 201).etag
        for i in range(n):
            etag = must(server.put(f"/v1/tenants/{name}", {"description": f"{i} " + "x" * 200},
                                   etag=etag), 200).etag
        server.drop_connection()

    threads = [threading.Thread(target=write, args=(f"w{i}", count // 4)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    total = 4 * (count // 4 + 1)
    got = [slow.event()["id"] for _ in range(total)]
    tap.ok(got == list(range(1, total + 1)), f"a slow client misses none of {total}", got[:20])


def churn(tap, server):
    """Clients come and go under load; each goes on where it was."""
    total, clients, done, faults = 3 * (400 // SLOW), 12, threading.Event(), []

    def write(name):
        etag = must(server.put(f"/v1/tenants/{name}", {}), 201).etag
        for i in range(total // 3 - 1):
            etag = must(server.put(f"/v1/tenants/{name}", {"description": str(i)}, etag=etag),
                        200).etag
        server.drop_connection()

    def listen(number):
        seen, last = [], 0
        end = time.monotonic() + 4 * CALL_S
        try:
            while len(seen) < total and time.monotonic() < end:
                stream = Stream(server, last=last)
                for _ in range(1 + (number * 7 + len(seen)) % 40):
                    if len(seen) == total:
                        break
                    seen.append(stream.event()["id"])
                    last = stream.last
                stream.close()
            if seen != list(range(1, total + 1)):
                faults.append((number, len(seen), [x for x in zip(seen, seen[1:])
                                                   if x[1] != x[0] + 1][:5]))
        except Exception as e:  # a thread's fault must reach the test
            faults.append((number, len(seen), repr(e)))

    readers = [threading.Thread(target=listen, args=(i,)) for i in range(clients)]
    writers = [threading.Thread(target=write, args=(f"w{i}",)) for i in range(3)]
    for t in readers + writers:
        t.start()
    for t in writers + readers:
        t.join()
    done.set()
    tap.ok(not faults, f"{clients} clients that come and go see {total} events once, in order",
           faults)


run([first_things, resumes, filters, ends, slow_clients, churn, heartbeat])
