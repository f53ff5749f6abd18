/*
 * tests/unit/fleet/test_lldp.c - fleet/lldp: what a neighbour says of itself, whoever wrote it.
 */
#include "tests/unit/fleet/lldp_test.h"

#include "fleet/chain.h"

static struct lldp_neighbour decoded(const struct unit *unit)
{
    struct lldp_neighbour told;
    struct err err = ERR_INIT;
    assert_ok(lldp_decode(unit->data, unit->len, &told, &err));
    return told;
}

static void refused(const struct unit *unit, const char *why)
{
    struct lldp_neighbour told;
    struct err err = ERR_INIT;
    assert_fails(lldp_decode(unit->data, unit->len, &told, &err), ERR_INVALID);
    assert_contains(err.text, why);
}

static void a_neighbour_tells_its_names(void **state)
{
    (void)state;
    struct unit unit;
    unit_begin(&unit, 120);
    unit_text(&unit, 4, -1, "to n1");
    unit_text(&unit, 5, -1, "leaf1");
    unit_text(&unit, 6, -1, "SONiC");
    unit_end(&unit);
    struct lldp_neighbour told = decoded(&unit);
    assert_string_equal(told.chassis, "94:6d:ae:00:00:01");
    assert_string_equal(told.port, "Ethernet8");
    assert_string_equal(told.port_description, "to n1");
    assert_string_equal(told.system, "leaf1");
    assert_int_equal(told.ttl_s, 120);
    assert_false(told.has_ets || told.has_pfc || told.has_app);
    OWN(json) json_t *json = lldp_to_json(&told);
    OWN(str) char *text = json_canonical(json, NULL);
    assert_string_equal(text, "{\"chassis\":\"94:6d:ae:00:00:01\",\"port\":\"Ethernet8\","
                              "\"port_description\":\"to n1\",\"source\":\"lldp\",\"system\":"
                              "\"leaf1\"}");
}

static void ids_are_written_as_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *chassis, *port;
        size_t chassis_len, port_len;
        const char *chassis_text, *port_text;
    } cases[] = {
        {"\x05\x01\x0a\x00\x00\x01", "\x03\x02\x00\x00\x00\x00\x07", 6, 7, "10.0.0.1",
         "02:00:00:00:00:07"},
        {"\x05\x02\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", "\x04\x01\x0a\x00\x00\x02", 18, 6,
         "fe80::1", "10.0.0.2"},
        {"\x05\x09\x01", "\x07swp1", 3, 5, "09:01", "swp1"}, /* a family we do not know */
        {"\x07leaf\x01",
         "\x05"
         "a\xe2\x80\xae"
         "b",
         6, 6, "leaf?", "a?b"}, /* hidden characters */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct unit unit = {.len = 0};
        unit_put(&unit, 1, cases[i].chassis, cases[i].chassis_len);
        unit_put(&unit, 2, cases[i].port, cases[i].port_len);
        unit_ttl(&unit, 1);
        struct lldp_neighbour told = decoded(&unit); /* no end: the frame's */
        assert_string_equal(told.chassis, cases[i].chassis_text);
        assert_string_equal(told.port, cases[i].port_text);
    }
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char longest[256];
    struct unit unit;
    memset(longest, 'x', 255);
    longest[255] = '\0';
    unit_begin(&unit, 120);
    unit_text(&unit, 5, -1, longest);
    struct lldp_neighbour told = decoded(&unit);
    assert_int_equal(strlen(told.system), INVENTORY_TEXT_MAX - 1);
}

static void what_does_not_begin_as_it_must_is_refused(void **state)
{
    (void)state;
    struct unit unit = {.len = 0};
    refused(&unit, "no chassis");
    unit_text(&unit, 2, 5, "Ethernet8");
    unit_text(&unit, 1, 7, "leaf");
    unit_ttl(&unit, 1);
    refused(&unit, "TLV 1 has type 2");
    unit_begin(&unit, 1);
    unit_ttl(&unit, 1);
    refused(&unit, "TLV 4 has type 3");
    unit_begin(&unit, 1);
    unit.len -= 4;
    unit_put(&unit, 3, "\x01", 1);
    refused(&unit, "TLV 3 has type 3");
    unit.len = 0;
    unit_put(&unit, 1, "\x07", 1); /* a subtype without an id */
    refused(&unit, "TLV 1 has type 1");
    unit_begin(&unit, 1);
    unit_put(&unit, 4, "ab", 2);
    unit.len--;
    refused(&unit, "cut short in its TLV 4");
}

static void a_frame_is_no_longer_than_ethernets(void **state)
{
    (void)state;
    static const uint8_t zeros[511];
    struct unit unit;
    unit_begin(&unit, 120);
    unit_put(&unit, 126, zeros, 511);
    unit_put(&unit, 126, zeros, 511);
    unit_put(&unit, 126, zeros, LLDP_BYTES_MAX - unit.len - 2);
    assert_int_equal(unit.len, LLDP_BYTES_MAX);
    assert_string_equal(decoded(&unit).port, "Ethernet8");
    unit.len++;
    refused(&unit, "over 1500");
}

static void dcb_is_told(void **state)
{
    (void)state;
    struct unit unit;
    unit_begin(&unit, 120);
    unit_dcb(&unit);
    unit_end(&unit);
    struct lldp_neighbour told = decoded(&unit);
    assert_true(told.has_ets && told.has_pfc && told.has_app);
    assert_int_equal(told.class_of[3], 3);
    assert_int_equal(told.class_of[6], 6);
    assert_int_equal(told.percent_of[3], 50);
    assert_int_equal(told.tsa_of[3], LLDP_TSA_ETS);
    assert_int_equal(told.tsa_of[6], LLDP_TSA_STRICT);
    assert_int_equal(told.lossless, 1U << 3);
    assert_int_equal(told.priority_of[26], 3);
    assert_int_equal(told.priority_of[48], 6);
    assert_int_equal(told.priority_of[0], LLDP_NO_ENTRY);
}

static void dcb_of_another_form_was_not_sent(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t len;
    } cases[] = {
        {"\x00\x80\xc2", 3},
        {"\x00\x80\xc2\x0b\x08", 5},
        {"\x00\x80\xc2\x0b\x08\x08\x00", 7},
        {"\x00\x80\xc2\x09\x00\x00\x03\x00\x60", 9},
        {"\x00\x80\xc2\x0c\x00\x65\x00", 7},
        {"\x00\x80\xc2\x0c\x00\x65\x00\x40", 8}, /* DSCP 64 */
        {"\x00\x80\xc2\x0c\x00\x61\x89\x06", 8}, /* an Ethertype */
        {"\x00\x1b\x21\x0b\x08\x08", 6},         /* another organization */
        /* class 8; 101 percent */
        {"\x00\x80\xc2\x09\x00\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 25},
        {"\x00\x80\xc2\x09\x00\0\0\0\0\x65\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 25},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct unit unit;
        unit_begin(&unit, 120);
        unit_put(&unit, 127, cases[i].value, cases[i].len);
        struct lldp_neighbour told = decoded(&unit);
        assert_false(told.has_ets || told.has_pfc || told.has_app);
    }
}

static void two_priorities_of_a_dscp_are_unknown(void **state)
{
    (void)state;
    struct unit unit;
    unit_begin(&unit, 120);
    unit_put(&unit, 127, "\x00\x80\xc2\x0c\x00\x65\x00\x1a\x85\x00\x1a", 11);
    struct lldp_neighbour told = decoded(&unit);
    assert_int_equal(told.priority_of[26], LLDP_SEVERAL);
    OWN(json) json_t *json = lldp_to_json(&told);
    assert_null(json_object_get(json, "dscps"));
}

static void any_damage_is_survived(void **state)
{
    (void)state;
    struct unit unit;
    unit_begin(&unit, 120);
    unit_text(&unit, 5, -1, "leaf1");
    unit_dcb(&unit);
    unit_end(&unit);
    for (size_t len = 0; len < unit.len; len++) {
        uint8_t *copy = malloc(len + 1);
        struct lldp_neighbour told;
        assert_non_null(copy);
        memcpy(copy, unit.data, len);
        (void)!lldp_decode(copy, len, &told, NULL);
        free(copy);
    }
    for (size_t at = 0; at < unit.len; at++) {
        static const uint8_t values[] = {0, 1, 0x7f, 0xff};
        for (size_t v = 0; v < sizeof(values); v++) {
            struct unit bad = unit;
            struct lldp_neighbour told;
            bad.data[at] = values[v];
            (void)!lldp_decode(bad.data, bad.len, &told, NULL);
        }
    }
}

/* What the chain of a mark's hops needs of the other end. */
static void the_chain_sees_what_the_neighbour_told(void **state)
{
    (void)state;
    struct unit unit;
    struct chain_port port;
    unit_begin(&unit, 120);
    unit_dcb(&unit);
    struct lldp_neighbour told = decoded(&unit);
    OWN(json) json_t *json = lldp_to_json(&told);
    chain_port_neighbour(json, &port);
    assert_int_equal(port.has, 1U << CHAIN_PRIORITY | 1U << CHAIN_CLASS | 1U << CHAIN_PFC);
    assert_int_equal(port.priority_of[26], 3);
    assert_int_equal(port.priority_of[27], -1);
    assert_int_equal(port.class_of[3], 3);
    assert_int_equal(port.lossless, 1U << 3);
    assert_false(port.starved[3]);
    chain_port_neighbour(NULL, &port);
    assert_int_equal(port.has, 0);
    json_object_del(json_array_get(json_object_get(json, "priorities"), 2), "lossless");
    chain_port_neighbour(json, &port);
    assert_int_equal(port.has, 1U << CHAIN_PRIORITY | 1U << CHAIN_CLASS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_neighbour_tells_its_names),
        cmocka_unit_test(ids_are_written_as_what_they_are),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(what_does_not_begin_as_it_must_is_refused),
        cmocka_unit_test(a_frame_is_no_longer_than_ethernets),
        cmocka_unit_test(dcb_is_told),
        cmocka_unit_test(dcb_of_another_form_was_not_sent),
        cmocka_unit_test(two_priorities_of_a_dscp_are_unknown),
        cmocka_unit_test(any_damage_is_survived),
        cmocka_unit_test(the_chain_sees_what_the_neighbour_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
