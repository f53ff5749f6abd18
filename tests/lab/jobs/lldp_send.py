#!/usr/bin/python3
"""Sends one LLDP frame, written by hand from 802.1AB and 802.1Qaz. Arguments: interface, system name, time to live
in seconds, and "dcb" for what a switch says of its priorities: 3 in class 3 with 50 % and PFC, DSCP 26 -> 3."""
import socket
import struct
import sys

ifname, system, ttl = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])


def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


unit = tlv(1, b"\x04\x94\x6d\xae\x00\x00\x01") + tlv(2, b"\x05Ethernet8") + tlv(3, struct.pack("!H", ttl))
unit += tlv(4, b"to n1") + tlv(5, system)
if "dcb" in sys.argv[4:]:
    unit += tlv(127, b"\x00\x80\xc2\x09" + bytes([0, 0x00, 0x03, 0x00, 0x00, 50, 0, 0, 50, 0, 0, 0, 0,
                                                   2, 0, 0, 2, 0, 0, 0, 0]))
    unit += tlv(127, b"\x00\x80\xc2\x0b" + bytes([8, 1 << 3]))
    unit += tlv(127, b"\x00\x80\xc2\x0c" + bytes([0, 3 << 5 | 5, 0, 26]))
unit += tlv(0, b"")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind((ifname, 0x88CC))
    wire.send(bytes.fromhex("0180c200000e946dae000001") + struct.pack("!H", 0x88CC) + unit)
