/*
 * tests/unit/datapath/test_value.c - datapath/value: each kind's form reads back as itself, and
 * everything else is refused by name.
 */
#include "tests/unit/test.h"

#include "base/own.h"
#include "datapath/value.h"

#define ETS(bw, prio, tsa) "{\"bw_percent\":" bw ",\"prio_tc\":" prio ",\"tsa\":" tsa "}"
#define BW50               "[50,0,0,50,0,0,0,0]"
#define PRIO               "[0,1,2,3,4,5,6,7]"
#define TSA                                                                                        \
    "[\"ets\",\"strict\",\"strict\",\"ets\",\"strict\","                                           \
    "\"strict\",\"strict\",\"strict\"]"
#define COOKIE "\"cookie\":\"53544c520000001a0011223344556677\""

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (value == NULL)
        fail_msg("no JSON: %s", text);
    return value;
}

/* Reads with the kind's reader; on success the writer must give the same JSON back. */
static enum err_code read_kind(const char *kind, const char *text, struct err *err)
{
    OWN(json) json_t *value = parse(text);
    OWN(json) json_t *back = NULL;
    enum err_code code;
    if (strcmp(kind, "ets") == 0) {
        struct ets_value ets;
        code = ets_value_from_json(value, &ets, err);
        back = code == ERR_OK ? ets_value_to_json(&ets) : NULL;
    } else if (strcmp(kind, "pfc") == 0) {
        struct pfc_value pfc;
        code = pfc_value_from_json(value, &pfc, err);
        back = code == ERR_OK ? pfc_value_to_json(&pfc) : NULL;
    } else if (strcmp(kind, "app") == 0) {
        struct app_value app;
        code = app_value_from_json(value, &app, err);
        back = code == ERR_OK ? app_value_to_json(&app) : NULL;
    } else if (strcmp(kind, "maxrate") == 0) {
        struct maxrate_value maxrate;
        code = maxrate_value_from_json(value, &maxrate, err);
        back = code == ERR_OK ? maxrate_value_to_json(&maxrate) : NULL;
    } else if (strcmp(kind, "buffer") == 0) {
        struct buffer_value buffer;
        code = buffer_value_from_json(value, &buffer, err);
        back = code == ERR_OK ? buffer_value_to_json(&buffer) : NULL;
    } else if (strcmp(kind, "qdisc") == 0) {
        struct qdisc_value qdisc;
        code = qdisc_value_from_json(value, &qdisc, err);
        back = code == ERR_OK ? qdisc_value_to_json(&qdisc) : NULL;
    } else if (strcmp(kind, "red") == 0) {
        struct red_value red;
        code = red_value_from_json(value, &red, err);
        back = code == ERR_OK ? red_value_to_json(&red) : NULL;
    } else if (strcmp(kind, "class") == 0) {
        struct class_value class_value;
        code = class_value_from_json(value, &class_value, err);
        back = code == ERR_OK ? class_value_to_json(&class_value) : NULL;
    } else {
        struct flower_value flower;
        code = flower_value_from_json(value, &flower, err);
        back = code == ERR_OK ? flower_value_to_json(&flower) : NULL;
    }
    if (code == ERR_OK && !json_equal(value, back))
        fail_msg("%s: %s came back as %s", kind, text, json_dumps(back, JSON_SORT_KEYS));
    return code;
}

#define MAP16(band)                                                                                \
    "[" band "," band "," band "," band "," band "," band "," band "," band "," band "," band      \
    "," band "," band "," band "," band "," band "," band "]"
#define ETS_QDISC(bands, strict, quanta, map)                                                      \
    "{\"bands\":" bands ",\"handle\":\"5e11:\",\"kind\":\"ets\",\"priomap\":" map                  \
    ",\"quanta\":" quanta ",\"strict\":" strict "}"
#define RED(probability, max, limit, min)                                                          \
    "{\"ecn\":true,\"limit_bytes\":" limit ",\"max_bytes\":" max ",\"min_bytes\":" min             \
    ",\"probability_permyriad\":" probability "}"

struct row {
    const char *kind, *text;
};

static const struct row good[] = {
    {"ets", ETS(BW50, PRIO, TSA)},
    {"ets", ETS("[100,0,0,0,0,0,0,0]", "[7,7,7,7,7,7,7,7]",
                "[\"vendor\",\"cbs\",\"strict\",\"ets\",\"ets\",\"ets\",\"ets\",\"ets\"]")},
    {"pfc", "{\"delay\":0,\"priorities\":[]}"},
    {"pfc", "{\"delay\":65535,\"priorities\":[0,3,7]}"},
    {"app", "[]"},
    {"app",
     "[{\"dscp\":0,\"priority\":0},{\"dscp\":63,\"priority\":6},{\"dscp\":63,\"priority\":7}]"},
    {"maxrate", "[null,1,1000000000000000,null,null,null,null,null]"},
    {"buffer", "{\"prio_buffer\":[0,0,0,7,0,0,0,0],\"size_bytes\":[4294967295,0,0,0,0,0,0,0]}"},
    {"qdisc", "{\"default_class\":\"5e11:ffff\",\"handle\":\"5e11:\",\"kind\":\"htb\"}"},
    {"qdisc", ETS_QDISC("3", "1", "[1514,4294967295]", MAP16("2"))},
    {"qdisc", ETS_QDISC("1", "0", "[1]", MAP16("0"))},
    {"qdisc", ETS_QDISC("16", "16", "[]", MAP16("15"))},
    {"qdisc", "{\"default_class\":\"5e11:1\",\"handle\":\"5e11:\",\"kind\":\"htb\","
              "\"offloaded\":true}"},
    {"red", RED("1", "1", "1", "1")},
    {"red", RED("10000", "536870912", "2147483648", "100000")},
    {"class", "{\"ceil_bps\":8,\"parent\":\"5e11:\",\"rate_bps\":8}"},
    {"class", "{\"ceil_bps\":1000000000000000,\"parent\":\"5e11:fffe\",\"rate_bps\":9}"},
    {"flower", "{\"actions\":[{\"class\":\"5e11:1a\"}]," COOKIE
               ",\"hw\":\"no\",\"match\":{\"eth_type\":\"ipv4\"}}"},
    {"flower",
     "{\"actions\":[{\"priority\":7},{\"burst_bytes\":1,\"police_bps\":8}]," COOKIE
     ",\"hw\":\"only\",\"match\":{\"dscp\":63,\"dst\":\"10.0.0.0/8\",\"dst_port\":4791,"
     "\"eth_type\":\"ipv4\",\"ip_proto\":\"udp\",\"src\":\"1.2.3.4/32\",\"src_port\":1}}"},
    {"flower", "{\"actions\":[{\"priority\":0}]," COOKIE
               ",\"hw\":\"no\",\"match\":{\"eth_type\":\"ipv6\",\"ip_proto\":\"tcp\","
               "\"src\":\"fd00::1/128\",\"dst\":\"8000::/1\"}}"},
};

#define FLOWER(actions, hw, match)                                                                 \
    "{\"actions\":" actions "," COOKIE ",\"hw\":" hw ",\"match\":" match "}"
#define ACT  "[{\"priority\":3}]"
#define IPV4 "{\"eth_type\":\"ipv4\"}"

static const struct row bad[] = {
    {"ets", "[]"},
    {"ets", ETS("[50,0,0,50,0,0,0]", PRIO, TSA)},
    {"ets", ETS("[101,0,0,0,0,0,0,0]", PRIO, TSA)},
    {"ets", ETS("[-1,0,0,0,0,0,0,0]", PRIO, TSA)},
    {"ets", ETS("[50.0,0,0,0,0,0,0,0]", PRIO, TSA)},
    {"ets", ETS(BW50, "[0,1,2,3,4,5,6,8]", TSA)},
    {"ets", ETS(BW50, PRIO, "[1,2,3,4,5,6,7,8]")},
    {"ets", ETS(BW50, PRIO, "[\"ETS\",\"ets\",\"ets\",\"ets\",\"ets\",\"ets\",\"ets\",\"ets\"]")},
    {"ets", "{\"bw_percent\":" BW50 ",\"prio_tc\":" PRIO "}"},
    {"ets", "{\"bw_percent\":" BW50 ",\"prio_tc\":" PRIO ",\"tsa\":" TSA ",\"more\":1}"},
    {"pfc", "{\"delay\":65536,\"priorities\":[]}"},
    {"pfc", "{\"delay\":0,\"priorities\":[8]}"},
    {"pfc", "{\"delay\":0,\"priorities\":[\"3\"]}"},
    {"pfc", "{\"delay\":0,\"priorities\":[0,1,2,3,4,5,6,7,0]}"},
    {"pfc", "{\"delay\":0,\"priorities\":3}"},
    {"app", "{}"},
    {"app", "[{\"dscp\":64,\"priority\":0}]"},
    {"app", "[{\"dscp\":0,\"priority\":8}]"},
    {"app", "[{\"dscp\":0}]"},
    {"app", "[{\"dscp\":0,\"priority\":0,\"selector\":5}]"},
    {"maxrate", "[0,null,null,null,null,null,null,null]"},
    {"maxrate", "[1000000000000001,null,null,null,null,null,null,null]"},
    {"maxrate", "[null,null,null,null,null,null,null]"},
    {"buffer", "{\"prio_buffer\":[0,0,0,8,0,0,0,0],\"size_bytes\":[0,0,0,0,0,0,0,0]}"},
    {"buffer", "{\"prio_buffer\":[0,0,0,0,0,0,0,0],\"size_bytes\":[4294967296,0,0,0,0,0,0,0]}"},
    {"qdisc", "{\"default_class\":\"5e11:ffff\",\"handle\":\"1:\",\"kind\":\"htb\"}"},
    {"qdisc", "{\"default_class\":\"1:ffff\",\"handle\":\"5e11:\",\"kind\":\"htb\"}"},
    {"qdisc", ETS_QDISC("0", "0", "[]", MAP16("0"))},
    {"qdisc", ETS_QDISC("17", "0", "[1]", MAP16("0"))},
    {"qdisc", ETS_QDISC("2", "3", "[]", MAP16("0"))},
    {"qdisc", ETS_QDISC("2", "1", "[]", MAP16("0"))},
    {"qdisc", ETS_QDISC("2", "1", "[0]", MAP16("0"))},
    {"qdisc", ETS_QDISC("2", "1", "[4294967296]", MAP16("0"))},
    {"qdisc", ETS_QDISC("2", "1", "[1]", MAP16("2"))},
    {"qdisc", ETS_QDISC("2", "1", "[1]", "[0]")},
    {"qdisc", ETS_QDISC("2", "1", "{}", MAP16("0"))},
    {"red", RED("0", "1", "1", "1")},
    {"red", RED("10001", "1", "1", "1")},
    {"red", RED("1", "1", "1", "2")},
    {"red", RED("1", "2", "1", "1")},
    {"red", RED("1", "536870913", "2147483648", "1")},
    {"red", RED("1", "1", "2147483649", "1")},
    {"red", RED("1", "1", "1", "0")},
    {"red", "{\"ecn\":1}"},
    {"class", "{\"ceil_bps\":8,\"parent\":\"5e11:\",\"rate_bps\":7}"},
    {"class", "{\"ceil_bps\":8,\"parent\":\"5e11:\",\"rate_bps\":9}"},
    {"class", "{\"ceil_bps\":8,\"parent\":\"5E11:\",\"rate_bps\":8}"},
    {"class", "{\"ceil_bps\":8,\"parent\":\"1:\",\"rate_bps\":8}"},
    {"flower", FLOWER("[]", "\"no\"", IPV4)},
    {"flower", FLOWER("[{}]", "\"no\"", IPV4)},
    {"flower", FLOWER("[{\"priority\":3,\"class\":\"5e11:1\"}]", "\"no\"", IPV4)},
    {"flower", FLOWER("[{\"priority\":65536}]", "\"no\"", IPV4)},
    {"flower", FLOWER("[{\"class\":\"1:1\"}]", "\"no\"", IPV4)},
    {"flower", FLOWER("[{\"police_bps\":8,\"burst_bytes\":4294967296}]", "\"no\"", IPV4)},
    {"flower", FLOWER(ACT, "\"yes\"", IPV4)},
    {"flower", FLOWER(ACT, "\"no\"", "{}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"arp\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"dscp\":64}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"dst_port\":4791}")},
    {"flower",
     FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"ip_proto\":\"udp\",\"dst_port\":0}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"ip_proto\":\"icmp\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"src\":\"10.0.0.1\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"src\":\"10.0.0.1/8\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"src\":\"0.0.0.0/0\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"src\":\"10.0.0.1/33\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"src\":\"10.0.0.1/032\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"src\":\"fd00::/8\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv6\",\"src\":\"FD00::/8\"}")},
    {"flower", FLOWER(ACT, "\"no\"", "{\"eth_type\":\"ipv4\",\"vlan\":1}")},
    {"flower", "{\"actions\":" ACT ",\"cookie\":\"aa544c520000001a0011223344556677\",\"hw\":\"no\","
               "\"match\":" IPV4 "}"},
    {"flower", "{\"actions\":" ACT ",\"cookie\":\"53544c520000001a001122334455667\",\"hw\":\"no\","
               "\"match\":" IPV4 "}"},
    {"flower", "null"},
};

static void every_form_reads_back_as_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct err err = ERR_INIT;
        if (read_kind(good[i].kind, good[i].text, &err))
            fail_msg("%s: %s: %s", good[i].kind, good[i].text, err.text);
    }
}

static void every_other_form_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = ERR_INIT;
        if (read_kind(bad[i].kind, bad[i].text, &err) != ERR_INVALID || err.text[0] == '\0')
            fail_msg("%s: %s was not refused (%s)", bad[i].kind, bad[i].text, err.text);
        assert_int_not_equal(read_kind(bad[i].kind, bad[i].text, NULL), ERR_OK);
    }
}

static void maps_are_sorted_and_single(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct app_value app;
    OWN(json)
    json_t *json = parse("[{\"dscp\":48,\"priority\":6},{\"dscp\":26,\"priority\":3},"
                         "{\"dscp\":26,\"priority\":2},{\"dscp\":48,\"priority\":6}]");
    assert_ok(app_value_from_json(json, &app, &err));
    assert_int_equal(app.count, 3);
    assert_int_equal(app.entries[0].priority, 2);
    assert_int_equal(app.entries[2].dscp, 48);
    assert_true(app_value_has(&app, (struct app_entry){26, 3}));
    assert_false(app_value_has(&app, (struct app_entry){26, 4}));
}

static void a_map_has_a_maximum(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct app_value app;
    OWN(json) json_t *json = json_array();
    for (int i = 0; i < APP_VALUE_MAX; i++)
        json_array_append_new(json, json_pack("{s:i,s:i}", "dscp", i / 8, "priority", i % 8));
    assert_ok(app_value_from_json(json, &app, &err));
    assert_int_equal(app.count, APP_VALUE_MAX);
    json_array_append_new(json, json_pack("{s:i,s:i}", "dscp", 0, "priority", 0));
    assert_fails(app_value_from_json(json, &app, &err), ERR_LIMIT);
}

static void shares_sum_to_a_hundred(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct ets_value ets = {.bw_percent = {50, 50}, .tsa = {2, 2}};
    assert_ok(ets_value_check(&ets, &err));
    ets.bw_percent[1] = 49;
    assert_fails(ets_value_check(&ets, &err), ERR_INVALID);
    ets.bw_percent[1] = 51;
    assert_fails(ets_value_check(&ets, &err), ERR_INVALID);
    struct ets_value strict = {0};
    assert_ok(ets_value_check(&strict, &err));
    strict.bw_percent[4] = 1;
    assert_fails(ets_value_check(&strict, &err), ERR_INVALID);
}

static void handles_have_one_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t handle;
    } ok[] = {{"5e11:", 0x5e110000},
              {"5e11:1", 0x5e110001},
              {"ffff:ffff", 0xffffffff},
              {"1:", 0x10000},
              {"0:1", 1}};
    static const char *const wrong[] = {"",    ":",       "5e11",    "5e11:0", "5E11:1", "5e11:01",
                                        "x:1", "12345:1", "1:12345", "1:1 ",   " 1:1",   "1:1:1"};
    for (size_t i = 0; i < sizeof(ok) / sizeof(ok[0]); i++) {
        uint32_t handle;
        char text[TC_HANDLE_TEXT_MAX];
        assert_true(tc_handle_parse(ok[i].text, &handle));
        assert_int_equal(handle, ok[i].handle);
        tc_handle_format(handle, text);
        assert_string_equal(text, ok[i].text);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint32_t handle;
        if (tc_handle_parse(wrong[i], &handle))
            fail_msg("'%s' was taken", wrong[i]);
    }
}

static void filter_ids_are_hook_and_label(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    bool egress;
    uint32_t label;
    char id[32];
    assert_ok(flower_id_parse("egress/4294967295", &egress, &label, &err));
    assert_true(egress && label == UINT32_MAX);
    assert_ok(flower_id_parse("ingress/1", &egress, &label, &err));
    assert_true(!egress && label == 1);
    flower_id_format(false, 1, id, sizeof(id));
    assert_string_equal(id, "ingress/1");
    static const char *const wrong[] = {"",         "egress/",   "egress/0",          "egress/01",
                                        "egress/x", "egress/1x", "egress/4294967296", "both/1",
                                        "egress/-1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_fails(flower_id_parse(wrong[i], &egress, &label, &err), ERR_INVALID);
}

static void texts_and_mtus_have_bounds(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const char *text;
    int mtu;
    char longest[VALUE_TEXT_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    longest[VALUE_TEXT_MAX] = '\0';
    OWN(json) json_t *over = json_string(longest);
    longest[VALUE_TEXT_MAX - 1] = '\0';
    OWN(json) json_t *full = json_string(longest);
    assert_ok(text_value_from_json(full, &text, &err));
    assert_fails(text_value_from_json(over, &text, &err), ERR_INVALID);
    static const char *const wrong[] = {"\"\"", "\"a\\nb\"", "\"\xc3\xa4\"", "3", "null"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        OWN(json) json_t *json = parse(wrong[i]);
        assert_fails(text_value_from_json(json, &text, &err), ERR_INVALID);
    }
    static const struct {
        int mtu;
        enum err_code code;
    } mtus[] = {{67, ERR_INVALID}, {68, ERR_OK}, {65535, ERR_OK}, {65536, ERR_INVALID}};
    for (size_t i = 0; i < 4; i++) {
        OWN(json) json_t *json = json_integer(mtus[i].mtu);
        assert_int_equal(mtu_value_from_json(json, &mtu, &err), mtus[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_reads_back_as_itself),
        cmocka_unit_test(every_other_form_is_refused),
        cmocka_unit_test(maps_are_sorted_and_single),
        cmocka_unit_test(a_map_has_a_maximum),
        cmocka_unit_test(shares_sum_to_a_hundred),
        cmocka_unit_test(handles_have_one_text),
        cmocka_unit_test(filter_ids_are_hook_and_label),
        cmocka_unit_test(texts_and_mtus_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
