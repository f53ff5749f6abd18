# For job scripts that program knobs through dpctl: plans out of knobs. Needs $DPCTL, $WORK and $PORT; source it
# after lib.sh.
# shellcheck shell=sh

dpctl() { "$DPCTL" --devices "${DEVICES-solar0,solar1}" "$@"; }

# knob KIND ID WANT [SUBJECT]: one knob as JSON
knob() { printf '{"kind":"%s","subject":"%s","id":"%s","want":%s}' "$1" "${4-$PORT}" "$2" "$3"; }

# plan NAME KNOB...: writes $WORK/NAME
plan() {
    name=$1
    shift
    {
        printf '{"knobs":['
        separator=''
        for each; do
            printf '%s%s' "$separator" "$each"
            separator=,
        done
        printf ']}'
    } >"$WORK/$name"
}

apply() { dpctl apply "$WORK/$1"; }
live() { dpctl observe | jq -cS --arg k "$1" --arg i "$2" --arg p "$PORT" \
    '[.knobs[]|select(.kind==$k and .subject==$p and (.id//"")==$i)|.live][0]'; }
