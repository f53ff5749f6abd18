#!/usr/bin/env python3
"""Keys of Solar-RDMA's jobs: who is given which, where they are not, and a real agent that puts them into place."""
import glob
import os
import shutil
import stat
import subprocess
import tempfile
import time

from lib import CALL_S, START_S, fixture, must, run

PERIOD_S = 6 * 3600


def keys(server, token):
    return {job["label"]: job["epochs"] for job in must(server.get("/v1/agent/solar-keys", token=token), 200).json["keys"]}


def second_tenant(server, nodes):
    must(server.put("/v1/tenants/b/policy", {"qos_policy": {"nlp_job": {"priority": 2}}}), 201)
    must(server.put("/v1/tenants/b/placements/nlp_job", {"nodes": nodes}), 201)
    return must(server.get("/v1/tenants/b/placements/nlp_job"), 200).json["label"]


def a_node_is_given_keys_of_its_own_jobs_only(tap, server):
    agent, _ = fixture(server)
    label = must(server.get("/v1/tenants/a/placements/nlp_job"), 200).json["label"]
    one = keys(server, agent.token)
    now = int(time.time()) // PERIOD_S
    tap.equal(list(one), [label], "those of the job that is placed on it")
    epochs = [e["epoch"] for e in one[label]]
    tap.ok(epochs[0] in (now, now - 1) and epochs[1:] == [epochs[0] - 1, epochs[0] + 1],
           "of the present epoch, the one before and the one after", epochs)
    tap.equal(len({e["key"] for e in one[label]}), 3, "each epoch has another")
    tap.equal(keys(server, agent.token), one, "and they stay while their epoch does")
    two, three = server.node("n2"), server.node("n3")
    other = second_tenant(server, ["n2"])
    tap.equal(list(keys(server, two)), [other], "a node of another tenant's job has the key of that one")
    mine, its = {e["key"] for e in one[label]}, {e["key"] for e in keys(server, two)[other]}
    tap.equal(mine & its, set(), "which opens nothing of the first, though the jobs have the same name")
    tap.equal(keys(server, three), {}, "a node without a job has none")
    placement = server.get("/v1/tenants/b/placements/nlp_job")
    must(server.put("/v1/tenants/b/placements/nlp_job", {"nodes": ["n2", "n3"]}, etag=placement.etag), 200)
    tap.equal(keys(server, three), keys(server, two), "the nodes of a job have the same")
    must(server.call("DELETE", "/v1/tenants/b/placements/nlp_job", headers={"If-Match": "*"}), 200)
    tap.equal((keys(server, two), keys(server, three)), ({}, {}), "and none when it has left them")


def nobody_else_is_given_any(tap, server):
    agent, _ = fixture(server)
    secrets = [e["key"] for epochs in keys(server, agent.token).values() for e in epochs]
    for role, tenant in (("admin", None), ("operator", None), ("auditor", None), ("tenant-admin", "a"),
                         ("tenant-user", "a")):
        token = server.token(role, tenant)["token"]
        tap.status(server.get("/v1/agent/solar-keys", token=token), 403, f"{role} is refused")
    tap.status(server.get("/v1/agent/solar-keys", token=None), 401, "a stranger too")
    answer = server.get("/v1/agent/solar-keys", token=agent.token)
    tap.equal(answer.headers.get("Cache-Control"), "no-store", "nobody on the way keeps the answer")
    mode = stat.S_IMODE(os.stat(os.path.join(server.data, "solar.key")).st_mode)
    tap.equal(mode, 0o600, "the secret they follow from is its owner's alone")
    with open(os.path.join(server.data, "solar.key"), encoding="ascii") as f:
        secrets.append(f.read().strip())
    agent.fetch()
    seen = [str(agent.plan), server.log_text(), server.get("/v1/audit").body.decode(),
            server.get("/v1/tenants/a/placements/nlp_job").body.decode(), server.get("/metrics").body.decode()]
    operation = must(server.call("POST", "/v1/backups"), 202).json["operation"]
    within(lambda: server.get(f"/v1/operations/{operation}").json["state"] != "running")
    files = [p for p in glob.glob(f"{server.data}/**", recursive=True)
             if os.path.isfile(p) and os.path.basename(p) != "solar.key"]
    for path in files:
        with open(path, "rb") as f:
            seen.append(f.read().decode("latin-1"))
    tap.ok(any("backup" in p for p in files), "a backup was made", files)
    tap.ok(not any(secret in text for text in seen for secret in secrets),
           "no key is in a plan, the log, the audit, the metrics, the store or a backup")


def keys_outlive_a_restart(tap, server):
    agent, _ = fixture(server)
    before = keys(server, agent.token)
    server.kill()
    server.start()
    now = keys(server, agent.token)
    tap.ok(all(e in now[label] or e["epoch"] < now[label][1]["epoch"] for label in before for e in before[label]),
           "as they do not have to be stored", (before, now))


def a_real_agent_puts_them_into_place(tap, server):
    agent, _ = fixture(server)
    label = must(server.get("/v1/tenants/a/placements/nlp_job"), 200).json["label"]
    root = tempfile.mkdtemp(prefix="stellar-root-")
    jobs, token_file = f"{root}/run/stellar/solar/jobs", f"{root}/token"
    os.makedirs(jobs)
    with open(token_file, "w", encoding="ascii") as f:
        f.write(agent.token)
    os.chmod(token_file, 0o600)
    log = open(f"{root}/log", "w+", encoding="utf-8")
    process = subprocess.Popen([f"{server.args.objdir}/stellar-agent", "--server", f"http://127.0.0.1:{server.port}",
                                "--node", "n1", "--provider", "sim", "--root", root, "--token-file", token_file,
                                "--state-dir", f"{root}/state"], stdout=log, stderr=log)
    try:
        for name in (label, label + 1):  # the second is nobody's job here
            os.mkdir(f"{jobs}/{name}", 0o730)
        path = f"{jobs}/{label}/key"
        tap.ok(within(lambda: os.path.exists(path)), "a job's folder gets its key soon", read(f"{root}/log"))
        wanted = "stellar-keys 1\n" + "".join(f"{e['epoch']} {e['key']}\n" for e in keys(server, agent.token)[label])
        tap.equal(read(path), wanted, "as the server says")
        tap.equal(stat.S_IMODE(os.stat(path).st_mode), 0o640, "for the owner and the job's group alone")
        tap.ok(not os.path.exists(f"{jobs}/{label + 1}/key"), "a folder of no job of this node gets none")
        must(server.call("DELETE", "/v1/tenants/a/placements/nlp_job", headers={"If-Match": "*"}), 200)
        tap.ok(within(lambda: not os.path.exists(path)), "a job that leaves the node loses it", read(f"{root}/log"))
        said = read(f"{root}/log") + "".join(read(p) for p in glob.glob(f"{root}/state/**", recursive=True)
                                             if os.path.isfile(p))
        tap.ok(not any(line.split()[1] in said for line in wanted.splitlines()[1:]), "no key is in its log or state")
    finally:
        process.terminate()
        process.wait(CALL_S)
        log.close()
        shutil.rmtree(root)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def within(probe):
    end = time.monotonic() + START_S + CALL_S
    while time.monotonic() < end:
        if probe():
            return True
        time.sleep(0.1)
    return False


if __name__ == "__main__":
    run([a_node_is_given_keys_of_its_own_jobs_only, nobody_else_is_given_any, keys_outlive_a_restart,
         a_real_agent_puts_them_into_place])
