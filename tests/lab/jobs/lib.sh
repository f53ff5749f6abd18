# For job scripts that run inside a lab guest: TAP output, the two ends of a wire in one kernel,
# rxe, settable counters. Source it first; end with tap_end.
# shellcheck shell=sh

DEBUG=/sys/kernel/debug/solar_rdma
TAP_N=0
TAP_BAD=0

# ---- TAP

result() { # CODE TEXT [DIAGNOSTICS]
    TAP_N=$((TAP_N + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $TAP_N - $2"
    else
        TAP_BAD=$((TAP_BAD + 1))
        echo "not ok $TAP_N - $2"
        [ -z "${3-}" ] || printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

ok() { # TEXT COMMAND...: succeeds
    text=$1
    shift
    code=0
    out=$("$@" 2>&1) || code=$?
    result "$code" "$text" "$*: $out"
}

refused() { # TEXT PATTERN COMMAND...: fails, and says PATTERN
    text=$1
    pattern=$2
    shift 2
    if out=$("$@" 2>&1); then
        result 1 "$text" "$*: succeeded: $out"
    else
        code=0
        printf '%s' "$out" | grep -q -- "$pattern" || code=1
        result "$code" "$text" "$*: said: $out"
    fi
}

is() { # TEXT GOT WANTED
    code=0
    [ "$2" = "$3" ] || code=1
    result "$code" "$1" "got '$2', wanted '$3'"
}

skip_test() { # TEXT REASON
    TAP_N=$((TAP_N + 1))
    echo "ok $TAP_N - $1 # SKIP $2"
}

tap_end() {
    echo "1..$TAP_N"
    [ "$TAP_BAD" -eq 0 ] || echo "# $TAP_BAD of $TAP_N failed"
    [ "$TAP_BAD" -eq 0 ]
    exit
}

# ---- counters and faults of the test NIC

poke() { # NETDEV FILE VALUE
    echo "$3" >"$DEBUG/$1/$2"
}

peek() { # NETDEV FILE
    read -r value <"$DEBUG/$1/$2" && echo "$value"
}

counter() { # NETDEV NAME
    peek "$1" "counters/$2"
}

# ---- wires

# pair_up K: gives solar(2K) 10.9.K.1 and solar(2K+1) 10.9.K.2 and makes packets between them take
# the wire: without the rules the kernel would hand them over inside, as both addresses are its own.
# rdma_cm cannot work this way (it resolves the peer as local); two wired guests can.
pair_up() {
    for side in 1 2; do
        dev=solar$((2 * $1 + side - 1))
        table=$((101 + 2 * $1 + side - 1))
        for knob in accept_local=1 rp_filter=0 arp_ignore=1; do
            echo "${knob#*=}" >"/proc/sys/net/ipv4/conf/$dev/${knob%=*}"
        done
        ip addr add "10.9.$1.$side/24" dev "$dev"
        ip link set "$dev" up
        ip rule add pref "$((10 + table - 101))" oif "$dev" lookup "$table"
        ip route add "10.9.$1.0/24" dev "$dev" src "10.9.$1.$side" table "$table"
    done
    echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
    if ip rule show | grep -q '^0:'; then
        ip rule add pref 100 lookup local
        ip rule del pref 0
    fi
}

rxe_up() { # K: rxe device rxeK on solarK
    modprobe rdma_rxe
    rdma link add "rxe$1" type rxe netdev "solar$1"
}

gid_index() { # RDMADEV IPV4: the index of its RoCE v2 GID
    # shellcheck disable=SC2046,SC2183
    want=$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' $(echo "$2" | tr . ' '))
    grep -lxF "$want" /sys/class/infiniband/"$1"/ports/1/gids/* 2>/dev/null |
        sed 's|.*/||' | head -n 1
}

listening() { # PORT
    for _ in $(seq 100); do
        [ -n "$(ss -Hltn "sport = :$1")" ] && return 0
        sleep 0.1
    done
    return 1
}

# pair_perftest K TOOL ARGS: TOOL as client on rxe(2K) against a server on rxe(2K+1).
# Parameters are exchanged over loopback, the measured traffic goes over the wire.
pair_perftest() { # up to three times: perftest gives no report when it cannot measure an emulated CPU's clock
    for try in 1 2 3; do
        said=$(pair_perftest_once "$@") && printf '%s\n' "$said" && return 0
        case $said in *"Correlation coefficient"*) ;; *) break ;; esac
    done
    printf '%s\n' "$said"
    return 1
}
pair_perftest_once() {
    k=$1
    tool=$2
    shift 2
    port=$((18515 + k))
    timeout -k 2 300 "$tool" -d "rxe$((2 * k + 1))" -p "$port" \
        -x "$(gid_index "rxe$((2 * k + 1))" "10.9.$k.2")" "$@" >"/tmp/pair.$port" 2>&1 &
    server=$!
    listening "$port" || return 1
    timeout -k 2 300 "$tool" -d "rxe$((2 * k))" -p "$port" \
        -x "$(gid_index "rxe$((2 * k))" "10.9.$k.1")" "$@" 127.0.0.1 2>&1 || { kill "$server" && wait "$server"; return 1; }
    wait "$server" || { cat "/tmp/pair.$port" && return 1; }
}

# Lines of the kernel log that no job may cause.
kernel_complaints() {
    dmesg | grep -E -e 'WARNING:|BUG:|Oops|Call Trace|RTNL: assertion|refcount|use-after-free' \
        -e 'unregister_netdevice: waiting'
}
