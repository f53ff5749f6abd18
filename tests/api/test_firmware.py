#!/usr/bin/env python3
"""The firmware catalogue: uploads that are whole or leave nothing, downloads, compliance."""
import copy
import hashlib
import os
import shutil
import sqlite3
import resource
import signal
import socket
import subprocess
import threading
import time

from lib import CALL_S, FABRIC, SLOW, Server, must, run

MIB = 1024 * 1024
STREAM = {"Content-Type": "application/octet-stream"}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def path_of(data, version="22.41.1000", component="mlx5_core", sha=None, more=""):
    return (f"/v1/firmware/images?component={component}&version={version}"
            f"&sha256={sha or digest(data)}{more}")


def upload(server, data, version="22.41.1000", component="mlx5_core", sha=None, more="", **kw):
    return server.call("POST", path_of(data, version, component, sha, more), data, STREAM, **kw)


def files(server):
    return sorted(f for f in os.listdir(os.path.join(server.data, "images")) if f != "aside")


def images(server):
    return must(server.get("/v1/firmware/images"), 200).json["items"]


def until(what):
    end = time.monotonic() + CALL_S
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def half(server, data, version):
    """A connection that has sent half of an upload."""
    s = socket.create_connection(("127.0.0.1", server.port), CALL_S)
    s.sendall((f"POST {path_of(data, version)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n"
               f"Content-Type: application/octet-stream\r\nContent-Length: {len(data)}\r\n\r\n").encode())
    s.sendall(data[:len(data) // 2])
    return s


def an_image_comes_back_as_it_was_sent(tap, server):
    data = os.urandom(3 * MIB + 17)
    made = must(upload(server, data, more="&psid=MT_2,MT_1,MT_2&name=fw.bin"), 201)
    item = made.json
    tap.equal((item["component"], item["version"], item["psids"], item["size_bytes"], item["sha256"],
               item["name"], made.etag), ("mlx5_core", "22.41.1000", ["MT_1", "MT_2"], len(data),
                                          digest(data), "fw.bin", '"1"'), "the row tells what came")
    where = made.headers["Location"]
    tap.equal(must(server.get(where), 200).json, item, "it is read back")
    tap.equal(images(server), [item], "and listed")
    tap.equal(files(server), [item["id"] + ".bin"], "one file holds it")
    whole = must(server.get(where + "/content"), 200)
    tap.ok(whole.body == data and whole.headers["Content-Type"] == "application/octet-stream",
           "its content is what was sent")
    agent = server.node("n1")
    tap.ok(must(server.get(where + "/content", token=agent), 200).body == data, "an agent may fetch it")
    for text, first, last in (("0-9", 0, 10), ("10-", 10, None), ("-5", -5, None),
                              (f"{len(data) - 1}-{len(data) + 9}", -1, None)):
        part = server.get(where + "/content", headers={"Range": f"bytes={text}"})
        tap.ok(part.status == 206 and part.body == data[first:last] and
               part.headers["Content-Range"].endswith(f"/{len(data)}"), f"range {text}", part.status)
    for text in ("9-1", "x", "0-1,3-4", "-"):
        tap.equal(server.get(where + "/content", headers={"Range": f"bytes={text}"}).status, 200,
                  f"range {text} is not served: the whole is")
    for text in (f"{len(data)}-", "-0"):
        outside = server.get(where + "/content", headers={"Range": f"bytes={text}"})
        tap.ok(outside.status == 416 and outside.json["code"] == "range-outside" and
               outside.headers["Content-Range"] == f"bytes */{len(data)}", f"range {text} is outside", outside)
    again = upload(server, data, more="&psid=MT_1,MT_2")
    tap.ok(again.status == 200 and again.json["unchanged"] and again.json["id"] == item["id"],
           "the same again is there already", again)
    other = upload(server, data + b"x", more="&psid=MT_1,MT_2")
    tap.ok(other.status == 409 and other.json["code"] == "image-exists" and item["id"] in other.json["detail"],
           "other bytes under the same version are refused", other)
    must(upload(server, data, more="&psid=MT_3"), 201)
    tap.equal(len(files(server)), 2, "only what is listed has a file")
    audit = server.get("/v1/audit?page_size=5").json["items"]
    tap.ok(audit[0]["action"] == "image.post" and audit[0]["subject"].startswith("firmware/image/"),
           "the audit tells", audit[0])
    server.stop()
    server.start()
    tap.ok(server.get(where + "/content").body == data, "a restart keeps it")
    os.unlink(os.path.join(server.data, "images", item["id"] + ".bin"))
    lost = server.get(where + "/content")
    tap.ok(lost.status == 500 and lost.json["code"] == "image-lost" and server.data not in str(lost.body),
           "a lost file is said plainly", lost)


def what_is_not_right_leaves_nothing(tap, server):
    data = os.urandom(2 * MIB)
    wrong = upload(server, data, sha="0" * 64)
    tap.ok(wrong.status == 422 and wrong.json["code"] == "image-digest" and digest(data) in wrong.json["detail"],
           "another digest is refused and says which came", wrong)
    bad = server.call("POST", "/v1/firmware/images?component=a/b&version=N%2FA&sha256=AB&psid=x,&name=a%2Fb",
                      b"x", STREAM)
    tap.ok(bad.status == 400 and bad.json["code"] == "invalid-parameter" and len(bad.json["errors"]) == 5,
           "every wrong parameter is named", bad)
    boards = [f"P{i}" for i in range(33)]
    tap.status(upload(server, data, more="&psid=" + ",".join(boards)), 400, "33 boards are too many")
    tap.status(upload(server, data, version="1", more="&psid=" + ",".join(boards[1:])), 201, "32 are not")
    tap.status(server.call("POST", path_of(b""), b"", STREAM), 400, "an empty image is refused")
    tap.status(upload(server, b"x", more="&reason=" + "x" * 257), 400, "a long reason is refused")
    tap.status(server.call("POST", path_of(b"x"), b"x", {"Content-Type": "application/json"}), 415, "no JSON")
    server.drop_connection()
    chunked = socket.create_connection(("127.0.0.1", server.port), CALL_S)
    head = f"POST {path_of(b'x')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.admin}\r\n" \
           "Content-Type: application/octet-stream\r\n"
    chunked.sendall((head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n").encode())
    tap.ok(b" 411 " in chunked.recv(4096), "chunks have no length")
    chunked.close()
    large = socket.create_connection(("127.0.0.1", server.port), CALL_S)
    large.sendall((head + f"Content-Length: {512 * MIB + 1}\r\n\r\n").encode())
    tap.ok(b" 413 " in large.recv(4096), "more than 512 MiB is refused at its head")
    large.close()
    broken = half(server, data, "2")
    tap.ok(until(lambda: any(f.endswith(".part") for f in files(server))), "an upload under way has a file")
    broken.close()
    tap.ok(until(lambda: len(files(server)) == 1), "a client that leaves takes it along")
    tap.equal(len(images(server)), 1, "nothing of all this is listed")
    tap.status(upload(server, data), 201, "and a good one is taken")


def many_at_once_have_their_limit(tap, server):
    blocks = [os.urandom(4 * MIB) for _ in range(4)]
    results = [None] * 4

    def one(i):
        results[i] = upload(server, blocks[i], version=f"1.{i}").status
    threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    tap.equal(results, [201] * 4, "four uploads at once")
    for item in images(server):
        i = int(item["version"].split(".")[1])
        tap.ok(server.get(f"/v1/firmware/images/{item['id']}/content").body == blocks[i],
               f"image {i} has its own bytes")
    same = [None] * 4

    def twin(i):
        same[i] = upload(server, blocks[0], version="9").status
    threads = [threading.Thread(target=twin, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    tap.equal(sorted(same), [200, 200, 200, 201], "of four that are the same one is stored")
    open_ones = [half(server, blocks[i], f"7.{i}") for i in range(4)]
    until(lambda: len([f for f in files(server) if f.endswith(".part")]) == 4)
    busy = upload(server, b"x" * 1000, version="8")
    tap.ok(busy.status == 503 and "Retry-After" in busy.headers, "a fifth is told to come again", busy)
    open_ones[0].close()
    tap.ok(until(lambda: upload(server, b"x" * 1000, version="8").status in (200, 201)), "when one ends there is room")
    for s in open_ones[1:]:
        s.close()
    tap.ok(until(lambda: len(files(server)) == 6), "what was cut leaves nothing")


def high_water_kib(server):
    for line in open(f"/proc/{server.proc.pid}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])


def a_large_image_needs_no_memory(tap, server):
    must(upload(server, b"warm" * 100000, version="1"), 201)
    data = os.urandom(MIB) * 100
    before = high_water_kib(server)
    made = must(upload(server, data, version="2"), 201)
    grown = high_water_kib(server) - before
    tap.ok(grown < 16 * 1024 * SLOW, f"100 MiB cost {grown} KiB of memory")
    before = high_water_kib(server)
    tap.equal(digest(server.get(made.headers["Location"] + "/content").body), digest(data), "and come back")
    grown = high_water_kib(server) - before
    tap.ok(grown < 16 * 1024 * SLOW, f"which cost {grown} KiB")


def a_kill_in_the_middle_leaves_nothing(tap, server):
    data = os.urandom(4 * MIB)
    must(upload(server, data, version="1"), 201)
    cut = half(server, data, "2")
    until(lambda: any(f.endswith(".part") for f in files(server)))
    server.kill()
    cut.close()
    folder = os.path.join(server.data, "images")
    tap.ok(any(f.endswith(".part") for f in files(server)), "the kill leaves a part")
    open(os.path.join(folder, "0123456789abcdef.bin"), "w").close()  # as if killed before the row
    open(os.path.join(folder, "notes.txt"), "w").close()
    server.start()
    tap.equal([f for f in files(server) if f != "notes.txt"], [images(server)[0]["id"] + ".bin"],
              "the next start removes it")
    tap.equal(os.listdir(os.path.join(folder, "aside")), ["0123456789abcdef.bin"],
              "and sets a file without a row aside")
    tap.ok("notes.txt" in files(server), "but nothing that is not its own")
    tap.status(upload(server, data, version="2"), 201, "and uploads go on")


def no_room(limit):
    def preexec():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return preexec


def a_full_disk_is_told(tap, server):
    server.stop()
    server.start(preexec=no_room(6 * MIB))
    full = upload(server, os.urandom(8 * MIB), version="1")
    tap.ok(full.status == 507 and full.json["code"] == "storage-full" and server.data not in str(full.body),
           "a file that cannot grow is 507", full)
    tap.ok(until(lambda: files(server) == []), "nothing is left")
    tap.status(upload(server, b"x" * 5000, version="2"), 201, "a small one has room")
    if os.geteuid() != 0:
        print("# SKIP a small file system needs root")
        return
    small = Server(server.args)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", small.data]).returncode != 0:
        print("# SKIP no tmpfs can be mounted")
        return
    try:
        small.start()
        full = upload(small, os.urandom(40 * MIB), version="1")
        tap.ok(full.status == 507 and full.json["code"] == "storage-full", "the store's reserve is kept free", full)
        tap.ok(until(lambda: files(small) == []), "nothing is left there")
        tap.status(upload(small, os.urandom(10 * MIB), version="2"), 201, "what fits is taken")
        tap.equal(small.stop(), 0, "and the server ends cleanly")
    finally:
        small.stop()
        subprocess.run(["umount", small.data], check=True)
        small.remove()


def an_image_goes_unless_it_is_needed(tap, server):
    one = must(upload(server, b"one" * 1000, version="22.41.1"), 201)
    two = must(upload(server, b"two" * 1000, version="22.40"), 201)
    path, old = one.headers["Location"], two.headers["Location"]
    tap.status(server.call("DELETE", path), 428, "a DELETE needs If-Match")
    tap.status(server.call("DELETE", path, headers={"If-Match": '"2"'}), 412, "and the right one")
    profile = copy.deepcopy(FABRIC)
    profile["fabric_profile"]["firmware_minimums"] = [{"driver": "mlx5_core", "minimum": "22.41"}]
    must(server.put("/v1/fabric", profile), 201)
    kept = server.call("DELETE", path, headers={"If-Match": '"1"'})
    tap.ok(kept.status == 409 and kept.json["code"] == "image-needed" and "22.41" in kept.json["detail"],
           "the last image that meets the profile's minimum stays", kept)
    tap.status(server.call("DELETE", old, headers={"If-Match": '"1"'}), 204, "one below it goes")
    must(upload(server, b"new" * 1000, version="22.42"), 201)
    tap.status(server.call("DELETE", path, headers={"If-Match": '"1"'}), 204, "with a newer one there it goes too")
    tap.status(server.get(path), 404, "it is gone")
    tap.status(server.get(path + "/content"), 404, "and its content")
    tap.status(server.call("DELETE", path, headers={"If-Match": '"1"'}), 404, "twice is 404")
    tap.ok(until(lambda: len(files(server)) == 1), "and the files")


def an_image_waits_for_its_store(tap, server):
    """The images are put back, then an old store, then the right one."""
    server.stop()
    store, old = (os.path.join(server.data, n) for n in ("stellar.db", "old.db"))
    shutil.copy(store, old)
    server.start()
    data = b"bytes" * 1000
    where = must(upload(server, data, version="1"), 201).headers["Location"]
    name = where.rsplit("/", 1)[1] + ".bin"
    server.stop()
    new = store + ".new"
    os.rename(store, new)
    os.rename(old, store)
    part = os.path.join(server.data, "images", "0" * 16 + ".part")
    other = os.path.join(server.data, "images", "somebody's.bin")
    for path in (part, other):
        with open(path, "wb") as f:
            f.write(b"x")
    server.start()
    tap.status(server.get(where + "/content"), 404, "an older store does not know the image")
    aside = os.path.join(server.data, "images", "aside", name)
    with open(aside, "rb") as f:
        tap.ok(f.read() == data, "its file is set aside, not removed")
    tap.ok(not os.path.exists(part) and os.path.exists(other),
           "an upload that did not end goes, what is not ours stays")
    tap.ok("images/aside" in server.log_text(), "the log says where it is")
    server.stop()
    os.rename(new, store)
    server.start()
    tap.ok(must(server.get(where + "/content"), 200).body == data,
           "with its own store it is back")
    tap.ok(not os.path.exists(os.path.dirname(aside)), "and nothing is aside")


def the_image_that_replaces_it_may_be_behind_a_page(tap, server):
    one = must(upload(server, b"one" * 1000, version="22.41.1"), 201)
    two = must(upload(server, b"two" * 1000, version="22.42"), 201)
    profile = copy.deepcopy(FABRIC)
    profile["fabric_profile"]["firmware_minimums"] = [{"driver": "mlx5_core", "minimum": "22.41"}]
    must(server.put("/v1/fabric", profile), 201)
    server.stop()
    with sqlite3.connect(os.path.join(server.data, "stellar.db")) as db:
        columns = [c[1] for c in db.execute("PRAGMA table_info(firmware_images)")]
        row = dict(zip(columns, db.execute("SELECT * FROM firmware_images LIMIT 1").fetchone()))
        for i in range(1000):
            row.update(id=f"{i:016x}", component="bnxt_en", version=f"1.{i}")
            db.execute(f"INSERT INTO firmware_images ({','.join(columns)}) VALUES "
                       f"({','.join('?' * len(columns))})", [row[c] for c in columns])
    db.close()
    server.start()
    tap.status(server.call("DELETE", one.headers["Location"], headers={"If-Match": '"1"'}), 204,
               "an image goes when another is new enough, behind a thousand others")
    kept = server.call("DELETE", two.headers["Location"], headers={"If-Match": '"1"'})
    tap.ok(kept.status == 409 and kept.json["code"] == "image-needed", "the last one stays", kept)


def compliance_counts_versions(tap, server):
    def node(name, *ports):
        report = {"version": 1, "ports": [dict({"id": f"p{i}/0"}, **p) for i, p in enumerate(ports)]}
        must(server.call("PUT", "/v1/agent/inventory", report, token=server.node(name)), 200)
    mlx = {"driver": "mlx5_core", "psid": "MT_1"}
    node("n1", dict(mlx, firmware="22.41.1000"), dict(mlx, firmware="22.40.1", firmware_stored="22.41.1000"))
    node("n2", dict(mlx, firmware="22.40.1"), dict(mlx, firmware="N/A"), {"driver": "bridge"})
    node("n3", {"driver": "ice", "firmware": "6.1.5"})
    rows = lambda query="": must(server.get("/v1/firmware/compliance" + query), 200).json
    tap.equal({r["verdict"] for r in rows()["items"]}, {"no-minimum"}, "without a minimum nothing is judged")
    profile = copy.deepcopy(FABRIC)
    profile["fabric_profile"]["firmware_minimums"] = [{"driver": "mlx5_core", "minimum": "22.41"}]
    must(server.put("/v1/fabric", profile), 201)
    got = rows()
    tap.equal([(r["component"], r.get("psid"), r["version"], r["verdict"], r["ports"], r["staged"], r["nodes"])
               for r in got["items"]],
              [("ice", None, "6.1.5", "no-minimum", 1, 0, ["n3"]),
               ("mlx5_core", "MT_1", "unknown", "unknown", 1, 0, ["n2"]),
               ("mlx5_core", "MT_1", "22.40.1", "below", 2, 1, ["n1", "n2"]),
               ("mlx5_core", "MT_1", "22.41.1000", "compliant", 1, 0, ["n1"])], "a row a version and board")
    tap.equal(got["ports"], {"compliant": 1, "below": 2, "unknown": 1, "no-minimum": 1}, "with sums")
    tap.equal([r["version"] for r in rows("?verdict=below")["items"]], ["22.40.1"], "by verdict")
    tap.equal([r["version"] for r in rows("?component=ice")["items"]], ["6.1.5"], "by component")
    tap.status(server.get("/v1/firmware/compliance?verdict=good"), 400, "no such verdict")
    for i in range(101):
        node(f"m{i:03}", dict(mlx, firmware="22.39.1"))
    row = rows("?verdict=below")["items"][0]
    tap.equal((row["nodes_total"], len(row["nodes"])), (101, 100), "a row names 100 nodes and counts all")


run([an_image_comes_back_as_it_was_sent, what_is_not_right_leaves_nothing, many_at_once_have_their_limit,
     a_large_image_needs_no_memory, a_kill_in_the_middle_leaves_nothing, a_full_disk_is_told,
     an_image_goes_unless_it_is_needed, an_image_waits_for_its_store,
     the_image_that_replaces_it_may_be_behind_a_page, compliance_counts_versions])
