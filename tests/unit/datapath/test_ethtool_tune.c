/*
 * tests/unit/datapath/test_ethtool_tune.c - pause frames and interrupt moderation as bytes, and the
 * values of their knobs. Attribute numbers are those of <linux/ethtool_netlink.h>, written out.
 */
#include "tests/unit/datapath/nl_test.h"

#include <linux/ethtool_netlink.h>

#include "base/json.h"
#include "base/own.h"
#include "datapath/nl/ethtool_tune.h"

#define FAMILY 21

static void both_ways_of_pause_are_set(void **state)
{
    (void)state;
    OWN(nl_msg)
    struct nl_msg *msg = ethtool_encode_pause(FAMILY, "x", &(struct pause_value){.rx = true});
    assert_payload(msg, "16 01 0000");
    assert_holds(msg, "0500 0300 01 000000 0500 0400 00 000000");
}

static void pause_is_read_as_it_is_set(void **state)
{
    (void)state;
    struct pause_value is;
    struct err err = ERR_INIT;
    OWN(mem)
    void *tx = message(FAMILY, "16 01 0000 05000200 01000000 05000300 00000000 "
                               "05000400 01000000");
    assert_ok(ethtool_decode_pause(tx, &is, &err));
    assert_true(!is.rx && is.tx);
    OWN(mem) void *half = message(FAMILY, "16 01 0000 05000300 00000000");
    assert_fails(ethtool_decode_pause(half, &is, &err), ERR_IO); /* unknown is not off */
}

static void moderation_names_only_what_is_given(void **state)
{
    (void)state;
    struct coalesce value = {.present = coalesce_bit(COALESCE_ADAPTIVE_RX) |
                                        coalesce_bit(COALESCE_RX_USECS) |
                                        coalesce_bit(COALESCE_TX_FRAMES)};
    value.values[COALESCE_RX_USECS] = 0x1234;
    value.values[COALESCE_TX_FRAMES] = 64;
    OWN(nl_msg) struct nl_msg *msg = ethtool_encode_coalesce(FAMILY, "x", &value);
    assert_payload(msg, "14 01 0000");
    assert_holds(msg, "0500 0b00 00 000000");
    assert_holds(msg, "0800 0200 34120000");
    assert_holds(msg, "0800 0700 40000000");
    OWN(nl_msg)
    struct nl_msg *none = ethtool_encode_coalesce(FAMILY, "x", &(struct coalesce){.present = 0});
    assert_int_equal(nlmsg_datalen(nlmsg_hdr(msg)) - nlmsg_datalen(nlmsg_hdr(none)), 24);
}

/* As of a driver with rx-usecs, rx-frames and adaptive-rx; the kernel leaves out the others. */
#define COALESCE_ANSWER "14 01 0000 08000200 08000000 08000300 00000000 05000b00 01000000"

static void what_the_driver_lacks_is_absent(void **state)
{
    (void)state;
    struct coalesce is;
    struct err err = ERR_INIT;
    OWN(mem) void *msg = message(FAMILY, COALESCE_ANSWER);
    assert_ok(ethtool_decode_coalesce(msg, &is, &err));
    OWN(json) json_t *json = coalesce_to_json(&is);
    OWN(str) char *text = json_canonical(json, NULL);
    assert_string_equal(text, "{\"adaptive_rx\":true,\"rx_frames\":0,\"rx_usecs\":8}");
}

static void decode_all(const struct nlmsghdr *msg)
{
    struct coalesce coalesce;
    struct pause_value pause;
    if (ethtool_decode_coalesce(msg, &coalesce, NULL) == ERR_OK)
        assert_true(coalesce.present < coalesce_bit(COALESCE_IDS));
    if (ethtool_decode_pause(msg, &pause, NULL) != ERR_OK)
        return;
    /* Told only when both are there. */
    assert_true(nlmsg_datalen(msg) >= 17);
}

static void maimed_answers_come_back(void **state)
{
    (void)state;
    OWN(mem) void *coalesce = message(FAMILY, COALESCE_ANSWER);
    OWN(mem) void *pause = message(FAMILY, "16 01 0000 05000300 00000000 05000400 01000000");
    maim(coalesce, decode_all);
    maim(pause, decode_all);
}

static void values_are_strict(void **state)
{
    (void)state;
    static const struct {
        bool pause;
        const char *text, *says;
    } wrong[] = {
        {true, "{\"rx\":false}", "\"tx\" is missing"},
        {true, "{\"rx\":0,\"tx\":false}", "\"rx\" is not a boolean"},
        {true, "{\"rx\":false,\"tx\":false,\"x\":1}", "unknown member"},
        {true, "[]", "no object"},
        {false, "{\"rx_usecs\":-1}", "rx_usecs"},
        {false, "{\"rx_usecs\":4294967296}", "rx_usecs"},
        {false, "{\"adaptive_rx\":1}", "adaptive_rx"},
        {false, "{\"usecs\":1}", "usecs"},
        {false, "3", "object"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err err = ERR_INIT;
        struct pause_value pause;
        struct coalesce coalesce;
        OWN(json) json_t *json = json_loads(wrong[i].text, JSON_DECODE_ANY, NULL);
        assert_non_null(json);
        enum err_code code = wrong[i].pause ? pause_value_from_json(json, &pause, &err)
                                            : coalesce_from_json(json, &coalesce, &err);
        assert_int_equal(code, ERR_INVALID);
        assert_contains(err.text, wrong[i].says);
    }
}

static void what_is_not_spoken_of_does_not_count(void **state)
{
    (void)state;
    struct coalesce is = {.present =
                              coalesce_bit(COALESCE_RX_USECS) | coalesce_bit(COALESCE_RX_FRAMES)};
    struct coalesce want = {.present = coalesce_bit(COALESCE_RX_USECS)};
    is.values[COALESCE_RX_FRAMES] = 9;
    assert_true(coalesce_covers(&is, &want));
    want.values[COALESCE_RX_USECS] = 1;
    assert_false(coalesce_covers(&is, &want));
    want.present = coalesce_bit(COALESCE_TX_USECS);
    assert_false(coalesce_covers(&is, &want));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_of_pause_are_set),
        cmocka_unit_test(pause_is_read_as_it_is_set),
        cmocka_unit_test(moderation_names_only_what_is_given),
        cmocka_unit_test(what_the_driver_lacks_is_absent),
        cmocka_unit_test(maimed_answers_come_back),
        cmocka_unit_test(values_are_strict),
        cmocka_unit_test(what_is_not_spoken_of_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
