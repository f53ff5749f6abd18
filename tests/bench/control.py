"""The control plane under load: a change to many listeners, reads at a steady rate beside writes, the
rehearsal of a change of the whole fleet."""
import json
import shutil
import socket
import subprocess
import time

CLIENTS = 1000
ROUNDS = 100
STREAMS_A_TOKEN = 60  # below the server's limit for one caller
RATE = 2000
NODES, PORTS = 1000, 8
SCHEMA = {"name": "bench", "version": "1.0.0", "tables": {"policy": {
    "columns": {"text": {"type": "string"}}, "isRoot": True}}}


def fan_out(bench, kind, port, *more):
    argv = [f"{bench.bin}/bench_events", "--kind", kind, "--port", str(port), "--clients", str(CLIENTS),
            "--rounds", str(ROUNDS), *more]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(argv)}: {done.stderr.decode()}")
    result = json.loads(done.stdout)
    if result["lost"]:
        print(f"  WARNING: {kind}: {result['lost']} listeners did not hear of a change within 5 s")
    return result


def start_ovsdb(folder, process):
    if not shutil.which("ovsdb-server"):
        return None, None
    with open(f"{folder}/schema", "w", encoding="utf-8") as f:
        json.dump(SCHEMA, f)
    subprocess.run(["ovsdb-tool", "create", f"{folder}/ovs.db", f"{folder}/schema"], check=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = process(["ovsdb-server", f"--remote=ptcp:{port}:127.0.0.1", f"--unixctl={folder}/ovs.ctl",
                      "--no-chdir", f"{folder}/ovs.db"], f"{folder}/ovs.log")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server, port
        except OSError:
            time.sleep(0.05)
    raise SystemExit("bench: ovsdb-server did not come up within 10 s")


def events(bench, stellard, process, start_etcd):
    print(f"one durable change until the last of {CLIENTS} listeners has it, from the first byte of the "
          f"change on ({ROUNDS} changes, one load process)")
    server = stellard(bench.args.objdir, bench.folder)
    server.call("PUT", "/v1/tenants/t", {}, If_None_Match="*")
    server.call("PUT", "/v1/tenants/t/policy", {"qos_policy": {"job": {"priority": 3}}}, If_None_Match="*")
    tokens = [server.token] + [server.call("POST", "/v1/tokens", {"role": "admin"})[1]["token"]
                               for _ in range(CLIENTS // STREAMS_A_TOKEN)]
    with open(f"{bench.folder}/listeners", "w", encoding="utf-8") as f:
        f.write("\n".join(tokens) + "\n")
    before = server.rss_mib()
    ours = fan_out(bench, "sse", server.port, "--tokens", f"{bench.folder}/listeners")
    row("stellard", ours, server.rss_mib(), before, None)
    server.stop()
    for name, start, package in (("etcd", lambda: start_etcd(bench.folder), "etcd-server"),
                                 ("ovsdb", lambda: start_ovsdb(bench.folder, process),
                                  "openvswitch-common")):
        peer, port = start()
        if peer is None:
            print(f"  peer {name}: skipped, not installed (Debian package {package})")
            continue
        before = peer.rss_mib()
        row(name, fan_out(bench, name, port), peer.rss_mib(), before, ours)
        peer.stop()


def row(name, found, rss, before, ours):
    text = (f"  {name}: last listener p50 {found['p50_us'] / 1e3:.1f} ms, p99 {found['p99_us'] / 1e3:.1f} "
            f"ms; first {found['first_us'] / 1e3:.1f} ms, acknowledged {found['answer_us'] / 1e3:.1f} ms; "
            f"memory {rss:.0f} MiB ({(rss - before) * 1024 / CLIENTS:.0f} KiB a listener)")
    if ours:
        text += (f"; ours takes {ours['p50_us'] / found['p50_us']:.2f} x its p50, "
                 f"{ours['p99_us'] / found['p99_us']:.2f} x its p99")
    print(text, flush=True)


def get2000(bench, stellard, process):
    print(f"GET of a policy at {RATE}/s, open loop, beside writers that write as fast as they can")
    server = stellard(bench.args.objdir, bench.folder)
    for i in range(16):
        server.call("PUT", f"/v1/tenants/x{i}", {}, If_None_Match="*")
        server.call("PUT", f"/v1/tenants/x{i}/policy", {"qos_policy": {"job": {"priority": 3}}},
                    If_None_Match="*")
    path, auth = "/v1/tenants/x{conn}/policy", ["--header", server.auth]
    with open(f"{bench.folder}/write.json", "w", encoding="utf-8") as f:
        f.write('{"qos_policy": {"job": {"priority": 3, "description": "{n}"}}}')
    read = [f"{bench.bin}/bench_load", "--port", str(server.port), "--conns", "16", "--rate", str(RATE),
            "--seconds", str(bench.args.seconds), "--method", "GET", "--path", path, *auth]
    write = [f"{bench.bin}/bench_load", "--port", str(server.port), "--conns", "4", "--seconds",
             str(bench.args.seconds + 1), "--method", "PUT", "--path", path, "--body",
             f"{bench.folder}/write.json", "--header", "If-Match: *", *auth]
    for label, writers in (("alone", False), ("beside writes", True)):
        load = process(write, f"{bench.folder}/writers.log") if writers else None
        if load:
            time.sleep(0.3)
        found = json.loads(subprocess.check_output(read))
        text = (f"  {label}: {found['per_s']:.0f}/s, p50 {found['p50_us']} us, p99 {found['p99_us']} us, "
                f"{found['errors']} errors")
        if load:
            out, _ = load.proc.communicate(timeout=60)
            load.log.close()
            text += f"; {json.loads(out)['per_s']:.0f} writes/s meanwhile"
        print(text, flush=True)
    server.stop()


def inventory(node):
    caps = {"dcb_app": True, "dcb_ets": True, "dcb_pfc": True, "dcb_maxrate": True, "dcb_buffer": True,
            "tc": True, "flower_hw": True, "flower_hw_entries": 1024, "maxrate_unit_bps": 1000000,
            "ets_tcs": 8}
    return {"version": 1, "node": node, "ports": [
        {"id": f"solar_rdma.{i}/0", "ifname": f"sol{i}", "driver": "solar_rdma", "firmware": "2.1.8",
         "speed_bps": 200000000000, "mtu_bytes": 4200, "caps": caps} for i in range(PORTS)]}


def dryrun(bench, stellard):
    print(f"rehearsal (?dry_run=true) of a policy that reaches {NODES} nodes x {PORTS} ports; "
          "target 300 ms")
    server = stellard(bench.args.objdir, bench.folder)
    with open(f"{bench.args.srcdir}/tests/lab/demo/fabric.json", encoding="utf-8") as f:
        fabric = json.load(f)
    fabric["fabric_profile"].pop("host", None)
    server.call("PUT", "/v1/fabric", fabric, If_None_Match="*")
    server.call("PUT", "/v1/tenants/t", {}, If_None_Match="*")
    server.call("PUT", "/v1/tenants/t/policy", {"qos_policy": {"job": {
        "priority": 3, "bw_guarantee": "10%"}}}, If_None_Match="*")
    admin = server.token
    for i in range(NODES):
        server.token = admin
        server.call("PUT", f"/v1/nodes/n{i}", {"labels": {"all": "yes"}}, If_None_Match="*")
        server.token = server.call("POST", f"/v1/nodes/n{i}/token", {})[1]["token"]
        server.call("PUT", "/v1/agent/inventory", inventory(f"n{i}"))
    server.token = admin
    server.call("PUT", "/v1/tenants/t/placements/job", {"selector": {"all": "yes"}}, If_None_Match="*")
    end = time.monotonic() + 60
    while server.call("GET", "/v1/server")[1]["planned_generation"] < \
            server.call("GET", "/v1/server")[1]["generation"] and time.monotonic() < end:
        time.sleep(0.1)
    times, answer = [], None
    for i in range(bench.args.rounds):
        start = time.monotonic()
        _, answer = server.call("PUT", "/v1/tenants/t/policy?dry_run=true", {"qos_policy": {"job": {
            "priority": 3, "bw_guarantee": f"{11 + i}%"}}}, If_Match="*")
        times.append((time.monotonic() - start) * 1e3)
    times.sort()
    nodes = answer.get("nodes_total", len(answer.get("nodes", [])))
    print(f"  {len(times)} rehearsals of {nodes} nodes: median {times[len(times) // 2]:.0f} ms, worst "
          f"{times[-1]:.0f} ms; {len(json.dumps(answer)) // 1024} KiB an answer; memory "
          f"{server.rss_mib():.0f} MiB")
    server.stop()
