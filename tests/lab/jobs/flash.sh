#!/bin/sh
# lab: timeout=580
# stellar-agent writes and activates firmware of the test NIC, with a server of a few lines: good
# and bad images, a failure half-way, a dead link, users on the device, cancelling, a kill. Read
# back by `devlink dev info` and dcbread, none of the product's code.
# Argument: the build folder.
# shellcheck disable=SC1091
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

AGENT=/host$1/stellar-agent
WORK=/tmp/flash
DL=platform/solar_rdma.0
mkdir -p $WORK/images
[ -x "$AGENT" ] || {
    echo "1..0 # SKIP $AGENT is not built"
    exit 77
}

# server.py: gives $WORK/task when the agent knows another one, images with ranges, and keeps
# reports in $WORK/reports. The plan is $WORK/plan.
cat >$WORK/server.py <<'END'
import http.server, json, os, sys, time, urllib.parse
work = sys.argv[1]

def load(name):
    try:
        with open(f"{work}/{name}") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None

def tag_of(name):
    document = load(name)
    if document is None:
        return "", None
    if name == "plan":
        return document["digest"], document
    return document["id"] + ("~cancelled" if document["cancelled"] else ""), document

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def image(self, name):
        with open(f"{work}/images/{name}", "rb") as f:
            data = f.read()
        start = 0
        if self.headers.get("Range"):
            start = int(self.headers["Range"].split("=")[1].split("-")[0])
        self.answer(206 if start else 200, data[start:])
    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        if url.path.startswith("/v1/firmware/images/"):
            return self.image(url.path.split("/")[4])
        name = "plan" if url.path == "/v1/agent/plan" else "task"
        known = urllib.parse.parse_qs(url.query).get("known", [""])[0]
        for _ in range(50):
            tag, document = tag_of(name)
            if document is not None and tag != known:
                return self.answer(200, json.dumps(document).encode())
            time.sleep(0.1)
        self.answer(204)
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith(":report"):
            with open(f"{work}/reports", "a") as f:
                f.write(body.decode() + "\n")
        self.answer(204)
    do_POST = do_PUT
    def log_message(self, *args):
        pass

class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):
        pass # an agent that was killed takes no answer

Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
END

# task.py ID IMAGE VERSION [MEMBER=VALUE...]: writes $WORK/task; a value is JSON.
cat >$WORK/task.py <<'END'
import hashlib, json, os, sys
work, ident, image, version = sys.argv[1:5]
with open(f"{work}/images/{image}", "rb") as f:
    data = f.read()
task = {"version": 1, "id": ident, "campaign": "lab", "device": "solar_rdma.0",
        "image": {"id": image, "component": "solar_rdma", "version": version,
                  "psids": ["SOL0000000200"], "sha256": hashlib.sha256(data).hexdigest(),
                  "size_bytes": len(data)},
        "activate": "reload", "drain_timeout_s": 0, "deadline_s": 300, "cancelled": False}
for change in sys.argv[5:]:
    key, value = change.split("=", 1)
    place = task
    if key.startswith("image."):
        place, key = task["image"], key[6:]
    place[key] = json.loads(value)
with open(f"{work}/task.new", "w") as f:
    json.dump(task, f)
os.rename(f"{work}/task.new", f"{work}/task")
END

# plan.py: one port's PFC, which a reload of the device loses.
cat >$WORK/plan.py <<'END'
import hashlib, json, sys
knobs = [dict(kind="dcb.pfc", subject="solar_rdma.0/0", want=dict(delay=0, priorities=[3]))]
want = [dict(k, flags=0, id="") for k in knobs]
text = json.dumps({"knobs": want, "node": "n1"}, sort_keys=True, separators=(",", ":"))
with open(f"{sys.argv[1]}/plan", "w") as f:
    json.dump(dict(version=1, node="n1", generation=1,
                   knobs=[dict(k, enforcement="nic") for k in knobs],
                   digest="sha256:" + hashlib.sha256(text.encode()).hexdigest()), f)
END

image() { # NAME VERSION ARGS
    name=$1
    shift
    python3 "$LAB_SRC/mkfw.py" "$WORK/images/$name" "$@"
}
task() { python3 $WORK/task.py $WORK "$@"; }
cancel() { jq '.cancelled = true' $WORK/task >$WORK/task.c && mv $WORK/task.c $WORK/task; }
versions() { # RUNNING STORED as the kernel says
    devlink -j dev info $DL |
        jq -r ".info[\"$DL\"].versions | .running[\"fw.version\"] + \" \" + .stored[\"fw.version\"]"
}
within() { # TENTHS COMMAND...: comes true
    tries=$1
    shift
    while [ "$tries" -gt 0 ]; do
        "$@" && return 0
        tries=$((tries - 1))
        sleep 0.1
    done
    tail -n 3 $WORK/reports $WORK/log
    return 1
}
report_is() { # ID JQ-FILTER: the last report of the task
    grep "\"task\":\"$1\"" $WORK/reports 2>/dev/null | tail -n 1 | jq -e "$2" >/dev/null
}
outcome() { report_is "$1" ".outcome == \"$2\""; }
problem() { grep "\"task\":\"$1\"" $WORK/reports | tail -n 1 | jq -r .problem; }
says() { # TEXT ID PATTERN
    code=0
    problem "$2" | grep -q -- "$3" || code=1
    result $code "$1" "$(problem "$2")"
}
reported() { # ID PHASE: some report was of it
    grep "\"task\":\"$1\"" $WORK/reports 2>/dev/null | grep -q "\"phase\":\"$2\""
}
agent_up() {
    "$AGENT" --node n1 --devices solar0,solar1 --state-dir $WORK/state \
        --server http://127.0.0.1:8080 --token-file $WORK/token 2>>$WORK/log &
    PID=$!
}

for dev in solar0 solar1; do
    ip link set $dev up
done
printf 'token\n' >$WORK/token
chmod 600 $WORK/token
python3 $WORK/plan.py $WORK
python3 $WORK/server.py $WORK 8080 &
listening 8080
image i219 2.1.9
image i220 2.2.0
image i221 2.2.1
image i222 2.2.2
image other 2.1.9 --psid SOL0000000999
pfc() { dcbread solar0 | jq -c .pfc.enabled; }
pfc_is() { [ "$(pfc)" = "$1" ]; }
agent_up
first=$(pfc)
ok 'the plan is applied' within 300 sh -c "[ \"\$(dcbread solar0 | jq -c .pfc.enabled)\" != '$first' ]"
planned=$(pfc)
is 'before' "$(versions)" '2.1.8 2.1.8'

task wrong i219 2.1.9 'image.psids=["SOL0000000999"]'
ok 'another board: aborted' within 300 outcome wrong aborted
says 'and it says which' wrong 'is a board SOL0000000200'
task other other 2.1.9
ok 'an image whose inside is of another board: the device refuses' within 300 outcome other failed
says 'in the words of the driver' other 'PSID does not match'
is 'nothing was written' "$(versions)" '2.1.8 2.1.8'

poke solar0 flash_fail_percent 50
task half i219 2.1.9
ok 'a write that fails half-way: failed' within 300 outcome half failed
says 'in the words of the driver' half 'writing the flash failed, stored image kept'
is 'what runs is untouched' "$(versions)" '2.1.8 2.1.8'
poke solar0 flash_fail_percent 0
poke solar0 ignore_flash_set 1
task liar i219 2.1.9
ok 'a device that only says so: failed' within 300 outcome liar failed
says 'by what it stores' liar 'took the image, but stores 2.1.8'

poke solar0 flash_step_ms 300
task good i219 2.1.9
ok 'a good image: success' within 600 outcome good success
is 'it runs' "$(versions)" '2.1.9 2.1.9'
is 'what the reload lost is back' "$(pfc)" "$planned"
ok 'progress was told' sh -c "grep '\"task\":\"good\"' $WORK/reports |
    jq -se '[.[] | select(.phase == \"flashing\" and .component == \"fw\") | .percent] | length > 2'"
is 'no image is left' "$(find /lib/firmware/stellar $WORK/state/flash -type f 2>/dev/null)" ''
poke solar0 flash_step_ms 0
task again i219 2.1.9
ok 'the same again: success without a write' within 300 outcome again success
ok 'of no phase flashing' sh -c "! grep '\"task\":\"again\"' $WORK/reports | grep -q flashing"

task stored i220 2.2.0 'activate="none"'
ok 'without an activation: pending-reset' within 300 outcome stored pending-reset
is 'stored, not running' "$(versions)" '2.1.9 2.2.0'
poke solar0 activate_needs_reboot 1
task reboot i220 2.2.0
ok 'a device that needs a reboot: pending-reset' within 300 outcome reboot pending-reset
is 'as before' "$(versions)" '2.1.9 2.2.0'
poke solar0 activate_needs_reboot 0

poke solar0 flash_step_ms 300
task late i221 2.2.1 'activate="none"'
ok 'the write has begun' within 600 report_is late '.phase == "flashing" and .percent > 0'
cancel
ok 'a cancel comes too late' within 900 outcome late pending-reset
is 'it was written' "$(versions)" '2.1.9 2.2.1'

task kill i222 2.2.2 'activate="none"'
ok 'another write has begun' within 600 report_is kill '.phase == "flashing" and .percent > 0'
kill -9 $PID
wait $PID 2>/dev/null
try_again() { # the killed one may still stand in the kernel, with the lock of the state folder
    kill -0 $PID 2>/dev/null || agent_up
    sleep 0.5
    outcome kill pending-reset
}
agent_up
ok 'after a kill -9 in the write: pending-reset, by reading' within 300 try_again
is 'the driver brought it to its end' "$(versions)" '2.1.9 2.2.2'
poke solar0 flash_step_ms 0

# Users: two programs with queue pairs, put to sleep so that they cost nothing.
users() { rdma -j resource show qp link rxe0 | jq '[.[] | select(.pid != null)] | length'; }
pair_up 0
if rxe_up 0 && rxe_up 1; then
    pair_perftest 0 ib_send_bw -D 1000 >/dev/null 2>&1 &
    ok 'a program has queue pairs' within 300 sh -c \
        "[ \"\$(rdma -j resource show qp link rxe0 | jq '[.[] | select(.pid != null)] | length')\" -gt 0 ]"
    perftest=$(pgrep -x ib_send_bw)
    # shellcheck disable=SC2086
    kill -STOP $perftest
    task busy i222 2.2.2 'drain_timeout_s=2'
    ok 'a device in use: aborted' within 300 outcome busy aborted
    says 'and it says how many' busy "drain timeout: $(users) queue pairs"
    task cancel i222 2.2.2 'drain_timeout_s=3600'
    ok 'another waits for the users' within 300 report_is cancel '.phase == "draining"'
    cancel
    ok 'a cancel before the write: cancelled' within 300 outcome cancel cancelled
    is 'nothing was activated' "$(versions)" '2.1.9 2.2.2'
    # shellcheck disable=SC2086
    kill -9 $perftest
    rdma link delete rxe0
    rdma link delete rxe1
else
    skip_test 'users on the device' 'no rxe in this kernel'
fi

poke solar0 activate_kills_link 1
task dead i220 2.2.0
ok 'a firmware without a link: failed' within 1500 outcome dead failed
says 'by the link' dead 'link: port 0 was up before and is down'
count=$(grep -c . $WORK/reports)
sleep 5
is 'and that is the end of it' "$(grep -c . $WORK/reports)" "$count"
is 'it runs what was asked for' "$(versions)" '2.2.0 2.2.0'
poke solar0 activate_kills_link 0
task back i219 2.1.9
ok 'a good one again: success' within 600 outcome back success
is 'with its link and its plan' "$(cat /sys/class/net/solar0/carrier) $(pfc)" "1 $planned"
kill $PID
tap_end
