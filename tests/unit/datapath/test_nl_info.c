/*
 * tests/unit/datapath/test_nl_info.c - datapath/nl/{link,devlink,ethtool,rdma,events}: what devices
 * say of themselves, from recorded, hand-made and broken replies.
 */
#include "tests/unit/datapath/nl_test.h"

#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "datapath/nl/devlink.h"
#include "datapath/nl/ethtool.h"
#include "datapath/nl/ethtool_fec.h"
#include "datapath/nl/ethtool_module.h"
#include "datapath/nl/events.h"
#include "datapath/nl/genl_events.h"
#include "datapath/sys/uevents.h"
#include "datapath/nl/link.h"
#include "datapath/nl/rdma.h"

static void a_recorded_link_decodes(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct link_info link;
    OWN(mem) void *memory = recorded("fuzz_datapath_dcb/link_get");
    assert_ok(link_decode(memory, &link, &err));
    assert_string_equal(link.name, "solar0");
    assert_string_equal(link.kind, "");
    assert_int_equal(link.mtu_bytes, 4100);
    assert_int_equal(link.mtu_min_bytes, 68);
    assert_int_equal(link.mtu_max_bytes, 9978);
    OWN(nl_msg) struct nl_msg *msg = link_encode(RTM_NEWLINK, 7);
    assert_payload(msg, "00000000 07000000 00000000 00000000");
}

static void a_link_without_name_or_index_is_malformed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct link_info link;
    OWN(mem) void *nameless = message(RTM_NEWLINK, "00000000 07000000 00000000 00000000");
    OWN(mem)
    void *zero = message(RTM_NEWLINK, "00000000 00000000 00000000 00000000 06000300 61000000");
    OWN(mem) void *tiny = message(RTM_NEWLINK, "0000");
    assert_fails(link_decode(nameless, &link, &err), ERR_IO);
    assert_fails(link_decode(zero, &link, &err), ERR_IO);
    assert_fails(link_decode(tiny, &link, &err), ERR_IO);
}

static void a_name_may_lack_its_end(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct link_info link;
    OWN(mem)
    void *memory = message(RTM_NEWLINK, "00000000 07000000 00000000 00000000 08000300 61ff0a62");
    assert_ok(link_decode(memory, &link, &err));
    assert_string_equal(link.name, "a??b"); /* no NUL, no UTF-8, a line break */
}

/* The server would refuse a whole inventory for one of them. */
static void hidden_characters_of_a_device_are_replaced(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct devlink_info info;
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(0x1c, DEVLINK_CMD_INFO_GET, 0);
    nla_put_string(msg, DEVLINK_ATTR_INFO_SERIAL_NUMBER,
                   "S\xe2\x80\x8b"
                   "1\xc2\x85\x7f\t");
    assert_ok(devlink_decode_info(nlmsg_hdr(msg), &info, &err));
    assert_string_equal(info.serial, "S?1???");
}

static void devlink_tells_driver_and_versions(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct devlink_info info;
    OWN(mem) void *memory = recorded("fuzz_datapath_devlink/info");
    assert_ok(devlink_decode_info(memory, &info, &err));
    assert_string_equal(info.driver, "solar_rdma");
    assert_string_equal(info.serial, "SOLAR0000");
    assert_int_equal(info.fixed.count, 1);
    assert_string_equal(info.fixed.items[0].name, "fw.psid");
    assert_string_equal(devlink_firmware(&info.running), "2.1.8");
    assert_string_equal(devlink_firmware(&info.stored), "2.1.8");
    assert_null(devlink_firmware(&info.fixed));
    OWN(nl_msg) struct nl_msg *msg = devlink_encode_info(0x1c, "pci", "0000:3b:00.0");
    /* genlmsghdr{cmd 51, version 1}, BUS_NAME(1) "pci", DEV_NAME(2) */
    assert_payload(msg, "33010000 08000100 70636900 11000200 30303030 3a33623a 30302e30 00000000");
}

static void more_versions_than_fit_are_cut(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct devlink_info info;
    OWN(nl_msg) struct nl_msg *msg = nlx_genl_new(0x1c, DEVLINK_CMD_INFO_GET, 0);
    for (int i = 0; i < DEVLINK_VERSIONS_MAX + 5; i++) {
        struct nlattr *nest = nla_nest_start(msg, DEVLINK_ATTR_INFO_VERSION_RUNNING);
        nla_put_string(msg, DEVLINK_ATTR_INFO_VERSION_NAME, "f");
        nla_put_string(msg, DEVLINK_ATTR_INFO_VERSION_VALUE, "1");
        nla_nest_end(msg, nest);
    }
    assert_ok(devlink_decode_info(nlmsg_hdr(msg), &info, &err));
    assert_int_equal(info.running.count, DEVLINK_VERSIONS_MAX);
}

static void ethtool_tells_speed_and_offload(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int64_t bps;
    struct ethtool_tc_offload offload;
    OWN(mem) void *modes = recorded("fuzz_datapath_ethtool/linkmodes");
    OWN(mem) void *features = recorded("fuzz_datapath_ethtool/features");
    assert_ok(ethtool_decode_speed(modes, &bps, &err));
    assert_int_equal(bps, INT64_C(100000000000));
    assert_ok(ethtool_decode_tc_offload(features, &offload, &err));
    assert_true(offload.active && offload.possible);
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode(0x15, ETHTOOL_MSG_LINKMODES_GET, "solar0");
    assert_payload(msg, "04010000 10000180 0b000200 736f6c61 72300000");
}

static void unknown_speeds_are_unknown(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const char *const cases[] = {
        "04010000",                                                 /* no attribute */
        "04010000 08000500 ffffffff",                               /* SPEED_UNKNOWN */
        "04010000 08000500 00000000", "04010000 06000500 00000000", /* two bytes */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t bps = 7;
        OWN(mem) void *memory = message(0x15, cases[i]);
        assert_ok(ethtool_decode_speed(memory, &bps, &err));
        assert_int_equal(bps, -1);
    }
}

static void a_link_tells_negotiation_and_lanes(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct ethtool_link link;
    /* AUTONEG(2) 1, SPEED(5) 400000, DUPLEX(6) 1, LANES(9) 4 */
    OWN(mem)
    void *modes = message(0x15, "04010000 05000200 01000000 08000500 801a0600 05000600 01000000 "
                                "08000900 04000000");
    assert_ok(ethtool_decode_link(modes, &link, &err));
    assert_int_equal(link.speed_bps, INT64_C(400000000000));
    assert_int_equal(link.autoneg, 1);
    assert_int_equal(link.lanes, 4);
    OWN(mem) void *odd = message(0x15, "04010000 05000200 07000000 08000900 00000000");
    assert_ok(ethtool_decode_link(odd, &link, &err));
    assert_int_equal(link.autoneg, -1);
    assert_int_equal(link.lanes, -1);
}

static struct nlmsghdr *fec_message(struct nl_msg *msg, bool nomask)
{
    /* MODES { [nomask] bits { bit { index 50, name "RS", value } bit { index 51, no value } } } */
    struct nlattr *modes = nla_nest_start(msg, ETHTOOL_A_FEC_MODES);
    if (nomask)
        nla_put_flag(msg, ETHTOOL_A_BITSET_NOMASK);
    struct nlattr *bits = nla_nest_start(msg, ETHTOOL_A_BITSET_BITS);
    for (uint32_t index = 50; index <= 51; index++) {
        struct nlattr *bit = nla_nest_start(msg, ETHTOOL_A_BITSET_BITS_BIT);
        nla_put_u32(msg, ETHTOOL_A_BITSET_BIT_INDEX, index);
        if (index == 50)
            nla_put_flag(msg, ETHTOOL_A_BITSET_BIT_VALUE);
        nla_nest_end(msg, bit);
    }
    nla_nest_end(msg, bits);
    nla_nest_end(msg, modes);
    nla_put_u8(msg, ETHTOOL_A_FEC_AUTO, 1);
    nla_put_u32(msg, ETHTOOL_A_FEC_ACTIVE, 50);
    return nlmsg_hdr(msg);
}

static void fec_tells_what_may_be_and_what_is(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct ethtool_fec fec;
    OWN(nl_msg) struct nl_msg *masked = nlx_genl_new(0x15, ETHTOOL_MSG_FEC_GET, 0);
    assert_ok(ethtool_decode_fec(fec_message(masked, false), &fec, &err));
    assert_true(fec.automatic && fec.configured[1] && !fec.configured[2] && !fec.configured[0]);
    assert_string_equal(ethtool_fec_name(fec.active), "rs");
    OWN(nl_msg) struct nl_msg *listed = nlx_genl_new(0x15, ETHTOOL_MSG_FEC_GET, 0);
    assert_ok(ethtool_decode_fec(fec_message(listed, true), &fec, &err));
    assert_true(fec.configured[1] && fec.configured[2]);
    OWN(mem) void *none = message(0x15, "1d010000");
    assert_ok(ethtool_decode_fec(none, &fec, &err));
    assert_null(ethtool_fec_name(fec.active));
    assert_null(ethtool_fec_name(ETHTOOL_FEC_MODES));
}

static void a_port_may_have_no_clock(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int index = 7;
    OWN(mem) void *none = message(0x15, "19010000");
    assert_ok(ethtool_decode_clock(none, &index, &err));
    assert_int_equal(index, -1);
    OWN(mem) void *first = message(0x15, "19010000 08000500 00000000");
    assert_ok(ethtool_decode_clock(first, &index, &err));
    assert_int_equal(index, 0);
    OWN(mem) void *odd = message(0x15, "19010000 08000500 ffffffff");
    assert_ok(ethtool_decode_clock(odd, &index, &err));
    assert_int_equal(index, -1);
}

static void put_module_text(uint8_t *data, size_t at, const char *text)
{
    memset(data + at, ' ', 16);
    memcpy(data + at, text, strlen(text));
}

static void modules_of_each_kind_are_named(void **state)
{
    (void)state;
    static const struct {
        uint8_t id;
        const char *kind;
        size_t vendor, part, serial;
    } kinds[] = {{0x03, "SFP", 20, 40, 68},
                 {0x11, "QSFP28", 148, 168, 196},
                 {0x18, "QSFP-DD", 129, 148, 166},
                 {0x19, "OSFP", 129, 148, 166}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        uint8_t data[ETHTOOL_MODULE_BYTES] = {kinds[i].id};
        struct ethtool_module module;
        put_module_text(data, kinds[i].vendor, "Mellanox");
        put_module_text(data, kinds[i].part, "MCP1600-C003E30L");
        put_module_text(data, kinds[i].serial, "MT\xff\n1");
        assert_true(ethtool_module_decode(data, &module));
        assert_string_equal(module.kind, kinds[i].kind);
        assert_string_equal(module.vendor, "Mellanox");
        assert_string_equal(module.part, "MCP1600-C003E30L");
        assert_string_equal(module.serial, "MT??1");
    }
    uint8_t unknown[ETHTOOL_MODULE_BYTES] = {0x7f};
    struct ethtool_module module;
    assert_false(ethtool_module_decode(unknown, &module));
}

static void a_modules_bytes_come_whole_or_not(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    uint8_t data[4];
    OWN(mem) void *whole = message(0x15, "1f010000 08000700 11223344");
    assert_ok(ethtool_decode_module(whole, data, 4, &err));
    assert_int_equal(data[3], 0x44);
    OWN(mem) void *fewer = message(0x15, "1f010000 07000700 11223300");
    assert_fails(ethtool_decode_module(fewer, data, 4, &err), ERR_IO);
    OWN(mem) void *none = message(0x15, "1f010000");
    assert_fails(ethtool_decode_module(none, data, 4, &err), ERR_IO);
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode_module(0x15, "x", 128, 128);
    assert_payload(msg, "1f010000 0c000180 06000200 78000000 08000200 80000000 08000300 80000000 "
                        "05000400 00000000 05000500 00000000 05000600 50000000");
}

static void offload_may_be_possible_and_off(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct ethtool_tc_offload offload;
    /* HW(2): nomask, bits { bit { name "hw-tc-offload" } } */
    OWN(mem)
    void *off = message(0x15, "0b010000 28000280 04000100 20000380 1c000180 12000200 "
                              "68772d74 632d6f66 666c6f61 64000000 00000000");
    assert_ok(ethtool_decode_tc_offload(off, &offload, &err));
    assert_true(offload.possible && !offload.active);
    OWN(mem) void *none = message(0x15, "0b010000");
    assert_ok(ethtool_decode_tc_offload(none, &offload, &err));
    assert_false(offload.possible || offload.active);
}

static void rdma_devices_and_ports_decode(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct rdma_device device;
    struct rdma_port port;
    OWN(mem) void *memory = recorded("fuzz_datapath_rdma/rdma_dev_0");
    assert_ok(rdma_decode_device(memory, &device, &err));
    assert_string_equal(device.name, "rxe0");
    assert_int_equal(device.port_count, 1);
    char hex[128];
    snprintf(hex, sizeof(hex),
             "0800%02x00 02000000 0800%02x00 01000000 0500%02x00 04000000 "
             "0800%02x00 09000000",
             RDMA_NLDEV_ATTR_DEV_INDEX, RDMA_NLDEV_ATTR_PORT_INDEX, RDMA_NLDEV_ATTR_PORT_STATE,
             RDMA_NLDEV_ATTR_NDEV_INDEX);
    OWN(mem) void *active = message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), hex);
    assert_ok(rdma_decode_port(active, &port, &err));
    assert_int_equal(port.device, 2);
    assert_int_equal(port.port, 1);
    assert_int_equal(port.ifindex, 9);
    assert_string_equal(rdma_state_name(port.state), "active");
    assert_null(rdma_state_name(0));
    assert_null(rdma_state_name(255));
    OWN(mem) void *empty = message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), "");
    assert_fails(rdma_decode_device(empty, &device, &err), ERR_IO);
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_ports(3);
    assert_int_equal(nlmsg_hdr(msg)->nlmsg_type, 5 << 10 | 5);
    assert_payload(msg, "08000100 03000000");
}

static void only_others_changes_are_news(void **state)
{
    (void)state;
    struct nlmsghdr msg = {.nlmsg_len = sizeof(msg), .nlmsg_pid = 42};
    static const uint16_t news[] = {RTM_NEWLINK,   RTM_DELLINK,    RTM_SETDCB,    RTM_NEWQDISC,
                                    RTM_DELTCLASS, RTM_NEWTFILTER, RTM_DELTFILTER};
    for (size_t i = 0; i < sizeof(news) / sizeof(news[0]); i++) {
        msg.nlmsg_type = news[i];
        assert_true(nl_events_relevant(&msg, 41, NULL));
        assert_true(nl_events_relevant(&msg, 0, NULL));
        assert_false(nl_events_relevant(&msg, 42, NULL)); /* our own */
    }
    msg.nlmsg_type = RTM_NEWADDR;
    assert_false(nl_events_relevant(&msg, 41, NULL));
}

static void news_says_what_changed_and_who_asked(void **state)
{
    (void)state;
    struct nl_change change;
    OWN(mem) void *tc = message(RTM_DELTFILTER, "00000000 07000000 00000000 f1ffffff 00000000");
    ((struct nlmsghdr *)tc)->nlmsg_pid = 42;
    assert_true(nl_events_relevant(tc, 41, &change));
    assert_string_equal(change.family, "tc");
    assert_int_equal(change.ifindex, 7);
    assert_int_equal(change.port, 42);
    OWN(mem) void *dcb = message(RTM_SETDCB, "00140000 0700 0100 65310000");
    assert_true(nl_events_relevant(dcb, 41, &change));
    assert_string_equal(change.family, "dcb");
    assert_string_equal(change.ifname, "e1");
    assert_int_equal(change.ifindex, 0);
    OWN(mem) void *cut = message(RTM_NEWLINK, "00000000");
    assert_true(nl_events_relevant(cut, 41, &change)); /* something changed, no matter what */
    assert_int_equal(change.ifindex, 0);
}

static void devices_that_come_and_go_are_news(void **state)
{
    (void)state;
    assert_true(genl_events_is_news(true, DEVLINK_CMD_DEL));
    assert_true(genl_events_is_news(true, DEVLINK_CMD_FLASH_UPDATE_END));
    assert_true(genl_events_is_news(true, DEVLINK_CMD_RATE_NEW));
    assert_true(genl_events_is_news(true, DEVLINK_CMD_PARAM_NEW));
    assert_false(genl_events_is_news(true, DEVLINK_CMD_FLASH_UPDATE_STATUS));
    assert_true(genl_events_is_news(false, ETHTOOL_MSG_FEC_NTF));
    assert_true(uevents_is_news("infiniband", "add"));
    assert_true(uevents_is_news("pci", "unbind"));
    assert_false(uevents_is_news("infiniband", "change"));
    assert_true(uevents_has_knobs("infiniband", "add"));
    assert_false(uevents_has_knobs("infiniband", "change"));
    assert_false(uevents_has_knobs("net", "add"));
    assert_false(uevents_has_knobs(NULL, "add"));
    assert_false(uevents_is_news("block", "add"));
    assert_false(uevents_is_news(NULL, "add"));
    assert_false(uevents_is_news("pci", NULL));
    /* MCAST_GROUPS(7) { 1 { NAME(1) "config", ID(2) 9 } } */
    OWN(mem)
    void *family = message(0x10, "01020000 1c000780 18000180 0b000100 636f6e66 69670000 08000200 "
                                 "09000000");
    assert_int_equal(genl_events_group(family, "config"), 9);
    assert_int_equal(genl_events_group(family, "other"), 0);
    OWN(mem) void *none = message(0x10, "01020000");
    assert_int_equal(genl_events_group(none, "config"), 0);
}

static void decode_all(const struct nlmsghdr *msg)
{
    struct link_info link;
    struct devlink_info info;
    struct rdma_device device;
    struct rdma_port port;
    struct ethtool_tc_offload offload;
    int64_t bps;
    (void)!link_decode(msg, &link, NULL);
    (void)!devlink_decode_info(msg, &info, NULL);
    (void)!rdma_decode_device(msg, &device, NULL);
    (void)!rdma_decode_port(msg, &port, NULL);
    (void)!ethtool_decode_tc_offload(msg, &offload, NULL);
    struct ethtool_link modes;
    struct ethtool_fec fec;
    uint8_t bytes[4];
    int clock;
    (void)!ethtool_decode_speed(msg, &bps, NULL);
    (void)!ethtool_decode_link(msg, &modes, NULL);
    (void)!ethtool_decode_fec(msg, &fec, NULL);
    (void)!ethtool_decode_clock(msg, &clock, NULL);
    (void)!ethtool_decode_module(msg, bytes, sizeof(bytes), NULL);
    (void)genl_events_group(msg, "config");
}

static void maimed_replies_are_survived(void **state)
{
    (void)state;
    static const char *const names[] = {"fuzz_datapath_dcb/link_get", "fuzz_datapath_devlink/info",
                                        "fuzz_datapath_ethtool/features",
                                        "fuzz_datapath_ethtool/linkmodes",
                                        "fuzz_datapath_rdma/rdma_dev_0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        OWN(mem) void *memory = recorded(names[i]);
        maim(memory, decode_all);
    }
    OWN(nl_msg) struct nl_msg *fec = nlx_genl_new(0x15, ETHTOOL_MSG_FEC_GET, 0);
    maim(fec_message(fec, false), decode_all);
}

static void a_board_id_is_taken_from_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *fixed, *firmware, *psid; /* NULL = none */
    } cases[] = {
        {"MT_0000000359", "22.36.1010 (MT_1)", "MT_0000000359"},
        {NULL, "22.36.1010 (MT_0000000359)", "MT_0000000359"},
        {NULL, "22.36.1010", NULL},
        {NULL, "", NULL},
        {NULL, "1.0 ()", NULL},
        {NULL, "1.0 (a board)", NULL}, /* the inventory would be refused for it */
        {NULL, "1.0 (MT_1", NULL},
        {"MT 1", "1.0 (MT_1)", NULL},
        {"", "", NULL},
        {NULL, "(0123456789012345678901234567890123456789012345678901234567890123)", NULL},
        {NULL, "(012345678901234567890123456789012345678901234567890123456789012)",
         "012345678901234567890123456789012345678901234567890123456789012"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct devlink_versions fixed = {.count = 0};
        char psid[DEVLINK_PSID_SIZE];
        if (cases[i].fixed != NULL) {
            fixed.count = 1;
            strcpy(fixed.items[0].name, "fw.psid");
            strcpy(fixed.items[0].value, cases[i].fixed);
        }
        assert_int_equal(devlink_psid(&fixed, cases[i].firmware, psid), cases[i].psid != NULL);
        if (cases[i].psid != NULL)
            assert_string_equal(psid, cases[i].psid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_link_decodes),
        cmocka_unit_test(a_link_without_name_or_index_is_malformed),
        cmocka_unit_test(a_name_may_lack_its_end),
        cmocka_unit_test(hidden_characters_of_a_device_are_replaced),
        cmocka_unit_test(devlink_tells_driver_and_versions),
        cmocka_unit_test(a_board_id_is_taken_from_where_it_stands),
        cmocka_unit_test(more_versions_than_fit_are_cut),
        cmocka_unit_test(ethtool_tells_speed_and_offload),
        cmocka_unit_test(unknown_speeds_are_unknown),
        cmocka_unit_test(a_link_tells_negotiation_and_lanes),
        cmocka_unit_test(fec_tells_what_may_be_and_what_is),
        cmocka_unit_test(a_port_may_have_no_clock),
        cmocka_unit_test(modules_of_each_kind_are_named),
        cmocka_unit_test(a_modules_bytes_come_whole_or_not),
        cmocka_unit_test(offload_may_be_possible_and_off),
        cmocka_unit_test(rdma_devices_and_ports_decode),
        cmocka_unit_test(only_others_changes_are_news),
        cmocka_unit_test(devices_that_come_and_go_are_news),
        cmocka_unit_test(news_says_what_changed_and_who_asked),
        cmocka_unit_test(maimed_replies_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
