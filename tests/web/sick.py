"""A node that tells counters which are not well."""
import time

import drive  # noqa: F401  (the way to tests/api)
from lib import must
from telemetry import OCTETS, batch


def sick(server):
    """Frames with a wrong checksum; a link that went down, and queue pairs that gave up because of it."""
    server.put("/v1/nodes/n9", {"labels": {"rack": "b"}})
    token = server.call("POST", "/v1/nodes/n9/token").json["token"]
    start_us = time.time_ns() // 1000 - 30 * 10**6
    rows = [("port", "p0", 0, 0, 0, {"rx_fcs_errors": ("stays", 0, [0] * 9 + [12]), "link_down_events": ("stays", 0, [0] * 9 + [1])}),
            ("rdma", "mlx5_0", 1, 0, 0, {"retry_exceeded_err": ("stays", 0, [0] * 9 + [3])})]
    must(server.call("POST", "/v1/nodes/n9/telemetry", batch(rows, start_us=start_us, seconds=10), OCTETS, token=token), 200)
