# Read by jobs of two guests on one wire, each with an rxe device on it: guests $a and $b, taken down at the end, a
# folder $sock, and say().
say() { # CODE TEXT
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else bad=1 && echo "not ok $n - $2"; fi
}
finish() {
    [ ! -d "$a" ] || "$lab" down "$a"
    [ ! -d "$b" ] || "$lab" down "$b"
    rm -rf "$sock" "$a" "$b"
}
wire_up() { # SRCDIR OBJDIR NAME LIFE_S
    lab=$1/tests/lab/lab
    a=$2/lab/$3-a.$$
    b=$2/lab/$3-b.$$
    bad=0
    sock=$(mktemp -d) || exit 1
    trap finish EXIT
    trap 'exit 126' INT TERM HUP
    "$lab" up --cache "$2/lab" --module no --name a --life "$4" --wire "listen:$sock/wire" "$a" || exit $?
    "$lab" up --cache "$2/lab" --module no --name b --life "$4" --wire "connect:$sock/wire" "$b" || exit $?
    rxe='modprobe -a ib_uverbs rdma_cm rdma_ucm rdma_rxe && rdma link add rxe0 type rxe netdev eth1'
    for guest in "$a" "$b"; do
        "$lab" exec --timeout 60 "$guest" "$rxe" || exit 1
    done
}
