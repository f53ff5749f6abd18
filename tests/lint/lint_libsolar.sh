#!/bin/sh
# libsolar as its users meet it: installed, found by pkg-config, linked shared and static; nothing but
# solar_* is visible. Usage: lint_libsolar.sh SRCDIR OBJDIR. Prints TAP.
set -u
src=$1
obj=$2
n=0
bad=0
say() {
    n=$((n + 1))
    [ "$1" = ok ] || bad=1
    echo "$1 $n - $2"
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
if make -C "$(dirname "$obj")" install-libsolar PREFIX="$tmp" DESTDIR= >"$tmp/log" 2>&1; then
    say ok "libsolar is installed"
else
    sed 's/^/# /' "$tmp/log"
    say "not ok" "libsolar is installed"
fi
export PKG_CONFIG_PATH="$tmp/lib/pkgconfig"
version=$(cat "$src/VERSION")
[ "$(pkg-config --modversion libsolar)" = "$version" ] && say ok "pkg-config knows version $version" ||
    say "not ok" "pkg-config knows version $version"

# say_runs WHAT PROGRAM
says_written() {
    said=$(LD_LIBRARY_PATH="$tmp/lib" timeout 60 "$2" 2>&1)
    [ "$said" = "ok written by libsolar $version" ] && say ok "a program $1 works" || {
        echo "# $said"
        say "not ok" "a program $1 works"
    }
}
# shellcheck disable=SC2046
${CC:-gcc} -Wall -Wextra -Wconversion -Werror "$src/tests/lint/solar/user.c" -o "$tmp/shared" \
    $(pkg-config --cflags --libs libsolar) 2>&1 | sed 's/^/# /'
says_written "that is linked with the shared library" "$tmp/shared"
# shellcheck disable=SC2046
${CC:-gcc} "$src/tests/lint/solar/user.c" -o "$tmp/static" $(pkg-config --cflags libsolar) \
    "$tmp/lib/libsolar.a" $(pkg-config --libs libsodium) -lm 2>&1 | sed 's/^/# /'
says_written "that is linked with the archive" "$tmp/static"
# A program that was built before must not be given a library whose structures are others.
abi=$(sed -n '1s/^soname //p' "$src/tests/lint/solar/abi.txt")
readelf -d "$tmp/shared" | grep -q "NEEDED.*\\[$abi\\]" && say ok "it needs $abi" || say "not ok" "it needs $abi"
# shellcheck disable=SC2046
${CC:-gcc} -Wall -Wextra -Werror "$src/tests/lint/solar/abi.c" -o "$tmp/abi" $(pkg-config --cflags libsolar) 2>&1 |
    sed 's/^/# /'
"$tmp/abi" >"$tmp/abi.now"
sed 1d "$src/tests/lint/solar/abi.txt" | diff - "$tmp/abi.now" >"$tmp/log" && say ok "its structures are those of $abi" || {
    sed 's/^/# /' "$tmp/log"
    say "not ok" "its structures are those of $abi: raise SOLAR_ABI in Makefile.in, and tell it in tests/lint/solar/abi.txt"
}

for library in libsolar.so libsolar.a; do
    dynamic=$([ $library = libsolar.so ] && echo -D)
    seen=$(nm $dynamic --defined-only --extern-only "$tmp/lib/$library" | awk 'NF == 3 { print $3 }')
    others=$(printf '%s\n' "$seen" | grep -v '^solar_' | tr '\n' ' ')
    [ -n "$seen" ] && [ -z "${others% }" ] && say ok "$library shows only solar_*" ||
        say "not ok" "$library shows only solar_*: $others"
    missing=
    for name in $(sed -n 's/^SOLAR_API.*[ *]\(solar_[a-z_]*\)(.*/\1/p' "$src/datapath/solar/solar.h"); do
        printf '%s\n' "$seen" | grep -qx "$name" || missing="$missing $name"
    done
    [ -z "$missing" ] && say ok "$library has all that solar.h declares" ||
        say "not ok" "$library has all that solar.h declares:$missing"
done
printf '#include <solar.h>\nint main() { return solar_version() == nullptr; }\n' >"$tmp/user.cc"
# shellcheck disable=SC2046
if command -v g++ >/dev/null; then
    g++ -Wall -Werror "$tmp/user.cc" -o "$tmp/cc" $(pkg-config --cflags --libs libsolar) >"$tmp/log" 2>&1 &&
        say ok "a C++ program can use it" || {
        sed 's/^/# /' "$tmp/log"
        say "not ok" "a C++ program can use it"
    }
else
    say ok "a C++ program can use it # skip g++ is not installed"
fi
echo "1..$n"
exit $bad
