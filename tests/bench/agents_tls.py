"""What an idle agent costs the server: memory and CPU, with TLS and a client certificate, beside plain HTTP
with a token. The agents are connections of this process that wait for a plan; they share one identity."""
import glob
import json
import os
import socket
import ssl
import subprocess
import time
import urllib.request

WATCHED_S = 10


class Side:
    def __init__(self, objdir, folder, tls):
        self.tls, self.data = tls, f"{folder}/{'tls' if tls else 'plain'}"
        self.log = open(f"{self.data}.log", "wb")
        self.proc = subprocess.Popen([f"{objdir}/stellard", "--data", self.data, "--listen", "127.0.0.1:0",
                                      "--tls", "on" if tls else "off"], stdout=self.log, stderr=self.log)
        self.wait(lambda: os.path.exists(f"{self.data}/url"))
        with open(f"{self.data}/url", encoding="ascii") as f:
            self.url = f.read().strip()
        with open(f"{self.data}/admin.token", encoding="ascii") as f:
            self.admin = f.read().strip()
        self.context = ssl.create_default_context(cafile=f"{self.data}/ca.crt") if tls else None
        self.call("PUT", "/v1/nodes/n1", {}, {"If-None-Match": "*"})
        self.head = self.enrol(objdir) if tls else self.token()

    @staticmethod
    def wait(probe, seconds=30):
        end = time.monotonic() + seconds
        while not probe():
            if time.monotonic() > end:
                raise SystemExit("bench: agents-tls: the server or the agent did not come up")
            time.sleep(0.02)

    def call(self, method, path, body=None, headers=None):
        request = urllib.request.Request(self.url + path, method=method, headers={
            "Authorization": "Bearer " + self.admin, "Content-Type": "application/json", **(headers or {})},
            data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30, context=self.context) as answer:
            return json.loads(answer.read() or b"null")

    def token(self):
        return f"Authorization: Bearer {self.call('POST', '/v1/nodes/n1/token')['token']}\r\n"

    def enrol(self, objdir):
        state = f"{self.data}-agent"
        token = self.call("POST", "/v1/nodes/n1/join-token")["join_token"]
        agent = subprocess.Popen([f"{objdir}/stellar-agent", "--server", self.url, "--node", "n1", "--provider",
                                  "sim", "--state-dir", state, "--join", token], stdout=self.log,
                                 stderr=self.log)
        self.wait(lambda: os.path.exists(f"{state}/joined"))
        agent.terminate()
        agent.wait(20)
        self.context.load_cert_chain(glob.glob(f"{state}/identity-*.pem")[0])
        return ""

    def rss_kib(self):
        with open(f"/proc/{self.proc.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))

    def cpu_s(self):
        with open(f"/proc/{self.proc.pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self):
        port = int(self.url.rsplit(":", 1)[1])
        sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        return self.context.wrap_socket(sock, server_hostname="127.0.0.1") if self.tls else sock

    def measure(self, count):
        digest = self.call("GET", "/v1/nodes/n1/plan")["digest"]
        ask = f"GET /v1/agent/plan?known={digest}&wait=60s HTTP/1.1\r\nHost: x\r\n{self.head}\r\n".encode()
        before_kib, before_s = self.rss_kib(), self.cpu_s()
        socks = []
        for _ in range(count):
            socks.append(self.connect())
            socks[-1].sendall(ask)
        time.sleep(2)
        each_ms, idle_kib, start_s = (self.cpu_s() - before_s) * 1e3 / count, self.rss_kib(), self.cpu_s()
        time.sleep(WATCHED_S)
        percent = (self.cpu_s() - start_s) * 100 / WATCHED_S
        for sock in socks:
            sock.close()
        self.proc.terminate()
        self.proc.wait(60)
        self.log.close()
        return (idle_kib - before_kib) / count, each_ms, percent


def run(objdir, folder, count):
    print(f"{count} agents that wait for a plan, beside the same without TLS")
    plain, tls = (Side(objdir, folder, on).measure(count) for on in (False, True))
    for name, (kib, each_ms, percent) in (("plain", plain), ("TLS", tls)):
        print(f"  {name}: {kib:.1f} KiB an agent, {each_ms:.2f} ms of CPU to come, idle CPU {percent:.1f} %")
    print(f"  TLS costs {(tls[0] - plain[0]) * count / 1024:.1f} MiB more for {count} agents", flush=True)
