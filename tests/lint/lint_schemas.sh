#!/bin/sh
# Our own schemas hold only keywords that the validator knows, and compile. Prints TAP.
set -u
src=$1
obj=$2
n=0
bad=0
for f in "$src"/schemas/*.json; do
    [ "${f##*/}" = compat.json ] && continue # data; a unit test holds it against its schema
    n=$((n + 1))
    if "$obj/tests/lint/schemalint" "$f" >"$obj/schemalint.log" 2>&1; then
        echo "ok $n - schemas/$(basename "$f") compiles strictly"
    else
        sed 's/^/# /' "$obj/schemalint.log"
        echo "not ok $n - schemas/$(basename "$f") compiles strictly"
        bad=1
    fi
done
echo "1..$n"
exit $bad
