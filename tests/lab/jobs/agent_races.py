#!/usr/bin/python3
# lab: timeout=580
"""What happens to a port while the agent works on it: it goes in the middle of an apply, is renamed, given a name
of odd bytes, moved to another network namespace, unbound and bound again and again while the inventory is read.
The agent lives, tells the port that is gone, keeps the other one as planned, and makes it whole when it is back.
Argument: the build folder."""

import signal
import subprocess
import sys
import threading
import time

import agent_lab as lab
from agent_lab import OTHER, bind, ok, sh


def up():
    for name in ("solar0", "solar1", "solar2", "solar3"):
        sh(f"ip link set {name} up")


def picture(netdev):
    """What others see of a port."""
    parts = sh(f"dcbread {netdev} | jq -cS '[(.app|sort),.ets,.maxrate_bps,.pfc.enabled]'; cat /sys/class/net/{netdev}/mtu;"
               f"tc -j class show dev {netdev} | jq -c 'map(.handle) | sort'; tc filter show dev {netdev} egress | grep -c 0x1a")
    return parts.stdout


def whole(plan, seconds=60):
    """Both ports look as on a node at rest with this plan, and the last thing that was told is that they do."""
    looks = want[plan["knobs"] != plans[0]["knobs"]]

    def holds():
        return (site.receipts and site.receipts[-1].get("observed") == plan["digest"] and
                all(picture(name) == looks[name] for name in looks))
    if lab.until(seconds, holds) is not None:
        return True
    last = site.receipts[-1]
    lab.note(last["result"], last.get("observed"), plan["digest"])
    for name in looks:
        lab.note(name, "is", picture(name), "wanted", looks[name])
    return False


def calm():
    """Repairs in quick succession look like a fight, which pauses; SIGHUP ends the pause."""
    child.send_signal(signal.SIGHUP)
    time.sleep(1.5)


def knobs(b):
    kinds = ("devlink.param", "roce.tos", "devlink.rate")  # need what a port alone has not, or are refused while it is used
    return lab.ordered([k for port in (lab.PORT, OTHER) for k in lab.of_port(port, b) if k["kind"] not in kinds])


site = lab.Site("/tmp/races", sys.argv[1])
up()
plans = [lab.seal(knobs(b), 1 + b) for b in (False, True)]
want = []
for plan in plans:  # what each plan looks like on a node at rest
    site.give(plan)
    if site.child is None:
        child = site.start("solar0,solar1,solar2,solar3")
    ok(site.holds(plan), f"plan {plan['generation']} is applied", f"{site.receipts[-1:]} {site.log()}")
    want.append({name: picture(name) for name in ("solar0", "solar2")})
ok(want[0] != want[1], "the plans differ")
generation = 2


def plan_of(b):
    global generation
    generation += 1
    return lab.seal(knobs(b), generation)


# ---- a port goes in the middle of an apply
for delay in (0.1, 0.4, 0.9):
    calm()
    lab.poke("solar0", "op_delay_ms", 60)
    plan = plan_of(generation % 2 == 1)
    timer = threading.Timer(delay, bind, ("unbind",))
    site.give(plan)
    timer.start()
    timer.join()
    time.sleep(1)
    ok(child.poll() is None, f"unbound {delay} s after a plan was given: the agent lives", site.log())
    told = site.wait(lambda r: r["digest"] == plan["digest"] and lab.PORT in r.get("problem", ""), 30)
    ok(told and told.get("observed") != plan["digest"], "and tells which port is gone", f"{told} {site.log()}")
    bind("bind")
    up()
    calm()
    ok(whole(plan), "with the port back the plan holds, whole", site.log())

# ---- renamed, to something ordinary and to bytes that are no text
for name in (b"other0", b"s\xff\x1b[2J\xc3"):
    calm()
    sh("ip link set solar0 down")
    renamed = subprocess.run([b"ip", b"link", b"set", b"solar0", b"name", name], capture_output=True)
    if renamed.returncode != 0:
        lab.skip(f"an interface is renamed to {name}", renamed.stderr.decode(errors="replace").strip())
        sh("ip link set solar0 up")
        continue
    told = site.wait(lambda r: lab.PORT in r.get("problem", ""), 30, len(site.receipts) - 1)
    ok(told, f"the port of an interface renamed to {name} is told as gone", site.log())
    sh("ip link set solar2 mtu 1500")
    ok(lab.until(20, lambda: lab.read("/sys/class/net/solar2/mtu") != "1500") is not None, "the other one is kept", site.log())
    subprocess.run([b"ip", b"link", b"set", name, b"name", b"solar0"], check=True)
    up()
    calm()
    ok(whole(plan), "with its name back it is whole", site.log())

# ---- in another network namespace
calm()
sh("ip netns add away")
moved = sh("ip link set solar0 netns away")
if moved.returncode == 0:
    told = site.wait(lambda r: lab.PORT in r.get("problem", ""), 30, len(site.receipts) - 1)
    ok(told, "a port in another namespace is told as gone", site.log())
    ok(child.poll() is None, "the agent lives")
    sh("ip netns exec away ip link set solar0 netns 1")
    up()
    calm()
    ok(whole(plan), "and whole when it is back", site.log())
else:
    lab.skip("a port is moved to another namespace", moved.stderr.strip())
sh("ip netns del away")

# ---- while it is looked at: no look ends the agent or holds it up
for i in range(25):
    bind("unbind")
    child.send_signal(signal.SIGHUP)
    time.sleep(0.02 * (i % 5))
    bind("bind")
    child.send_signal(signal.SIGHUP)
    time.sleep(0.03 * (i % 3))
up()
calm()
ok(child.poll() is None, "unbound and bound 25 times while it looks: the agent lives", site.log())
ok(whole(plan), "and the node is whole", site.log())
ok(site.stop() == 0, "it ends well", site.log())
lab.end()
