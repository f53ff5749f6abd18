"""Two hosts and a link for bench-solar: network namespaces, a veth pair, HTB at a rate on both ends.
Needs root. Ends only the processes that it started, and removes its namespaces."""
import contextlib
import os
import signal
import subprocess
import tempfile
import time

import solar_peers

ADDRESSES = ("10.77.0.1", "10.77.0.2")
PORT = 4791
START_S = 15
LIMIT_S = 120  # of a client


class Failed(Exception):
    """One measurement that did not come to its end, and why."""


def run(*argv, check=True):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def why_not():
    """What keeps a link from being made here; None = nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"solarbench{os.getpid()}"
    done = subprocess.run(["ip", "netns", "add", name], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return f"no network namespace: {done.stderr.strip()}"
    run("ip", "netns", "del", name)
    return None


class Link:
    """Host 0 measures, host 1 serves. rate_mbps: HTB on both ends, None = as fast as the machine is.
    high: a class that goes first, for what comes from or goes to these ports."""

    def __init__(self, rate_mbps=None, high=()):
        self.rate_mbps, self.high = rate_mbps, high
        self.names = [f"solarbench{os.getpid()}-{i}" for i in (0, 1)]
        self.started = []

    def __enter__(self):
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            run("ip", "link", "add", "link0", "netns", self.names[0], "type", "veth", "peer", "name", "link0",
                "netns", self.names[1])
            for name, address in zip(self.names, ADDRESSES):
                run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "link0")
                for device in ("lo", "link0"):
                    run("ip", "-n", name, "link", "set", device, "up")
                self.shape(name)
            for name in self.names:
                self.wait_up(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    @staticmethod
    def wait_up(name):
        """The kernel calls a link up a second late, and UCX uses none that is not."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if " state UP " in run("ip", "-n", name, "link", "show", "link0"):
                return
            time.sleep(0.05)
        raise Failed(f"the link of {name} does not come up")

    def shape(self, name):
        if self.rate_mbps is None:
            return
        tc = ["ip", "netns", "exec", name, "tc"]
        line = ["rate", f"{self.rate_mbps}mbit", "quantum", "60000"]
        run(*tc, "qdisc", "add", "dev", "link0", "root", "handle", "1:", "htb", "default", "20")
        run(*tc, "class", "add", "dev", "link0", "parent", "1:", "classid", "1:1", "htb", *line)
        run(*tc, "class", "add", "dev", "link0", "parent", "1:1", "classid", "1:20", "htb", *line, "prio", "1")
        if self.high:
            run(*tc, "class", "add", "dev", "link0", "parent", "1:1", "classid", "1:10", "htb", *line, "prio", "0")
        for port in self.high:
            for side in ("sport", "dport"):
                run(*tc, "filter", "add", "dev", "link0", "parent", "1:", "protocol", "ip", "prio", "1", "u32", "match",
                    "ip", side, str(port), "0xffff", "flowid", "1:10")

    def __exit__(self, *_):
        for process in self.started:
            self.end(process)
        for name in self.names:
            run("ip", "netns", "del", name, check=False)

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.out.close()

    def start(self, host, argv, env=None):
        out = tempfile.TemporaryFile("w+")
        process = subprocess.Popen(["ip", "netns", "exec", self.names[host], *argv], stdout=out,
                                   stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **(env or {})))
        process.out = out
        self.started.append(process)
        return process

    @staticmethod
    def pause(process):
        process.send_signal(signal.SIGSTOP)

    @contextlib.contextmanager
    def awake(self, process):
        """One that never sleeps, let go on for a round only: else it takes a core from the others."""
        process.send_signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.pause(process)

    @contextlib.contextmanager
    def server(self, argv, port, env=None):
        """A peer's server on host 1, from when it listens at the TCP port."""
        process = self.start(1, argv, env)
        try:
            self.wait_listen(process, port, argv[0])
            yield process
        finally:
            self.end(process)
            self.started.remove(process)

    @staticmethod
    def wait_listen(process, port, name):
        end = time.monotonic() + START_S
        while time.monotonic() < end and process.poll() is None:
            for table in ("tcp", "tcp6"):
                with contextlib.suppress(OSError), open(f"/proc/{process.pid}/net/{table}", encoding="ascii") as f:
                    for row in f.readlines()[1:]:
                        local, state = row.split()[1], row.split()[3]
                        if state == "0A" and int(local.rsplit(":", 1)[1], 16) == port:
                            return
            time.sleep(0.02)
        raise Failed(f"{name} does not listen at port {port}")

    def client(self, argv, env=None, limit_s=LIMIT_S):
        """Its standard output. Failed when it fails, or takes longer than limit_s."""
        command = ["ip", "netns", "exec", self.names[0], *argv]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=limit_s, env=dict(os.environ, **(env or {})))
        except subprocess.TimeoutExpired:
            raise Failed(f"{argv[0]} did not end within {limit_s} s") from None
        if done.returncode != 0:
            text = (done.stderr or done.stdout).strip().splitlines()
            raise Failed(f"{argv[0]}: {text[-1] if text else done.returncode}")
        return done.stdout

    def sent_bytes(self):
        """By host 0 through both classes, with the headers of each packet."""
        text = run("ip", "netns", "exec", self.names[0], "tc", "-s", "class", "show", "dev", "link0")
        return solar_peers.class_bytes(text, "1:1")
