/*
 * tests/unit/datapath/test_dcb.c - datapath/nl/dcb: requests byte by byte, recorded and broken
 * replies.
 */
#include "tests/unit/datapath/nl_test.h"

#include <errno.h>

#include <linux/rtnetlink.h>

#include "datapath/nl/dcb.h"

/* dcbmsg{family 0, cmd, pad} + DCB_ATTR_IFNAME(1) "solar0". */
#define HEAD(cmd) "00" cmd "0000 0b000100 736f6c61 72300000 "

static void a_get_names_the_interface(void **state)
{
    (void)state;
    OWN(nl_msg) struct nl_msg *msg = dcb_encode(RTM_GETDCB, DCB_CMD_IEEE_GET, "solar0");
    assert_non_null(msg);
    assert_int_equal(nlmsg_hdr(msg)->nlmsg_type, 78);
    assert_int_equal(nlmsg_datalen(nlmsg_hdr(msg)), 16);
    assert_payload(msg, HEAD("15"));
}

static void an_app_entry_is_one_attribute_in_two_nests(void **state)
{
    (void)state;
    const struct app_entry entry = {.dscp = 26, .priority = 3};
    OWN(nl_msg) struct nl_msg *set = dcb_encode_app(DCB_CMD_IEEE_SET, "solar0", entry);
    assert_non_null(set);
    assert_int_equal(nlmsg_hdr(set)->nlmsg_type, 79);
    /* IEEE(13) nest 16, APP_TABLE(3) nest 12, APP(1) 8: selector 5, priority 3, protocol 26 */
    assert_payload(set, HEAD("14") "10000d80 0c000380 08000100 05031a00");
    OWN(nl_msg) struct nl_msg *del = dcb_encode_app(DCB_CMD_IEEE_DEL, "solar0", entry);
    assert_payload(del, HEAD("1b") "10000d80 0c000380 08000100 05031a00");
}

static void a_struct_goes_raw_in_its_exact_size(void **state)
{
    (void)state;
    struct ieee_pfc pfc;
    memset(&pfc, 0, sizeof(pfc));
    pfc.pfc_en = 0x08;
    pfc.delay = 0x1234;
    OWN(nl_msg)
    struct nl_msg *msg =
        dcb_encode_ieee(DCB_CMD_IEEE_SET, "solar0", DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
    /* 136 bytes: cap, en, mbc, pad, delay, pad, 8 + 8 counters of 64 bits */
    assert_payload(msg, HEAD("14") "90000d80 8c000200 00080000 34120000");
    assert_int_equal(nlmsg_datalen(nlmsg_hdr(msg)), 16 + 144);
}

static void a_recorded_reply_decodes(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(mem) void *memory = recorded("fuzz_datapath_dcb/dcb_get");
    struct dcb_state dcb;
    assert_ok(dcb_decode(memory, &dcb, &err));
    assert_true(dcb.has_ets && dcb.has_pfc && dcb.has_app && dcb.has_maxrate && dcb.has_buffer);
    assert_int_equal(dcb.ets_cap, 8);
    assert_int_equal(dcb.ets.bw_percent[0], 50);
    assert_int_equal(dcb.ets.bw_percent[3], 50);
    assert_int_equal(dcb.ets.prio_tc[6], 6);
    assert_int_equal(dcb.ets.tsa[3], 2);
    assert_int_equal(dcb.pfc.mask, 0x08);
    assert_int_equal(dcb.app.count, 2);
    assert_int_equal(dcb.app.entries[0].dscp, 26); /* sorted, whatever the kernel's order */
    assert_int_equal(dcb.app.entries[0].priority, 3);
    assert_int_equal(dcb.app.entries[1].dscp, 48);
    assert_int_equal(dcb.maxrate.rate_bps[3], INT64_C(40000000000));
    assert_int_equal(dcb.maxrate.rate_bps[0], RATE_NONE);
    assert_int_equal(dcb.buffer.size_bytes[1], 262144);
    assert_int_equal(dcb.buffer_total_bytes, 524288);
}

static void what_the_driver_lacks_is_absent(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    /* only an empty APP_TABLE, as the kernel answers for a driver with no operation */
    OWN(mem) void *memory = message(RTM_GETDCB, HEAD("15") "08000d00 04000300");
    struct dcb_state dcb;
    assert_ok(dcb_decode(memory, &dcb, &err));
    assert_true(dcb.has_app);
    assert_false(dcb.has_ets || dcb.has_pfc || dcb.has_maxrate || dcb.has_buffer);
}

static void other_selectors_and_wild_entries_are_not_shown(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    /* EtherType 0x8915, dscp 64, priority 8, then dscp 63 priority 7 */
    OWN(mem)
    void *memory = message(RTM_GETDCB, HEAD("15") "28000d00 24000300 08000100 01031589 "
                                                  "08000100 05034000 08000100 05081a00 "
                                                  "08000100 05073f00");
    struct dcb_state dcb;
    assert_ok(dcb_decode(memory, &dcb, &err));
    assert_int_equal(dcb.app.count, 1);
    assert_int_equal(dcb.app.entries[0].dscp, 63);
    assert_int_equal(dcb.app.entries[0].priority, 7);
}

static void a_short_struct_counts_as_absent(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    /* ETS of 56 bytes instead of 59 would be read past its end */
    OWN(mem) void *memory = message(RTM_GETDCB, HEAD("15") "0c000d00 08000100 08000000");
    struct dcb_state dcb;
    assert_ok(dcb_decode(memory, &dcb, &err));
    assert_false(dcb.has_ets);
}

static void a_rate_over_int64_is_not_negative(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(mem)
    void *memory =
        message(RTM_GETDCB, HEAD("15") "48000d00 44000700 ffffffff ffffffff 00000000 00000000 "
                                       "00000000 00000000 00000000 00000000 00000000 00000000 "
                                       "00000000 00000000 00000000 00000000 00000000 00000000");
    struct dcb_state dcb;
    assert_ok(dcb_decode(memory, &dcb, &err));
    assert_int_equal(dcb.maxrate.rate_bps[0], INT64_MAX);
    assert_int_equal(dcb.maxrate.rate_bps[1], RATE_NONE);
}

static void the_errno_of_a_set_is_a_signed_byte(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const struct {
        const char *payload;
        int want;
    } cases[] = {
        {"00140000 05000d00 00000000", 0},          {"00140000 05000d00 ea000000", EINVAL},
        {"00140000 05000d00 a1000000", EOPNOTSUPP}, {"00140000 05000d00 fb000000", EIO},
        {"00140000 05000d00 01000000", 1},          {"00140000 05000d00 80000000", 128},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OWN(mem) void *memory = message(RTM_SETDCB, cases[i].payload);
        int got = -1;
        assert_ok(dcb_decode_set(memory, &got, &err));
        assert_int_equal(got, cases[i].want);
    }
    int got;
    OWN(mem) void *ok = recorded("fuzz_datapath_dcb/dcb_set_ok");
    assert_ok(dcb_decode_set(ok, &got, &err));
    assert_int_equal(got, 0);
    OWN(mem) void *refused = recorded("fuzz_datapath_dcb/dcb_set_einval");
    assert_ok(dcb_decode_set(refused, &got, &err));
    assert_int_equal(got, EINVAL);
}

static void a_reply_without_its_attribute_is_malformed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(mem) void *empty = message(RTM_SETDCB, "00140000");
    OWN(mem) void *foreign = message(RTM_NEWLINK, HEAD("15") "08000d00 04000300");
    OWN(mem) void *tiny = message(RTM_GETDCB, "00");
    int sys_errno;
    uint8_t mode;
    struct dcb_state dcb;
    assert_fails(dcb_decode_set(empty, &sys_errno, &err), ERR_IO);
    assert_fails(dcb_decode_mode(empty, &mode, &err), ERR_IO);
    assert_fails(dcb_decode(foreign, &dcb, &err), ERR_IO);
    assert_fails(dcb_decode(tiny, &dcb, &err), ERR_IO);
    OWN(mem) void *host = recorded("fuzz_datapath_dcb/dcb_mode");
    assert_ok(dcb_decode_mode(host, &mode, &err));
    assert_int_equal(mode, 0x09);
}

static void decode_all(const struct nlmsghdr *msg)
{
    struct dcb_state dcb;
    int sys_errno;
    uint8_t mode;
    (void)!dcb_decode(msg, &dcb, NULL);
    (void)!dcb_decode_set(msg, &sys_errno, NULL);
    (void)!dcb_decode_mode(msg, &mode, NULL);
}

static void maimed_replies_are_survived(void **state)
{
    (void)state;
    OWN(mem) void *get = recorded("fuzz_datapath_dcb/dcb_get");
    OWN(mem) void *set = recorded("fuzz_datapath_dcb/dcb_set_einval");
    maim(get, decode_all);
    maim(set, decode_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_get_names_the_interface),
        cmocka_unit_test(an_app_entry_is_one_attribute_in_two_nests),
        cmocka_unit_test(a_struct_goes_raw_in_its_exact_size),
        cmocka_unit_test(a_recorded_reply_decodes),
        cmocka_unit_test(what_the_driver_lacks_is_absent),
        cmocka_unit_test(other_selectors_and_wild_entries_are_not_shown),
        cmocka_unit_test(a_short_struct_counts_as_absent),
        cmocka_unit_test(a_rate_over_int64_is_not_negative),
        cmocka_unit_test(the_errno_of_a_set_is_a_signed_byte),
        cmocka_unit_test(a_reply_without_its_attribute_is_malformed),
        cmocka_unit_test(maimed_replies_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
