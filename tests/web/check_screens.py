#!/usr/bin/env python3
"""Chromium against a real stellard with pretended nodes: webui/tests/e2e/main.mjs drives it.

check_screens.py SRC OBJ [--shots FOLDER]; starts server, nodes and browser, ends what it started.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SRC, OBJ = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SHOTS = os.path.abspath(sys.argv[4]) if sys.argv[3:4] == ["--shots"] else ""
sys.path.insert(0, os.path.join(SRC, "tests", "api"))
from lib import Server  # noqa: E402

NODES = ("n1", "n2", "n3")
DRIVE_S = 540


class Args:
    objdir, srcdir = OBJ, SRC


def browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    print("no Chromium; run: ./configure --install-deps")
    sys.exit(77)


def start_node(server, name, folder):
    token = server.call("POST", f"/v1/nodes/{name}/token").json["token"]
    path = os.path.join(folder, name + ".token")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
        f.write(token)
    log = open(os.path.join(folder, name + ".log"), "wb")
    return subprocess.Popen(
        [os.path.join(OBJ, "stellar-agent"), "--server", f"http://127.0.0.1:{server.port}", "--node", name,
         "--token-file", path, "--state-dir", os.path.join(folder, name), "--provider", "sim"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def main():
    chromium = browser()
    folder = tempfile.mkdtemp(prefix="stellar-web-")
    server, children = Server(Args()), []
    server.start()
    try:
        for name in NODES:
            server.put(f"/v1/nodes/{name}", {"labels": {"rack": "a" if name != "n3" else "b"}})
            children.append(start_node(server, name, folder))
        env = dict(os.environ, STELLAR_URL=f"http://127.0.0.1:{server.port}", STELLAR_TOKEN=server.admin,
                   STELLAR_CHROMIUM=chromium, STELLAR_SHOTS=SHOTS, STELLAR_FOLDER=folder)
        driver = subprocess.Popen(["node", "tests/e2e/main.mjs"], cwd=os.path.join(OBJ, "webui"), env=env,
                                  stdin=subprocess.DEVNULL)
        children.append(driver)
        code = driver.wait(DRIVE_S)
    finally:
        for child in children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        end = time.monotonic() + 10
        for child in children:
            try:
                child.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        server.stop()
        server.remove()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


main()
