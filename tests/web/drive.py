"""What the drives of the web UI share: a real stellard, pretended nodes, Chromium under a drive of webui/tests/e2e."""
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
END_S = 10


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


def end(children):
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    last = time.monotonic() + END_S
    for child in children:
        try:
            child.wait(max(0.1, last - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def main(script, prepare=None, nodes=NODES, **more):
    """Runs webui/tests/e2e/SCRIPT; prepare(server) puts there what no sim node tells; `more` goes into its environment.
    Ends what it started."""
    chromium = browser()
    folder = tempfile.mkdtemp(prefix="stellar-web-")
    server, children = Server(Args()), []
    server.start()
    try:
        for name in nodes:
            server.put(f"/v1/nodes/{name}", {"labels": {"rack": "a" if name != "n3" else "b"}})
            children.append(start_node(server, name, folder))
        if prepare is not None:
            prepare(server)
        env = dict(os.environ, STELLAR_URL=f"http://127.0.0.1:{server.port}", STELLAR_TOKEN=server.admin,
                   STELLAR_CHROMIUM=chromium, STELLAR_SHOTS=SHOTS, STELLAR_FOLDER=folder, STELLAR_OBJ=OBJ,
                   STELLAR_PID=str(server.proc.pid), **more)
        driver = subprocess.Popen(["node", f"tests/e2e/{script}"], cwd=os.path.join(OBJ, "webui"), env=env,
                                  stdin=subprocess.DEVNULL)
        children.append(driver)
        code = driver.wait(DRIVE_S)
    finally:
        end(children)
        server.stop()
        server.remove()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)
