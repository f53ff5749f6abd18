#!/bin/sh
# Each header compiles alone, twice in one file, with gcc and clang if present. Prints TAP.
set -u
src=$1
obj=$2
n=0
bad=0
flags="-I$src -I$obj/gen -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only"
flags="$flags $(pkg-config --cflags jansson libnl-3.0 libnl-genl-3.0 libnl-route-3.0)"
for header in $(cd "$src" && find base fleet db server datapath agent cli -name '*.h' 2>/dev/null | sort); do
    n=$((n + 1))
    if printf '#include "%s"\n#include "%s"\n' "$header" "$header" | gcc $flags -x c - 2>"$obj/header.log"; then
        echo "ok $n - $header compiles alone"
    else
        sed 's/^/# /' "$obj/header.log"
        echo "not ok $n - $header compiles alone"
        bad=1
    fi
done
echo "1..$n"
exit $bad
