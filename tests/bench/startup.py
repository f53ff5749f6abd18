"""Start-up with a full store: 1,000 policies, and a million rows of audit that must not be read."""
import base64
import json
import os
import signal
import sqlite3
import statistics
import time
import urllib.request

TENANTS = 1000
AUDIT_ROWS = 1000000
STARTS = 5
# As many rows, in the sizes of a policy's PUT, behind those that the server wrote. Only a start is
# measured: nobody checks this chain.
FILL = """WITH RECURSIVE counter(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counter WHERE i < ?)
INSERT INTO audit (id, time_us, actor, action, subject, tenant, request_id, reason, before_text,
  after_text, prev_hash, hash, generation)
SELECT ? + i, 1700000000000000 + i, 'token:admin', 'policy.put', 'tenant/t' || i % 1000 || '/policy',
  't' || i % 1000, printf('%032x', i), '', printf('{"digest":"sha256:%064x","revision":1}', i),
  printf('{"digest":"sha256:%064x","revision":2}', i), printf('sha256:%064x', i),
  printf('sha256:%064x', i + 1), i FROM counter"""


def fill_audit(path):
    store = sqlite3.connect(path)
    last = store.execute("SELECT max(id) FROM audit").fetchone()[0]
    store.execute(FILL, (AUDIT_ROWS, last))
    store.commit()
    store.close()


def row(name, walls, cpus, rss, ours):
    text = (f"  {name}: ready after {statistics.median(walls) * 1e3:.0f} ms (median of {len(walls)}), "
            f"{statistics.median(cpus):.0f} ms of CPU; memory {rss:.0f} MiB")
    if ours:
        text += f"; ours takes {statistics.median(ours) / statistics.median(walls):.2f} x its time"
    print(text, flush=True)


def ready(process, probe):
    start, end = time.monotonic(), time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if probe():
                return time.monotonic() - start, process.cpu_ms()
        except OSError:
            pass
        time.sleep(0.002)
    raise SystemExit("bench: no start within 60 s")


def stellard_starts(bench, stellard, process, policy):
    server = stellard(bench.args.objdir, bench.folder)
    for i in range(TENANTS):
        server.call("PUT", f"/v1/tenants/t{i}", {}, If_None_Match="*")
        server.call("PUT", f"/v1/tenants/t{i}/policy", policy, If_None_Match="*")
    server.stop()
    data = f"{bench.folder}/data"
    fill_audit(f"{data}/stellar.db")
    walls, cpus, rss = [], [], 0
    for _ in range(STARTS):
        os.unlink(f"{data}/url")
        started = process([f"{bench.args.objdir}/stellard", "--data", data, "--listen", "127.0.0.1:0",
                           "--log-level", "warning"], f"{bench.folder}/stellard.log")
        wall, cpu = ready(started, lambda: os.path.exists(f"{data}/url"))
        walls.append(wall)
        cpus.append(cpu)
        rss = started.rss_mib()
        started.stop()
    row("stellard", walls, cpus, rss, None)
    return walls


def etcd_starts(bench, start_etcd, process, policy, ours):
    etcd, port = start_etcd(bench.folder)
    if etcd is None:
        print("  peer etcd: skipped, not installed (Debian package etcd-server)")
        return
    value = base64.b64encode(json.dumps(policy).encode()).decode()

    def call(path, body):
        url = f"http://127.0.0.1:{port}/v3/kv/{path}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=10) as answer:
            return json.loads(answer.read())

    for i in range(TENANTS):
        call("put", {"key": base64.b64encode(f"policy/{i}".encode()).decode(), "value": value})
    with open(f"/proc/{etcd.proc.pid}/cmdline", encoding="utf-8") as f:
        argv = f.read().split("\0")[:-1]
    walls, cpus, rss = [], [], 0
    for _ in range(STARTS):
        etcd.proc.send_signal(signal.SIGTERM)
        etcd.proc.wait(timeout=20)
        etcd = process(argv, f"{bench.folder}/etcd.log")
        wall, cpu = ready(etcd, lambda: call("range", {"key": base64.b64encode(b"policy/1").decode()}))
        walls.append(wall)
        cpus.append(cpu)
        rss = etcd.rss_mib()
    row("etcd", walls, cpus, rss, ours)
    etcd.stop()


def run(bench, stellard, process, start_etcd, policy):
    print(f"start-up until ready, {TENANTS} policies and, for us, {AUDIT_ROWS} rows of audit; target 100 ms")
    ours = stellard_starts(bench, stellard, process, policy)
    etcd_starts(bench, start_etcd, process, policy, ours)
