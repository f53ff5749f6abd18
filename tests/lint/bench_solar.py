"""What bench-solar reads of its peers' output, held to recorded outputs; one short run where a link can be
made. No figure is judged. Usage: bench_solar.py SRCDIR OBJDIR; prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

SRC, OBJ = sys.argv[1:3]
sys.path.insert(0, f"{SRC}/tests/bench")
import solar_link  # noqa: E402
import solar_peers  # noqa: E402

LIMIT_S = 240
count = failed = 0


def say(good, what, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    if not good:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="")


def recorded(name):
    with open(f"{SRC}/tests/data/bench/{name}", encoding="ascii") as f:
        return f.read()


def reads(what, name, reader, **expected):
    got = reader(recorded(name))
    got = got[-1] if isinstance(got, list) else got
    near = all(got[k] == v if isinstance(v, str) else abs(got[k] - v) <= abs(v) * 1e-3 for k, v in expected.items())
    say(near, what, got)


def refuses(what, reader, *texts):
    bad = []
    for text in texts:
        try:
            bad.append(f"{text[:40]!r} gives {reader(text)}")
        except ValueError:
            pass
    say(not bad, what, "\n".join(bad))


def cut(name):
    """The output without its last line: of a peer that was ended before its result."""
    return recorded(name).rstrip().rpartition("\n")[0]


def check_readers():
    # The figures were taken from the recordings by hand: a message of 64 bytes each 411.662 us are
    # 0.15 * 2^20 bytes a second, 53.42 * 2^20 bytes are 0.448 Gbit, 40.61 * 10^6 bytes 0.325.
    reads("UCX's half round trip", "ucx-tag-lat.txt", solar_peers.ucx, p50_us=5.225, mean_us=411.662)
    reads("UCX's bandwidth is in 2^20 bytes", "ucx-put-bw.txt", solar_peers.ucx, gbps=0.44812)
    reads("libfabric's half round trip", "fi-net-64.txt", solar_peers.fi_pingpong, size_bytes=64, mean_us=267.14)
    reads("libfabric's bandwidth is in 10^6 bytes", "fi-rxd-64k.txt", solar_peers.fi_pingpong, size_bytes=65536,
          gbps=0.32488)
    reads("sizes of libfabric above a mebibyte", "fi-net-1m.txt", solar_peers.fi_pingpong, size_bytes=1 << 20)
    reads("iperf3's TCP", "iperf3-tcp.json", solar_peers.iperf3, **expected_tcp())
    # 63,450 datagrams sent, 63,033 less 19,230 arrived, of 1,428 bytes each, in a second.
    reads("iperf3's UDP: what arrived is less than what was sent", "iperf3-udp.json", solar_peers.iperf3,
          sent_gbps=63450 * 1428 * 8e-9, gbps=43803 * 1428 * 8e-9,
          percent_per_gbps=41.88829 / 0.724843 + 23.78736 / 0.500344)
    reads("solar-perf's rounds, the mean of them too", "solar-perf-send-lat.txt", solar_peers.solar_perf,
          transport="tcp", p50_us=59.338, p99_us=1834.82, mean_us=202730351 / 1163 / 2000)
    say(len(solar_peers.solar_perf(recorded("solar-perf-cpu.txt"))) == 2, "solar-perf's medians are no rounds")
    say(solar_peers.class_bytes(recorded("tc-class.txt"), "1:1") == 90 and
        solar_peers.class_bytes(recorded("tc-class.txt"), "1:10") == 0, "bytes of a class of its name, not of 1:10")


def expected_tcp():
    end = json.loads(recorded("iperf3-tcp.json"))["end"]
    return {"gbps": end["sum_received"]["bytes"] * 8 / end["sum_received"]["seconds"] / 1e9}


def check_refusals():
    refuses("UCX without a result", solar_peers.ucx, "", cut("ucx-tag-lat.txt"), "UCX ERROR unreachable\n")
    refuses("libfabric without a result", solar_peers.fi_pingpong, "", cut("fi-net-64.txt"), "error: connect\n")
    refuses("iperf3 without a result", solar_peers.iperf3, "", cut("iperf3-tcp.json"),
            '{"error": "unable to connect"}', '{"end": {}}', '{"start": {}}')
    refuses("solar-perf without a result", solar_peers.solar_perf, "",
            recorded("solar-perf-cpu.txt").replace('"round":"1"', '"round":"median"'),
            recorded("solar-perf-cpu.txt").replace('"operations":38', '"operations":0'))
    refuses("a class that is not there", lambda text: solar_peers.class_bytes(text, "1:2"), recorded("tc-class.txt"))


def check_run():
    what = "a short run measures our side of each part, and says of each aim whether it is met"
    reason = solar_link.why_not()
    if reason:
        print(f"ok {count + 1} - {what} # skip {reason}")
        return
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, f"{SRC}/tests/bench/solar.py", "--objdir", OBJ, "--rounds", "1", "--time", "100",
                "--json", f"{folder}/out.json"]
        run = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            output = run.communicate(timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            run.kill()
            output = run.communicate()[0]
        document = {"rows": [], "aims": []}
        if os.path.exists(f"{folder}/out.json"):
            with open(f"{folder}/out.json", encoding="utf-8") as f:
                document = json.load(f)
        rows = {(r["part"].split(",")[0], r["who"].split(",")[0]) for r in document["rows"]}
        parts = ("idle", "loaded", "bulk", "cpu", "tenants")
        say(run.returncode == 0 and all((p, "solar") in rows for p in parts) and
            all((a["met"] is None) == (a["value"] is None) and a["aim"] in output for a in document["aims"]),
            what, output)
    left = [n for n in os.listdir("/run/netns") if n.startswith(f"solarbench{run.pid}")] if os.path.isdir("/run/netns") else []
    say(not left, "it removes its namespaces", left)


check_readers()
check_refusals()
check_run()
print(f"1..{count}")
sys.exit(1 if failed else 0)
