#!/usr/bin/env python3
"""stellard under a service manager: notifications, watchdog, a socket handed over, configuration file, logs;
and what is done with a store that nobody runs: backup, restore, check."""
import json
import os
import socket
import subprocess
import tempfile
import time

from lib import FABRIC, CALL_S, START_S, Server, Tap, arguments, finish, must


def run(args, *words, env=None, timeout=START_S):
    return subprocess.run([os.path.join(args.objdir, "stellard"), *words], capture_output=True, text=True,
                          timeout=timeout, env=dict(os.environ, **(env or {})))


class Managed(Server):
    """Started as a service manager does: socket on descriptor 3, messages to a socket of ours."""

    def launch(self, listening, config, more=()):
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(self.data, f"notify{time.monotonic_ns()}"))
        self.notify.settimeout(START_S)
        self.log = open(os.path.join(self.data, "log"), "ab")
        env = dict(os.environ, NOTIFY_SOCKET=self.notify.getsockname(), WATCHDOG_USEC="600000", LISTEN_FDS="1")
        # The variables must name the process's own number: a shell sets it and becomes the program.
        self.proc = subprocess.Popen(
            ["sh", "-c", 'export LISTEN_PID=$$; exec "$0" "$@"', os.path.join(self.args.objdir, "stellard"),
             "--config", config, *more],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env,
            preexec_fn=lambda: os.dup2(listening.fileno(), 3), pass_fds=(3,))
        self.port = listening.getsockname()[1]
        return self

    def ready(self):
        self.hear("READY=1")
        self.admin = open(os.path.join(self.data, "admin.token")).read().strip()
        return self

    def hear(self, wanted):
        """The next message that is `wanted`; others are skipped."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.notify.recv(4096).decode() == wanted:
                return True
        return False


def service(tap, args):
    server = Managed(args)
    config = os.path.join(server.data, "stellard.json")
    with open(config, "w") as out:
        json.dump({"data": server.data, "listen": "127.0.0.1:1", "log-format": "json"}, out)
    listening = socket.create_server(("127.0.0.1", 0))
    server.launch(listening, config).ready()
    tap.status(server.get("/v1/tenants"), 200, "the socket handed over is served, not the configured port")
    tap.ok(server.hear("WATCHDOG=1") and server.hear("WATCHDOG=1"), "signs of life come again and again")
    code = server.stop()
    tap.ok(code == 0 and server.hear("STOPPING=1"), "its end is told", code)
    lines = open(os.path.join(server.data, "log")).read().splitlines()
    tap.ok(any("ListenStream=" in line and f"port {server.port}" in line for line in lines),
           "that the configured port does not count is said", lines)
    tap.ok(lines and all({"time", "level", "area", "msg"} == set(json.loads(line)) for line in lines),
           "every line of the log is a JSON object", lines)
    early = socket.create_connection(listening.getsockname(), timeout=CALL_S)
    early.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    server.launch(listening, config, ["--log-format", "text"]).ready()
    tap.ok(b"200 OK" in early.recv(4096), "who connected while nobody served is served by the next one")
    early.close()
    tap.status(server.get("/v1/tenants"), 200, "the socket is whole after a stop")
    finish(tap, server, quiet=False)

    server = Managed(args)
    outside = socket.create_server(("0.0.0.0", 0))
    proc = server.launch(outside, "/dev/null", ["--data", server.data, "--tls", "off"]).proc
    tap.ok(proc.wait(START_S) == 2 and "/dev/null" in server.log_text(), "an empty file is no configuration",
           server.log_text())
    with open(config2 := os.path.join(server.data, "c.json"), "w") as out:
        json.dump({"data": server.data, "tls": "off"}, out)
    proc = server.launch(outside, config2).proc
    tap.ok(proc.wait(START_S) == 2 and "loopback" in server.log_text(),
           "a socket outside loopback cannot be served without TLS", server.log_text())
    server.remove()


def agent(tap, args):
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "agent.json")
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(os.path.join(folder, "notify"))
        notify.settimeout(START_S)
        with open(config, "w") as out:
            json.dump({"node": "n1", "provider": "sim", "sim-ports": 1, "state-dir": os.path.join(folder, "state"),
                       "log-format": "json"}, out)
        env = dict(os.environ, NOTIFY_SOCKET=notify.getsockname(), WATCHDOG_USEC="600000")
        with open(os.path.join(folder, "log"), "wb") as log:
            proc = subprocess.Popen([os.path.join(args.objdir, "stellar-agent"), "--config", config], stderr=log, env=env)
            heard = [notify.recv(4096).decode() for _ in range(3)]
            tap.equal(sorted(set(heard)), ["READY=1", "WATCHDOG=1"], "an agent is ready, and says that it lives")
            second = subprocess.run([os.path.join(args.objdir, "stellar-agent"), "--config", config],
                                    capture_output=True, text=True, timeout=START_S)
            tap.ok(second.returncode == 1 and "another agent runs on the state folder" in second.stderr,
                   "a second one on its folder is refused and told why", second)
            proc.terminate()
            while notify.recv(4096) != b"STOPPING=1":
                pass
            tap.equal(proc.wait(CALL_S), 0, "it tells its end")
        lines = open(os.path.join(folder, "log")).read().splitlines()
        tap.ok(lines and all("msg" in json.loads(line) for line in lines), "its log is JSON too", lines)
        with open(config, "w") as out:
            json.dump({"node": "n1", "join": "sj_secret"}, out)
        answer = subprocess.run([os.path.join(args.objdir, "stellar-agent"), "--config", config], capture_output=True,
                                text=True, timeout=START_S)
        tap.ok(answer.returncode == 2 and "join" in answer.stderr and "sj_secret" not in answer.stderr,
               "a token is not for the file, and is not printed", answer)


def one_agent_an_interface(tap, args):
    """The Linux provider below a root of its own, with interfaces that are not there: nothing of this machine is
    touched."""
    with tempfile.TemporaryDirectory() as folder:
        def words(state, devices, *more):
            return [os.path.join(args.objdir, "stellar-agent"), "--node", "n1", "--root", folder, *more,
                    "--state-dir", os.path.join(folder, state), *(["--devices", devices] if devices else [])]

        def start(state, devices):
            with open(os.path.join(folder, "log"), "ab") as log:
                return subprocess.Popen(words(state, devices), stderr=log, umask=0o077)

        def wait_for(lock, proc):
            end = time.monotonic() + START_S
            while not os.path.exists(lock) and proc.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.3)
            return proc.poll() is None

        def told(state, devices, *more):
            return subprocess.run(words(state, devices, *more, "--once"), capture_output=True, text=True, timeout=START_S)

        whole, of_none = (os.path.join(folder, "run/stellar", name) for name in ("agent.lock", "agent-none0.lock"))
        first = start("a", "none0,none1")
        tap.ok(wait_for(of_none, first), "an agent of two interfaces runs", open(os.path.join(folder, "log")).read())
        tap.equal([os.stat(path).st_mode & 0o777 for path in (os.path.dirname(whole), whole, of_none)],
                  [0o755, 0o600, 0o600], "the folder of its locks is open to all, the locks are not")
        second = told("b", "none2,none1")
        tap.ok(second.returncode == 1 and "another agent manages the interface none1" in second.stderr and
               "agent-none1.lock" in second.stderr, "one of an interface of these is refused and told why", second)
        second = told("b", None)
        tap.ok(second.returncode == 1 and "another agent manages interfaces of this node" in second.stderr,
               "and one of all interfaces", second)
        second = told("b", "none2")
        tap.ok("another agent" not in second.stderr, "one of others is not", second)
        second = told("b", "none1/../../x")
        tap.ok(second.returncode == 1 and "no name of an interface" in second.stderr, "a path is no interface", second)
        first.kill()
        first.wait(CALL_S)
        first = start("a", None)
        tap.ok(wait_for(os.path.join(folder, "a", "lock"), first), "the locks end with the process")
        second = told("b", "none0")
        tap.ok(second.returncode == 1 and "another agent manages all interfaces" in second.stderr,
               "beside one of all interfaces there is no other", second)
        first.terminate()
        tap.equal(first.wait(CALL_S), 0, "it ends")


def agent_options(tap, args):
    def check(*words):
        return subprocess.run([os.path.join(args.objdir, "stellar-agent"), *words, "--check-config"], text=True,
                              capture_output=True, timeout=START_S)
    with tempfile.TemporaryDirectory() as folder:
        path, state = os.path.join(folder, "c.json"), os.path.join(folder, "state")
        good = {"node": "n1", "server": "https://stellar.example:8440", "state-dir": state}
        for text, wanted in (({"server": good["server"]}, "--node is needed"),
                             (dict(good, nod="x"), 'is "node" meant?'),
                             (dict(good, server="ftp://x"), "https://HOST:PORT is wanted"),
                             (dict(good, server="http://127.0.0.1:1"), "needs --token-file"),
                             (dict(good, **{"server-ca": folder + "/no"}), "--server-ca: " + folder + "/no cannot be read"),
                             (dict(good, **{"sim-ports": 0}), "ports are wanted"),
                             (dict(good, reboot="sometimes"), "neither never nor ask nor window"),
                             (dict(good, **{"reboot-window": "2-3"}), "HH:MM-HH:MM of UTC is wanted"),
                             (dict(good, **{"reboots-a-day": 0}), "1 to 10 reboots a day"),
                             (dict(good, **{"reboots-a-day": 11}), "1 to 10 reboots a day"),
                             (dict(good, **{"reboot-command": "a *"}), "none of them '*'"),
                             (dict(good, **{"reboot-command": "1 2 3 4 5 6 7 8 9"}), "at most 8 words"),
                             (dict(good, reboot="window", provider="sim"), "would reboot this machine"),
                             (dict(good, reboot="ask", provider="sim"), "would reboot this machine")):
            with open(path, "w") as out:
                json.dump(text, out)
            answer = check("--config", path)
            tap.ok(answer.returncode == 2 and wanted in answer.stderr, f"the agent refuses {text}", answer)
        answer = check("--config", folder + "/none.json")
        tap.ok(answer.returncode == 2 and "none.json" in answer.stderr, "a file that is not there is refused", answer)
        with open(path, "w") as out:
            json.dump(good, out)
        answer = check("--config", path)
        tap.ok(answer.returncode == 0 and "right" in answer.stdout, "the agent takes a right file", answer)
        tap.equal(os.listdir(folder), ["c.json"], "and checking it makes nothing")


def options(tap, args):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.json")
        for text, wanted in (({"data": folder, "listen": "127.0.0.1:70000"}, "the port is 0 to 65535"),
                             ({"data": folder, "lisen": "x"}, 'is "listen" meant?'),
                             ({"data": folder, "tls": True}, "a text or a whole number is wanted"),
                             ({"tls": "off"}, "--data is needed")):
            with open(path, "w") as out:
                json.dump(text, out)
            answer = run(args, "--config", path, "--check-config")
            tap.ok(answer.returncode == 2 and wanted in answer.stderr, f"{text} is refused: {wanted}", answer)
        with open(path, "w") as out:
            json.dump({"data": folder, "name": ["a.example", "b.example"], "tls": "on"}, out)
        answer = run(args, "--config", path, "--check-config")
        tap.ok(answer.returncode == 0 and not os.listdir(folder) == [], "a right file is said to be right", answer)
        tap.equal(os.listdir(folder), ["c.json"], "checking a configuration makes nothing")
    agent_options(tap, args)
    for words in (["--nothing"], ["--tls-cert", "x", "--data", "y"], ["backup", "--data", "x"], ["serve", "--out", "x"],
                  ["fly"]):
        answer = run(args, *words)
        tap.ok(answer.returncode == 2 and answer.stderr.startswith("stellard: "), f"{words} is a wrong usage", answer)


def offline(tap, args):
    server = Server(args).start()
    must(server.put("/v1/fabric", FABRIC), 201)
    must(server.put("/v1/tenants/before", {}), 201)
    copy = os.path.join(server.data, "copy.db")
    answer = run(args, "backup", "--data", server.data, "--out", copy)
    tap.ok(answer.returncode == 1 and "in use by process" in answer.stderr, "a store in use is not copied", answer)
    server.stop()
    answer = run(args, "backup", "--data", server.data, "--out", copy)
    tap.ok(answer.returncode == 0 and "generation 2" in answer.stdout, "a stopped server's store is copied", answer)
    answer = run(args, "backup", "--data", server.data, "--out", copy)
    tap.ok(answer.returncode == 1 and "is there already" in answer.stderr, "a copy replaces no file", answer)
    server.start()
    must(server.put("/v1/tenants/after", {}), 201)
    server.stop()
    answer = run(args, "check", "--data", server.data)
    tap.ok(answer.returncode == 0 and "generation 3" in answer.stdout, "a whole store is said to be whole", answer)
    answer = run(args, "restore", "--data", server.data, "--from", copy)
    tap.ok(answer.returncode == 0 and "generation 2" in answer.stdout and ".replaced-" in answer.stdout,
           "the copy is put in place, and the old store's new name is said", answer)
    server.start()
    names = [t["name"] for t in server.get("/v1/tenants").json["items"]]
    tap.equal(names, ["before"], "the server goes on from the copy, with the same admin")
    server.stop()
    elsewhere = os.path.join(server.data, "new", "machine")
    answer = run(args, "restore", "--data", elsewhere, "--from", copy)
    tap.ok(answer.returncode == 0 and os.stat(elsewhere).st_mode & 0o777 == 0o700, "into a new folder, too", answer)
    with open(copy, "r+b") as file:
        file.seek(8192)
        file.write(os.urandom(20000))
    answer = run(args, "restore", "--data", server.data, "--from", copy)
    tap.ok(answer.returncode == 1, "a damaged copy is refused", answer)
    server.start()
    tap.status(server.get("/v1/tenants/before"), 200, "and the store is as it was")
    finish(tap, server)


def given_to_the_owner(tap, args):
    """What root does in the folder of the unit's user leaves nothing there that this user cannot use."""
    if os.geteuid() != 0:
        print("ok - files are given to the folder's owner # skip needs root")
        return
    server = Server(args).start()
    must(server.put("/v1/tenants/before", {}), 201)
    server.stop()
    copy = os.path.join(server.data, "copy.db")
    run(args, "backup", "--data", server.data, "--out", copy)
    user = 65534
    os.chown(server.data, user, user)
    for folder, folders, files in os.walk(server.data):
        for name in folders + files:
            os.chown(os.path.join(folder, name), user, user)
    os.unlink(os.path.join(server.data, "stellar.db.lock"))
    for words in (["check"], ["restore", "--from", copy], ["--new-admin-token"]):
        answer = run(args, *words, "--data", server.data)
        tap.ok(answer.returncode == 0, f"{words[0]} of root in the folder of another user", answer)
        foreign = [name for name in os.listdir(server.data)
                   if os.lstat(os.path.join(server.data, name)).st_uid != user]
        tap.equal(foreign, [], f"{words[0]} leaves nothing of root's there")
    server.remove()


def main():
    args, tap = arguments(), Tap()
    service(tap, args)
    agent(tap, args)
    one_agent_an_interface(tap, args)
    options(tap, args)
    offline(tap, args)
    given_to_the_owner(tap, args)
    tap.done()


main()
