/* finding.c is compiled in here with an allocator that fails on demand; the archive's own copy is
 * then not linked. */
#include "tests/unit/test.h"

static long fail_at = -1; /* the allocation that fails; -1 = none */

static bool fails_now(void)
{
    return fail_at >= 0 && fail_at-- == 0;
}

static void *failing_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : realloc(old, size);
}

static char *failing_strdup(const char *text)
{
    return fails_now() ? NULL : strdup(text);
}

#define realloc failing_realloc
#undef strdup
#define strdup failing_strdup
#include "base/finding.c"
#undef realloc
#undef strdup

static const struct finding full = {
    .rule = "bw-limit-floor",
    .severity = FINDING_ERROR,
    .subject = (char *)"tenant/a/job/cv_job",
    .pointer = (char *)"/qos_policy/cv_job/bw_limit",
    .message = (char *)"too low",
    .observed = (char *)"60%",
    .limit = (char *)"63%",
    .hint = (char *)"raise it",
};

static void json_has_every_member_that_is_not_empty(void **state)
{
    (void)state;
    OWN(json) json_t *json = finding_to_json(&full);
    OWN(str) char *text = json_dumps(json, JSON_COMPACT);
    assert_string_equal(text, "{\"rule\":\"bw-limit-floor\",\"severity\":\"error\","
                              "\"subject\":\"tenant/a/job/cv_job\","
                              "\"pointer\":\"/qos_policy/cv_job/bw_limit\",\"message\":\"too low\","
                              "\"observed\":\"60%\",\"limit\":\"63%\",\"hint\":\"raise it\"}");
    const struct finding small = {.rule = "x", .pointer = (char *)"", .hint = (char *)""};
    OWN(json) json_t *small_json = finding_to_json(&small);
    OWN(str) char *small_text = json_dumps(small_json, JSON_COMPACT);
    assert_string_equal(small_text, "{\"rule\":\"x\",\"severity\":\"info\",\"pointer\":\"\"}");
}

static void list_keeps_copies_and_the_worst_severity(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    assert_false(finding_list_has_errors(&list));
    char message[] = "first";
    finding_add(&list,
                &(struct finding){.rule = "a", .severity = FINDING_WARNING, .message = message});
    message[0] = 'X';
    assert_string_equal(list.items[0].message, "first");
    assert_false(finding_list_has_errors(&list));
    finding_addf(&list, "b", FINDING_ERROR, "/x", "%d of %d", 1, 2);
    finding_addf(&list, "c", FINDING_INFO, NULL, "later");
    assert_true(finding_list_has_errors(&list));
    assert_int_equal(list.worst, FINDING_ERROR);
    assert_string_equal(list.items[1].message, "1 of 2");
    assert_null(list.items[2].pointer);
    OWN(json) json_t *json = finding_list_to_json(&list);
    assert_int_equal(json_array_size(json), 3);
}

static void list_takes_256_and_marks_the_257th(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    for (int i = 0; i < FINDING_LIST_MAX; i++)
        finding_addf(&list, "a", FINDING_INFO, NULL, "%d", i);
    assert_int_equal(list.count, FINDING_LIST_MAX);
    assert_false(list.truncated);
    finding_addf(&list, "a", FINDING_ERROR, NULL, "one more");
    assert_int_equal(list.count, FINDING_LIST_MAX);
    assert_true(list.truncated);
    assert_int_equal(list.worst, FINDING_ERROR);
}

static void append_copies_and_keeps_flags(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list a;
    OWN_FINDINGS struct finding_list b;
    finding_list_init(&a);
    finding_list_init(&b);
    finding_add(&b, &full);
    b.truncated = b.nomem = true;
    finding_list_append(&a, &b);
    assert_int_equal(a.count, 1);
    assert_true(a.truncated && a.nomem && a.worst == FINDING_ERROR);
    assert_ptr_not_equal(a.items[0].message, b.items[0].message);
}

static void bytes_that_are_no_utf8_do_not_lose_the_json(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    finding_addf(&list, "a", FINDING_ERROR, "/\xff", "seen \xc3");
    OWN(json) json_t *json = finding_list_to_json(&list);
    assert_non_null(json);
    assert_string_equal(list.items[0].message, "seen ?");
}

static void long_message_is_cut_with_dots(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    char text[2000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    finding_addf(&list, "a", FINDING_ERROR, NULL, "%s", text);
    assert_int_equal(strlen(list.items[0].message), FINDING_TEXT_MAX - 1);
    assert_string_equal(list.items[0].message + FINDING_TEXT_MAX - 4, "...");
}

static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    bool reached_end = false;
    for (long at = 0; !reached_end; at++) {
        OWN_FINDINGS struct finding_list list;
        finding_list_init(&list);
        fail_at = at;
        finding_add(&list, &full);
        reached_end = fail_at >= 0;
        fail_at = -1;
        assert_int_equal(list.nomem, !reached_end);
        assert_int_equal(list.count, reached_end);
        assert_true(finding_list_has_errors(&list));
        assert_int_equal(list.worst, FINDING_ERROR);
        assert_true(at < 20);
    }
}

static long json_fail_at = -1;

static void *json_failing_malloc(size_t size)
{
    return json_fail_at >= 0 && json_fail_at-- == 0 ? NULL : malloc(size);
}

static void json_without_memory_is_null(void **state)
{
    (void)state;
    OWN_FINDINGS struct finding_list list;
    finding_list_init(&list);
    finding_add(&list, &full);
    json_set_alloc_funcs(json_failing_malloc, free);
    bool reached_end = false;
    for (long at = 0; !reached_end; at++) {
        json_fail_at = at;
        json_t *json = finding_list_to_json(&list);
        reached_end = json_fail_at >= 0;
        json_fail_at = -1;
        assert_int_equal(json != NULL, reached_end);
        json_decref(json);
        assert_true(at < 200);
    }
    json_set_alloc_funcs(malloc, free);
}

static void every_severity_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(finding_severity_name(FINDING_CRITICAL), "critical");
    assert_string_equal(finding_severity_name(FINDING_INFO), "info");
    assert_string_equal(finding_severity_name((enum finding_severity)9), "unknown");
    finding_list_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_member_that_is_not_empty),
        cmocka_unit_test(list_keeps_copies_and_the_worst_severity),
        cmocka_unit_test(list_takes_256_and_marks_the_257th),
        cmocka_unit_test(append_copies_and_keeps_flags),
        cmocka_unit_test(bytes_that_are_no_utf8_do_not_lose_the_json),
        cmocka_unit_test(long_message_is_cut_with_dots),
        cmocka_unit_test(every_failed_allocation_is_told_and_nothing_leaks),
        cmocka_unit_test(json_without_memory_is_null),
        cmocka_unit_test(every_severity_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
