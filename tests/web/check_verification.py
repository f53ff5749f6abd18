#!/usr/bin/env python3
"""Verifications in Chromium: tried, started, watched while nodes report, ordered once more, cancelled.

The drive does the nodes' part of the API; the agent's own is in tests/lab/check_verify.sh. n3 tells of no RDMA device.
check_verification.py SRC OBJ [--shots FOLDER]
"""
from drive import main
from lib import inventory, must


def devices(server):
    for number, name in enumerate(("n1", "n2", "n3"), 1):
        token = server.node(name)
        body = inventory(name)
        body["ports"][0].update(rdma_device="mlx5_0", rdma_software=False, speed_bps=100000000000)
        gids = [{"index": 3, "gid": f"::ffff:10.9.0.{number}", "type": "rocev2", "netdev": "sol0"}]
        body["rdma_devices"] = [{"name": "mlx5_0", "software": False, "port_ids": ["solar_rdma.0/0"],
                                 "ports": [{"port": 1, "gids": gids}]}]
        if name != "n3":
            must(server.call("PUT", "/v1/agent/inventory", body, token=token), 200)


main("verification.mjs", devices, nodes=())
