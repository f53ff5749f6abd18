# What the lab's host scripts share: the pinned kernel, the folders, one way to fail, one to skip.
# Sourced by fetch.sh and lab; sets LAB_SRC, KVER and, by lab_cache, the cache paths.

KVER=${LAB_KVER:-6.1.0-57-amd64}
HEADERS=${LAB_HEADERS:-/usr/src/linux-headers-$KVER}
LAB_SKIP=77

die() {
    echo "lab: $*" >&2
    exit 1
}

# A skip is not a failure: the machine lacks something that this test tier needs.
skip() {
    echo "lab: skipped: $*"
    exit "$LAB_SKIP"
}

# lab_cache DIR: names everything that fetch.sh leaves below DIR.
lab_cache() {
    CACHE=$(readlink -m "$1")
    case $CACHE/ in
        "$LAB_SRC"/*) die "the cache folder $CACHE lies in the source tree: give one outside" ;;
    esac
    mkdir -p "$CACHE" || die "cannot create the cache folder $CACHE: give another one"
    IMAGE_ROOT=$CACHE/root
    KERNEL=$CACHE/vmlinux
    MODULES=$IMAGE_ROOT/lib/modules/$KVER
    INITRD=$CACHE/initrd.img
}
