#!/usr/bin/env python3
"""Control pages of Solar-RDMA: wanted by the profile, made of policies, changed by an upload, given up again."""
import copy

from lib import FABRIC, POLICY, fixture, must, planned, run


def page(server, agent):
    planned(server, "n1")
    agent.fetch()
    must(agent.receipt(), 201)
    return next((k for k in agent.plan["knobs"] if k["kind"] == "solar.page"), None)


def the_profile_wants_pages_and_policies_fill_them(tap, server):
    agent, _ = fixture(server)
    tap.equal(page(server, agent), None, "a profile that says nothing makes none")
    profile = copy.deepcopy(FABRIC)
    profile["fabric_profile"]["solar"] = {"control_page": True, "eta": "0.05", "beta": "0.5"}
    must(server.put("/v1/fabric", profile, etag=server.get("/v1/fabric").etag), 200)
    made = page(server, agent)
    tap.equal((made["subject"], made["enforcement"], made["want"]["line_bps"]), ("solar_rdma.0/0", "solar", 200 * 10**9),
              "the port gets one, of its speed")
    label = made["want"]["labels"][0]
    tap.equal((label["dscp"], label["priority"], label["guarantee_bps"], label["limit_bps"], label["eta_micro"],
               label["beta_micro"]), (26, 3, 80 * 10**9, None, 50000, 500000), "with the job that is placed there")
    policy = copy.deepcopy(POLICY)
    policy["qos_policy"]["nlp_job"] = {"priority": 3, "bw_guarantee": "10%", "bw_limit": "50Gbps"}
    must(server.put("/v1/tenants/a/policy", policy, etag=server.get("/v1/tenants/a/policy").etag), 200)
    label = page(server, agent)["want"]["labels"][0]
    tap.equal((label["guarantee_bps"], label["limit_bps"]), (20 * 10**9, 50 * 10**9), "an upload changes it")
    must(server.put("/v1/fabric", FABRIC, etag=server.get("/v1/fabric").etag), 200)
    tap.equal(page(server, agent), None, "without the profile's word it is gone")


if __name__ == "__main__":
    run([the_profile_wants_pages_and_policies_fill_them])
