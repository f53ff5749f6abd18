"""What the peers of bench-solar print, as numbers. Each reader raises ValueError for what is not a
whole result, so that a peer that failed is never taken for one that is slow."""
import json
import re

NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}  # of fi_pingpong's first column
MIB = 1 << 20
UCX_HEAD = ("iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr")
FI_HEAD = re.compile(r"^bytes\s+#sent\s+#ack\s+total\s+time\s+MB/sec\s+usec/xfer\s+Mxfers/sec\s*$")
FI_ROW = re.compile(rf"^([0-9]+)([kmg]?)\s+\S+\s+=\S+\s+\S+\s+{NUMBER}s\s+{NUMBER}\s+{NUMBER}\s+{NUMBER}\s*$")


def ucx(text):
    """ucx_perftest -f -v: half a round trip, and what went through (its MB are 2^20 bytes)."""
    lines = [line.strip() for line in text.splitlines()]
    if UCX_HEAD not in lines or lines[-1] == UCX_HEAD:
        raise ValueError("ucx_perftest: no result")
    fields = lines[lines.index(UCX_HEAD) + 1].split(",")
    if len(fields) != 8 or not all(re.fullmatch(NUMBER, f) for f in fields):
        raise ValueError(f"ucx_perftest: {','.join(fields)}")
    values = [float(f) for f in fields]
    return {"p50_us": values[1], "mean_us": values[3], "gbps": values[5] * MIB * 8 / 1e9}


def fi_pingpong(text):
    """fi_pingpong: the mean of half a round trip; its bandwidth is that of one message at a time."""
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if FI_HEAD.match(line)]
    row = FI_ROW.match(lines[heads[-1] + 1]) if heads and heads[-1] + 1 < len(lines) else None
    if row is None:
        raise ValueError("fi_pingpong: no result")
    return {"size_bytes": int(row.group(1)) * UNITS[row.group(2)], "mean_us": float(row.group(5)),
            "gbps": float(row.group(4)) * 8 / 1e3}


def iperf3(text):
    """iperf3 -J of a client: what was sent and what arrived (of UDP that is less), and the CPU of both
    processes in percent of one core, as much as 1 Gbit/s of it takes each."""
    document = json.loads(text)
    if "error" in document:
        raise ValueError(f"iperf3: {document['error']}")
    try:
        end = document["end"]
        sent, got = (end[name]["bits_per_second"] / 1e9 for name in ("sum_sent", "sum_received"))
        cpu = end["cpu_utilization_percent"]
        return {"sent_gbps": sent, "gbps": got,
                "percent_per_gbps": cpu["host_total"] / sent + cpu["remote_total"] / got}
    except (KeyError, TypeError, ZeroDivisionError) as e:
        raise ValueError(f"iperf3: no whole result: {e}") from e


def solar_perf(text):
    """solar-perf --format json: the lines of the rounds, without the medians."""
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    rows = [r for r in rows if r["round"] != "median"]
    if not rows:
        raise ValueError("solar-perf: no result")
    for row in rows:
        if row["ns"] <= 0 or row["operations"] <= 0:
            raise ValueError(f"solar-perf: an empty round: {json.dumps(row)}")
        if row["test"] == "send_lat":
            row["mean_us"] = row["ns"] / row["operations"] / 2e3
    return rows


def class_bytes(text, class_id):
    """tc -s class show: bytes that a class let through, headers of each packet included."""
    found = re.search(rf"^class \S+ {re.escape(class_id)} .*\n Sent ([0-9]+) bytes", text, re.M)
    if found is None:
        raise ValueError(f"tc: no class {class_id}")
    return int(found.group(1))
