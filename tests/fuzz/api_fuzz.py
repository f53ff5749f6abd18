#!/usr/bin/env python3
"""Requests that openapi.yaml half describes, against a real stellard: it never crashes, never fails
(5xx) and never answers outside the contract.

api_fuzz.py --srcdir S --objdir O [--seconds N | --count N] [--seed K]

Operations, their parameters and the examples of their bodies are what it begins with; paths, queries,
headers, bodies and the way they are sent (pieces, chunks, pipelines) are mutated, under every role and
none. A fault is printed with the request that gave it; the same seed gives the same requests.
"""
import argparse
import http.client
import json
import os
import random
import re
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../api"))
from contract import Document, faults_of_answer  # noqa: E402
from lib import CALL_S, PASSWORD, Answer, Server, fixture, must  # noqa: E402
from mutate import NAMES, mutate_json, mutate_text  # noqa: E402

FAULTS_MAX = 20
KEEP_FRESH = 300  # requests between looks at the tokens
WAITS = ["0s", "1ms", "-1s", "1", "99999999999999s", "", "0"]
# 5xx that are right: an encoding that nobody has, and as many imports as may run.
RIGHT_5XX = {(501, "not-implemented"), (503, "busy")}


class Pipe:
    """One buffered reader for several answers: http.client would close it after each."""

    def __init__(self, sock):
        self.fp = sock.makefile("rb")

    def makefile(self, *_, **__):
        return self

    def close(self):
        pass

    def flush(self):
        pass

    def __getattr__(self, name):
        return getattr(self.fp, name)


class Wire:
    def __init__(self, port):
        self.port, self.sock, self.pipe = port, None, None

    def open(self):
        if self.sock is None:
            self.sock = socket.create_connection(("127.0.0.1", self.port), CALL_S)
            self.pipe = Pipe(self.sock)

    def close(self):
        if self.sock is not None:
            self.pipe.fp.close()
            self.sock.close()
            self.sock = None

    def send(self, data, cuts=()):
        """A server that has refused already may have closed; what it said is still to be read."""
        last = 0
        try:
            for cut in (*sorted(cuts), len(data)):
                self.sock.sendall(data[last:cut])
                last = cut
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self, method):
        r = http.client.HTTPResponse(self.pipe, method=method)
        r.begin()
        if r.headers.get_content_type() == "text/event-stream":
            first = r.read1(64)
            self.close()
            return Answer(r.status, r.headers, first)
        got = Answer(r.status, r.headers, r.read())
        if (r.headers.get("Connection") or "").lower() == "close":
            self.close()
        return got


class Request:
    def __init__(self, method, target, headers, body, chunked):
        self.method, self.target, self.headers = method, target, headers
        self.body, self.chunked = body, chunked

    def data(self, rng):
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: x", *self.headers]
        body = self.body or b""
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
            pieces, at = [], 0
            while at < len(body):
                size = rng.choice([1, 7, 100, 4096])
                part = body[at:at + size]
                pieces.append(b"%x%s\r\n%s\r\n" % (len(part), rng.choice([b"", b"", b";a=b"]), part))
                at += size
            body = b"".join(pieces) + b"0\r\n\r\n"
        elif self.body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape") + body


class Fuzz:
    def __init__(self, server, doc, seed):
        self.server, self.doc, self.rng = server, doc, random.Random(seed)
        self.operations = list(doc.operations())
        self.bodies = {op["operationId"]: list(self.examples(op)) for _, _, op, _ in self.operations}
        self.all_bodies = [b for _, bodies in self.bodies.items() for _, b in bodies]
        self.wire, self.page_tokens = Wire(server.port), ["x"]
        self.faults, self.count, self.statuses = {}, 0, {}
        self.agent, self.tokens = fixture(server)
        server.user("u1", "operator")
        self.refresh()

    def examples(self, op):
        for kind, content in op.get("requestBody", {}).get("content", {}).items():
            for example in content.get("examples", {}).values():
                yield kind, self.doc.resolve(example)[0]["value"]

    def refresh(self):
        """What a request has ended is made anew."""
        for role in ("operator", "auditor", "tenant-admin", "tenant-user"):
            if self.server.get("/v1/tokens", token=self.tokens[role]).status == 401:
                tenant = "a" if role.startswith("tenant") else None
                if tenant:
                    self.server.put("/v1/tenants/a", {})
                made = self.server.token(role, tenant)
                self.tokens[role], self.tokens["id"] = made["token"], made["id"]
        if self.server.get("/v1/agent/plan", token=self.tokens["agent"]).status == 401:
            self.server.put("/v1/nodes/n1", {})
            self.tokens["agent"] = must(self.server.call("POST", "/v1/nodes/n1/token"), 201).json["token"]
        self.tokens["session"] = self.server.call(
            "POST", "/v1/session", {"name": "u1", "password": PASSWORD}, token=None) \
            .headers.get("Set-Cookie", "__Host-stellar=ss_0").split(";")[0].split("=", 1)[1]

    def credential(self, agents):
        rng = self.rng
        who = "agent" if agents and rng.random() < 0.8 else rng.choice(
            ["admin", "admin", "admin", "operator", "auditor", "tenant-admin", "tenant-user", "agent",
             "session", None, "bad"])
        if who == "session":
            return [f"Cookie: __Host-stellar={self.tokens['session']}", "Origin: http://x"]
        if who is None:
            return []
        own = {"admin": self.server.admin, "bad": mutate_text(rng, self.server.admin, clean=True)}
        return [f"Authorization: Bearer {own[who] if who in own else self.tokens[who]}"]

    def value(self, param):
        """Of a parameter in a path or a query, not yet escaped."""
        rng, name = self.rng, param["name"]
        pools = {"page_token": self.page_tokens, "wait": WAITS, "timeout": WAITS,
                 "dry_run": ["true", "false", "1"], "page_size": ["1", "1000", "1001", "0", "-1"],
                 "override": ["bw-limit-floor", "x"], "fields": ["id", "a.b.c", ",", "name,name"],
                 "after": ["0", "1", "-1", "9" * 30], "from": ["1", "0", "current"], "to": ["1", "2"]}
        pool = pools.get(name) or [str(param.get("example", "x")), *param.get("schema", {}).get("enum", []),
                                   *NAMES]
        text = str(rng.choice(pool))
        text = self.tokens["id"] if text == "$token" else text
        return mutate_text(rng, text) if rng.random() < 0.3 else text

    def escape(self, text):
        """Percent-encoded, sometimes more and sometimes less than is right."""
        if self.rng.random() < 0.06:
            return self.rng.choice(["%", "%zz", "%00", "%2F..%2f", "%c0%ae", "%ff", "..", "%25", "+", ";"])
        data = text.encode("utf-8", "surrogatepass")
        return "".join(chr(b) if chr(b).isalnum() or b in b"-_.~:" else f"%{b:02x}" for b in data)

    def target(self, path, params):
        rng = self.rng
        for param in params:
            if param["in"] == "path":
                path = path.replace("{%s}" % param["name"], self.escape(self.value(param)))
        named = [p for p in params if p["in"] == "query"]
        chosen = rng.sample(named, rng.randint(0, min(len(named), 3))) if rng.random() < 0.7 else []
        query = [f"{p['name']}={self.escape(self.value(p))}" for p in chosen]
        if rng.random() < 0.05:
            query.append(rng.choice(["x=1", "=", "&", "dry_run", "a" * 9000, "fields=a&fields=b"]))
        if rng.random() < 0.02:
            path = mutate_text(rng, path, clean=True) or "/"
        return path + ("?" + "&".join(query) if query else "")

    def body(self, op):
        rng, examples = self.rng, self.bodies[op["operationId"]]
        if not examples:
            return (b"x" * rng.randint(0, 9), "application/octet-stream") if "requestBody" in op or \
                rng.random() < 0.03 else (None, None)
        kind, value = rng.choice(examples)
        if rng.random() < 0.75:
            for _ in range(rng.choice([1, 1, 2, 5])):
                value = mutate_json(rng, value, self.all_bodies)
        text = json.dumps(value)
        if rng.random() < 0.1:
            text = mutate_text(rng, text)
        if rng.random() < 0.05:
            kind = rng.choice(["text/plain", "application/json; charset=utf-8", "x", "application/json-patch+json"])
        return text.encode("utf-8", "surrogatepass"), kind

    def headers(self, method, kind, agents):
        rng = self.rng
        lines = self.credential(agents)
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        if method in ("PUT", "PATCH", "DELETE") and rng.random() < 0.9:
            lines.append(rng.choice(["If-Match: *", "If-Match: *", 'If-Match: "1"', "If-None-Match: *",
                                     'If-Match: "1", W/"2"', "If-Match: 1", 'If-Match: "' + "9" * 99 + '"']))
        for line, share in (("Idempotency-Key: " + rng.choice(["k", "k2", "x" * 200]), 0.05),
                            ("Accept: text/csv", 0.05), ("Accept: text/event-stream", 0.03),
                            ("Last-Event-ID: " + rng.choice(["1", "x", "-1", "9" * 25]), 0.05),
                            ('If-None-Match: "1"', 0.05), ("Range: bytes=0-1", 0.03),
                            ("X-Request-Id: " + rng.choice(["r" * 300, "a b", "é"]), 0.03),
                            ("Expect: 100-continue", 0.01), ("X-Long: " + "y" * 5000, 0.02),
                            ("Origin: https://elsewhere.example", 0.02), ("Accept: " + "a/b," * 50, 0.02)):
            if rng.random() < share:
                lines.append(line)
        return lines

    def request(self):
        rng = self.rng
        method, path, op, params = rng.choice(self.operations)
        params = [self.doc.resolve(p)[0] for p in params]
        body, kind = self.body(op)
        target = self.target(path, params)
        if rng.random() < 0.02:
            method = rng.choice(["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"])
        return Request(method, target, self.headers(method, kind, "/agent/" in path), body,
                       body is not None and rng.random() < 0.2)

    def judge(self, request, answer):
        self.count += 1
        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        try:
            wrong = faults_of_answer(self.doc, request.method, request.target, answer)
            problem = answer.json if answer.status >= 500 and answer.body else {}
            if answer.status == 200 and isinstance(answer.json if answer.body[:1] == b"{" else None, dict):
                token = answer.json.get("next_page_token")
                self.page_tokens = [*self.page_tokens[-20:], token] if token else self.page_tokens
        except (ValueError, KeyError, TypeError) as e:
            wrong, problem = [f"{request.method} {answer.status}: cannot be judged: {e!r}"], {}
        if answer.status >= 500 and (answer.status, problem.get("code")) not in RIGHT_5XX:
            wrong.append(f"{answer.status} {problem.get('code')}")
        for fault in wrong:
            self.fault(re.sub(r"\d{2,}", "N", fault), request, repr(answer)[:1500])

    def fault(self, fault, request, detail):
        if fault not in self.faults and len(self.faults) < FAULTS_MAX:
            self.faults[fault] = (request.method, request.target[:500], request.headers,
                                  (request.body or b"")[:1000], detail)

    def exchange(self, requests):
        self.wire.open()
        data = b"".join(r.data(self.rng) for r in requests)
        cuts = {self.rng.randrange(len(data)) for _ in range(self.rng.choice([0, 0, 0, 1, 3]))}
        self.wire.send(data, cuts)
        for i, request in enumerate(requests):
            try:
                self.judge(request, self.wire.answer(request.method))
            except (http.client.HTTPException, ConnectionError, TimeoutError) as e:
                if i == 0 and not isinstance(e, ConnectionError):
                    self.fault(f"no answer: {type(e).__name__}", request, repr(e))
                self.wire.close()
            if self.wire.sock is None:
                return

    def cut_off(self):
        """Half a request, then nothing: the connection is just gone."""
        self.wire.close()
        self.wire.open()
        data = self.request().data(self.rng)
        self.wire.send(data[:self.rng.randrange(len(data))])
        self.wire.close()

    def garbage(self):
        """Bytes that are no request: refused, or the connection ends."""
        self.wire.close()
        self.wire.open()
        data = mutate_text(self.rng, self.request().data(self.rng).decode("latin-1")).encode("latin-1", "replace")
        self.wire.send(data + b"\r\n\r\n")
        self.wire.sock.settimeout(0.05)
        try:
            self.wire.sock.recv(65536)
        except (TimeoutError, ConnectionError):
            pass
        self.wire.close()

    def step(self):
        if self.count % KEEP_FRESH == 0:
            self.refresh()
        kind = self.rng.random()
        if kind < 0.02:
            self.cut_off()
        elif kind < 0.05:
            self.garbage()
        else:
            self.exchange([self.request() for _ in range(1 if kind < 0.9 else self.rng.randint(2, 5))])
        return self.server.proc.poll() is None


def report(fuzz, alive):
    for fault, (method, target, headers, body, detail) in fuzz.faults.items():
        print(f"# {fault}\n#   {method} {target}\n#   {headers}\n#   {body!r}\n#   -> {detail}")
    if not alive:
        print("# the server has ended:\n" + fuzz.server.log_text()[-8000:])
    print(f"# {fuzz.count} answers: {dict(sorted(fuzz.statuses.items()))}")


def run(args, seed, count=None, seconds=None):
    """(what went wrong, the server's exit status)"""
    server = Server(args).start()
    fuzz = Fuzz(server, Document(args.srcdir), seed)
    end, alive = time.monotonic() + (seconds or 1e9), True
    while alive and time.monotonic() < end and (count is None or fuzz.count < count):
        alive = fuzz.step()
    fuzz.wire.close()
    report(fuzz, alive)
    code = server.stop()
    if code != 0:
        print(server.log_text()[-8000:])
    server.remove()
    return sorted(fuzz.faults), code, fuzz.count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--srcdir", required=True)
    parser.add_argument("--objdir", required=True)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    print(f"# seed {args.seed}")
    faults, code, count = run(args, args.seed, args.count, args.seconds)
    print(f"api_fuzz: {count} answers, {len(faults)} faults, exit status {code}")
    sys.exit(1 if faults or code else 0)


if __name__ == "__main__":
    main()
