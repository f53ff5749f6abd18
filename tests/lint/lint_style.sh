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
judge() { # sentence faults
    if [ -n "$2" ]; then
        printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
        say "not ok" "$1"
    else
        say ok "$1"
    fi
}

unformatted() {
    find base fleet db server datapath agent cli tests -name kmod -prune -o -name '*.[ch]' -print 2>/dev/null |
        xargs -n 50 clang-format-14 --dry-run -Werror 2>&1 | sed -n 's/^\([^:]*\):.*\[-Wclang-format-violations\]$/\1 (make format)/p' | uniq
}
scripts() {
    find . -name obj -prune -o -name 'obj-*' -prune -o -name '*.sh' -print
    ls configure .ci/run tests/lab/lab tests/lab/guest/init 2>/dev/null
}
unparsable() {
    scripts | while IFS= read -r f; do
        case $(head -n 1 "$f") in
        *bash*) bash -n "$f" 2>&1 ;;
        *) dash -n "$f" 2>&1 ;;
        esac
    done
}
layers="base fleet db server datapath agent cli"

judge "every C file is as clang-format 14 writes it" "$(unformatted)"
judge "no source file over 600 lines" "$(find $layers -name '*.[ch]' -exec wc -l {} + |
    awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }')"
judge "no tabs in C files" "$(grep -rnI --include='*.[ch]' "$(printf '\t')" $layers)"
judge "shell scripts parse (dash, or bash where they say so)" "$(unparsable)"
if command -v git >/dev/null 2>&1 && git rev-parse --git-dir >/dev/null 2>&1; then
    judge "no absolute path of one machine is in the tree" "$(git grep -nI -E '(^|[^a-z])/(home|work)/[a-z]' -- \
        ':!tests/data' ':!tests/lint/lint_style.sh')"
fi
echo "1..$n"
exit $bad
