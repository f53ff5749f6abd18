#!/bin/sh
# The web UI's sources: types of everything (a text that a language lacks is an error), no `any` where
# the API is spoken, nothing that the page's policy would refuse. Prints TAP.
set -u
src=$1
obj=$2
n=0
bad=0
say() { # ok|"not ok" sentence output
    n=$((n + 1))
    [ "$1" = ok ] || bad=1
    [ "$1" = ok ] || printf '%s\n' "$3" | tail -n 40 | sed 's/^/# /'
    echo "$1 $n - $2"
}
none() { # sentence pattern folder...
    sentence=$1
    pattern=$2
    shift 2
    found=$(grep -rnE --include='*.ts' --include='*.svelte' --exclude='*.gen.ts' "$pattern" "$@")
    [ -z "$found" ] && say ok "$sentence" "" || say "not ok" "$sentence" "$found"
}
out=$(cd "$obj/webui" && npx --no-install svelte-check --fail-on-warnings --output human 2>&1) &&
    say ok "svelte-check finds no error and no warning" "" || say "not ok" "svelte-check finds no error and no warning" "$out"
none "no any in the API layer and what uses it" '(:|<|as|,) *any\b|@ts-(ignore|nocheck|expect-error)' "$src/webui/src"
none "no text is taken for HTML" '\{@html|innerHTML|insertAdjacentHTML|outerHTML|document\.write' "$src/webui/src"
none "nothing is evaluated" '\beval\(|new Function\(|javascript:' "$src/webui/src"
none "nothing from elsewhere" "(fetch|import|src=|href=)[ (]*[\"'\`]https?:" "$src/webui/src"
lacking=$(python3 "$src/tests/web/hints.py" "$src" 2>&1)
[ -z "$lacking" ] && say ok "every hint of the contract's forms has its Chinese" "" ||
    say "not ok" "every hint of the contract's forms has its Chinese" "$lacking"
lacking=$(python3 "$src/tests/web/words.py" "$src" 2>&1)
[ -z "$lacking" ] && say ok "every state of the contract that is shown has its text" "" ||
    say "not ok" "every state of the contract that is shown has its text" "$lacking"
lacking=$(python3 "$src/tests/web/texts.py" "$src" 2>&1)
[ -z "$lacking" ] && say ok "what the server says by a stable id has its Chinese" "" ||
    say "not ok" "what the server says by a stable id has its Chinese" "$lacking"
grep -qE '"(resolved)"|://registry' "$src/webui/package-lock.json" &&
    say "not ok" "the lock file names no registry" "see webui/.npmrc" || say ok "the lock file names no registry" ""
loose=$(sed -n '/ependencies"/,/}/p' "$src/webui/package.json" | grep -E '": "[^0-9]')
[ -z "$loose" ] && say ok "every dependency is pinned" "" || say "not ok" "every dependency is pinned" "$loose"
echo "1..$n"
exit $bad
