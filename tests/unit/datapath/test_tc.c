/*
 * tests/unit/datapath/test_tc.c - datapath/nl/tc_*: rates and units, qdiscs, classes, filters.
 */
#include "tests/unit/datapath/nl_test.h"

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>

#include "datapath/nl/tc_class.h"
#include "datapath/nl/tc_flower.h"
#include "datapath/nl/tc_qdisc.h"
#include "datapath/nl/tc_red.h"
#include "datapath/nl/tc_rate.h"

/* Rates --------------------------------------------------------------------------------------- */

static void the_kernel_counts_bytes_per_second(void **state)
{
    (void)state;
    assert_int_equal(tc_rate_bytes(80000007), 10000000);
    assert_int_equal(tc_rate_bps(10000000), 80000000);
    assert_int_equal(tc_rate_bytes(7), 0);
    assert_int_equal(tc_rate_bytes(-8), 0);
    assert_int_equal(tc_rate_bps(UINT64_MAX), INT64_MAX);
}

static void a_tick_is_64_ns(void **state)
{
    (void)state;
    /* 128 KiB at 80 Mbit/s: 13.1072 ms = 204800 ticks */
    assert_int_equal(tc_ticks_of_size(10000000, 131072), 204800);
    assert_int_equal(tc_size_of_ticks(10000000, 204800), 131072);
    assert_int_equal(tc_ticks_of_size(1, UINT32_MAX), UINT32_MAX);
    assert_int_equal(tc_ticks_of_size(0, 1), UINT32_MAX);
    /* at 100 Gbit/s a tick is 800 bytes */
    assert_int_equal(tc_ticks_of_size(UINT64_C(12500000000), 800), 1);
    assert_int_equal(tc_size_of_ticks(UINT64_C(12500000000), 1), 800);
}

static void the_rate_table_covers_64_kib(void **state)
{
    (void)state;
    struct tc_ratespec spec;
    uint32_t table[256];
    tc_rate_table(10000000, &spec, table);
    assert_int_equal(spec.cell_log, 8);
    assert_int_equal(spec.cell_align, -1);
    assert_int_equal(spec.linklayer, 1);
    assert_int_equal(spec.rate, 10000000);
    assert_int_equal(table[0], 400);      /* 256 bytes: 25.6 us */
    assert_int_equal(table[255], 102400); /* 65536 bytes: 6.5536 ms */
    tc_rate_table(UINT64_C(12500000000), &spec, table);
    assert_int_equal(spec.rate, UINT32_MAX); /* the 64-bit attribute has the rate */
}

/* Qdiscs -------------------------------------------------------------------------------------- */

static void clsact_stands_under_its_own_parent(void **state)
{
    (void)state;
    OWN(nl_msg)
    struct nl_msg *msg = tc_qdisc_encode_clsact(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, 7);
    /* tcmsg{family, ifindex 7, handle ffff:, parent fffffff1, info}, TCA_KIND "clsact" */
    assert_payload(msg, "00000000 07000000 0000ffff f1ffffff 00000000 0b000100 636c7361 63740000");
    assert_int_equal(nlmsg_hdr(msg)->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
}

static void htb_carries_its_default_class(void **state)
{
    (void)state;
    const struct qdisc_value value = {.handle = 0x5e110000, .default_class = 0x5e11ffff};
    OWN(nl_msg) struct nl_msg *msg = tc_qdisc_encode_htb(7, &value);
    /* TCA_OPTIONS(2) nest 28 { TCA_HTB_INIT(2): version 3, r2q 10, defcls ffff, debug, direct } */
    assert_payload(msg, "00000000 07000000 0000115e ffffffff 00000000 08000100 68746200 "
                        "1c000280 18000200 03000000 0a000000 ffff0000 00000000 00000000");
}

static void recorded_qdiscs_decode(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct qdisc_state qdiscs = {0}, others = {0};
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof(name), "fuzz_datapath_tc/qdisc_%d", i);
        OWN(mem) void *memory = recorded(name);
        struct tcmsg header;
        memcpy(&header, nlmsg_data(memory), sizeof(header));
        assert_ok(tc_qdisc_decode(memory, header.tcm_ifindex + 1, &others, &err));
        if (header.tcm_parent == TC_H_ROOT && header.tcm_handle != 0x5e110000)
            continue; /* another interface's */
        assert_ok(tc_qdisc_decode(memory, header.tcm_ifindex, &qdiscs, &err));
    }
    assert_true(qdiscs.clsact && !qdiscs.ingress_other && qdiscs.root.present);
    assert_string_equal(qdiscs.root.kind, "htb");
    assert_int_equal(qdiscs.root.handle, 0x5e110000);
    assert_int_equal(qdiscs.root.value.default_class, 0x5e11ffff);
    assert_false(others.clsact || others.root.present);
}

static struct qdisc_value bands(void)
{
    struct qdisc_value value = {.ets = true, .handle = 0x5e110000, .bands = 3, .strict = 1};
    value.quanta[1] = 1514;
    value.quanta[2] = 0x12345678;
    for (int i = 0; i < QDISC_PRIOMAP; i++)
        value.priomap[i] = (uint8_t)(i % 3);
    return value;
}

static void ets_carries_its_bands(void **state)
{
    (void)state;
    const struct qdisc_value value = bands();
    struct qdisc_state qdiscs = {0};
    struct err err = ERR_INIT;
    OWN(nl_msg) struct nl_msg *msg = tc_qdisc_encode_ets(NLM_F_CREATE, 7, &value);
    /* NBANDS(1) 3, NSTRICT(2) 1, QUANTA(3) nest of BAND(4), PRIOMAP(5) nest of BAND(6) */
    assert_holds(msg, "08000100 65747300");
    assert_holds(msg, "05000100 03000000 05000200 01000000");
    assert_holds(msg, "14000380 08000400 ea050000 08000400 78563412");
    assert_holds(msg, "84000580 05000600 00000000 05000600 01000000 05000600 02000000");
    assert_ok(tc_qdisc_decode(nlmsg_hdr(msg), 7, &qdiscs, &err));
    assert_true(qdiscs.root.known && !qdiscs.root.value.offloaded);
    assert_true(qdisc_value_same(&qdiscs.root.value, &value));
}

static void ets_without_strict_or_with_nothing_else(void **state)
{
    (void)state;
    for (uint8_t strict = 0; strict <= 3; strict++) {
        struct qdisc_value value = bands();
        struct qdisc_state qdiscs = {0};
        struct err err = ERR_INIT;
        memset(value.quanta, 0, sizeof(value.quanta));
        value.strict = strict;
        for (int i = strict; i < 3; i++)
            value.quanta[i] = 1;
        OWN(nl_msg) struct nl_msg *msg = tc_qdisc_encode_ets(NLM_F_CREATE, 7, &value);
        assert_ok(tc_qdisc_decode(nlmsg_hdr(msg), 7, &qdiscs, &err));
        assert_true(qdiscs.root.known && qdisc_value_same(&qdiscs.root.value, &value));
    }
}

/* A map to a band that is not there, and shares of fewer bands than there are. */
static void an_ets_that_makes_no_sense_is_not_ours(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct qdisc_value wrong = bands();
    wrong.priomap[15] = 3;
    OWN(nl_msg) struct nl_msg *map = tc_qdisc_encode_ets(NLM_F_CREATE, 7, &wrong);
    struct qdisc_state qdiscs = {0};
    assert_ok(tc_qdisc_decode(nlmsg_hdr(map), 7, &qdiscs, &err));
    assert_true(qdiscs.root.present && !qdiscs.root.known);
    OWN(mem)
    void *memory = message(RTM_NEWQDISC, "00000000 07000000 0000115e ffffffff 00000000 "
                                         "08000100 65747300 0c000280 05000100 11000000");
    assert_ok(tc_qdisc_decode(memory, 7, &qdiscs, &err));
    assert_false(qdiscs.root.known);
}

static void red_marks_by_the_queue_as_it_is(void **state)
{
    (void)state;
    static const uint32_t probabilities[] = {1, 2, 100, 3333, 9999, 10000};
    for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++) {
        struct err err = ERR_INIT;
        struct red_info info;
        bool red;
        const struct red_value value = {.ecn = true,
                                        .min_bytes = 0x1000,
                                        .max_bytes = 0x10000,
                                        .limit_bytes = 0x100000,
                                        .probability_permyriad = probabilities[i]};
        OWN(nl_msg) struct nl_msg *msg = tc_red_encode(7, 0x5e11001a, &value);
        assert_payload(msg, "00000000 07000000 00000000 1a00115e 00000000 08000100 72656400");
        /* PARMS(1): limit, min, max, Wlog 0, Plog 15, Scell_log 10, flags ECN */
        assert_holds(msg, "14000100 00001000 00100000 00000100 000f0a01");
        assert_ok(tc_red_decode(nlmsg_hdr(msg), 7, &info, &red, &err));
        assert_true(red && info.parent == 0x5e11001a);
        assert_true(red_value_same(&info.value, &value));
        assert_ok(tc_red_decode(nlmsg_hdr(msg), 8, &info, &red, &err));
        assert_false(red); /* another interface's */
    }
}

static void what_the_nic_does_is_told(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct red_info info;
    bool red;
    const struct red_value value = {
        .min_bytes = 1, .max_bytes = 2, .limit_bytes = 3, .probability_permyriad = 1};
    OWN(nl_msg) struct nl_msg *msg = tc_red_encode(7, 0x5e110001, &value);
    assert_int_equal(nla_put_u8(msg, TCA_HW_OFFLOAD, 1), 0);
    assert_ok(tc_red_decode(nlmsg_hdr(msg), 7, &info, &red, &err));
    assert_true(red && info.value.offloaded && !info.value.ecn);
    const struct qdisc_value ets = bands();
    struct qdisc_state qdiscs = {0};
    OWN(nl_msg) struct nl_msg *root = tc_qdisc_encode_ets(NLM_F_CREATE, 7, &ets);
    assert_int_equal(nla_put_u8(root, TCA_HW_OFFLOAD, 1), 0);
    assert_ok(tc_qdisc_decode(nlmsg_hdr(root), 7, &qdiscs, &err));
    assert_true(qdiscs.root.value.offloaded && qdisc_value_same(&qdiscs.root.value, &ets));
}

static void an_ingress_qdisc_is_not_clsact(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct qdisc_state qdiscs = {0};
    OWN(mem)
    void *memory = message(RTM_NEWQDISC, "00000000 07000000 0000ffff f1ffffff 00000000 "
                                         "0c000100 696e6772 65737300");
    assert_ok(tc_qdisc_decode(memory, 7, &qdiscs, &err));
    assert_true(qdiscs.ingress_other && !qdiscs.clsact);
}

/* Classes ------------------------------------------------------------------------------------- */

static void a_fast_class_has_64_bit_rates(void **state)
{
    (void)state;
    const struct class_value value = {
        .parent = 0x5e11fffe, .rate_bps = INT64_C(40000000005), .ceil_bps = INT64_C(8000000000)};
    OWN(nl_msg) struct nl_msg *msg = tc_class_encode(7, 0x5e11001a, &value, true);
    assert_payload(msg, "00000000 07000000 1a00115e feff115e 00000000 08000100 68746200");
    assert_holds(msg, "0c000600 00f2052a 01000000"); /* TCA_HTB_RATE64 5e9 */
    assert_int_equal(nlmsg_hdr(msg)->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
    struct class_info back;
    bool htb;
    struct err err = ERR_INIT;
    assert_ok(tc_class_decode(nlmsg_hdr(msg), 7, &back, &htb, &err));
    assert_true(htb);
    assert_int_equal(back.value.rate_bps, INT64_C(40000000000)); /* whole bytes */
    assert_int_equal(back.value.ceil_bps, INT64_C(8000000000));
    assert_int_equal(back.value.parent, 0x5e11fffe);
    OWN(nl_msg) struct nl_msg *change = tc_class_encode(7, 0x5e11001a, &value, false);
    assert_int_equal(nlmsg_hdr(change)->nlmsg_flags, NLM_F_REQUEST); /* in place, never re-made */
}

static void recorded_classes_decode(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const struct class_info want[] = {
        {0x5e11fffe, {0x5e110000, INT64_C(100000000000), INT64_C(100000000000)}},
        {0x5e11ffff, {0x5e11fffe, INT64_C(5000000000), INT64_C(100000000000)}},
        {0x5e11001a, {0x5e11fffe, INT64_C(1000000000), INT64_C(60000000000)}},
    };
    int seen = 0;
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof(name), "fuzz_datapath_tc/class_%d", i);
        OWN(mem) void *memory = recorded(name);
        struct tcmsg header;
        memcpy(&header, nlmsg_data(memory), sizeof(header));
        struct class_info info;
        bool htb;
        assert_ok(tc_class_decode(memory, header.tcm_ifindex, &info, &htb, &err));
        assert_true(htb);
        for (size_t k = 0; k < 3; k++) {
            if (want[k].handle != info.handle)
                continue;
            assert_int_equal(info.value.parent, want[k].value.parent);
            assert_int_equal(info.value.rate_bps, want[k].value.rate_bps);
            assert_int_equal(info.value.ceil_bps, want[k].value.ceil_bps);
            seen |= 1 << k;
        }
        assert_ok(tc_class_decode(memory, header.tcm_ifindex + 1, &info, &htb, &err));
        assert_false(htb);
    }
    assert_int_equal(seen, 7);
}

/* Filters ------------------------------------------------------------------------------------- */

static struct flower_value sample(void)
{
    struct flower_value value = {
        .ip_proto = 17,
        .has_dscp = true,
        .dscp = 26,
        .has_dst_port = true,
        .dst_port = 4791,
        .dst = {.set = true, .bits = 8, .addr = {10}},
        .cookie = "STLR\0\0\0\x1a\0\x11\"3DUfw",
        .action_count = 2,
        .actions = {{.kind = FLOWER_ACTION_CLASS, .priority = 0x5e11001a},
                    {.kind = FLOWER_ACTION_POLICE, .police_bps = 80000000, .burst_bytes = 131072}},
    };
    value.cookie[15] = 0x77;
    return value;
}

static void a_filter_is_composed_key_by_key(void **state)
{
    (void)state;
    struct flower_value value = sample();
    OWN(nl_msg) struct nl_msg *msg = tc_flower_encode(7, true, 26, &value, false);
    /* handle 26, parent fffffff3 (egress), preference 100, protocol 0x0800 */
    assert_payload(msg, "00000000 07000000 1a000000 f3ffffff 08006400 0b000100 666c6f77 65720000");
    assert_holds(msg, "08001600 01000000");                   /* TCA_FLOWER_FLAGS skip_hw */
    assert_holds(msg, "06000800 08000000");                   /* KEY_ETH_TYPE ipv4 */
    assert_holds(msg, "05000900 11000000");                   /* KEY_IP_PROTO udp */
    assert_holds(msg, "05004900 68000000 05004a00 fc000000"); /* TOS 26 << 2, not the ECN bits */
    assert_holds(msg, "06001500 12b70000 06002600 ffff0000"); /* UDP_DST 4791 and mask */
    assert_holds(msg, "08000c00 0a000000 08000d00 ff000000"); /* IPV4_DST 10.0.0.0/8 */
    assert_holds(msg, "14000600 53544c52 0000001a 00112233 44556677"); /* the cookie, whole */
    assert_holds(msg, "08000300 1a00115e"); /* TCA_SKBEDIT_PRIORITY 5e11:1a */
    /* tc_police: exceed drop (2), burst 204800 ticks, mtu 65535 */
    assert_holds(msg, "02000000 00000000 00200300 ffff0000");
    assert_holds(msg, "08000500 03000000"); /* TCA_POLICE_RESULT pipe */
    assert_int_equal(nlmsg_hdr(msg)->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
    value.hw = true;
    OWN(nl_msg) struct nl_msg *hw = tc_flower_encode(7, false, 26, &value, true);
    assert_payload(hw, "00000000 07000000 1a000000 f2ffffff 08006400");
    assert_holds(hw, "08001600 02000000"); /* skip_sw */
    assert_int_equal(nlmsg_hdr(hw)->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE);
}

static void the_most_actions_fit_into_a_message(void **state)
{
    (void)state;
    struct flower_value value = sample();
    for (size_t i = 0; i < FLOWER_ACTIONS_MAX; i++)
        value.actions[i] = (struct flower_action){.kind = FLOWER_ACTION_POLICE,
                                                  .police_bps = INT64_C(400000000000),
                                                  .burst_bytes = 250000000};
    value.action_count = FLOWER_ACTIONS_MAX;
    value.ipv6 = true;
    value.src = (struct flower_prefix){.set = true, .bits = 128, .addr = {0xfd, [15] = 1}};
    OWN(nl_msg) struct nl_msg *msg = tc_flower_encode(7, true, 26, &value, false);
    assert_non_null(msg);
    struct flower_info back;
    enum flower_entry entry;
    struct err err = ERR_INIT;
    nlmsg_hdr(msg)->nlmsg_type = RTM_NEWTFILTER;
    assert_ok(tc_flower_decode(nlmsg_hdr(msg), 7, &back, &entry, &err));
    assert_int_equal(entry, FLOWER_ENTRY_FILTER);
    assert_true(tc_flower_same(&back.value, &value));
}

static void recorded_filters_decode(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct flower_info info;
    enum flower_entry entry;
    struct tcmsg header;
    OWN(mem) void *soft = recorded("fuzz_datapath_tc/flower_egress_1");
    memcpy(&header, nlmsg_data(soft), sizeof(header));
    assert_ok(tc_flower_decode(soft, header.tcm_ifindex, &info, &entry, &err));
    assert_int_equal(entry, FLOWER_ENTRY_FILTER);
    assert_true(info.ours && info.egress && !info.foreign && !info.in_hw && !info.value.hw);
    assert_int_equal(info.handle, 26);
    assert_int_equal(info.pref, 100);
    struct flower_value want = sample();
    want.dst.set = false;
    memset(&want.dst, 0, sizeof(want.dst));
    assert_true(tc_flower_same(&info.value, &want));
    OWN(mem) void *hard = recorded("fuzz_datapath_tc/flower_ingress_1");
    assert_ok(tc_flower_decode(hard, header.tcm_ifindex, &info, &entry, &err));
    assert_true(info.ours && !info.egress && !info.foreign && info.in_hw && info.value.hw);
    assert_false(info.value.lost);
    OWN(mem) void *head = recorded("fuzz_datapath_tc/flower_egress_0");
    assert_ok(tc_flower_decode(head, header.tcm_ifindex, &info, &entry, &err));
    assert_int_equal(entry, FLOWER_ENTRY_NONE); /* the preference's own entry */
    assert_ok(tc_flower_decode(hard, header.tcm_ifindex + 1, &info, &entry, &err));
    assert_int_equal(entry, FLOWER_ENTRY_NONE);
}

/* Our filter with one attribute more or other than our values can tell. */
static void decode_with(const char *find, const char *replace, struct flower_info *out)
{
    struct flower_value value = sample();
    uint8_t old[64], new[64];
    size_t len = unhex(find, old, sizeof(old));
    assert_int_equal(unhex(replace, new, sizeof(new)), len);
    OWN(nl_msg) struct nl_msg *msg = tc_flower_encode(7, true, 26, &value, false);
    assert_holds(msg, find);
    uint8_t *bytes = (uint8_t *)nlmsg_hdr(msg);
    for (size_t i = 0; i + len <= nlmsg_hdr(msg)->nlmsg_len; i += 4) {
        if (memcmp(bytes + i, old, len) == 0) {
            memcpy(bytes + i, new, len);
            break;
        }
    }
    enum flower_entry entry;
    struct err err = ERR_INIT;
    assert_ok(tc_flower_decode(nlmsg_hdr(msg), 7, out, &entry, &err));
    assert_int_equal(entry, FLOWER_ENTRY_FILTER);
}

static void what_our_values_cannot_tell_is_noticed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"08001600 01000000", "08001600 00000000"}, /* neither skip flag */
        {"05004a00 fc000000", "05004a00 ff000000"}, /* the ECN bits matched, too */
        {"06002600 ffff0000", "06002600 fff00000"}, /* a range of ports */
        {"08000d00 ff000000", "08000d00 00ff0000"}, /* a mask that is no prefix */
        {"06001500 12b70000", "06001700 00070000"}, /* a VLAN id (23) for the port */
        {"02000000 00000000", "00000000 00000000"}, /* police exceed ok */
        {"08000500 03000000", "08000500 00000000"}, /* police conform ok */
        {"00200300 ffff0000", "00200300 00080000"}, /* police mtu 2048: drops RoCE */
        {"0b000100 706f6c69 63650000", "0b000100 6d697272 65640000"}, /* mirred */
        {"06000800 08000000", "06000800 08060000"},                   /* arp */
        {"05000900 11000000", "05000900 01000000"},                   /* icmp */
    };
    struct flower_info info;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        decode_with(cases[i][0], cases[i][1], &info);
        if (!info.foreign)
            fail_msg("%s is not noticed", cases[i][1]);
        assert_true(info.ours);
    }
}

static void only_our_whole_mark_makes_a_filter_ours(void **state)
{
    (void)state;
    struct flower_info info;
    decode_with("53544c52 0000001a", "53544c53 0000001a", &info);
    assert_false(info.ours);
    decode_with("14000600 53544c52", "13000600 53544c52", &info); /* 15 bytes */
    assert_false(info.ours);
}

static void what_is_not_in_hardware_is_lost(void **state)
{
    (void)state;
    struct flower_info info;
    decode_with("08001600 01000000", "08001600 02000000", &info);
    assert_true(info.value.hw && info.value.lost && !info.in_hw);
    struct flower_value want = sample();
    want.hw = true;
    assert_false(tc_flower_same(&info.value, &want));
    decode_with("08001600 01000000", "08001600 06000000", &info); /* skip_sw, in_hw */
    assert_true(info.value.hw && !info.value.lost && info.in_hw);
    assert_true(tc_flower_same(&info.value, &want));
}

static void rates_are_the_same_within_the_kernels_unit(void **state)
{
    (void)state;
    struct flower_value a = sample(), b = sample();
    b.actions[1].police_bps += 7;
    assert_true(tc_flower_same(&a, &b));
    b.actions[1].police_bps += 1;
    assert_false(tc_flower_same(&a, &b));
    b = sample();
    b.actions[1].burst_bytes += 1; /* a tick at this rate is 0.64 bytes: one more is seen */
    assert_false(tc_flower_same(&a, &b));
}

static void decode_all(const struct nlmsghdr *msg)
{
    struct qdisc_state qdiscs = {0};
    struct class_info class_info;
    struct flower_info flower;
    enum flower_entry entry;
    bool htb;
    struct tcmsg header = {0};
    if (msg->nlmsg_len >= NLMSG_HDRLEN + sizeof(header))
        memcpy(&header, nlmsg_data(msg), sizeof(header));
    (void)!tc_qdisc_decode(msg, header.tcm_ifindex, &qdiscs, NULL);
    struct red_info red_info;
    bool red;
    (void)!tc_red_decode(msg, header.tcm_ifindex, &red_info, &red, NULL);
    (void)!tc_class_decode(msg, header.tcm_ifindex, &class_info, &htb, NULL);
    (void)!tc_flower_decode(msg, header.tcm_ifindex, &flower, &entry, NULL);
}

static void maimed_replies_are_survived(void **state)
{
    (void)state;
    static const char *const names[] = {
        "fuzz_datapath_tc/qdisc_2", "fuzz_datapath_tc/class_1", "fuzz_datapath_tc/flower_egress_1",
        "fuzz_datapath_tc/flower_egress_3", "fuzz_datapath_tc/flower_ingress_1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        OWN(mem) void *memory = recorded(names[i]);
        maim(memory, decode_all);
    }
    const struct qdisc_value value = bands();
    const struct red_value queue = {
        .min_bytes = 1, .max_bytes = 2, .limit_bytes = 3, .probability_permyriad = 1};
    OWN(nl_msg) struct nl_msg *ets = tc_qdisc_encode_ets(NLM_F_CREATE, 7, &value);
    OWN(nl_msg) struct nl_msg *red = tc_red_encode(7, 0x5e110001, &queue);
    maim(nlmsg_hdr(ets), decode_all);
    maim(nlmsg_hdr(red), decode_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_counts_bytes_per_second),
        cmocka_unit_test(a_tick_is_64_ns),
        cmocka_unit_test(the_rate_table_covers_64_kib),
        cmocka_unit_test(clsact_stands_under_its_own_parent),
        cmocka_unit_test(htb_carries_its_default_class),
        cmocka_unit_test(recorded_qdiscs_decode),
        cmocka_unit_test(ets_carries_its_bands),
        cmocka_unit_test(ets_without_strict_or_with_nothing_else),
        cmocka_unit_test(an_ets_that_makes_no_sense_is_not_ours),
        cmocka_unit_test(red_marks_by_the_queue_as_it_is),
        cmocka_unit_test(what_the_nic_does_is_told),
        cmocka_unit_test(an_ingress_qdisc_is_not_clsact),
        cmocka_unit_test(a_fast_class_has_64_bit_rates),
        cmocka_unit_test(recorded_classes_decode),
        cmocka_unit_test(a_filter_is_composed_key_by_key),
        cmocka_unit_test(the_most_actions_fit_into_a_message),
        cmocka_unit_test(recorded_filters_decode),
        cmocka_unit_test(what_our_values_cannot_tell_is_noticed),
        cmocka_unit_test(only_our_whole_mark_makes_a_filter_ours),
        cmocka_unit_test(what_is_not_in_hardware_is_lost),
        cmocka_unit_test(rates_are_the_same_within_the_kernels_unit),
        cmocka_unit_test(maimed_replies_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
