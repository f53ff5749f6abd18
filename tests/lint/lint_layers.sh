#!/bin/sh
# The walls between layers (doc/architecture.md): no upward include, each foreign header behind its
# one door. Usage: lint_layers.sh SRCDIR OBJDIR. Prints TAP.
set -u
cd "$1" || exit 1
n=0
bad=0
say() { # ok|"not ok" sentence
    n=$((n + 1))
    [ "$1" = ok ] || bad=1
    echo "$1 $n - $2"
}

# layer may-include...
check_layer() {
    layer=$1
    shift
    allowed="$layer $*"
    faults=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' --include='*.[ch]' "$layer" 2>/dev/null |
        awk -F '"' -v allowed=" $allowed " '{ split($2, part, "/") } !index(allowed, " " part[1] " ")')
    if [ -n "$faults" ]; then
        echo "$faults" | sed 's/^/# /'
        say "not ok" "$layer includes only: $allowed"
    else
        say ok "$layer includes only: $allowed"
    fi
}
check_layer base
check_layer fleet base
check_layer db fleet base
check_layer datapath fleet base
check_layer server db fleet base
check_layer agent datapath fleet base
[ -d cli ] && check_layer cli fleet base

# header-pattern door...
door() {
    pattern=$1
    shift
    faults=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+<$pattern" --include='*.[ch]' \
        base fleet db server datapath agent cli 2>/dev/null)
    for d in "$@"; do
        faults=$(printf '%s' "$faults" | grep -v "^$d")
    done
    if [ -n "$faults" ]; then
        echo "$faults" | sed 's/^/# /'
        say "not ok" "<$pattern> is included only by $*"
    else
        say ok "<$pattern> is included only by $*"
    fi
}
door 'sqlite3\.h' db/
door 'microhttpd\.h' server/http agent/exporter_http
door 'zstd' db/series_
door 'netlink/' datapath/nl/
door 'infiniband/' datapath/verbs/
door 'rdma/rdma_cma' datapath/verbs/
door 'hwloc' datapath/sys/topology
door 'libudev\.h' datapath/sys/
door 'seccomp\.h|cap-ng\.h' datapath/sys/confine
door 'curl/' base/http_
door 'pcre2\.h' base/schema
door 'sodium\.h' base/
door 'nettle/' base/json
door 'gnutls/' base/x509 server/tls_ server/http_tls
door 'libsmartcols' cli/table
door 'yaml\.h' fleet/evidence/yaml_
door 'archive(_entry)?\.h' server/bundle

# fleet/ is pure: no clock, no files, no network, no randomness.
faults=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+<(time|unistd|fcntl|sys/stat|sys/time|pthread|sys/random)\.h>|base/(clock|file|loop|log|http_client)\.h' fleet)
if [ -n "$faults" ]; then
    echo "$faults" | sed 's/^/# /'
    say "not ok" "fleet has no I/O and no clock"
else
    say ok "fleet has no I/O and no clock"
fi
echo "1..$n"
exit $bad
