#!/usr/bin/python3
"""Writes a firmware image for the test NIC: see struct solar_image in kmod/flash.c.

usage: mkfw.py OUT VERSION [--psid P] [--component C] [--size BYTES] [--spoil magic|digest|size]
"""
import argparse
import struct
import zlib

HEADER = struct.Struct("<8s16s16s32sII")


def image(options):
    payload = bytes(i * 31 % 251 for i in range(options.size))
    digest, size = zlib.crc32(payload), len(payload)
    magic = b"NOTSOLAR" if options.spoil == "magic" else b"SOLARFW1"
    digest ^= options.spoil == "digest"
    size += options.spoil == "size"
    texts = [options.psid, options.component, options.version]
    for text, limit in zip(texts, (15, 15, 31)):
        if not 0 < len(text.encode()) <= limit:
            raise SystemExit(f"mkfw: {text!r} must have 1..{limit} bytes")
    return HEADER.pack(magic, *(text.encode() for text in texts), size, digest) + payload


def main():
    parser = argparse.ArgumentParser(description="firmware image for the test NIC")
    parser.add_argument("out")
    parser.add_argument("version")
    parser.add_argument("--psid", default="SOL0000000200")
    parser.add_argument("--component", default="fw")
    parser.add_argument("--size", type=int, default=65536)
    parser.add_argument("--spoil", choices=["magic", "digest", "size"])
    options = parser.parse_args()
    with open(options.out, "wb") as out:
        out.write(image(options))


if __name__ == "__main__":
    main()
