#!/bin/sh
# configure and Makefile: dash-clean, out of tree, unknown options refused, DESTDIR honoured,
# every knob kind and rule documented. Prints TAP.
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
dash -n "$src/configure" && say ok "configure parses with dash" || say "not ok" "configure parses with dash"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && "$src/configure" --prefix=/opt/stellar >out 2>&1) &&
    grep -q '^PREFIX = /opt/stellar$' "$tmp/Makefile" &&
    say ok "configure works out of tree" || say "not ok" "configure works out of tree"
(cd "$tmp" && "$src/configure" --no-such-option >out 2>&1)
[ $? = 2 ] && say ok "an unknown option of configure is refused" || say "not ok" "an unknown option of configure is refused"
grep -q '@[A-Z_]*@' "$tmp/Makefile" && say "not ok" "no variable is left in Makefile" || say ok "no variable is left in Makefile"
if make -C "$(dirname "$obj")" install DESTDIR="$tmp/dest" >"$tmp/log" 2>&1 &&
    [ -x "$(find "$tmp/dest" -name stellard)" ] && [ -x "$(find "$tmp/dest" -name stellar-agent)" ] &&
    [ -x "$(find "$tmp/dest" -path "*/bin/stellarctl")" ]; then
    say ok "make install honours DESTDIR"
else
    tail -n 5 "$tmp/log" | sed 's/^/# /'
    say "not ok" "make install honours DESTDIR"
fi
# Links of the installed documents lead to what is installed.
lost=
for page in $(find "$tmp/dest" -path "*/share/doc/stellar/*.md"); do
    for link in $(grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v '^http'); do
        [ -e "$(dirname "$page")/$link" ] || lost="$lost $(basename "$page"):$link"
    done
done
[ -z "$lost" ] && say ok "links of the installed documents lead somewhere" ||
    say "not ok" "links of the installed documents lead somewhere:$lost"
mkdir -p "$tmp/dest/etc/stellar" && touch "$tmp/dest/etc/stellar/stellard.json"
make -C "$(dirname "$obj")" uninstall DESTDIR="$tmp/dest" >"$tmp/log" 2>&1
left=$(cd "$tmp/dest" && find . ! -type d)
[ "$left" = ./etc/stellar/stellard.json ] && say ok "make uninstall leaves the configuration alone" ||
    say "not ok" "make uninstall leaves the configuration alone: $(echo $left)"
echo "1..$n"
exit $bad
