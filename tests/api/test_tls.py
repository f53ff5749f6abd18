#!/usr/bin/env python3
"""TLS: who is let in by a certificate, how an agent gets one, and how it loses it."""
import glob
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from lib import (CALL_S, START_S, Answer, Server, Tap, arguments, finish, inventory, must)
from test_state_folder import SPOILED, remove


class TlsServer(Server):
    def __init__(self, args, options=(), data=None):
        super().__init__(args, data, ["--tls", "on", *options])

    def trust(self, identity=None):
        context = ssl.create_default_context(cafile=os.path.join(self.data, "ca.crt"))
        if identity:
            context.load_cert_chain(identity)
        return context

    def open(self, identity=None, context=None):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=CALL_S,
                                           context=context or self.trust(identity))

    def connection(self):
        con = getattr(self.local, "con", None)
        if con is None:
            con = self.local.con = self.open()
        return con

    def by(self, identity, method="GET", path="/v1/agent/plan?wait=0s", body=None, con=None):
        """With a client certificate, on a connection of its own or on con."""
        own = con is None
        con = con or self.open(identity)
        head = {"Content-Type": "application/json"} if body is not None else {}
        con.request(method, path, None if body is None else json.dumps(body), head)
        r = con.getresponse()
        answer = Answer(r.status, r.headers, r.read())
        if own:
            con.close()
        return answer

    def join(self, node, query=""):
        return must(self.call("POST", f"/v1/nodes/{node}/join-token" + query), 201).json["join_token"]

    def tool(self, *words):
        tool = os.path.join(self.args.objdir, "tests/api/certtool")
        return subprocess.run([tool, *words], check=True, capture_output=True, text=True,
                              timeout=CALL_S).stdout

    def made(self, node, days="0", data=None):
        """A file with a key and a certificate that the server has not given."""
        path = os.path.join(self.data, f"made-{node}-{days}.pem")
        with open(path, "w", encoding="ascii") as f:
            f.write(self.tool(data or self.data, node, days))
        return path


def until(what, seconds=START_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.02)
    return what()


class Node:
    """A real agent with a pretended node."""

    def __init__(self, server, name):
        self.server, self.name, self.proc = server, name, None
        self.state = os.path.join(server.data, "state-" + name)

    def start(self, *options, url=None):
        self.log = open(self.state + ".log", "ab")
        self.proc = subprocess.Popen(
            [os.path.join(self.server.args.objdir, "stellar-agent"), "--server",
             url or f"https://127.0.0.1:{self.server.port}", "--node", self.name, "--provider", "sim",
             "--state-dir", self.state, *options], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log)
        return self

    def text(self):
        with open(self.state + ".log", errors="replace", encoding="utf-8") as f:
            return f.read()

    def ends(self):
        """The exit status of one that ends by itself."""
        code = self.proc.wait(START_S)
        self.log.close()
        return code

    def stop(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        return self.ends()

    def identity(self):
        files = glob.glob(os.path.join(self.state, "identity-*.pem"))
        return max(files, key=lambda f: int(re.search(r"-(\d+)\.pem", f).group(1))) if files else None

    def reported(self):
        return self.server.get(f"/v1/nodes/{self.name}/inventory").status == 200


def new_node(server, name, *options):
    must(server.put(f"/v1/nodes/{name}", {}), 201)
    node = Node(server, name).start("--join", server.join(name), *options)
    if not until(node.reported):
        raise AssertionError(node.text())
    return node


def certificates(server, node):
    return must(server.get(f"/v1/nodes/{node}/certificates"), 200).json["items"]


def an_agent_joins(tap, server):
    must(server.put("/v1/nodes/n1", {}), 201)
    token = server.join("n1")
    node = Node(server, "n1").start("--join", token)
    tap.ok(until(node.reported), "an agent with a join token reports its inventory", node.text())
    have = certificates(server, "n1")
    tap.ok(len(have) == 1 and have[0]["origin"] == "join", "it has one certificate", have)
    tap.equal(os.stat(node.identity()).st_mode & 0o777, 0o600, "its key is for its eyes only")
    tap.ok(not os.path.exists(os.path.join(node.state, "enrol.key")), "and stands in one place")
    tap.equal(node.stop(), 0, "it ends")
    node.start("--join", token)
    tap.ok(until(lambda: node.text().count("enrolled at") == 1 and node.proc.poll() is None),
           "with the spent token in its command line it starts again", node.text())
    node.stop()
    node.start()
    time.sleep(0.3)
    tap.ok(node.proc.poll() is None, "and without it", node.text())
    node.stop()
    tap.ok(server.by(node.identity()).status in (200, 204), "its certificate is its way in")
    tap.ok("sj_" not in server.log_text() and token[3:40] not in node.text() and
           "PRIVATE" not in server.log_text() + node.text(), "no log holds a secret")
    audit = [r["action"] for r in server.get("/v1/audit").json["items"]]
    tap.ok("node.enrol" in audit and "node.join-token" in audit, "the audit log tells of it", audit)


def a_node_that_starts_before_its_server_waits(tap, server):
    must(server.put("/v1/nodes/early", {}), 201)
    token, listen = server.join("early"), server.listen
    tap.equal(server.stop(), 0, "the server goes away")
    node = Node(server, "early").start("--join", token)
    tap.ok(until(lambda: "next try in" in node.text()) and node.proc.poll() is None,
           "an agent that cannot reach it to enrol says so and waits", node.text())
    server.listen = f"127.0.0.1:{server.port}"
    server.start()
    server.listen = listen
    tap.ok(until(node.reported), "when the server is there, it enrols by itself", node.text())
    tap.equal(node.stop(), 0, "and ends as told")


def join_tokens_are_for_one_key(tap, server):
    must(server.put("/v1/nodes/n1", {}), 201)
    one, two = server.tool("request", "x"), server.tool("request", "y")
    token = server.join("n1")

    def enrol(token, csr):
        return server.call("POST", "/v1/agent/enrol", {"join_token": token, "csr": csr}, token=None)

    answer = enrol(token, one)
    tap.ok(answer.status == 201 and answer.json["node"] == "n1", "the first key is enrolled", answer)
    tap.ok(enrol(token, two).json["code"] == "join-token-refused", "a second key is not")
    again = enrol(token, one)
    tap.ok(again.status == 201 and again.json["certificate"] != answer.json["certificate"],
           "who lost the answer may ask again with the same key", again)
    tap.equal(len(certificates(server, "n1")), 1, "and has one certificate still")
    answers = []
    fresh, requests = server.join("n1"), [server.tool("request", "z") for _ in range(6)]
    threads = [threading.Thread(target=lambda c=c: answers.append(enrol(fresh, c).status))
               for c in requests]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    tap.equal(sorted(answers), [201] + [401] * 5, "of six keys at once one is enrolled")
    tap.equal(enrol(token, one).status, 401, "a newer token ends the older")
    short = server.join("n1", "?expires=1s")
    time.sleep(1.2)
    tap.equal(enrol(short, one).status, 401, "an expired token is refused")
    wrong = enrol(short[:-1] + ("0" if short[-1] != "0" else "1"), one)
    tap.ok(wrong.status == 401 and wrong.json["detail"] == enrol(short, one).json["detail"],
           "an unknown one in the same words", wrong)
    for csr, what in (("", "nothing"), (one + "x", "text behind it"), (one * 2, "two of them"),
                      (answer.json["certificate"], "a certificate"), ("A" * 4097, "too much"),
                      (one[:200] + "B" + one[201:], "another byte"), (7, "a number")):
        bad = enrol(server.join("n1"), csr)
        tap.ok(bad.status == 422 and bad.json["code"] == "csr-refused", f"a request with {what}", bad)
    for query in ("?expires=0s", "?expires=169h", "?expires=soon"):
        tap.status(server.call("POST", "/v1/nodes/n1/join-token" + query), 400, f"{query} is refused")
    tap.status(server.call("POST", "/v1/nodes/n9/join-token"), 404, "no token for no node")
    tap.status(server.get("/v1/nodes/n9/certificates"), 404, "nor certificates")
    tap.status(server.call("DELETE", "/v1/nodes/n9/certificates"), 404, "nor their revocation")


def guessing_is_slowed_down(tap, server):
    must(server.put("/v1/nodes/n1", {}), 201)
    csr, token = server.tool("request", "x"), server.join("n1")
    answers = [server.call("POST", "/v1/agent/enrol", {"join_token": f"sj_{i}", "csr": csr}, token=None)
               for i in range(33)]
    tap.equal({a.status for a in answers[:30]}, {401}, "30 wrong join tokens are refused")
    late = next((a for a in answers[30:] if a.status != 401), answers[-1])
    tap.ok(late.status == 429 and int(late.headers["Retry-After"]) >= 1 and
           late.json["code"] == "too-many-attempts", "the next ones wait", late)
    tap.ok(until(lambda: server.call("POST", "/v1/agent/enrol", {"join_token": token, "csr": csr},
                                     token=None).status == 201), "then the right one is taken")


def the_agent_knows_its_server(tap, server):
    must(server.put("/v1/nodes/n1", {}), 201)
    token = server.join("n1")
    other = token[:-8] + "".join("0" if c != "0" else "1" for c in token[-8:])
    node = Node(server, "n1").start("--join", other)
    tap.ok(node.ends() == 1 and "is not the server that made the join token" in node.text(),
           "another authority than the token's ends it", node.text())
    tap.equal(certificates(server, "n1"), [], "and the token was not sent")
    node.start("--join", token)
    tap.ok(until(node.reported), "the right token is still good", node.text())
    node.stop()
    with open(os.path.join(node.state, "ca.crt"), "w", encoding="ascii") as f:
        imposter = tempfile.mkdtemp(prefix="stellar-ca-")
        server.tool(imposter, "x")
        f.write(open(os.path.join(imposter, "ca.crt"), encoding="ascii").read())
        shutil.rmtree(imposter)
    node.start()
    tap.ok(until(lambda: "is away" in node.text()), "a server of another authority is not spoken to",
           node.text()[-500:])
    node.stop()
    bad = Node(server, "n1")
    bad.state += "-bad"
    tap.ok(bad.start("--join", "sj_1").ends() == 1 and "no join token" in bad.text(),
           "what is no token is said so", bad.text())
    tap.equal(bad.start("--join", token, url="http://127.0.0.1:1").ends(), 2, "nor is it sent in clear")
    tap.ok(bad.start().ends() == 1 and "not enrolled yet" in bad.text(),
           "an agent without a certificate says what to do", bad.text())


def a_crash_while_joining_is_repaired(tap, server):
    must(server.put("/v1/nodes/n1", {}), 201)
    token = server.join("n1")
    node = Node(server, "n1").start("--join", token)
    tap.ok(until(node.reported), "enrolled", node.text())
    node.stop()
    with open(node.identity(), encoding="ascii") as f:
        key = f.read().split("-----BEGIN CERTIFICATE-----")[0]
    os.unlink(node.identity())
    os.unlink(os.path.join(node.state, "joined"))
    with open(os.path.join(node.state, "enrol.key"), "w", encoding="ascii") as f:
        f.write(key)
    node.start("--join", token)
    tap.ok(until(lambda: node.text().count("enrolled at") == 2),
           "who lost the answer to a crash joins with the same token", node.text())
    node.stop()
    os.unlink(node.identity())
    node.start("--join", token)
    tap.ok(node.ends() == 1 and "unknown, used or expired" in node.text(),
           "who lost the key does not", node.text())


def says(node, *words):
    """The log since the last start; None while a word is missing."""
    text = node.text()[node.mark:]
    return text if all(word in text for word in words) else None


def again(node, *options):
    node.mark = len(node.text())
    return node.start(*options)


def spoiled_credentials_are_named(tap, server):
    node = new_node(server, "n1")
    node.stop()
    keep, wrong = node.state + "-kept", []
    shutil.copytree(node.state, keep)
    token = server.join("n1")  # not spent by anything here

    def fresh():
        remove(node.state)
        shutil.copytree(keep, node.state)

    whats = [w for w in SPOILED if w != "another node's"]
    for what in [w for w in whats if w != "a name twice"]:
        fresh()
        SPOILED[what](os.path.join(node.state, "ca.crt"))
        again(node)
        named = until(lambda: says(node, "ca.crt"))
        code = node.stop()
        if not named or code != 0:
            wrong.append(("ca.crt", what, code, node.text()[node.mark:]))
    for what in whats:
        fresh()
        SPOILED[what](os.path.join(node.state, "identity-1.pem"))
        good = what == "a name twice"  # what stands behind a certificate does not matter
        again(node)
        named = until(lambda: says(node, "generation" if good else "identity-1.pem"))
        code = node.stop() if good else node.ends()
        if not named or code != (0 if good else 1):
            wrong.append(("identity-1.pem", what, code, node.text()[node.mark:]))
    tap.ok(not wrong, "a spoiled certificate or authority is named, and holds nothing up",
           "\n".join(map(str, wrong[:5])))
    wrong = []
    for name in ("enrol.key", "joined", "ca.crt"):
        for what in whats:
            fresh()
            remove(os.path.join(node.state, "identity-1.pem"))
            SPOILED[what](os.path.join(node.state, name))
            before = len(certificates(server, "n1"))
            again(node, "--join", token)
            done = until(lambda: node.proc.poll() is not None or says(node, "enrolled at"))
            enrolled = says(node, "enrolled at")
            code = node.stop()
            if enrolled:
                token = server.join("n1")
            if not done or code != (0 if enrolled else 1) or not (enrolled or says(node, name)):
                wrong.append((name, what, code, before, node.text()[node.mark:]))
    tap.ok(not wrong, "an agent that joins over such files does, or names the one that is in its way",
           "\n".join(map(str, wrong[:5])))
    tap.status(server.call("POST", "/v1/agent/enrol", {"join_token": token, "csr": server.tool("request", "x")},
                           token=None), 201, "what ended in an error spent no token")


def a_spoiled_certificate_is_not_asked_for_again(tap, server):
    must(server.put("/v1/nodes/n1", {}), 201)
    token = server.join("n1")
    node = Node(server, "n1").start("--join", token)
    tap.ok(until(node.reported), "an agent joins", node.text())
    node.stop()
    SPOILED["noise"](node.identity())
    have = certificates(server, "n1")
    again(node, "--join", token)
    tap.ok(node.ends() == 1 and says(node, "identity-1.pem", "was used already", "new join_token"),
           "with its spent token and a spoiled certificate it names the file and the way on", node.text())
    tap.equal(certificates(server, "n1"), have, "and asked the server for nothing")
    again(node, "--join", server.join("n1"))
    tap.ok(until(lambda: says(node, "enrolled at")), "that way is one", node.text())
    tap.equal(node.stop(), 0, "it ends as told")


def an_authority_that_goes_away_ends_nothing(tap, server):
    node = new_node(server, "n1")
    path = os.path.join(node.state, "ca.crt")
    os.rename(path, path + "-away")
    node.mark = len(node.text())
    node.proc.send_signal(signal.SIGHUP)  # it tells all again, now
    tap.ok(until(lambda: says(node, "cannot ask the server", path)), "an agent whose authority's file went away names it",
           node.text())
    time.sleep(1)
    since = node.text()[node.mark:]
    tap.ok(node.proc.poll() is None and not re.search("applied|drift|refused", since),
           "it stays, and the node is what it was", since)
    tap.equal(since.count("cannot ask the server"), 1, "it says so once")
    seen = must(server.get("/v1/nodes/n1"), 200).json["last_seen"]
    os.rename(path + "-away", path)
    tap.ok(until(lambda: must(server.get("/v1/nodes/n1"), 200).json["last_seen"] != seen, 2 * START_S),
           "with the file back it is heard again, without a start", node.text())
    tap.ok(until(lambda: says(node, "is back")), "and says that, too", node.text())
    tap.equal(node.stop(), 0, "it ends as told")
    other = Node(server, "n2")
    must(server.put("/v1/nodes/n2", {}), 201)
    token = server.join("n2")
    other.start("--join", token, "--server-ca", "/nonexistent/ca.pem")
    tap.ok(other.ends() == 1 and "/nonexistent/ca.pem" in other.text(),
           "one that joins with an authority that is not there ends, and names it", other.text())
    again(other, "--join", token)
    tap.ok(until(lambda: says(other, "enrolled at")), "its token is not spent", other.text())
    tap.equal(other.stop(), 0, "it ends as told")


def certificates_are_judged(tap, server):
    node = new_node(server, "n1")
    other = new_node(server, "n2")
    node.stop()
    other.stop()
    tap.ok(server.by(node.identity()).status in (200, 204), "a certificate of ours is a node")
    tap.status(server.by(other.identity(), "PUT", "/v1/agent/inventory", inventory("n1")), 403,
               "one node cannot speak for another")
    for path, what in (("/v1/fabric", "read"), ("/v1/tokens", "ask for tokens")):
        tap.status(server.by(node.identity(), path=path), 403, f"a node cannot {what}")
    unknown = server.by(server.made("n1"))
    tap.ok(unknown.status == 401 and unknown.json["code"] == "certificate-revoked",
           "one that the table does not know is refused", unknown)
    expired = server.by(server.made("n1", "91"))
    tap.ok(expired.status == 401 and expired.json["code"] == "certificate-expired",
           "an expired one", expired)
    early = server.by(server.made("n1", "-2"))
    tap.ok(early.status == 401 and early.json["code"] == "certificate-untrusted",
           "one of tomorrow", early)
    foreign = tempfile.mkdtemp(prefix="stellar-ca-")
    try:
        theirs = server.by(server.made("n1", "1", foreign))
        tap.ok(theirs.status == 401 and theirs.json["code"] == "certificate-untrusted",
               "one of another authority", theirs)
    finally:
        shutil.rmtree(foreign)
    nobody = server.by(None)
    tap.ok(nobody.status == 401 and nobody.json["code"] == "unauthenticated", "none at all", nobody)
    tap.status(server.by(server.made("n1"), path="/healthz"), 200,
               "where nobody is asked, no certificate is judged")


def revocation_holds_at_once(tap, server):
    node = new_node(server, "n1")
    node.stop()
    con = server.open(node.identity())
    tap.ok(server.by(None, con=con).status in (200, 204), "a connection is good")
    sock = con.sock
    must(server.call("DELETE", "/v1/nodes/n1/certificates?reason=lost"), 204)
    refused = server.by(None, con=con)
    tap.ok(refused.status == 401 and refused.json["code"] == "certificate-revoked" and
           con.sock is sock, "until its certificate is revoked, on the same connection", refused)
    con.close()
    node.start()
    tap.ok(until(lambda: "was revoked" in node.text()), "its agent says so", node.text())
    node.stop()
    node.start("--join", server.join("n1"))
    tap.ok(until(lambda: node.text().count("enrolled at") == 2), "a new join token brings it back",
           node.text())
    node.stop()
    identity = node.identity()
    tap.ok(server.by(identity).status in (200, 204), "with a new certificate")
    must(server.call("DELETE", "/v1/nodes/n1", headers={"If-Match": "*"}), 200)
    must(server.put("/v1/nodes/n1", {}), 201)
    tap.status(server.by(identity), 401, "a node that was deleted is not its heir")


def certificates_are_renewed(tap, server):
    node = new_node(server, "n1")
    old = os.path.join(server.data, "old.pem")
    shutil.copy(node.identity(), old)
    first = node.identity()
    node.proc.send_signal(signal.SIGUSR1)
    tap.ok(until(lambda: node.identity() != first), "SIGUSR1 brings a new certificate", node.text())
    # The next request shows it, and ends the one before: the next poll after at most 25 s.
    tap.ok(until(lambda: server.by(old).status == 401, 40), "the old one ends with its first use",
           node.text())
    have = certificates(server, "n1")
    tap.ok(len(have) == 1 and have[0]["origin"] == "renewal", "one is left", have)
    node.stop()
    new = node.identity()
    csr = server.tool("request", "n1")
    tap.status(server.by(new, "POST", "/v1/agent/renew", {"csr": csr}), 201, "a renewal by hand")
    tap.ok(server.by(new).status in (200, 204), "leaves the one in use in force")
    must(server.by(new, "POST", "/v1/agent/renew", {"csr": csr}), 201)
    tap.equal(len(certificates(server, "n1")), 2, "another takes the place of the unused one")
    tap.status(server.by(new, "POST", "/v1/agent/renew", {"csr": "x"}), 422, "nonsense is refused")
    must(server.call("POST", "/v1/nodes/n1/join-token"), 201)
    server.stop()
    server.start()
    tap.ok(server.by(new).status in (200, 204), "all of that is there after a restart")
    tap.equal(len(certificates(server, "n1")), 2, "the unused one too")


def plain_is_kept_out(tap, server):
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=CALL_S)
    sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    start = time.monotonic()
    try:
        got = sock.recv(100)
    except ConnectionResetError:
        got = b""
    tap.ok(not got.startswith(b"HTTP") and time.monotonic() - start < 10,
           "plain HTTP to the TLS port ends soon, without an answer", got)
    sock.close()
    must(server.put("/v1/nodes/n1", {}), 201)
    answer = server.call("POST", "/v1/nodes/n1/token")
    tap.ok(answer.status == 409 and answer.json["code"] == "agent-tokens-off",
           "no agent's token is made", answer)
    for version, good in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True),
                          (ssl.TLSVersion.TLSv1_3, True)):
        context = server.trust()
        try:
            context.minimum_version = context.maximum_version = version
            con = server.open(context=context)
            con.request("GET", "/healthz")
            spoken = con.getresponse().status == 200
        except (ssl.SSLError, OSError, ValueError):
            spoken = False
        tap.equal(spoken, good, f"{version.name} is {'spoken' if good else 'refused'}")
    body = b'{"x":"' + b"y" * 500000 + b'"}'
    tap.status(server.call("PUT", "/v1/nodes/n2", body, {"If-None-Match": "*"}), 422,
               "a large body comes whole")


def fingerprint(server):
    pem = ssl.get_server_certificate(("127.0.0.1", server.port))
    return hash(pem)


def the_own_certificate_is_replaced(tap, server):
    before = fingerprint(server)
    con = server.open()
    con.request("GET", "/healthz")
    con.getresponse().read()
    server.proc.send_signal(signal.SIGHUP)
    tap.ok(until(lambda: fingerprint(server) != before), "SIGHUP brings a new certificate")
    con.request("GET", "/healthz")
    tap.equal(con.getresponse().status, 200, "a connection from before goes on")
    tap.status(server.get("/healthz"), 200, "the new one is of the same authority")


def given_certificates(tap, args):
    """An operator's own, replaced while the server runs."""
    folder = tempfile.mkdtemp(prefix="stellar-given-")
    server = TlsServer(args)
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")

    def put(text, wanted=True):
        parts = text.split("-----BEGIN CERTIFICATE-----")
        for path, part in ((key, parts[0]), (cert, "-----BEGIN CERTIFICATE-----" + parts[1])):
            with open(path + ".new", "w", encoding="ascii") as f:
                f.write(part)
            os.rename(path + ".new", path)

    try:
        put(server.tool(folder, "theirs"))
        server.options += ["--tls-cert", cert, "--tls-key", key]
        server.start()
        context = ssl.create_default_context(cafile=os.path.join(folder, "ca.crt"))
        tap.ok(ssl.PEM_cert_to_DER_cert(open(cert, encoding="ascii").read()) ==
               ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", server.port))),
               "the server shows the operator's certificate")
        del context
        before = fingerprint(server)
        with open(key, "a", encoding="ascii"):
            pass
        with open(cert, "w", encoding="ascii") as f:
            f.write("nonsense")
        server.proc.send_signal(signal.SIGHUP)
        tap.ok(until(lambda: "stays as it is" in server.log_text()), "nonsense is said")
        tap.equal(fingerprint(server), before, "and the old certificate stays")
        put(server.tool(folder, "theirs", "100"))
        server.proc.send_signal(signal.SIGHUP)
        tap.ok(until(lambda: "has expired" in server.log_text()), "an expired one is refused too")
        tap.equal(fingerprint(server), before, "and the old certificate stays")
        put(server.tool(folder, "theirs"))
        server.proc.send_signal(signal.SIGHUP)
        tap.ok(until(lambda: fingerprint(server) != before), "a good one takes its place")
    finally:
        server.stop()
        tap.equal(server.proc.returncode, 0, "the server ends cleanly")
        server.remove()
        shutil.rmtree(folder)


def wrong_starts(tap, args):
    stellard = os.path.join(args.objdir, "stellard")
    folder = tempfile.mkdtemp(prefix="stellar-wrong-")
    for options, words in ((["--listen", "0.0.0.0:0", "--tls", "off"], "in the clear"),
                           (["--tls-cert", "x"], "come together"),
                           (["--tls-cert", "/x", "--tls-key", "/x"], "cannot open"),
                           (["--tls", "off", "--tls-cert", "x", "--tls-key", "x"], "no use"),
                           (["--tls", "maybe"], "none of on, off and auto"),
                           (["--name", "a..b"], "neither a host's name"),
                           (["--name", "0.0.0.0"], "neither a host's name"),
                           (["--name", "n"] * 17, "more than 16")):
        done = subprocess.run([stellard, "--data", folder, *options], capture_output=True, text=True,
                              timeout=START_S, check=False)
        tap.ok(done.returncode in (1, 2) and words in done.stdout + done.stderr,
               f"{' '.join(options[:4])} is refused", done)
    shutil.rmtree(folder)


def names_and_wildcards(tap, args):
    server = TlsServer(args, ["--listen", "0.0.0.0:0", "--name", "stellar.example"])
    server.options.remove("--tls")
    server.options.remove("on")
    server.start()
    try:
        with open(os.path.join(server.data, "url"), encoding="ascii") as f:
            tap.ok(f.read().startswith("https://127.0.0.1:"), "who listens everywhere has TLS by itself")
        must(server.put("/v1/nodes/n1", {}), 201)
        made = server.call("POST", "/v1/nodes/n1/join-token").json
        tap.ok(made["command"].startswith("stellar-agent --server https://stellar.example:") and
               made["join_token"] in made["command"] and
               made["join_token"].endswith(made["ca_sha256"]), "agents are told the given name", made)
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=CALL_S)
        named = server.trust().wrap_socket(sock, server_hostname="stellar.example")
        tap.ok(named.getpeercert() is not None, "which the certificate bears")
        named.close()
    finally:
        finish(tap, server)


def browsers_are_told_to_stay_with_tls(tap, server):
    for path, status in (("/healthz", 200), ("/v1/fabric", 401), ("/nothing", 404)):
        con = server.open()
        con.request("GET", path)
        answer = con.getresponse()
        answer.read()
        con.close()
        tap.equal((answer.status, answer.headers.get_all("Strict-Transport-Security")),
                  (status, ["max-age=31536000"]), f"{path}: over TLS only from now on")
    seen = must(server.call("GET", "/v1/server"), 200).json["certificate"]
    shown = ssl.get_server_certificate(("127.0.0.1", server.port))
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest()
    tap.ok(seen["fingerprint"] == digest and seen["not_after"] > time.strftime("%Y-%m-%d"),
           "/v1/server tells which certificate is shown, and until when", seen)


def hello():
    """What a client says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(there, back).do_handshake()
    except ssl.SSLWantReadError:
        return back.read()
    raise AssertionError("a handshake with nobody")


def is_cut(sock, seconds):
    sock.settimeout(max(seconds, 0.01))
    try:
        while sock.recv(4096):
            pass
        return True
    except ConnectionError:
        return True
    except (TimeoutError, OSError):
        return False


def strange_handshakes_hold_nobody_up(tap, server):
    whole, deadline = hello(), 30
    begun = time.monotonic()

    def opened(first):
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=CALL_S)
        try:
            if first:
                sock.sendall(first)
        except ConnectionError:
            pass  # cut already
        return sock

    wrong = [opened(first) for n in range(40) for first in (
        b"\xff" + os.urandom(511), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + os.urandom(300),
        whole[:5] + b"\x02" + whole[6:], b"\0" * 600)]
    slow = [opened(first) for n in range(60) for first in (b"", whole[:1], whole[:len(whole) // 2], whole)]
    dripping = [opened(b"") for _ in range(10)]
    stop = threading.Event()

    def drip():
        for byte in whole:
            if stop.wait(0.3):
                break
            for sock in dripping:
                try:
                    sock.send(bytes((byte,)))
                except OSError:
                    pass  # cut, as it should be

    dripper = threading.Thread(target=drip)
    dripper.start()
    answers = []
    for _ in range(20):
        con = server.open()
        con.request("GET", "/healthz")
        answers.append(con.getresponse().status)
        con.close()
    tap.equal(answers, [200] * 20, "others are served meanwhile, each with a handshake of its own")
    shown = server.call("GET", "/metrics", token=None).body.decode()
    open_now = float(re.search(r"^stellar_http_connections (\S+)$", shown, re.M).group(1))
    tap.ok(open_now >= len(slow), "half handshakes count as connections", open_now)
    tap.ok(all(is_cut(sock, begun + deadline / 2 - time.monotonic()) for sock in wrong[0::5] + wrong[1::5]),
           "what is no TLS is refused at once")
    end = begun + 2 * deadline * (CALL_S / 30)
    tap.ok(all(is_cut(sock, end - time.monotonic()) for sock in wrong + slow + dripping),
           "half and slow handshakes are cut by their deadline", time.monotonic() - begun)
    stop.set()
    dripper.join()
    for sock in wrong + slow + dripping:
        sock.close()

    def few():
        text = server.call("GET", "/metrics", token=None).body.decode()
        return float(re.search(r"^stellar_http_connections (\S+)$", text, re.M).group(1)) <= 3
    tap.ok(until(few), "and nothing is left of them")


def main():
    args, tap = arguments(), Tap()
    for test in (an_agent_joins, a_node_that_starts_before_its_server_waits,
                 join_tokens_are_for_one_key, guessing_is_slowed_down,
                 the_agent_knows_its_server,
                 a_crash_while_joining_is_repaired, spoiled_credentials_are_named,
                 a_spoiled_certificate_is_not_asked_for_again, an_authority_that_goes_away_ends_nothing,
                 certificates_are_judged,
                 revocation_holds_at_once, certificates_are_renewed, plain_is_kept_out,
                 the_own_certificate_is_replaced, browsers_are_told_to_stay_with_tls,
                 strange_handshakes_hold_nobody_up):
        server = TlsServer(args)
        try:
            server.start()
            test(tap, server)
        except Exception:  # one broken test must not hide the others
            import traceback
            tap.ok(False, f"{test.__name__} runs to its end", traceback.format_exc())
        finally:
            finish(tap, server, f"{test.__name__}: the server ends cleanly")
    for test in (given_certificates, wrong_starts, names_and_wildcards):
        try:
            test(tap, args)
        except Exception:
            import traceback
            tap.ok(False, f"{test.__name__} runs to its end", traceback.format_exc())
    tap.done()


main()
