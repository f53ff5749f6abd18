#!/bin/sh
# The systemd units: they parse, name our programs, and expose no more than what is promised
# (systemd-analyze security, 0 = nothing to 10). Prints TAP.
set -u
src=$1
n=0
bad=0
say() { # ok|"not ok" sentence [file shown when not ok]
    n=$((n + 1))
    echo "$1 $n - $2"
    [ "$1" = ok ] && return
    bad=1
    [ $# -lt 3 ] || sed 's/^/# /' "$3"
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for unit in "$src"/dist/systemd/*; do
    sed 's,@SBINDIR@,/usr/bin,' "$unit" >"$tmp/$(basename "$unit")"
done

# verify looks for the programs and the manuals, which are not installed here.
for unit in stellard.service stellard.socket stellar-agent.service; do
    systemd-analyze verify --man=no "$tmp/$unit" 2>&1 | grep -F "$tmp/" |
        grep -v 'is not executable' >"$tmp/verify"
    if [ -s "$tmp/verify" ]; then say "not ok" "$unit parses" "$tmp/verify"; else say ok "$unit parses"; fi
done

exposure() { # unit highest*10
    systemd-analyze security --offline=true "$tmp/$1.service" >"$tmp/security" 2>&1
    level=$(sed -n 's/.*Overall exposure level for .*: \([0-9]*\)\.\([0-9]\).*/\1\2/p' "$tmp/security")
    sentence="$1 exposes at most $2 tenths (${level:-no figure})"
    if [ -n "$level" ] && [ "$level" -le "$2" ]; then say ok "$sentence"; else say "not ok" "$sentence" "$tmp/security"; fi
}
exposure stellard 15
exposure stellar-agent 27 # one tenth is the packet socket that hears LLDP, one that it reads the list of modules
for program in stellard stellar-agent; do
    if grep -q "^ExecStart=@SBINDIR@/$program\( \|\$\)" "$src/dist/systemd/$program.service"; then
        say ok "$program.service starts $program"
    else
        say "not ok" "$program.service starts $program"
    fi
done
echo "1..$n"
exit $bad
