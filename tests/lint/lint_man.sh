#!/bin/sh
# Manual pages: each has the usual sections and names every option that its program has. Prints TAP.
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
for page in "$src"/doc/man/*.scd; do
    name=$(basename "$page" .scd)
    program=$obj/${name%.*}
    # roff writes a hyphen that is one as \-; nothing else of it is in the way.
    text=$(sed 's/\\f[A-Z]/ /g; s/\\//g' "$obj/man/$name" 2>/dev/null)
    for section in NAME SYNOPSIS DESCRIPTION "SEE ALSO"; do
        printf '%s\n' "$text" | grep -qE "^\.SH $section" && say ok "$name has a section $section" ||
            say "not ok" "$name has a section $section"
    done
    missing=
    for option in $("$program" --help | grep -oE '(^|[ ,])--[a-z-]+' | sed 's/^[ ,]*//' | sort -u); do
        printf '%s\n' "$text" | grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" || missing="$missing $option"
    done
    [ -z "$missing" ] && say ok "$name names every option" || say "not ok" "$name names every option:$missing"
done
echo "1..$n"
exit $bad
