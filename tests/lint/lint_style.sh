#!/bin/sh
# House style that a machine can hold: clang-format, line and file lengths, shell syntax, words that
# must not be in the tree. Prints TAP.
set -u
cd "$1" || exit 1
n=0
bad=0
say() {
    n=$((n + 1))
    [ "$1" = ok ] || bad=1
    echo "$1 $n - $2"
}
judge() { # sentence; faults on stdin
    faults=$(cat)
    if [ -n "$faults" ]; then
        printf '%s\n' "$faults" | head -40 | sed 's/^/# /'
        say "not ok" "$1"
    else
        say ok "$1"
    fi
}
c_files() {
    find base fleet db server datapath agent cli tests -name kmod -prune -o -name '*.[ch]' -print 2>/dev/null
}
c_files | while IFS= read -r f; do
    clang-format-14 --dry-run -Werror "$f" >/dev/null 2>&1 || echo "$f (make format)"
done | judge "every C file is as clang-format 14 writes it"
find base fleet db server datapath agent cli -name '*.[ch]' -exec wc -l {} + 2>/dev/null |
    awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }' | judge "no source file over 600 lines"
grep -rnI --include='*.[ch]' "$(printf '\t')" base fleet db server datapath agent | head | judge "no tabs in C files"
for f in configure $(find tests .ci -name '*.sh' -type f; ls .ci/run tests/lab/lab 2>/dev/null); do
    case $(head -n 1 "$f") in
    *bash*) bash -n "$f" 2>&1 ;;
    *) dash -n "$f" 2>&1 ;;
    esac
done | judge "shell scripts parse (dash, or bash where they say so)"
if command -v git >/dev/null 2>&1 && git rev-parse --git-dir >/dev/null 2>&1; then
    git grep -nI -E '/(home|root|work)/[a-z]' -- ':!tests/data' ':!tests/lint/lint_style.sh' ':!tests/golden' |
        judge "no absolute path of one machine is in the tree"
fi
echo "1..$n"
exit $bad
