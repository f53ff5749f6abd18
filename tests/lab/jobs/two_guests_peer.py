#!/usr/bin/python3
"""The other guest of check_two_guests.sh: an ib_send_lat server, and how many of the RoCE packets that came over the
wire had which type of service. Arguments: the options of ib_send_lat. Prints "listening", then {"tos": packets}."""

import collections
import json
import socket
import subprocess
import sys

ETH_P_IP, ROCE_PORT, LIMIT_S = 0x0800, 4791, 80
UDP_HEADER, BTH, DETH, CM_QP, DREP = 8, 12, 8, 1, 0x0016


def is_late_goodbye(roce):
    """Whether a RoCE packet is the connection manager's DREP. When both ends hang up at once, the kernel answers the
    DREQ of an id that is gone without a connection, so without its type of service: no packet of what is tested."""
    attribute = roce[BTH + DETH + 16:BTH + DETH + 18]
    return int.from_bytes(roce[5:8], "big") == CM_QP and int.from_bytes(attribute, "big") == DREP


sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
sock.bind(("eth1", ETH_P_IP))
sock.settimeout(0.2)
server = subprocess.Popen(["timeout", "-k", "2", str(LIMIT_S), "ib_send_lat", "-d", "rxe0", *sys.argv[1:]],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
while not any(line.split()[3].endswith(":18515") for line in
              subprocess.run(["ss", "-Hltn"], capture_output=True, text=True).stdout.splitlines()):
    if server.poll() is not None or "-R" in sys.argv:  # rdma_cm listens where ss does not see it
        break
print("listening", flush=True)
seen = collections.Counter()
while True:
    try:
        packet, address = sock.recvfrom(2048)
    except TimeoutError:
        if server.poll() is not None:
            break
        continue
    header = (packet[0] & 15) * 4
    udp = packet[9] == socket.IPPROTO_UDP and packet[header + 2:header + 4] == ROCE_PORT.to_bytes(2, "big")
    if udp and address[2] != socket.PACKET_OUTGOING and not is_late_goodbye(packet[header + UDP_HEADER:]):
        seen[packet[1] & ~3] += 1  # DSCP alone: the two bits below it are ECN's, which the path may set
sys.stderr.write(server.stderr.read().decode())
print(json.dumps(seen), flush=True)
sys.exit(server.returncode)
