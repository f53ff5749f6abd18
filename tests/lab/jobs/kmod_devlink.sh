# The devlink parts of kmod_selftest.sh, by the stock devlink tool. Sourced by it, after lib.sh.
# shellcheck shell=sh disable=SC2154
DL=platform/solar_rdma.2
FIRMWARE=/lib/firmware

versions() { # KIND: fixed, running or stored
    devlink -j dev info $DL | jq -c ".info[\"$DL\"].versions.$1"
}

firmware() { # KIND: the version of the main firmware
    versions "$1" | jq -r .fw
}

image() { # NAME VERSION [OPTIONS]
    name=$1
    shift
    mkdir -p $FIRMWARE
    python3 "$LAB_SRC/mkfw.py" "$FIRMWARE/$name" "$@"
}

flash() { # IMAGE [component C]
    file=$1
    shift
    devlink dev flash $DL file "$file" "$@"
}

rate_of() { # OBJECT FILTER
    devlink -j port function rate show "$DL/$1" | jq -c ".rate[\"$DL/$1\"] | $2"
}

param() { # NAME
    devlink -j dev param show $DL name "$1" |
        jq -c ".param[\"$DL\"][0].values[0] | [.cmode, .value]"
}

set_param() { # NAME VALUE CMODE
    devlink dev param set $DL name "$1" value "$2" cmode "$3"
}

test_devlink() {
    info=$(devlink -j dev info $DL | jq -c ".info[\"$DL\"]")
    field() { printf '%s' "$info" | jq -r "$1"; }
    is 'devlink driver' "$(field .driver)" solar_rdma
    is 'devlink serial' "$(field .serial_number)" SOLAR0002
    is 'devlink fixed psid' "$(field '.versions.fixed["fw.psid"]')" SOL0000000200
    is 'devlink board' "$(field '.versions.fixed["board.id"]')" SOLAR-TEST-100G
    is 'devlink running firmware' "$(field '.versions.running["fw.version"]')" 2.1.8
    is 'devlink stored firmware' "$(field '.versions.stored["fw.version"]')" 2.1.8
    is 'a second component' "$(field '.versions.running["fw.undi"]')" 1.4.2
    ok 'devlink port names the netdev' \
        sh -c 'devlink port show platform/solar_rdma.2/0 | grep -q "netdev solar2"'
    is 'two virtual functions are ports' "$(devlink -j port show |
        jq -c "[.port | to_entries[] | select(.key | startswith(\"$DL/\")) |
            select(.value.flavour == \"pcivf\") | .value.vfnum]")" '[0,1]'
}

test_flash() {
    image good 2.1.9
    image psid 2.1.9 --psid SOL0000000999
    image digest 2.1.9 --spoil digest
    image magic 2.1.9 --spoil magic
    image cut 2.1.9 --spoil size
    image part 1.0.0 --component fw.other
    image undi 1.4.3 --component fw.undi
    refused 'another identity' 'PSID does not match SOL0000000200' flash psid
    refused 'a wrong digest' 'image digest is wrong' flash digest
    refused 'no image' 'not a firmware image' flash magic
    refused 'a cut image' 'image is cut' flash cut
    refused 'an image for nothing here' 'for no component' flash part
    refused 'an image for another component' 'for another component' flash good component fw.undi
    refused 'a component that is none' 'not supported by this device' flash good component fw.x
    refused 'a missing file' 'failed to locate' flash nothing
    poke solar2 fail_flash_set 1
    refused 'a fault on demand' 'fault on demand' flash good
    poke solar2 flash_fail_percent 50
    refused 'a failure half-way' 'writing the flash failed' flash good
    poke solar2 flash_fail_percent 0
    is 'nothing was stored' "$(firmware stored)" 2.1.8
    poke solar2 ignore_flash_set 1
    ok 'a flash that only says so' flash good
    is 'is seen in the stored version' "$(firmware stored)" 2.1.8
    timeout 200 stdbuf -oL devlink mon >/run/flash.events &
    monitor=$!
    sleep 3
    poke solar2 flash_step_ms 20
    ok 'a good image' flash good component fw
    poke solar2 flash_step_ms 0
    ok 'another component' flash undi
    sleep 0.5
    kill $monitor
    is '17 figures of progress' "$(grep -c 'msg Flashing component fw done' /run/flash.events)" 17
    is 'begin and end are told' "$(grep -c '\[flash,\(begin\|end\)\]' /run/flash.events)" 4
    ok 'the last figure is the total' \
        grep -q 'msg Flashing component fw done 65536 total 65536' /run/flash.events
    is 'stored is new' "$(versions stored)" '{"fw.version":"2.1.9","fw":"2.1.9","fw.undi":"1.4.3"}'
    is 'running is old' "$(versions running)" '{"fw.version":"2.1.8","fw":"2.1.8","fw.undi":"1.4.2"}'
}

# After test_flash: 2.1.9 is stored, 2.1.8 runs.
test_activation() {
    ip link set solar2 up
    ip link set solar3 up
    dcb app add dev solar2 dscp-prio 26:3
    poke solar2 activate_needs_reboot 1
    refused 'an activation that needs a reboot' 'by a cold reboot only' \
        devlink dev reload $DL action fw_activate
    poke solar2 activate_needs_reboot 0
    poke solar2 fail_reload_set 1
    refused 'an activation fails on demand' 'fault on demand' \
        devlink dev reload $DL action fw_activate
    is 'the firmware runs on' "$(firmware running)" 2.1.8
    poke solar2 ignore_reload_set 1
    ok 'an activation that only says so' devlink dev reload $DL action fw_activate
    is 'is seen in the running version' "$(firmware running)" 2.1.8
    is 'and the configuration is kept' "$(dcbjq solar2 '.app | length')" 1
    before=$(counter solar3 link_flaps)
    ok 'activation' devlink dev reload $DL action fw_activate
    is 'the firmware runs' "$(firmware running)" 2.1.9
    is 'the link was down, at both ends, and is up' \
        "$(($(counter solar3 link_flaps) - before)) $(cat /sys/class/net/solar2/carrier)" '1 1'
    is 'the configuration is gone' "$(dcbjq solar2 '[.app, .trust]')" '[[],"pcp"]'
    image dead 2.2.0
    flash dead >/dev/null
    poke solar2 activate_kills_link 1
    ok 'a bad firmware is activated' devlink dev reload $DL action fw_activate
    is 'and runs without a link' \
        "$(firmware running) $(cat /sys/class/net/solar2/carrier /sys/class/net/solar3/carrier |
            tr '\n' ' ')" '2.2.0 0 0 '
    poke solar3 carrier 1
    is 'no cable helps' "$(cat /sys/class/net/solar2/carrier)" 0
    poke solar2 activate_kills_link 0
    flash good >/dev/null
    ok 'the old one is activated' devlink dev reload $DL action fw_activate
    is 'and the link is back' \
        "$(firmware running) $(cat /sys/class/net/solar2/carrier)" '2.1.9 1'
    flash dead >/dev/null
    poke solar2 cold_reset 1
    is 'a cold reset activates' "$(firmware running)" 2.2.0
}

test_devlink_params() {
    is 'dce_tcp_g' "$(param dce_tcp_g)" '["runtime",1019]'
    ok 'dce_tcp_g 1023' set_param dce_tcp_g 1023 runtime
    is 'dce_tcp_g was set' "$(param dce_tcp_g)" '["runtime",1023]'
    refused 'dce_tcp_g 1024' 'must be 1..1023' set_param dce_tcp_g 1024 runtime
    refused 'dce_tcp_g 0' 'must be 1..1023' set_param dce_tcp_g 0 runtime
    ok 'a text' set_param flow_steering_mode smfs runtime
    is 'a text was set' "$(param flow_steering_mode)" '["runtime","smfs"]'
    refused 'another text' 'dmfs or smfs' set_param flow_steering_mode x runtime
    poke solar2 ignore_param_set 1
    set_param dce_tcp_g 5 runtime
    is 'a set is swallowed on demand' "$(param dce_tcp_g)" '["runtime",1023]'
    poke solar2 fail_param_set 1
    refused 'a set fails on demand' 'Input/output error' set_param dce_tcp_g 5 runtime
    ok 'RoCE off' set_param enable_roce false driverinit
    ok 'more queue entries' set_param io_eq_size 4096 driverinit
    refused 'too many queue entries' 'must be 64..4096' set_param io_eq_size 4097 driverinit
    is 'both were asked for' "$(param enable_roce) $(param io_eq_size)" \
        '["driverinit",false] ["driverinit",4096]'
    is 'and are not in effect' "$(peek solar2 enable_roce) $(peek solar2 io_eq_size)" 'Y 1024'
    ok 'a reload' devlink dev reload $DL action driver_reinit
    is 'both are in effect' "$(peek solar2 enable_roce) $(peek solar2 io_eq_size)" 'N 4096'
    ok 'a permanent flag' set_param enable_sriov true permanent
    is 'the flag is on' "$(param enable_sriov)" '["permanent",true]'
    ok 'the flag off' set_param enable_sriov false permanent
    is 'the flag is off' "$(param enable_sriov)" '["permanent",false]'
    is 'a byte' "$(devlink -j dev param show $DL name fw_load_policy |
        jq -c ".param[\"$DL\"][0].values[0].cmode")" '"permanent"'
}

test_rates() {
    ok 'a leaf has a limit and a share' \
        devlink port function rate set $DL/1 tx_max 20gbit tx_share 5gbit
    is 'devlink shows them' "$(rate_of 1 '[.tx_max, .tx_share]')" '[2500000000,625000000]'
    is 'the device got them' "$(peek solar2 vf0_tx_max) $(peek solar2 vf0_tx_share)" \
        '2500000000 625000000'
    refused 'half a megabit' 'multiple of 1 Mb/s' \
        devlink port function rate set $DL/2 tx_max 1500kbit
    refused 'more than the link' 'must not exceed the speed' \
        devlink port function rate set $DL/1 tx_max 100001mbit
    ok 'the speed of the link' devlink port function rate set $DL/2 tx_max 100gbit
    ok 'a node' devlink port function rate add $DL/tenant1 tx_max 40gbit
    ok 'a leaf goes under it' devlink port function rate set $DL/1 parent tenant1
    is 'devlink shows it' "$(rate_of 1 .parent)" '"tenant1"'
    is 'the device got it' "$(peek solar2 vf0_node)" 1
    refused 'a node with a child stays' 'has children' devlink port function rate del $DL/tenant1
    ok 'the leaf leaves it' devlink port function rate set $DL/1 noparent
    ok 'the node goes' devlink port function rate del $DL/tenant1
    for i in $(seq 16); do
        devlink port function rate add $DL/n$i || break
    done
    refused 'a 17th node' '16 rate nodes' devlink port function rate add $DL/n17
    ok 'a leaf under one, left to the unloading' \
        devlink port function rate set $DL/2 parent n3
    poke solar2 fail_rate_set 1
    refused 'a set fails on demand' 'Input/output error' \
        devlink port function rate set $DL/1 tx_max 30gbit
}

reporter() { # FILTER
    devlink -j health show $DL reporter fw | jq -c ".health[\"$DL\"][0] | $1"
}

test_health() {
    is 'the reporter is healthy' "$(reporter '[.state, .error]')" '["healthy",0]'
    ok 'a test' devlink health test $DL reporter fw
    sleep 0.5
    is 'is reported and recovered from' "$(reporter '[.state, .error, .recover]')" \
        '["healthy",1,1]'
    ok 'its dump' sh -c "devlink health dump show $DL reporter fw | grep -q 'syndrome: 1'"
    devlink health dump clear $DL reporter fw
    poke solar2 health_recover_fails 1
    poke solar2 health_report 42
    sleep 0.5
    is 'a failed recovery leaves the error' "$(reporter '[.state, .error, .recover]')" \
        '["error",2,1]'
    is 'diagnosis' "$(devlink -j health diagnose $DL reporter fw | jq -c .syndrome)" 42
    refused 'a recovery by hand fails too' 'failed on demand' devlink health recover $DL reporter fw
    poke solar2 health_recover_fails 0
    ok 'a recovery by hand' devlink health recover $DL reporter fw
    is 'healthy again' "$(reporter .state)" '"healthy"'
}
