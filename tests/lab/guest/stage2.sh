#!/bin/bash
# Process 1 of a lab guest after the root switch: mounts, network, test NIC, then a loop that runs
# the requests which the host puts into the share. Started by guest/init; settings in $LAB/config.
#
#   host                                 share (9p, no cache)      guest
#   lab exec: rename to req/ID.req  -->                       -->  mv to out/ID.sh, run it
#             follows                <-- out/ID.out ID.err    <--  output as it comes
#             ends                   <-- out/ID.rc            <--  exit code, last
#   lab down: writes stop            -->                      -->  sync, debug-exit
LAB=/run/lab
export LAB PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
export LANG=C.UTF-8

say() { echo "lab: $*" >/dev/console; }

# The code goes to qemu through isa-debug-exit: the host sees 2 * code + 1.
finish() {
    sync
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x "$1")" | dd of=/dev/port bs=1 seek=244 conv=notrunc 2>/dev/null
    echo o >/proc/sysrq-trigger
    sleep 60
}
trap 'finish 126' EXIT

mount_all() {
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    # Before configfs: it is a module and must be found.
    mkdir -p /lib/modules
    mount --bind "$LAB_CACHE/root/lib/modules" /lib/modules
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs -o mode=1777 shm /dev/shm
    mount -t debugfs debug /sys/kernel/debug 2>/dev/null
    mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
    modprobe configfs && mount -t configfs config /sys/kernel/config
    ln -snf /proc/self/fd /dev/fd
    ln -snf /proc/self/fd/0 /dev/stdin
    ln -snf /proc/self/fd/1 /dev/stdout
    ln -snf /proc/self/fd/2 /dev/stderr
    mkdir -p /run/lock /tmp
    chmod 1777 /tmp /run/lock
}

network() {
    echo "$LAB_NAME" >/proc/sys/kernel/hostname
    ip link set lo up
    modprobe virtio_net
    ip addr add 10.0.2.15/24 dev eth0
    ip link set eth0 up
    ip route add default via 10.0.2.2
    [ -z "$LAB_WIRE" ] && return
    ip addr add "$LAB_WIRE_ADDR" dev eth1
    ip link set eth1 mtu 4200 up
}

load_module() {
    [ "$LAB_MODULE" = no ] && return
    # shellcheck disable=SC2086
    if modprobe solar_rdma $LAB_MODULE_ARGS; then
        say "module loaded, $(($(cat /sys/module/solar_rdma/parameters/pairs))) pairs"
    else
        say "module solar_rdma was not loaded: see the kernel log"
    fi
}

run_request() { # ID: runs in a child, in a session of its own
    cd / || exit 1
    setsid bash -c 'echo $$ >"$1.pid"; exec bash "$1.sh"' - "$LAB/out/$1" \
        >"$LAB/out/$1.out" 2>"$LAB/out/$1.err" </dev/null
    echo $? >"$LAB/out/$1.rc"
}

serve() {
    local f id
    while [ ! -e "$LAB/stop" ]; do
        for f in "$LAB"/req/*.req; do
            [ -e "$f" ] || continue
            id=${f##*/}
            id=${id%.req}
            mv "$f" "$LAB/out/$id.sh" && run_request "$id" &
        done
        # A sleep without a new process: nothing is ever written to the pipe.
        read -r -t 0.1 <&8
    done
}

. "$LAB/config"
export LAB_SRC LAB_CACHE LAB_NAME PATH=$PATH:/host$LAB_CACHE
mount_all
network
say "userspace up"
load_module
mkfifo /run/lab-idle && exec 8<>/run/lab-idle
say "ready"
serve
finish "$(cat "$LAB/stop")"
