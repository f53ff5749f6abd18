#!/bin/sh
# Prepares what a lab guest boots from: kernel, test NIC module, module index, initrd, dcbread.
# usage: fetch.sh [CACHE_DIR]     (default obj/lab below the current folder)
# Idempotent: each step compares its inputs first. Needs root or a user allowed to read the host.
# Exit code 77: the machine lacks a package or cannot get the image; the reason is printed.
set -eu

LAB_SRC=$(cd "$(dirname "$0")" && pwd -P)
. "$LAB_SRC/common.sh"

need() { # need PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed (Debian package $2)"
}

check_tools() {
    PATH=$PATH:/usr/sbin:/sbin
    need qemu-system-x86_64 qemu-system-x86
    need busybox busybox-static
    need xz xz-utils
    need depmod kmod
    need make make
    need gcc gcc
    need dpkg dpkg
    need apt-get apt
    need bash bash
    [ -e "$HEADERS/Makefile" ] ||
        skip "no kernel headers in $HEADERS (Debian package linux-headers-$KVER)"
}

# Under emulation the kernel needs 3 s to unpack itself; here it is 0.7 s, once. The offsets are
# those of the boot protocol: setup_sects, payload_offset, payload_length (ends in a 4-byte size).
unpack_kernel() { # VMLINUZ
    [ -e "$1" ] || die "the package holds no $1: is LAB_KVER right?"
    field() { od -An -t "u$2" -j "$1" -N "$2" "$image" | tr -d ' '; }
    image=$1
    start=$((($(field 497 1) + 1) * 512 + $(field 584 4)))
    size=$(($(field 588 4) - 4))
    tail -c "+$((start + 1))" "$image" | head -c "$size" | xz -dc >"$KERNEL.new" ||
        die "the payload of $image is no xz stream: this kernel is packed in another way"
    mv "$KERNEL.new" "$KERNEL"
}

fetch_image() {
    [ -e "$CACHE/image-$KVER.done" ] && [ -e "$KERNEL" ] && return
    echo "lab: getting linux-image-$KVER"
    rm -rf "$CACHE/deb" "$IMAGE_ROOT" "$INITRD" "$CACHE/depmod.done"
    mkdir -p "$CACHE/deb" "$IMAGE_ROOT"
    (cd "$CACHE/deb" && apt-get download "linux-image-$KVER" >"$CACHE/download.log" 2>&1) ||
        skip "apt-get download linux-image-$KVER failed: see $CACHE/download.log"
    dpkg -x "$CACHE"/deb/linux-image-*.deb "$IMAGE_ROOT"
    unpack_kernel "$IMAGE_ROOT/boot/vmlinuz-$KVER"
    rm -rf "$CACHE/deb"
    : >"$CACHE/image-$KVER.done"
}

# copy_changed FROM TO: keeps the time stamps of equal files, so that make has nothing to do.
copy_changed() {
    cmp -s "$1" "$2" || cp "$1" "$2"
}

build_module() {
    mkdir -p "$CACHE/kmod" "$MODULES/extra"
    for old in "$CACHE"/kmod/*.[ch]; do
        case $old in *.mod.c | *'*'*) continue ;; esac
        [ -e "$LAB_SRC/kmod/${old##*/}" ] || rm -f "$old"
    done
    for f in "$LAB_SRC"/kmod/*.[ch] "$LAB_SRC/kmod/Kbuild"; do
        copy_changed "$f" "$CACHE/kmod/${f##*/}"
    done
    if [ -e "$CACHE/kmod/solar_rdma.ko" ] &&
        [ -z "$(find "$CACHE/kmod" \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c' \
            -newer "$CACHE/kmod/solar_rdma.ko")" ]; then
        return
    fi
    echo "lab: building the test NIC module"
    make -C "$HEADERS" M="$CACHE/kmod" W="${LAB_W-}" modules >"$CACHE/kmod.log" 2>&1 || {
        cat "$CACHE/kmod.log" >&2
        die "the module does not build: see above"
    }
}

install_module() {
    if cmp -s "$CACHE/kmod/solar_rdma.ko" "$MODULES/extra/solar_rdma.ko" &&
        [ -e "$CACHE/depmod.done" ]; then
        return
    fi
    rm -f "$CACHE/depmod.done"
    cp "$CACHE/kmod/solar_rdma.ko" "$MODULES/extra/solar_rdma.ko.new"
    mv "$MODULES/extra/solar_rdma.ko.new" "$MODULES/extra/solar_rdma.ko"
    depmod -b "$IMAGE_ROOT" "$KVER"
    : >"$CACHE/depmod.done"
}

# The modules that the initrd needs to reach the root file system, in load order.
initrd_modules() {
    for m in virtio_pci 9pnet_virtio 9p overlay; do
        modprobe -d "$IMAGE_ROOT" -S "$KVER" --show-depends "$m"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

build_initrd() {
    if [ -e "$INITRD" ] && [ ! "$LAB_SRC/guest/init" -nt "$INITRD" ] &&
        [ ! "$LAB_SRC/fetch.sh" -nt "$INITRD" ]; then
        return
    fi
    echo "lab: building the initrd"
    tree=$CACHE/initrd
    rm -rf "$tree"
    mkdir -p "$tree/bin" "$tree/mod" "$tree/dev" "$tree/proc" "$tree/root"
    cp "$(command -v busybox)" "$tree/bin/busybox"
    cp "$LAB_SRC/guest/init" "$tree/init"
    chmod +x "$tree/init"
    initrd_modules | while read -r m; do
        cp "$m" "$tree/mod/"
        echo "${m##*/}" >>"$tree/mod/order"
    done
    (cd "$tree" && find . | busybox cpio -o -H newc 2>/dev/null) >"$INITRD.new"
    mv "$INITRD.new" "$INITRD"
    rm -rf "$tree"
}

build_dcbread() {
    [ -e "$CACHE/dcbread" ] && [ ! "$LAB_SRC/dcbread.c" -nt "$CACHE/dcbread" ] && return
    gcc -std=c17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror \
        -o "$CACHE/dcbread.new" "$LAB_SRC/dcbread.c"
    mv "$CACHE/dcbread.new" "$CACHE/dcbread"
}

check_tools
lab_cache "${1:-obj/lab}"
exec 9>"$CACHE/lock"
flock 9
fetch_image
build_module
install_module
build_initrd
build_dcbread
echo "lab: ready in $CACHE"
