#!/usr/bin/env python3
"""Operators' files through the API and stellarctl: what they say, limits, nothing stored."""
import gzip
import io
import json
import os
import socket
import subprocess
import tarfile
import zipfile

from lib import CALL_S, fixture, must, run

URL = "/v1/health:inspect"
LARGE = 16 * 1024 * 1024
TEXT = {"Content-Type": "text/plain"}


def path_of(server, name):
    return os.path.join(server.args.srcdir, "tests", "data", "evidence", name)


def load(server, name):
    with open(path_of(server, name), "rb") as f:
        return f.read()


def inspect(server, body, headers=None, **kw):
    return server.call("POST", URL, body, headers or TEXT, **kw)


def files(tap, server):
    _, tokens = fixture(server)
    changes = "/v1/events?page_size=1000"
    before = must(server.get(changes), 200).json["items"]
    for kind in sorted(os.listdir(path_of(server, ""))):
        if "." in kind:
            continue
        name = sorted(os.listdir(path_of(server, kind)))[0]
        answer = must(inspect(server, load(server, f"{kind}/{name}")), 200).json
        tap.ok(answer["kind"] != "unknown" and not answer["truncated"] and answer["facts"],
               f"{kind}/{name} is recognised", answer["kind"])
    storm = inspect(server, load(server, "pfc/pfcwd_stats_storm_flap.txt")).json
    tap.equal([(f["rule"], f["subject"], f["count"]) for f in storm["findings"]],
              [("pause-storm", "switch-port Ethernet4 prio 3", 3)], "three sights of a storm are one finding")
    for kind in ("application/octet-stream", "application/json", "application/x-tar"):
        tap.equal(inspect(server, b"rx_prio3_pause: 5\n", {"Content-Type": kind}).json["kind"], "ethtool-S",
                  f"{kind} does not decide what it is")
    tap.equal(inspect(server, b"").json["kind"], "unknown", "an empty body is nothing")
    tap.equal(inspect(server, b"\x00\xff" * 1000).json["kind"], "unknown", "nor are bytes")
    tap.status(inspect(server, b"x", token=tokens["tenant-user"]), 403, "a tenant has no nodes to look into")
    tap.status(inspect(server, b"x", token=None), 401, "nor has a stranger")
    tap.equal(must(server.get(changes), 200).json["items"], before, "nothing was changed")


def sizes(tap, server):
    fixture(server)
    most = b"rx_prio3_pause: 5\n" + b" " * (LARGE - 18)
    answer = inspect(server, most)
    tap.ok(answer.status == 200 and answer.json["truncated"], "16 MiB are read, a line of them is too long", answer)
    with socket.create_connection(("127.0.0.1", server.port), CALL_S) as large:
        large.sendall(f"POST {URL} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n"
                      f"Content-Type: text/plain\r\nContent-Length: {LARGE + 1}\r\n\r\n".encode())
        tap.ok(b" 413 " in large.recv(4096), "a byte more is refused at its head")
    tap.equal(inspect(server, b"rx_prio3_pause: 5\n").json["kind"], "ethtool-S", "and the next one is read")


def ctl(server, *words):
    env = dict(os.environ, STELLAR_SERVER=f"http://127.0.0.1:{server.port}", STELLAR_TOKEN=server.admin,
               HOME=server.data, XDG_CONFIG_HOME=server.data)
    return subprocess.run([os.path.join(server.args.objdir, "stellarctl"), "inspect", *words], env=env,
                          capture_output=True, text=True, timeout=CALL_S)


def command(tap, server):
    fixture(server)
    storm = path_of(server, "pfc/pfcwd_stats_storm_flap.txt")
    clean = path_of(server, "opensm/perfquery_clean.txt")
    shown = ctl(server, storm, clean)
    tap.ok(shown.returncode == 0 and "pause-storm" in shown.stdout and "nothing is wrong" in shown.stdout,
           "inspect shows findings, and files without", shown)
    document = json.loads(ctl(server, clean, "-o", "json").stdout)
    tap.ok(document["kind"] == "opensm" and document["findings"] == [], "-o json is the document")
    both = json.loads(ctl(server, storm, clean, "-o", "json").stdout)
    tap.equal([d["evidence"]["kind"] for d in both], ["pfc", "opensm"], "of several files, each with its name")
    gone = ctl(server, clean + ".gone")
    tap.ok(gone.returncode != 0 and "gone" in gone.stderr, "a file that is not there is told", gone)


def tar_of(members, mode="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def archives(tap, server):
    fixture(server)
    members = [("sos/ethtool_-S_eth0", b"NIC statistics:\n     rx_crc_errors_phy: 12\n"),
               ("sos/../../etc/passwd", b"nobody prints this\n"),
               ("sos/inner.tar", tar_of([("x", b"y")], "w"))]
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members:
            z.writestr(name, data)
    for body in (tar_of(members, "w"), tar_of(members), tar_of(members, "w:xz"), tar_of(members, "w:bz2"),
                 zipped.getvalue()):
        answer = must(inspect(server, body), 200).json
        tap.equal((answer["kind"], answer["truncated"], [(f["path"], f["state"]) for f in answer["files"]]),
                  ("archive", False, [("sos/ethtool_-S_eth0", "read"), ("sos/../../etc/passwd", "unknown"),
                                      ("sos/inner.tar", "archive")]), f"{answer['format']} is answered by file")
        tap.equal([(x["rule"], x["subject"]) for x in answer["files"][0]["evidence"]["findings"]],
                  [("fcs-errors", "netdev eth0")], "with the findings of each")
    bomb = inspect(server, gzip.compress(b"x\n" * (4 << 20)))
    tap.ok(bomb.status == 422 and "200 times" in bomb.json["detail"], "what unpacks to very much is refused", bomb)
    tap.status(inspect(server, b"PK\x03\x04" + b"x" * 100), 422, "so is what only begins as an archive")
    path = os.path.join(server.data, "bundle.tar.gz")
    with open(path, "wb") as f:
        f.write(tar_of(members))
    shown = ctl(server, path)
    tap.ok(shown.returncode == 0 and "fcs-errors" in shown.stdout and "sos/ethtool_-S_eth0" in shown.stdout and
           "not read: archive" in shown.stdout and "1 of its files nobody knows" in shown.stdout,
           "stellarctl shows an archive by file", shown)
    tap.equal(len(json.loads(ctl(server, path, "-o", "json").stdout)["files"]), 3, "-o json is the document")


run([files, sizes, command, archives])
