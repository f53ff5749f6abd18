#!/bin/sh
# solar-perf from its command line: each test over both transports, its three formats, two processes
# that share a key, and what it refuses. No figure is judged. Usage: lint_solar_perf.sh SRCDIR OBJDIR.
set -u
perf=$2/solar-perf
n=0
bad=0
say() {
    n=$((n + 1))
    [ "$1" = ok ] || bad=1
    echo "$1 $n - $2"
}
tmp=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$tmp"' EXIT

for test in send_lat write_bw read_bw cpu; do
    timeout 120 "$perf" --time 50 --rounds 1 --size 3000 --tcp --format json $test >"$tmp/out" 2>"$tmp/err"
    if [ $? = 0 ] && [ "$(jq -s 'map(select(.operations > 0 and .ns > 0)) | length' "$tmp/out")" = 4 ]; then
        say ok "$test is measured over both transports"
    else
        sed 's/^/# /' "$tmp/out" "$tmp/err"
        say "not ok" "$test is measured over both transports"
    fi
done
# many TEST WHAT CONDITION options...: a test of several processes, by its JSON.
many() {
    test=$1 what=$2 holds=$3
    shift 3
    timeout 120 "$perf" --time 50 --rounds 1 --format json "$@" "$test" >"$tmp/out" 2>"$tmp/err"
    if [ $? = 0 ] && [ "$(jq -s "map(select(.ns > 0 and $holds)) | length" "$tmp/out")" = 2 ]; then
        say ok "$what"
    else
        sed 's/^/# /' "$tmp/out" "$tmp/err"
        say "not ok" "$what"
    fi
}
many incast "incast adds up what all senders carry and how alike they are" \
    ".operations >= 5 and .bytes == .operations * 65536 and .fairness > 0.2 and .fairness <= 1" --senders 5
# 20 Mbit/s for 50 ms are 125,000 bytes: 62 operations of 1,000 a tenant, 70 so that five flows and two have as many each.
for policy in none weight limit; do
    many tenants "two tenants end after as many bytes each, policy $policy" \
        ".operations == 70 + 70 and .bytes == 140000 and .difference_percent >= 0" --rate 20 --size 1000 --policy $policy
done
timeout 120 "$perf" --time 50 --rounds 1 --tcp --senders 3 --format json incast >"$tmp/out" 2>"$tmp/err" &&
    [ "$(jq -s 'map(select(.transport == "tcp" and .fairness > 0.2 and .bytes == .operations * 65536)) | length' "$tmp/out")" = 2 ] &&
    say ok "incast beside TCP" || {
    sed 's/^/# /' "$tmp/out" "$tmp/err"
    say "not ok" "incast beside TCP"
}
timeout 120 "$perf" --time 50 --rounds 1 --tcp --rate 20 --size 1000 --policy limit --format json tenants >"$tmp/out" 2>"$tmp/err" &&
    [ "$(jq -s 'map(select(.transport == "tcp" and .bytes == 140000)) | length' "$tmp/out")" = 2 ] &&
    say ok "tenants beside TCP" || {
    sed 's/^/# /' "$tmp/out" "$tmp/err"
    say "not ok" "tenants beside TCP"
}
# all-reduce checks its own sums. Sizes are rounded up to a number for each process.
for way in "--senders 4" "--senders 2 --size 5" "--senders 8 --size 100000" "--ring --senders 2" "--ring --senders 5 --size 1001"; do
    # shellcheck disable=SC2086
    timeout 120 "$perf" --time 50 --rounds 2 $way --format json allreduce >"$tmp/out" 2>"$tmp/err"
    if [ $? = 0 ] && [ "$(jq -s 'map(select(.operations > 0 and .p50_us > 0)) | length' "$tmp/out")" = 3 ]; then
        say ok "all-reduce adds up: $way"
    else
        sed 's/^/# /' "$tmp/out" "$tmp/err"
        say "not ok" "all-reduce adds up: $way"
    fi
done
timeout 120 "$perf" --time 50 --rounds 1 tenants 2>&1 | grep -q '^median *solar.*%$' &&
    say ok "text ends with the tenants' difference" || say "not ok" "text ends with the tenants' difference"
timeout 120 "$perf" --time 50 --rounds 2 --format csv --address ::1 write_bw >"$tmp/out" 2>&1
columns=$(head -n 1 "$tmp/out" | tr ',' '\n' | wc -l)
[ "$(awk -F , -v n="$columns" 'NF != n' "$tmp/out" | wc -l)" = 0 ] && [ "$(wc -l <"$tmp/out")" = 4 ] &&
    say ok "CSV has a heading and a row for each round and the median, over IPv6" || {
    sed 's/^/# /' "$tmp/out"
    say "not ok" "CSV has a heading and a row for each round and the median, over IPv6"
}
timeout 120 "$perf" --time 50 --rounds 1 send_lat 2>&1 | grep -q '^median *solar' &&
    say ok "text ends with the medians" || say "not ok" "text ends with the medians"

# refuses WHAT STATUS WORDS arguments...
refuses() {
    what=$1 status=$2 words=$3
    shift 3
    timeout 60 "$perf" "$@" >"$tmp/out" 2>&1
    [ $? = "$status" ] && grep -q -- "$words" "$tmp/out" && say ok "$what" || {
        sed 's/^/# /' "$tmp/out"
        say "not ok" "$what"
    }
}
refuses "no test is usage" 2 "name one test"
refuses "an unknown test is usage" 2 "name one test" latency
refuses "a size above the limit is refused" 2 "67108864" --size 67108865 send_lat
refuses "more senders than the limit are refused" 2 "1 to 32" --senders 33 incast
refuses "as many as the limit are not" 0 "Usage" --senders 32 --help
refuses "an unknown policy is refused" 2 "none, weight or limit" --policy fair tenants
refuses "all-reduce over TCP is refused" 2 "leave --tcp out" --tcp allreduce
refuses "halving needs a power of two" 1 "2, 4, 8" --senders 6 allreduce
refuses "one process reduces nothing" 1 "at least 2" --senders 1 --ring allreduce
refuses "a client without a port is refused" 2 "needs --port" --connect 127.0.0.1 --key-file "$tmp/short" send_lat
refuses "a server without a key is refused" 2 "key-file" --serve
echo 12 >"$tmp/short"
refuses "a key that is too short is refused" 1 "64 hexadecimal" --serve --key-file "$tmp/short"

refuses "a folder of an agent needs a job" 2 "--label" --control "$tmp" write_bw
refuses "a job needs a folder of an agent" 2 "--control" --label 7 write_bw
refuses "a job's key is the agent's" 2 "no --key-file" --control "$tmp" --label 7 --key-file "$tmp/short" write_bw
refuses "without the agent's key nothing opens" 1 "jobs/7" --control "$tmp" --label 7 --time 50 --rounds 1 write_bw
mkdir -p "$tmp/jobs/7" && chmod 700 "$tmp/jobs/7" && (umask 027 && {
    echo 'stellar-keys 1'
    printf '5 ' && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' && echo
} >"$tmp/jobs/7/key")
timeout 60 "$perf" --control "$tmp" --label 7 --time 50 --rounds 1 write_bw >"$tmp/out" 2>&1 &&
    say ok "two processes of a job meet under the agent's key" || {
    sed 's/^/# /' "$tmp/out"
    say "not ok" "two processes of a job meet under the agent's key"
}

head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$tmp/key"
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$tmp/other"
"$perf" --serve --key-file "$tmp/key" 2>"$tmp/server" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    port=$(sed -n 's/.*serving on port //p' "$tmp/server")
    [ -n "$port" ] && break
    sleep 0.5
done
timeout 60 "$perf" --connect 127.0.0.1 --port "$port" --key-file "$tmp/key" --time 50 --rounds 1 --tcp write_bw >"$tmp/out" 2>&1 &&
    say ok "a server of its own serves who has its key" || {
    sed 's/^/# /' "$tmp/out" "$tmp/server"
    say "not ok" "a server of its own serves who has its key"
}
refuses "all-reduce between hosts is refused" 2 "of this host" --connect 127.0.0.1 --port "$port" --key-file "$tmp/key" allreduce
refuses "who has another key is not answered" 1 "does not answer" --connect 127.0.0.1 --port "$port" \
    --key-file "$tmp/other" --time 50 --rounds 1 write_bw
refuses "a client has an address of its own, not the server's" 1 "203.0.113.9" --connect 127.0.0.1 \
    --address 203.0.113.9 --port "$port" --key-file "$tmp/key" --time 50 --rounds 1 write_bw
"$perf" --connect 127.0.0.1 --port "$port" --key-file "$tmp/key" --line 1000 --time 60000 --rounds 1 write_bw >"$tmp/out" 2>&1 &
client=$!
sleep 1
kill -KILL $client
wait $client 2>/dev/null
timeout 20 "$perf" --connect 127.0.0.1 --port "$port" --key-file "$tmp/key" --line 1000 --time 50 --rounds 1 write_bw >"$tmp/out" 2>&1 &&
    say ok "a client that was killed keeps no other from the line, long before it counts as gone" || {
    sed 's/^/# /' "$tmp/out" "$tmp/server"
    say "not ok" "a client that was killed keeps no other from the line, long before it counts as gone"
}
echo "1..$n"
exit $bad
