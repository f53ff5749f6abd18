#include "tests/unit/test.h"

#include "base/sse.h"

static struct sse sse;
static char told[4096];
static int stop_after;

static bool tell(void *arg, const struct sse_event *event)
{
    (void)arg;
    size_t len = strlen(told);
    snprintf(told + len, sizeof(told) - len, "[%s|%s|%s]", event->kind, event->id, event->data);
    return --stop_after != 0;
}

static int setup(void **state)
{
    (void)state;
    told[0] = '\0';
    stop_after = 0;
    sse_init(&sse, tell, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sse_release(&sse);
    return 0;
}

static bool feed(const char *text)
{
    return sse_feed(&sse, text, strlen(text));
}

static void fields_comments_and_blank_lines_make_events(void **state)
{
    (void)state;
    assert_true(feed(": hello\n\nid: 7\nevent: note\ndata: one\ndata:two\nother: x\n\n"
                     "data\n\nid: 8\n\n"));
    assert_string_equal(told, "[note|7|one\ntwo][message|7|]");
    assert_string_equal(sse.id, "8");
}

static void any_line_end_and_any_cut_tells_the_same(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbfid: 1\r\ndata: a\r\n\r\nid: 2\rdata: b\r\rid: 3\ndata: c\n\n";
    for (size_t cut = 1; cut < sizeof(text); cut++) {
        sse_release(&sse);
        setup(NULL);
        for (size_t at = 0; at < sizeof(text) - 1; at += cut) {
            size_t left = sizeof(text) - 1 - at;
            assert_true(sse_feed(&sse, text + at, left < cut ? left : cut));
        }
        assert_string_equal(told, "[message|1|a][message|2|b][message|3|c]");
    }
}

static void only_whole_numbers_in_range_are_a_retry(void **state)
{
    (void)state;
    feed("retry: soon\nretry: -5\nretry: 3600001\n");
    assert_int_equal(sse.retry_ms, -1);
    feed("retry: 3600000\n");
    assert_int_equal(sse.retry_ms, 3600000);
}

static void a_restart_forgets_the_half_and_keeps_the_id(void **state)
{
    (void)state;
    feed("id: 5\ndata: a\n\nid: 6\ndata: ha");
    sse_restart(&sse);
    assert_true(feed("data: b\n\n"));
    assert_string_equal(told, "[message|5|a][message|6|b]");
}

static void enough_is_enough(void **state)
{
    (void)state;
    stop_after = 1;
    assert_false(feed("data: a\n\ndata: b\n\n"));
    assert_string_equal(told, "[message||a]");
    assert_true(sse.stopped);
    assert_false(sse.failed);
}

static void an_id_that_does_not_fit_or_holds_a_nul_is_not_taken(void **state)
{
    (void)state;
    char text[SSE_ID_MAX + 8];
    memset(text, 'x', sizeof(text));
    memcpy(text, "id: ", 4);
    text[4 + SSE_ID_MAX - 1] = '\n';
    assert_true(sse_feed(&sse, text, 4 + SSE_ID_MAX));
    assert_int_equal(strlen(sse.id), SSE_ID_MAX - 1);
    text[4] = 'y';
    text[4 + SSE_ID_MAX - 1] = 'x';
    text[4 + SSE_ID_MAX] = '\n';
    assert_true(sse_feed(&sse, text, 4 + SSE_ID_MAX + 1));
    assert_int_equal(sse.id[0], 'x');
    assert_true(sse_feed(&sse, "id: a\0b\n", 8));
    assert_int_equal(sse.id[0], 'x');
}

static void feed_many(char c, size_t count)
{
    char part[4096];
    memset(part, c, sizeof(part));
    while (count > 0) {
        size_t len = count < sizeof(part) ? count : sizeof(part);
        sse_feed(&sse, part, len);
        count -= len;
    }
}

static void a_line_at_its_maximum_is_taken_and_one_byte_more_fails(void **state)
{
    (void)state;
    feed_many(':', SSE_LINE_MAX);
    assert_false(sse.failed);
    assert_true(feed("\n"));
    feed_many(':', SSE_LINE_MAX + 1);
    assert_true(sse.failed);
    assert_non_null(sse.why);
    assert_false(feed("\n"));
}

static void the_data_of_an_event_is_bounded_over_its_lines(void **state)
{
    (void)state;
    char line[1024 + 8];
    memset(line, 'd', sizeof(line));
    memcpy(line, "data: ", 6);
    line[6 + 1023] = '\n';
    /* 1023 bytes and the line end between: 1024 a line but for the first. */
    for (size_t i = 0; i < SSE_DATA_MAX / 1024; i++)
        assert_true(sse_feed(&sse, line, 6 + 1024));
    assert_false(sse_feed(&sse, line, 6 + 1024));
    assert_true(sse.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_comments_and_blank_lines_make_events, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(any_line_end_and_any_cut_tells_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(only_whole_numbers_in_range_are_a_retry, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restart_forgets_the_half_and_keeps_the_id, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(enough_is_enough, setup, teardown),
        cmocka_unit_test_setup_teardown(an_id_that_does_not_fit_or_holds_a_nul_is_not_taken, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_line_at_its_maximum_is_taken_and_one_byte_more_fails,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_data_of_an_event_is_bounded_over_its_lines, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
