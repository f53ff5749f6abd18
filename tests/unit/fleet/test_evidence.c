/*
 * tests/unit/fleet/test_evidence.c - the walk over files, limits, hostile bytes, numbers.
 */
#include "evidence_test.h"

#include "base/json.h"
#include "base/schema.h"
#include "fleet/evidence/slice.h"

static void numbers_are_exact_or_none(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *wanted; /* NULL = no number */
    } cases[] = {
        {"0", "0"},
        {"007", "7"},
        {"-3", "-3"},
        {"+3", "3"},
        {"-0", "0"},
        {"1,200", "1200"},
        {"1,234,567", "1234567"},
        {"1,20", "1.20"},
        {"0,057", "0.057"},
        {"1,2345", "1.2345"},
        {"1,234,56", NULL},
        {"92.40", "92.40"},
        {"0.1250", "0.1250"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"5.", "5"},
        {"1,234.5", "1234.5"},
        {"1.2.3", NULL},
        {"1.5e3", "1500"},
        {"1.53523e-06", "0.00000153523"},
        {"2e+01", "20"},
        {"1e400", NULL},
        {"0x1f", "31"},
        {"0xffffffffffffffff", "18446744073709551615"},
        {"0x10000000000000000", NULL},
        {"0x", NULL},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", NULL},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775809", NULL},
        {"57%", "57"},
        {"57 %", "57"},
        {"57 Gb", NULL},
        {"", NULL},
        {"-", NULL},
        {"N/A", NULL},
        {"nan", NULL},
        {"inf", NULL},
        {"1 2", NULL},
        {"12a", NULL},
        {"1,,2", NULL},
        {",5", NULL},
        {"11111111111111111111111111111111111111111111111111", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct number n = number_read(slice_of(cases[i].text));
        if (cases[i].wanted == NULL && n.kind != NUMBER_NONE)
            fail_msg("'%s' is read as %s", cases[i].text, n.text);
        if (cases[i].wanted != NULL &&
            (n.kind == NUMBER_NONE || strcmp(n.text, cases[i].wanted) != 0))
            fail_msg("'%s' is read as '%s'", cases[i].text, n.text);
    }
}

static void a_number_in_front_leaves_its_unit(void **unused)
{
    (void)unused;
    struct slice rest;
    struct number n = number_front(slice_of("400 Gb/sec (4X NDR)"), &rest);
    assert_string_equal(n.text, "400");
    assert_true(slice_is(rest, "Gb/sec (4X NDR)"));
    n = number_front(slice_of("1.25Mbit"), &rest);
    assert_string_equal(n.text, "1.25");
    assert_true(slice_is(rest, "Mbit"));
    assert_int_equal(number_front(slice_of("1.2.3"), &rest).kind, NUMBER_NONE);
    assert_int_equal(number_front(slice_of("1,2,3"), &rest).kind, NUMBER_NONE);
}

static void columns_keep_single_blanks(void **unused)
{
    (void)unused;
    struct slice fields[4];
    assert_int_equal(slice_columns(slice_of("a b   c\td"), fields, 4), 3);
    assert_true(slice_is(fields[0], "a b"));
    assert_true(slice_is(fields[1], "c"));
    assert_true(slice_is(fields[2], "d"));
}

static void what_nobody_knows_is_unknown(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "", "\n\n", "hello\nworld: 5\n", "the state: 7 of many things\n", "\177ELF\x01\x02",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        OWN(evidence) struct evidence *e = evidence_of_text(texts[i]);
        assert_string_equal(e->kind, "unknown");
        assert_int_equal(e->fact_count, 0);
        assert_int_equal(e->findings.count, 0);
    }
}

static void prompts_name_the_subject_of_what_follows(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("[root@n1 ~]# ethtool -S eth0\nNIC statistics:\n     rx_prio3_pause: 5\n"
                         "admin@n1:~$ sudo ethtool -S eth1\nNIC statistics:\n"
                         "     rx_prio3_pause: 6\n# ethtool -S eth2\nrx_prio3_pause: 7\n"
                         "ethtool -S eth3\nrx_prio3_pause: 8\n");
    uint64_t value;
    static const char *const subjects[] = {"netdev eth0 prio 3", "netdev eth1 prio 3",
                                           "netdev eth2 prio 3", "netdev eth3 prio 3"};
    assert_string_equal(e->kind, "ethtool-S");
    assert_int_equal(e->section_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(evidence_get_uint(e, subjects[i], "rx_pause", &value));
        assert_int_equal(value, 5 + i);
    }
    assert_int_equal(e->unread_lines, 0);
}

static void hostile_bytes_do_not_reach_the_evidence(void **unused)
{
    (void)unused;
    static const char text[] = "\xef\xbb\xbfNIC statistics:\r\n\t\x1b[1;31mrx_prio3_pause\x1b[0m: "
                               "\x1b]0;title\a"
                               "5\r\n     rx_\xff"
                               "bad: 6\r\n     rx_\0x: 7\n";
    struct err err = ERR_INIT;
    OWN(evidence) struct evidence *e = NULL;
    assert_ok(evidence_read("x", text, sizeof(text) - 1, &e, &err));
    uint64_t value;
    assert_true(evidence_get_uint(e, "netdev prio 3", "rx_pause", &value));
    assert_int_equal(value, 5);
    for (size_t i = 0; i < e->fact_count; i++) {
        for (const char *c = e->facts[i].name; *c != '\0'; c++)
            assert_true((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f);
    }
}

static void a_name_of_the_file_changes_nothing(void **unused)
{
    (void)unused;
    static const char text[] = "rx_prio3_pause: 5\n";
    struct err err = ERR_INIT;
    OWN(evidence) struct evidence *a = NULL;
    OWN(evidence) struct evidence *b = NULL;
    assert_ok(evidence_read("ethtool.txt", text, sizeof(text) - 1, &a, &err));
    assert_ok(evidence_read("dmesg.log", text, sizeof(text) - 1, &b, &err));
    OWN(json) json_t *first = evidence_to_json(a);
    OWN(json) json_t *second = evidence_to_json(b);
    assert_true(json_equal(first, second));
}

static void a_file_of_the_largest_size_is_read_and_one_byte_more_refused(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(evidence) struct evidence *e = NULL;
    OWN(str) char *bytes = malloc(EVIDENCE_BYTES_MAX + 1);
    assert_non_null(bytes);
    memset(bytes, ' ', EVIDENCE_BYTES_MAX + 1);
    assert_ok(evidence_read("big", bytes, EVIDENCE_BYTES_MAX, &e, &err));
    assert_string_equal(e->kind, "unknown");
    assert_fails(evidence_read("big", bytes, EVIDENCE_BYTES_MAX + 1, &e, &err), ERR_LIMIT);
    assert_contains(err.text, "in parts");
}

/* `count` lines "rx_prio3_pause: 5\n", the last of them with `pad` blanks in it. */
static struct evidence *evidence_of_lines(size_t count, size_t pad)
{
    static const char row[] = "rx_prio3_pause: 5\n";
    struct err err = ERR_INIT;
    struct evidence *e = NULL;
    size_t len = count * (sizeof(row) - 1);
    OWN(str) char *bytes = malloc(len + pad + 64);
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * (sizeof(row) - 1), row, sizeof(row) - 1);
    if (pad > 0) {
        len -= 2; /* the 5 */
        memset(bytes + len, ' ', pad);
        memcpy(bytes + len + pad, "5\n", 2);
        len += pad + 2;
    }
    assert_ok(evidence_read(NULL, bytes, len, &e, &err));
    return e;
}

static void facts_over_the_limit_are_left_out_and_said(void **unused)
{
    (void)unused;
    OWN(evidence) struct evidence *full = evidence_of_lines(EVIDENCE_FACTS_MAX, 0);
    assert_int_equal(full->fact_count, EVIDENCE_FACTS_MAX);
    assert_false(full->truncated);
    OWN(evidence) struct evidence *over = evidence_of_lines(EVIDENCE_FACTS_MAX + 1, 0);
    assert_int_equal(over->fact_count, EVIDENCE_FACTS_MAX);
    assert_true(over->truncated);
}

static void a_line_over_the_limit_is_left_out_and_said(void **unused)
{
    (void)unused;
    const size_t used = sizeof("rx_prio3_pause: 5") - 1;
    OWN(evidence) struct evidence *full = evidence_of_lines(1, EVIDENCE_LINE_MAX - used);
    assert_int_equal(full->fact_count, 1);
    assert_false(full->truncated);
    OWN(evidence) struct evidence *over = evidence_of_lines(1, EVIDENCE_LINE_MAX - used + 1);
    assert_int_equal(over->fact_count, 0);
    assert_true(over->truncated);
}

/* rdma -j prints all QPs in one line. */
static void a_document_may_be_longer_than_a_line(void **unused)
{
    (void)unused;
    const size_t room = 64 * 1024;
    OWN(str) char *text = malloc(room);
    assert_non_null(text);
    size_t len = (size_t)snprintf(text, room, "[");
    for (unsigned qp = 1; qp <= 500; qp++)
        len += (size_t)snprintf(text + len, room - len,
                                "%s{\"ifname\":\"mlx5_0\",\"port\":1,\"lqpn\":%u,\"type\":\"RC\","
                                "\"state\":\"RTS\"}",
                                qp > 1 ? "," : "", qp);
    snprintf(text + len, room - len, "]\n[{\"ifname\":\"mlx5_1\",\"port\":1,\"lqpn\":7}]\n");
    assert_true(len > EVIDENCE_LINE_MAX);
    OWN(evidence) struct evidence *e = evidence_of_text(text);
    assert_string_equal(e->kind, "rdma-tool");
    assert_false(e->truncated);
    assert_non_null(evidence_get(e, "port mlx5_0/1 qp 500", "state"));
    assert_int_equal(evidence_get(e, "port mlx5_0/1 qp 500", "state")->line, 1);
    assert_true(e->section_count >= 1 && e->sections[e->section_count - 1].last_line == 2);
}

static struct evidence *evidence_of_sections(size_t count)
{
    static const char part[] = "$ ethtool -S e\nrx_prio3_pause: 5\n";
    size_t len = count * (sizeof(part) - 1);
    OWN(str) char *bytes = malloc(len + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * (sizeof(part) - 1), part, sizeof(part) - 1);
    bytes[len] = '\0';
    return evidence_of_text(bytes);
}

static void sections_over_the_limit_are_left_out_and_said(void **unused)
{
    (void)unused;
    OWN(evidence) struct evidence *full = evidence_of_sections(EVIDENCE_SECTIONS_MAX);
    assert_int_equal(full->section_count, EVIDENCE_SECTIONS_MAX);
    assert_false(full->truncated);
    OWN(evidence) struct evidence *over = evidence_of_sections(EVIDENCE_SECTIONS_MAX + 1);
    assert_int_equal(over->section_count, EVIDENCE_SECTIONS_MAX);
    assert_true(over->truncated);
}

static void lines_over_the_limit_are_left_out_and_said(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(str) char *bytes = malloc(EVIDENCE_LINES_MAX + 1);
    assert_non_null(bytes);
    memset(bytes, '\n', EVIDENCE_LINES_MAX + 1);
    OWN(evidence) struct evidence *full = NULL;
    OWN(evidence) struct evidence *over = NULL;
    assert_ok(evidence_read(NULL, bytes, EVIDENCE_LINES_MAX, &full, &err));
    assert_false(full->truncated);
    assert_ok(evidence_read(NULL, bytes, EVIDENCE_LINES_MAX + 1, &over, &err));
    assert_true(over->truncated);
}

static void the_document_holds_its_schema_and_large_numbers_exactly(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("$ ethtool -S e0\nNIC statistics:\n rx_prio0_bytes: 9223372036854775807\n"
                         " rx_prio1_bytes: 9223372036854775808\n rx_prio2_bytes: -\n"
                         " rx_crc_errors_phy: 12\n");
    OWN(json) json_t *document = evidence_to_json(e);
    OWN_FINDINGS struct finding_list faults;
    finding_list_init(&faults);
    assert_true(schema_validate(schema_get("evidence"), document, &faults));
    const json_t *facts = json_object_get(document, "facts");
    const json_t *value = json_object_get(json_array_get(facts, 0), "value");
    assert_true(json_is_integer(value) && json_integer_value(value) == INT64_MAX);
    assert_string_equal(json_string_value(json_object_get(json_array_get(facts, 1), "value")),
                        "9223372036854775808");
    assert_true(json_is_null(json_object_get(json_array_get(facts, 2), "value")));
    const json_t *finding = json_array_get(json_object_get(document, "findings"), 0);
    assert_string_equal(json_string_value(json_object_get(finding, "rule")), "fcs-errors");
    assert_string_equal(json_string_value(json_object_get(finding, "subject")), "netdev e0");
    assert_int_equal(json_integer_value(json_object_get(finding, "line")), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_exact_or_none),
        cmocka_unit_test(a_number_in_front_leaves_its_unit),
        cmocka_unit_test(columns_keep_single_blanks),
        cmocka_unit_test(what_nobody_knows_is_unknown),
        cmocka_unit_test(prompts_name_the_subject_of_what_follows),
        cmocka_unit_test(hostile_bytes_do_not_reach_the_evidence),
        cmocka_unit_test(a_name_of_the_file_changes_nothing),
        cmocka_unit_test(a_file_of_the_largest_size_is_read_and_one_byte_more_refused),
        cmocka_unit_test(facts_over_the_limit_are_left_out_and_said),
        cmocka_unit_test(a_line_over_the_limit_is_left_out_and_said),
        cmocka_unit_test(a_document_may_be_longer_than_a_line),
        cmocka_unit_test(sections_over_the_limit_are_left_out_and_said),
        cmocka_unit_test(lines_over_the_limit_are_left_out_and_said),
        cmocka_unit_test(the_document_holds_its_schema_and_large_numbers_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
