"""Batches of telemetry as bytes, by doc/telemetry.md."""
import itertools
import time

KINDS = ["node", "port", "priority", "qp", "rdma", "gpu", "pcie", "irq", "temperature", "ptp"]
COURSES = ["gauge", "stays", "wraps"]
REASONS = ["start", "overflow", "read", "clock"]
OCTETS = {"Content-Type": "application/octet-stream"}
STREAM = time.time_ns()
count = itertools.count(1)


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value):
    return number(len(value)) + value.encode()


def column(values):
    there = [v is not None for v in values]
    out = number(0)
    if not all(there):
        bits = bytearray((len(values) + 7) // 8)
        for i, is_there in enumerate(there):
            bits[i // 8] |= is_there << i % 8
        out = number(1) + bytes(bits)
    last = difference = 0
    for i, value in enumerate(v for v in values if v is not None):
        out += signed(value - last - difference)
        difference = 0 if i == 0 else value - last
        last = value
    return out


def batch(rows, start_us=None, seq=None, stream=None, seconds=10, gaps=()):
    """rows: (kind, device, number, pid, label, {name: (course, width, values)}); start_us: of the first
    sample; the last one is now when it is not given."""
    if start_us is None:
        start_us = time.time_ns() // 1000 - (seconds - 1) * 1000000
    names = sorted({(name, course, width) for row in rows
                    for name, (course, width, _) in row[5].items()})
    devices = sorted({row[1] for row in rows})
    out = b"STB\x01" + number(stream or STREAM) + number(seq or next(count)) + number(1000)
    out += number(start_us) + number(seconds) + number(1000) * (seconds - 1)
    out += number(len(gaps))
    for begin, end, reason in gaps:
        out += number(begin) + number(end - begin) + number(REASONS.index(reason))
    out += number(len(names))
    for name, course, width in names:
        out += text(name) + number(COURSES.index(course)) + number(width)
    out += number(len(devices)) + b"".join(text(d) for d in devices)
    out += number(len(rows))
    for kind, device, of_device, pid, label, columns in rows:
        out += number(KINDS.index(kind)) + number(devices.index(device)) + number(of_device)
        out += number(pid) + number(label) + number(len(columns))
        for name, (course, width, values) in columns.items():
            out += number(names.index((name, course, width))) + column(values)
    return out


def steady(rate, seconds=10, label=1, qp=17, first=1000):
    """A queue pair that sends `rate` bytes a second."""
    values = [first + i * rate for i in range(seconds)]
    return ("qp", "mlx5_0", qp, 4711, label, {"tx_bytes": ("stays", 0, values)})
