/*
 * tests/unit/fleet/test_verify.c - tests between nodes: documents, limits of grades.
 */
#include "tests/unit/test.h"

#include "base/json.h"
#include "fleet/verify.h"

static const struct verify_class hardware = {.software = false, .speed_bps = 100000000000};
static const struct verify_class software = {.software = true, .speed_bps = -1};

static enum verify_verdict grade(enum verify_kind kind, const struct verify_class *device,
                                 int64_t value, char why[VERIFY_WHY_SIZE])
{
    struct verify_figures figures;
    verify_figures_init(&figures);
    figures.values[verify_graded_figure(kind)] = value;
    return verify_grade(kind, device, &figures, why);
}

static void each_limit_has_two_sides(void **state)
{
    (void)state;
    static const struct {
        enum verify_kind kind;
        int64_t good, bad;
    } rows[] = {
        {VERIFY_SEND_LAT, 1199, 1200},
        {VERIFY_READ_BW, 98000000000, 97999999999},
        {VERIFY_WRITE_BW, 98000000000, 97999999999},
        {VERIFY_ALLREDUCE, 299, 300},
    };
    char why[VERIFY_WHY_SIZE];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(grade(rows[i].kind, &hardware, rows[i].good, why), VERIFY_PASS);
        assert_int_equal(grade(rows[i].kind, &hardware, rows[i].bad, why), VERIFY_FAIL);
        assert_contains(why, verify_figure_names[verify_graded_figure(rows[i].kind)]);
    }
}

static void a_software_device_is_held_against_no_limit_of_hardware(void **state)
{
    (void)state;
    static const enum verify_kind kinds[] = {VERIFY_SEND_LAT, VERIFY_READ_BW, VERIFY_WRITE_BW,
                                             VERIFY_ALLREDUCE};
    char why[VERIFY_WHY_SIZE];
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_int_equal(grade(kinds[i], &software, 1, why), VERIFY_NOT_APPLICABLE);
        assert_string_equal(why, "software device, threshold not applicable");
        assert_int_equal(grade(kinds[i], &software, 1000000, why), VERIFY_NOT_APPLICABLE);
    }
}

static void limits_are_told_with_their_side(void **state)
{
    (void)state;
    struct verify_figures figures;
    const struct verify_class dark = {.software = false, .speed_bps = -1};
    bool below = false;
    verify_figures_init(&figures);
    assert_int_equal(verify_limit(VERIFY_SEND_LAT, &hardware, &figures, &below), 1200);
    assert_true(below);
    assert_int_equal(verify_limit(VERIFY_READ_BW, &hardware, &figures, &below), 98000000000);
    assert_false(below);
    assert_int_equal(verify_limit(VERIFY_READ_BW, &dark, &figures, &below), -1);
    assert_int_equal(verify_limit(VERIFY_SEND_LAT, &software, &figures, &below), -1);
    assert_int_equal(verify_limit(VERIFY_MESH, &software, &figures, &below), -1);
    figures.values[VERIFY_ASKED] = 3;
    assert_int_equal(verify_limit(VERIFY_MESH, &software, &figures, &below), 3);
    assert_false(below);
}

static void what_is_not_known_is_no_pass(void **state)
{
    (void)state;
    const struct verify_class dark = {.software = false, .speed_bps = -1};
    char why[VERIFY_WHY_SIZE];
    for (int kind = 0; kind < VERIFY_KIND_COUNT; kind++) {
        assert_int_equal(grade((enum verify_kind)kind, &hardware, -1, why), VERIFY_UNKNOWN);
        assert_contains(why, "not known");
        assert_int_equal(grade((enum verify_kind)kind, &software, -1, why), VERIFY_UNKNOWN);
    }
    assert_int_equal(grade(VERIFY_READ_BW, &dark, 1, why), VERIFY_UNKNOWN);
    assert_contains(why, "speed");
    assert_int_equal(grade(VERIFY_MESH, &hardware, 1, why), VERIFY_UNKNOWN);
    assert_int_equal(grade(VERIFY_SEND_LAT, &dark, 1000, why), VERIFY_PASS);
}

static void all_peers_of_a_mesh_are_to_answer_also_software_ones(void **state)
{
    (void)state;
    struct verify_figures figures;
    char why[VERIFY_WHY_SIZE];
    verify_figures_init(&figures);
    figures.values[VERIFY_ASKED] = 3;
    figures.values[VERIFY_ANSWERED] = 3;
    assert_int_equal(verify_grade(VERIFY_MESH, &software, &figures, why), VERIFY_PASS);
    figures.values[VERIFY_ANSWERED] = 2;
    assert_int_equal(verify_grade(VERIFY_MESH, &software, &figures, why), VERIFY_FAIL);
    assert_string_equal(why, "answered 2, to be at least 3");
}

static struct verify_task sample(void)
{
    return (struct verify_task){.id = "v7-3",
                                .kind = VERIFY_READ_BW,
                                .place = 1,
                                .member_count = 2,
                                .members = {{"n1", "10.8.0.1"}, {"n2", "fd00::2"}},
                                .device = "mlx5_0",
                                .service = 18600,
                                .secret = "00112233445566778899aabbccddeeff",
                                .bytes = 65536,
                                .iterations = 1000,
                                .deadline_s = 30};
}

static void a_task_comes_back_as_it_went(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct verify_task task = sample(), back;
    OWN(json) json_t *document = verify_task_to_json(&task);
    char tag[VERIFY_TAG_SIZE];
    assert_non_null(document);
    assert_ok(verify_task_from_json(document, &back, &err));
    assert_memory_equal(&task, &back, sizeof(task));
    verify_task_tag(&back, tag);
    assert_string_equal(tag, "v7-3");
    back.cancelled = true;
    verify_task_tag(&back, tag);
    assert_string_equal(tag, "v7-3~cancelled");
}

static void hostile_tasks_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *pointer;
    } rows[] = {
        {"bytes", "0", "/bytes"},
        {"bytes", "1048577", "/bytes"},
        {"iterations", "100001", "/iterations"},
        {"deadline_s", "601", "/deadline_s"},
        {"service", "80", "/service"},
        {"place", "2", "/place"},
        {"place", "-1", "/place"},
        {"kind", "\"flood\"", "/kind"},
        {"members", "[]", "/members"},
        {"members", "[{\"node\":\"n1\",\"address\":\"10.8.0.1\"}]", "/members"},
        {"members", "[{\"node\":\"n1\",\"address\":\"x\"},{\"node\":\"n2\",\"address\":\"::1\"}]",
         "/members/0/address"},
        {"verification", "\"../x\"", "/verification"},
        {"force", "1", "/force"},
        {"secret", "\"00112233445566778899aabbccddeef\"", "/secret"},
        {"secret", "\"00112233445566778899aabbccddeefg\"", "/secret"},
        {"secret", "\"00112233445566778899aabbccddeeff0\"", "/secret"},
        {"more", "1", "/more"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        struct verify_task task = sample(), back;
        OWN(json) json_t *document = verify_task_to_json(&task);
        json_object_set_new(document, rows[i].key,
                            json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        assert_fails(verify_task_from_json(document, &back, &err), ERR_INVALID);
        assert_string_equal(err.pointer, rows[i].pointer);
    }
}

static void a_report_keeps_what_is_known_and_no_more(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct verify_report report = {.task = "v7-3", .outcome = VERIFY_DONE}, back;
    verify_figures_init(&report.figures);
    report.figures.values[VERIFY_RATE_BPS] = 0;
    OWN(json) json_t *document = verify_report_to_json(&report);
    assert_ok(verify_report_from_json(document, &back, &err));
    assert_int_equal(back.figures.values[VERIFY_RATE_BPS], 0);
    assert_int_equal(back.figures.values[VERIFY_LATENCY_P50_NS], -1);
    json_object_set_new(json_object_get(document, "figures"), "rate_bps", json_integer(-1));
    assert_fails(verify_report_from_json(document, &back, &err), ERR_INVALID);
    json_object_set_new(document, "figures", json_array());
    assert_fails(verify_report_from_json(document, &back, &err), ERR_INVALID);
}

static void each_outcome_has_its_own_word(void **state)
{
    (void)state;
    static const char *const words[] = {"done", "refused", "unsupported", "failed", "corrupt"};
    for (int i = VERIFY_DONE; i <= VERIFY_CORRUPT; i++) {
        struct err err = ERR_INIT;
        struct verify_report report = {.task = "v7-3", .outcome = (enum verify_outcome)i}, back;
        verify_figures_init(&report.figures);
        OWN(json) json_t *document = verify_report_to_json(&report);
        assert_string_equal(json_string_value(json_object_get(document, "outcome")), words[i]);
        assert_ok(verify_report_from_json(document, &back, &err));
        assert_int_equal(back.outcome, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_has_two_sides),
        cmocka_unit_test(a_software_device_is_held_against_no_limit_of_hardware),
        cmocka_unit_test(limits_are_told_with_their_side),
        cmocka_unit_test(what_is_not_known_is_no_pass),
        cmocka_unit_test(all_peers_of_a_mesh_are_to_answer_also_software_ones),
        cmocka_unit_test(a_task_comes_back_as_it_went),
        cmocka_unit_test(hostile_tasks_are_refused),
        cmocka_unit_test(each_outcome_has_its_own_word),
        cmocka_unit_test(a_report_keeps_what_is_known_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
