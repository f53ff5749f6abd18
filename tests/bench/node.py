"""A node's side: the data path in the lab's guest, and what an agent costs while nothing happens."""
import json
import os
import subprocess
import time

LAB_SKIP = 77
LAB_LIMIT_S = 550
IDLE_S = 30
SETTLE_S = 5


def flower_row(r):
    where = {"no": "software", "only": "the test NIC's flow table"}[r["hw"]]
    print(f"  {r['rules']} rules in {where}, CPU: {r['apply_cpu_ms']:.0f} ms from the plan in memory (check, apply, "
          f"read back, all observed again); tc -b and tc's list {r['tc_cpu_ms']} ms: "
          f"{r['apply_cpu_ms'] / r['tc_cpu_ms']:.2f} x tc")
    print(f"    as a process, with the plan read, checked and hashed: {r['ours_cpu_ms']} ms of CPU, "
          f"{r['ours_cpu_ms'] / r['tc_cpu_ms']:.2f} x tc; by the clock {r['ours_ms']} and {r['tc_ms']} ms, "
          f"{r['ours_ms'] / r['tc_ms']:.2f} x tc")


def observe_row(r):
    print(f"  full observe pass, {r['node']} ({r['knobs']} knobs): median {r['ms']:.1f} ms, "
          f"{r['cpu_ms']:.1f} ms of CPU")


def datapath(bench):
    print("a plan of flower rules beside tc -b of the same; in an emulated guest: only the ratio counts")
    lab = f"{bench.args.srcdir}/tests/lab"
    objdir = os.path.realpath(bench.args.objdir)
    done = subprocess.run([f"{lab}/lab", "run", "--cache", f"{objdir}/lab", "--timeout", str(LAB_LIMIT_S),
                           f"{lab}/jobs/bench_datapath.sh", objdir], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == LAB_SKIP:
        reason = [line for line in done.stdout.splitlines() if "skipped" in line] or [done.stdout]
        print(f"  skipped: {reason[-1].strip()}")
        return
    if done.returncode != 0:
        raise SystemExit(f"bench: bench_datapath.sh: {done.stdout}{done.stderr}")
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            {"flower": flower_row, "observe": observe_row}[row["what"]](row)


def switches(pid):
    """Wake-ups of all threads: each wait ends a voluntary switch."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith("voluntary"))
    return total


def idle(bench, stellard, process):
    print(f"an agent in sync while nothing happens, over {IDLE_S} s; target 0.5 % of a core")
    server = stellard(bench.args.objdir, bench.folder)
    with open(f"{bench.args.srcdir}/tests/lab/demo/fabric.json", encoding="utf-8") as f:
        fabric = json.load(f)
    fabric["fabric_profile"].pop("host", None)
    server.call("PUT", "/v1/fabric", fabric, If_None_Match="*")
    server.call("PUT", "/v1/tenants/t", {}, If_None_Match="*")
    server.call("PUT", "/v1/tenants/t/policy", {"qos_policy": {"job": {"priority": 3}}}, If_None_Match="*")
    server.call("PUT", "/v1/nodes/n1", {"labels": {"all": "yes"}}, If_None_Match="*")
    server.call("PUT", "/v1/tenants/t/placements/job", {"selector": {"all": "yes"}}, If_None_Match="*")
    with open(f"{bench.folder}/agent.token", "w", encoding="utf-8") as f:
        f.write(server.call("POST", "/v1/nodes/n1/token", {})[1]["token"] + "\n")
    os.chmod(f"{bench.folder}/agent.token", 0o600)
    agent = process([f"{bench.args.objdir}/stellar-agent", "--server", server.url, "--node", "n1",
                     "--provider", "sim", "--token-file", f"{bench.folder}/agent.token", "--state-dir",
                     f"{bench.folder}/agent"], f"{bench.folder}/agent.log")
    bench.barrier(server)
    time.sleep(SETTLE_S)
    cpu, wakes, begin = agent.cpu_ms(), switches(agent.proc.pid), time.monotonic()
    server_cpu = server.cpu_ms()
    time.sleep(IDLE_S)
    seconds = time.monotonic() - begin
    cpu, wakes, server_cpu = (agent.cpu_ms() - cpu, switches(agent.proc.pid) - wakes,
                              server.cpu_ms() - server_cpu)
    print(f"  agent (simulated NIC): {cpu / seconds / 10:.3f} % of a core, {wakes / seconds:.2f} wake-ups/s, "
          f"{agent.rss_mib():.0f} MiB; stellard {server_cpu / seconds / 10:.3f} %", flush=True)
    agent.stop()
    server.stop()
