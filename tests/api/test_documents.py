#!/usr/bin/env python3
"""Runs what doc/byhand.md, doc/start.md and the backups of doc/operate.md print, as a reader at a terminal would;
the shorter documents and README.md after one another, over one fleet; and holds every command that is named anywhere
against what the programs take.

Changed is only what two readers on one machine would change: the port, and a Ctrl-C, which is given when the
line's comment says so. A command must succeed, unless its comment begins with "refused" or "exit status 1:". Words in capital letters
are filled in.
"""
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from lib import PASSWORD, SLOW, Tap, arguments

RUN_S = 180 * SLOW
PROMPT = re.compile(rb"(?:[Pp]assword|Again): $")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PRELUDE = r'''set -o pipefail
trap 'echo "$LINENO $?" >&9' ERR
until_said() {  # WORD COMMAND...: runs it until it says WORD
    local word=$1 pid good=1
    shift
    "$@" >said 2>&1 &
    pid=$!
    for _ in $(seq 300); do
        if grep -q "$word" said; then good=0; break; fi
        sleep 0.1
    done
    kill $pid
    wait $pid
    cat said
    return $good
}
until_ended() {  # COMMAND...: must go on until it is ended
    local pid
    "$@" &
    pid=$!
    sleep 3
    kill $pid && { wait $pid; true; }
}
'''


def commands(path):
    """The lines of a document's sh fences."""
    text = open(path, encoding="utf-8").read()
    return "".join(re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)).splitlines()


def bounded(line):
    """The line with its Ctrl-C given, and with each command of an && list on its own, so that none fails unseen."""
    command, _, comment = line.partition(" # ")
    wanted = re.match(r'Ctrl-C when it says "(.*)"', comment)
    if wanted:
        command = f"until_said '{wanted.group(1)}' {command}"
    if comment.startswith("until Ctrl-C"):
        command = f"until_ended {command}"
    if re.match(r"(obj/)?stellarctl", command):
        command = command.replace(" && ", "; ")
    return command


def must_fail(line):
    return re.search(r"# (refused|exit status 1:)", line) is not None


def on_terminal(script, folder, objdir):
    """What the script shows on a terminal on which each question for a password is answered at once."""
    master, slave = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("STELLAR_", "XDG_"))}
    environment.update(HOME=folder, TERM="dumb", PATH=objdir + ":" + environment["PATH"])
    with open(os.path.join(folder, "faults"), "wb") as faults:
        proc = subprocess.Popen(["bash", "-c", 'exec 9>&%d; . ./script' % faults.fileno()], cwd=folder,
                                pass_fds=[faults.fileno()], env=environment, stdin=slave, stdout=slave,
                                stderr=slave, start_new_session=True)
    os.close(slave)
    shown, end, ended = b"", time.monotonic() + RUN_S, False
    while time.monotonic() < end and not ended:
        ended = proc.poll() is not None
        while select.select([master], [], [], 0.1)[0]:
            try:
                more = os.read(master, 65536)
            except OSError:
                more = b""
            if not more:
                break
            shown += more
            if PROMPT.search(shown):
                os.write(master, PASSWORD.encode() + b"\n")
    if not ended:  # its own session: nothing else is in the group
        os.killpg(proc.pid, signal.SIGKILL)
    proc.wait()
    os.close(master)
    return ended, COLOUR.sub("", shown.decode(errors="replace").replace("\r", ""))


def run_document(tap, args, name, change):
    return run_lines(tap, args, name, commands(os.path.join(args.srcdir, "doc", name)), change)


def run_lines(tap, args, name, lines, change):
    """change: (old, new) pairs of the text, each of which must be there. What was shown."""
    folder = tempfile.mkdtemp(prefix="stellar-doc-")
    try:
        os.symlink(os.path.abspath(args.objdir), os.path.join(folder, "obj"))
        script = PRELUDE + "".join(bounded(line) + "\n" for line in lines)
        for old, new in change:
            tap.ok(old in script, f"{name} still says {old}")
            script = script.replace(old, new)
        open(os.path.join(folder, "script"), "w", encoding="utf-8").write(script)
        ended, shown = on_terminal(script, folder, os.path.abspath(args.objdir))
        tap.ok(ended, f"{name} runs to its end", shown[-3000:])
        first = PRELUDE.count("\n") + 1
        failed = {int(l.split()[0]) - first: l.split()[1]
                  for l in open(os.path.join(folder, "faults")).read().splitlines()}
        for at, line in enumerate(lines):
            if must_fail(line):
                tap.equal(failed.pop(at, "0"), "1", f"{name}: fails with 1, as it says: {line[:60]}")
        tap.equal({lines[at] if 0 <= at < len(lines) else at: s for at, s in failed.items()}, {},
                  f"{name}: every other command succeeds")
        if failed:
            print("# " + shown[-12000:].replace("\n", "\n# "))
        left = set(os.listdir(folder)) - {"obj", "script", "faults", "said", ".config"}
        tap.equal(left, set(), f"{name} removes what it made")
        return shown
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def byhand(tap, args):
    shown = run_document(tap, args, "byhand.md", [("--listen 127.0.0.1:8440", "--listen 127.0.0.1:0")])
    tap.ok('"applied": true' in shown and '"total": 2' in shown, "the barrier: applied, 2 of 2 nodes", shown)
    rules = re.findall(r'"rule": "([^"]*)",\n *"severity": "error"', shown)
    tap.equal(rules, ["guarantee-sum", "schema", "bw-limit-floor"], "each refusal is by the rule that is named")
    tap.equal(re.findall(r'"code": ?"[^"]*"', shown), [], "nothing else is refused")


def start(tap, args):
    shown = run_document(tap, args, "start.md", [("--tls on", "--tls on --listen 127.0.0.1:0")])
    tap.ok("bw-limit-floor" in shown, "the refusal names its rule", shown)
    tap.ok(PASSWORD not in shown, "no password is shown, however fast it is typed", shown)


def operate(tap, args):
    """The section "Backup and restore" of operate.md, on a server that start.md's first fence starts."""
    server = commands(os.path.join(args.srcdir, "doc", "start.md"))[:5]
    text = open(os.path.join(args.srcdir, "doc", "operate.md"), encoding="utf-8").read()
    section = text.split("\n## Backup and restore\n")[1].split("\n## ")[0]
    check = re.search(r"`(stellard check --data DIR)`", section)
    copy = re.search(r"`(stellard backup --data DIR --out FILE)`", section)
    fences = [f.splitlines() for f in re.findall(r"^```sh\n(.*?)^```", section, re.S | re.M)]
    tap.ok(check and copy and len(fences) == 2, "operate.md still has its commands of backups", section)
    online, offline = fences
    offline = ["kill %1; wait" if line.startswith("systemctl stop") else line for line in offline]
    offline = [line for line in offline if not line.startswith("systemctl start")]
    nightly = re.search(r"ExecStart=sh -c '(.*)'", section).group(1).replace("$$", "$").replace("/srv/", "")
    named = ["BACKUP=$(stellarctl backup list -o name)", f"env -u HOME sh -c '{nightly}'"]
    server = [line.replace("--tls on", "--tls on --listen 127.0.0.1:0") for line in server]
    lines = (server + online[:2] + named + online[2:] + offline[:1] + [check.group(1), copy.group(1)] + offline[1:] +
             [check.group(1)])
    lines = [re.sub(r"\bBACKUP\b(?!=)", "${BACKUP##*/}", re.sub(r"\bDIR\b", "data", line)) for line in lines]
    lines = [re.sub(r"\bFILE\b", "copy.db", line) for line in lines]
    shown = run_lines(tap, args, "operate.md", lines + ["rm -rf data copy.db stellar-backup.db stellar.db"], [])
    tap.ok(PASSWORD not in shown, "nothing asked for a password", shown)


def fences(args, name, section=None):
    """The lines of each sh fence of a document, or of one section of it; a line that goes on is one line."""
    text = open(os.path.join(args.srcdir, name), encoding="utf-8").read()
    if section:
        text = re.split(r"\n##+ ", text.split(f"# {section}\n")[1])[0]
    return [f.replace("\\\n", "").splitlines() for f in re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)]


IMAGE_OF = """IMAGE=$(stellarctl get images -o json | jq -r '.items[] | select(.version == "VERSION") | .id')"""
GIVEN = """export STELLAR_SERVER=$URL STELLAR_TOKEN_FILE=$PWD/data/admin.token
stellarctl wait generation current --timeout 60s
cp DATA/nvidia-smi/nvidia_smi_q_h100_2gpu_clean.txt nvidia-smi.txt
cp DATA/ethtool-link/mlx5_settings.txt ethtool.txt
cp DATA/dmesg/mlx5_probe_failed_22.txt bundle.log
tar cJf sosreport.tar.xz ethtool.txt bundle.log"""
STAGED = """echo '{"kind": "rollout-policy", "document": {"mode": "staged", "confirm": "manual", "soak": "1s"}}' >staged.json
stellarctl apply -f staged.json
low() { echo '{"qos_policy": {"cv_job": {"priority": 2, "bw_limit": "'$1'%"}}}' >policy.json; }
low 70; stellarctl apply -f policy.json -t vision"""
README = """low 71; stellarctl apply -f policy.json -t vision
low 72; stellarctl apply -f policy.json -t vision
low 73
stellarctl api fabric_get | jq '{fabric_profile}' >fabric.json"""
ENDED = """stellarctl rollout watch r-2 # Ctrl-C when it says "confirming"
stellarctl rollout confirm r-2
stellarctl rollout watch r-2"""
USED = "nvidia-smi.txt ethtool.txt bundle.log sosreport.tar.xz fw.bin staged.json policy.json fabric.json health.html"


def image(version):
    """A pretended image, stored; its id is in $IMAGE."""
    return [f"echo 'sim-firmware {version}' >fw.bin", f"stellarctl image upload fw.bin dp_sim {version}",
            IMAGE_OF.replace("VERSION", version)]


def of_fleet(args):
    """The lines of README.md and of the documents that byhand.md and start.md lead to, in an order that works."""
    def lines(name, section=None, campaign=None):
        text = "\n".join(line for fence in fences(args, name, section) for line in fence)
        return text.replace("c-1", campaign or "c-1").splitlines()

    out = [line for fence in fences(args, "doc/byhand.md")[:3] for line in fence]
    out += GIVEN.replace("DATA", os.path.join(args.srcdir, "tests/data/evidence")).splitlines()
    for name in ("telemetry", "runbooks", "evidence", "reports", "health", "verification"):
        out += lines(f"doc/{name}.md")
    out += image("2.1.9") + lines("doc/firmware.md")
    flash = lines("doc/flash.md", campaign="c-2")
    out += flash[:1] + [IMAGE_OF.replace("VERSION", "2.2.0")] + flash[1:]
    out += STAGED.splitlines() + lines("doc/operate.md", "A plan on trial") + README.splitlines() + image("2.3.0")
    readme = lines("README.md", "stellarctl", campaign="c-3")
    started = [i for i, line in enumerate(readme) if "rollout start" in line][0] + 1
    out += readme[:started] + ENDED.splitlines() + readme[started:]
    return out + ["rm -f " + USED] + fences(args, "doc/byhand.md")[-1]


def fleet(tap, args):
    """What the other documents print, over the fleet of byhand.md: two nodes and the tenant that they call vision."""
    filled = [("alpha", "vision"), ("--listen 127.0.0.1:8440", "--listen 127.0.0.1:0"), ("http://127.0.0.1:8440", "$URL"),
              (" IMAGE", " $IMAGE"), ('"ID"', '"\'$IMAGE\'"'),
              ("report 12 ", "report current "),  # the first is kept within a minute, and none is older
              ('incident acknowledge 17 --reason "cable ordered"', "get incidents")]  # a healthy fleet has none
    text = "\n".join(of_fleet(args))
    for old, new in filled:
        tap.ok(old in text, f"the other documents still say {old}")
        text = text.replace(old, new)
    shown = run_lines(tap, args, "the other documents", text.splitlines(), [])
    tap.equal(set(re.findall(r"^(c-[12])  done ", shown, re.M)), {"c-1", "c-2"}, "the campaigns end")
    tap.ok("pending-reset" in shown and "success" in shown, "as their documents say")
    tap.ok("rollout r-1: done" in shown, "the trial is confirmed in time")


NOT_THERE = re.compile(r"there is no (command|option|kind)|takes no |too many|is no option|is none of|what\? There")
PROGRAM = r"(?:stellarctl|stellard|stellar-agent) "


def commands_of(text):
    """The commands of our programs that a document names: in its fences, in indented lines, between backquotes."""
    fence = r"^```(?:sh)?\n(.*?)^```"
    shown = [f.replace("\\\n", "") for f in re.findall(fence, text, re.S | re.M)]
    shown += re.findall(r"^    +(?:\$ )?" + PROGRAM + ".*$", text, re.M)
    for line in "\n".join(shown).splitlines():
        yield from re.findall(rf"(?:^|[|(;&] *|obj/)({PROGRAM}[^|;&)<>]*)", line.strip().split(" # ")[0])
    for quoted in re.findall(rf"`({PROGRAM}[^`]*)`", re.sub(fence, "", text, flags=re.S | re.M)):
        yield from re.sub(r"\s+", " ", quoted).split(" && ")


def named(tap, args):
    """Each command that is named anywhere is one that the program has, with options that it takes."""
    names = [os.path.join("doc", n) for n in os.listdir(os.path.join(args.srcdir, "doc")) if n.endswith(".md")]
    names += ["README.md", "doc/man/stellarctl.1.scd", "doc/man/stellard.8.scd"]
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            text = open(os.path.join(args.srcdir, name), encoding="utf-8").read()
            for command in sorted(set(commands_of(text))):
                program, *words = shlex.split(re.sub(r"[\[\]]", "", command))
                words = [w for w in words if w != "..."]
                dry = "--print-request" if program == "stellarctl" else "--check-config"
                answer = subprocess.run([os.path.join(args.objdir, program), *words, dry], cwd=folder, text=True,
                                        capture_output=True, stdin=subprocess.DEVNULL, timeout=60 * SLOW,
                                        env={"HOME": folder, "STELLAR_TOKEN": "st_x", "TERM": "dumb"})
                count += 1
                if answer.returncode == 2 and NOT_THERE.search(answer.stderr):
                    wrong.append((name, command, answer.stderr.splitlines()[0]))
    tap.equal(wrong, [], "each command that a document names is one of the program's")
    tap.ok(count > 100, "and they are found", count)


if __name__ == "__main__":
    ARGS, TAP = arguments(), Tap()
    byhand(TAP, ARGS)
    start(TAP, ARGS)
    operate(TAP, ARGS)
    fleet(TAP, ARGS)
    named(TAP, ARGS)
    TAP.done()
