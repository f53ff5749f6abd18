/*
 * tests/unit/datapath/test_devlink.c - devlink parameters and rates as bytes, and the values of
 * the device kinds. Attribute numbers are those of <linux/devlink.h>, written out.
 */
#include "tests/unit/datapath/nl_test.h"

#include <linux/genetlink.h>

#include "base/json.h"
#include "base/own.h"
#include "datapath/nl/devlink_param.h"
#include "datapath/nl/devlink_rate.h"
#include "datapath/value.h"

#define FAMILY 21
#define BUS    "pci"
#define DEV    "0000:3b:00.0"
#define HANDLE "0800 0100 70636900 1100 0200 303030303a33623a30302e3000 000000 "

/* Parameters ---------------------------------------------------------------------------------- */

static void a_parameter_is_asked_for_by_name(void **state)
{
    (void)state;
    OWN(nl_msg) struct nl_msg *msg = devlink_param_encode_get(FAMILY, BUS, DEV, "x");
    assert_payload(msg, "26 01 0000 " HANDLE "0600 5100 7800 0000");
    OWN(nl_msg) struct nl_msg *all = devlink_param_encode_get(FAMILY, BUS, DEV, NULL);
    assert_int_equal(nlmsg_datalen(nlmsg_hdr(all)), GENL_HDRLEN);
}

static struct nl_msg *set_of(enum devlink_type type, enum devlink_cmode cmode, uint32_t number,
                             const char *text)
{
    struct devlink_param param = {.name = "x", .type = type};
    struct devlink_value value = {.number = number};
    snprintf(value.text, sizeof(value.text), "%s", text);
    return devlink_param_encode_set(FAMILY, BUS, DEV, &param, cmode, &value);
}

static void a_boolean_is_a_flag(void **state)
{
    (void)state;
    OWN(nl_msg) struct nl_msg *on = set_of(DEVLINK_TYPE_BOOL, DEVLINK_CMODE_DRIVERINIT, 1, "");
    assert_payload(on, "27 01 0000 " HANDLE "0600 5100 7800 0000 0500 5300 06 000000 "
                       "0500 5700 01 000000 0400 5600");
    OWN(nl_msg) struct nl_msg *off = set_of(DEVLINK_TYPE_BOOL, DEVLINK_CMODE_DRIVERINIT, 0, "");
    assert_int_equal(nlmsg_datalen(nlmsg_hdr(off)) + 4, nlmsg_datalen(nlmsg_hdr(on)));
}

static void numbers_have_their_width(void **state)
{
    (void)state;
    OWN(nl_msg) struct nl_msg *u8 = set_of(DEVLINK_TYPE_U8, DEVLINK_CMODE_PERMANENT, 0x12, "");
    assert_holds(u8, "0500 5300 01 000000 0500 5700 02 000000 0500 5600 12 000000");
    OWN(nl_msg) struct nl_msg *u16 = set_of(DEVLINK_TYPE_U16, DEVLINK_CMODE_RUNTIME, 0x1234, "");
    assert_holds(u16, "0500 5300 02 000000 0500 5700 00 000000 0600 5600 3412 0000");
    OWN(nl_msg) struct nl_msg *u32 = set_of(DEVLINK_TYPE_U32, DEVLINK_CMODE_RUNTIME, 0x123456, "");
    assert_holds(u32, "0800 5600 56341200");
    OWN(nl_msg) struct nl_msg *text = set_of(DEVLINK_TYPE_TEXT, DEVLINK_CMODE_RUNTIME, 0, "smfs");
    assert_holds(text, "0500 5300 05 000000");
    assert_holds(text, "0900 5600 736d6673 00 000000");
}

/* A boolean with a runtime value false and a driverinit value true, and a cmode from the future. */
#define BOOL_ANSWER                                                                                \
    "26 01 0000 " HANDLE "4000 5080 0600 5100 7800 0000 0500 5300 06 000000 "                      \
    "2c00 5480 0c00 5580 0500 5700 00 000000 1000 5580 0400 5600 0500 5700 01 000000 "             \
    "0c00 5580 0500 5700 07 000000"

static void flags_are_read_by_their_presence(void **state)
{
    (void)state;
    struct devlink_param param;
    struct err err = ERR_INIT;
    bool ours;
    OWN(mem) void *memory = message(FAMILY, BOOL_ANSWER);
    assert_ok(devlink_param_decode(memory, BUS, DEV, &param, &ours, &err));
    assert_true(ours);
    assert_string_equal(param.name, "x");
    assert_int_equal(param.type, DEVLINK_TYPE_BOOL);
    assert_true(param.has[DEVLINK_CMODE_RUNTIME] && param.has[DEVLINK_CMODE_DRIVERINIT]);
    assert_false(param.has[DEVLINK_CMODE_PERMANENT]);
    assert_int_equal(param.values[DEVLINK_CMODE_RUNTIME].number, 0);
    assert_int_equal(param.values[DEVLINK_CMODE_DRIVERINIT].number, 1);
}

static void another_devices_answer_is_not_ours(void **state)
{
    (void)state;
    struct devlink_param param;
    struct err err = ERR_INIT;
    bool ours = true;
    OWN(mem) void *memory = message(FAMILY, BOOL_ANSWER);
    assert_ok(devlink_param_decode(memory, BUS, "0000:3b:00.1", &param, &ours, &err));
    assert_false(ours);
}

static void a_number_without_data_is_malformed(void **state)
{
    (void)state;
    struct devlink_param param;
    struct err err = ERR_INIT;
    bool ours;
    OWN(mem)
    void *memory = message(FAMILY, "26 01 0000 " HANDLE "2400 5080 0600 5100 7800 0000 "
                                   "0500 5300 03 000000 1000 5480 0c00 5580 0500 5700 00 000000");
    assert_fails(devlink_param_decode(memory, BUS, DEV, &param, &ours, &err), ERR_IO);
    assert_contains(err.text, "\"x\"");
}

/* Rates --------------------------------------------------------------------------------------- */

static void rates_go_out_in_bytes(void **state)
{
    (void)state;
    struct devlink_rate leaf = {
        .port_index = 2,
        .value = {.parent = "stellar", .tx_share_bps = RATE_NONE, .tx_max_bps = 8000000}};
    OWN(nl_msg)
    struct nl_msg *msg = devlink_rate_encode(FAMILY, BUS, DEV, DEVLINK_RATE_SET, &leaf);
    assert_payload(msg, "4b 01 0000 " HANDLE "0800 0300 02000000");
    assert_holds(msg, "0c00 a600 0000000000000000 0c00 a700 40420f0000000000 "
                      "0c00 a900 7374656c6c617200");
    struct devlink_rate node = {.is_node = true, .node = "stellar"};
    node.value = (struct rate_value){.tx_share_bps = 8, .tx_max_bps = RATE_NONE};
    OWN(nl_msg)
    struct nl_msg *new = devlink_rate_encode(FAMILY, BUS, DEV, DEVLINK_RATE_NEW, &node);
    assert_payload(new, "4c 01 0000 " HANDLE "0c00 a800 7374656c6c617200 "
                        "0c00 a600 0100000000000000 0c00 a700 0000000000000000");
    OWN(nl_msg)
    struct nl_msg *del = devlink_rate_encode(FAMILY, BUS, DEV, DEVLINK_RATE_DEL, &node);
    assert_payload(del, "4d 01 0000 " HANDLE "0c00 a800 7374656c6c617200");
    assert_int_equal(devlink_rate_bytes(RATE_NONE), 0);
    assert_int_equal(devlink_rate_bytes(15), 1);
}

#define LEAF_ANSWER                                                                                \
    "4a 01 0000 " HANDLE "0600 a500 0000 0000 0800 0300 02000000 "                                 \
    "0c00 a600 40420f0000000000 0c00 a700 0000000000000000 0c00 a900 7374656c6c617200"

static void a_leaf_is_read(void **state)
{
    (void)state;
    struct devlink_rate rate;
    struct err err = ERR_INIT;
    bool ours;
    OWN(mem) void *memory = message(FAMILY, LEAF_ANSWER);
    assert_ok(devlink_rate_decode(memory, BUS, DEV, &rate, &ours, &err));
    assert_true(ours && !rate.is_node);
    assert_int_equal(rate.port_index, 2);
    assert_int_equal(rate.value.tx_share_bps, 8000000);
    assert_int_equal(rate.value.tx_max_bps, RATE_NONE);
    assert_string_equal(rate.value.parent, "stellar");
    OWN(mem)
    void *huge = message(FAMILY, "4a 01 0000 " HANDLE "0600 a500 0100 0000 "
                                 "0600 a800 6e00 0000 0c00 a700 ffffffffffffffff");
    assert_ok(devlink_rate_decode(huge, BUS, DEV, &rate, &ours, &err));
    assert_true(rate.is_node && rate.value.tx_max_bps == INT64_MAX);
    OWN(mem) void *nameless = message(FAMILY, "4a 01 0000 " HANDLE "0600 a500 0100 0000");
    assert_fails(devlink_rate_decode(nameless, BUS, DEV, &rate, &ours, &err), ERR_IO);
}

static void ports_are_named_as_representors(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *name;
        bool is_vf;
    } cases[] = {
        {"0600 4d00 0000 0000 0800 4e00 03000000", "p3", false},
        {"0600 4d00 0400 0000 0600 7f00 0000 0000 0600 8000 0500 0000", "pf0vf5", true},
        {"0600 4d00 0400 0000 0600 7f00 0100 0000 0600 8000 0000 0000 0800 9600 01000000",
         "c1pf1vf0", true},
        {"0600 4d00 0700 0000 0600 7f00 0000 0000 0800 a400 58000000", "pf0sf88", false},
        {"0600 4d00 0300 0000 0600 7f00 0100 0000", "pf1", false},
        {"", "p9", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct devlink_port port;
        struct err err = ERR_INIT;
        bool ours;
        char hex[512];
        snprintf(hex, sizeof(hex), "05 01 0000 " HANDLE "0800 0300 09000000 %s",
                 cases[i].attributes);
        OWN(mem) void *memory = message(FAMILY, hex);
        assert_ok(devlink_port_decode(memory, BUS, DEV, &port, &ours, &err));
        assert_true(ours);
        assert_int_equal(port.index, 9);
        assert_string_equal(port.name, cases[i].name);
        assert_int_equal(port.is_vf, cases[i].is_vf);
    }
}

static void decode_any(const struct nlmsghdr *msg)
{
    struct devlink_param param;
    struct devlink_rate rate;
    struct devlink_port port;
    bool ours;
    (void)!devlink_param_decode(msg, BUS, DEV, &param, &ours, NULL);
    (void)!devlink_rate_decode(msg, BUS, DEV, &rate, &ours, NULL);
    (void)!devlink_port_decode(msg, BUS, DEV, &port, &ours, NULL);
}

static void maimed_answers_do_no_harm(void **state)
{
    (void)state;
    OWN(mem) void *param = message(FAMILY, BOOL_ANSWER);
    OWN(mem) void *rate = message(FAMILY, LEAF_ANSWER);
    maim(param, decode_any);
    maim(rate, decode_any);
}

/* Values -------------------------------------------------------------------------------------- */

typedef enum err_code round_trip_fn(const json_t *json, json_t **out, struct err *err);

#define ROUND_TRIP(name, type)                                                                     \
    static enum err_code name##_trip(const json_t *json, json_t **out, struct err *err)            \
    {                                                                                              \
        struct type value;                                                                         \
        enum err_code code = name##_value_from_json(json, &value, err);                            \
        if (code == ERR_OK)                                                                        \
            *out = name##_value_to_json(&value);                                                   \
        return code;                                                                               \
    }
ROUND_TRIP(dcbx, dcbx_value)
ROUND_TRIP(rate, rate_value)
ROUND_TRIP(roce_tos, roce_tos)

static enum err_code param_trip(const json_t *json, json_t **out, struct err *err)
{
    enum err_code code = param_value_check(json, err);
    if (code == ERR_OK)
        *out = json_incref((json_t *)(uintptr_t)json);
    return code;
}

static void values_go_through_json_and_back(void **state)
{
    (void)state;
    static const struct {
        round_trip_fn *trip;
        const char *text;
        bool good;
    } cases[] = {
        {dcbx_trip, "{\"agent\":\"none\",\"mode\":[\"host\",\"ieee\"]}", true},
        {dcbx_trip, "{\"agent\":\"firmware\",\"mode\":[]}", true},
        {dcbx_trip, "{\"agent\":\"\",\"mode\":[]}", false},
        {dcbx_trip, "{\"agent\":\"a name of 16 ch.\",\"mode\":[]}", false},
        {dcbx_trip, "{\"agent\":\"none\",\"mode\":[\"hots\"]}", false},
        {dcbx_trip, "{\"agent\":\"none\",\"mode\":[1]}", false},
        {dcbx_trip, "{\"mode\":[]}", false},
        {rate_trip, "{\"parent\":\"stellar\",\"tx_max_bps\":1,\"tx_share_bps\":null}", true},
        {rate_trip, "{\"tx_max_bps\":null,\"tx_share_bps\":null}", true},
        {rate_trip, "{\"tx_max_bps\":0,\"tx_share_bps\":null}", false},
        {rate_trip, "{\"tx_max_bps\":1.5,\"tx_share_bps\":null}", false},
        {rate_trip, "{\"tx_max_bps\":1}", false},
        {rate_trip, "{\"parent\":\"a/b\",\"tx_max_bps\":1,\"tx_share_bps\":1}", false},
        {roce_tos_trip, "{\"mode\":\"RoCE v2\",\"tos\":255}", true},
        {roce_tos_trip, "{\"mode\":\"RoCE v2\",\"tos\":256}", false},
        {roce_tos_trip, "{\"mode\":\"\",\"tos\":1}", false},
        {roce_tos_trip, "{\"mode\":\"a mode of 16 ch.\",\"tos\":1}", false},
        {roce_tos_trip, "{\"mode\":\"RoCE v2\",\"tos\":1,\"x\":1}", false},
        {param_trip, "{\"driverinit\":true,\"permanent\":4294967295,\"runtime\":\"smfs\"}", true},
        {param_trip, "{\"runtime\":\"this_text_has_31_bytes_to_be_ok\"}", true},
        {param_trip, "{\"runtime\":\"this_text_has_32_bytes_too_many_\"}", false},
        {param_trip, "{\"runtime\":4294967296}", false},
        {param_trip, "{\"runtime\":-1}", false},
        {param_trip, "{\"runtime\":\"\"}", false},
        {param_trip, "{\"runtime\":null}", false},
        {param_trip, "{\"bootime\":1}", false},
        {param_trip, "{}", false},
        {param_trip, "true", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(json) json_t *back = NULL;
        OWN(json) json_t *json = json_loads(cases[i].text, JSON_DECODE_ANY, NULL);
        assert_non_null(json);
        if (!cases[i].good) {
            assert_fails(cases[i].trip(json, &back, &err), ERR_INVALID);
            continue;
        }
        assert_ok(cases[i].trip(json, &back, &err));
        OWN(str) char *text = json_canonical(back, NULL);
        assert_string_equal(text, cases[i].text);
    }
}

static void ids_of_rates_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",        "leaf/",    "node/",    "leaf",
                                        "other/x", "leaf/a/b", "leaf/a b", "node/theirs"};
    struct err err = ERR_INIT;
    const char *name;
    bool node;
    assert_ok(rate_id_parse("leaf/pf0vf1", &node, &name, &err));
    assert_true(!node && strcmp(name, "pf0vf1") == 0);
    assert_ok(rate_id_parse("node/stellar", &node, &name, &err));
    assert_true(node && strcmp(name, "stellar") == 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_fails(rate_id_parse(wrong[i], &node, &name, &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_is_asked_for_by_name),
        cmocka_unit_test(a_boolean_is_a_flag),
        cmocka_unit_test(numbers_have_their_width),
        cmocka_unit_test(flags_are_read_by_their_presence),
        cmocka_unit_test(another_devices_answer_is_not_ours),
        cmocka_unit_test(a_number_without_data_is_malformed),
        cmocka_unit_test(rates_go_out_in_bytes),
        cmocka_unit_test(a_leaf_is_read),
        cmocka_unit_test(ports_are_named_as_representors),
        cmocka_unit_test(maimed_answers_do_no_harm),
        cmocka_unit_test(values_go_through_json_and_back),
        cmocka_unit_test(ids_of_rates_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
