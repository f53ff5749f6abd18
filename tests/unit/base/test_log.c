#include "tests/unit/test.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"

static char output[8192];
static int saved_stderr, pipe_read;

/* Points stderr at a pipe; captured() puts it back and returns what came. */
static void capture(void)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(fds[1], STDERR_FILENO);
    close(fds[1]);
    pipe_read = fds[0];
}

static const char *captured(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    ssize_t n = read(pipe_read, output, sizeof(output) - 1);
    close(pipe_read);
    output[n > 0 ? n : 0] = '\0';
    return output;
}

static void line_has_time_level_area_and_text(void **state)
{
    (void)state;
    capture();
    log_warning("agent", "port down port=%s errors=%d", "mlx5_0/1", 3);
    const char *line = captured();
    assert_int_equal(line[4], '-');
    assert_string_equal(line + 26, "Z warning agent: port down port=mlx5_0/1 errors=3\n");
}

static void input_cannot_forge_a_line_or_colours(void **state)
{
    (void)state;
    capture();
    log_error("a", "name=%s", "x\n2026 error b: forged\r\x1b[31m\xff\xe2\x80\xae");
    const char *line = captured();
    assert_contains(line, "name=x\\u000a2026 error b: forged\\u000d\\u001b[31m\\xff\\u202e\n");
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void json_lines_are_json_whatever_the_text(void **state)
{
    (void)state;
    char longest[2 * LOG_LINE_MAX];
    log_set_format(LOG_FORMAT_JSON);
    capture();
    log_error("a", "name=%s", "x\"y\\\n\x1b");
    const char *line = captured();
    assert_int_equal(strncmp(line, "{\"time\":\"20", 11), 0);
    assert_contains(line, "\"level\":\"error\",\"area\":\"a\",\"msg\":\"name=x\\\"y\\\\");
    assert_string_equal(line + strlen(line) - 3, "\"}\n");
    memset(longest, '"', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    capture();
    log_error("a", "%s", longest);
    line = captured();
    assert_true(strlen(line) <= LOG_LINE_MAX);
    assert_string_equal(line + strlen(line) - 5, "\\\"\"}\n");
    log_set_format(LOG_FORMAT_TEXT);
}

static void the_journal_gets_priorities_and_no_time(void **state)
{
    (void)state;
    enum log_format format;
    assert_true(log_format_from_name("journal", &format));
    assert_false(log_format_from_name("xml", &format));
    log_set_format(format);
    capture();
    log_warning("store", "slow");
    assert_string_equal(captured(), "<4>store: slow\n");
    log_set_format(LOG_FORMAT_TEXT);
}

static void level_above_the_limit_is_not_written(void **state)
{
    (void)state;
    log_set_level(LOG_LEVEL_WARNING);
    capture();
    log_info("a", "hidden");
    log_debug("a", "hidden");
    log_warning("a", "shown");
    const char *line = captured();
    log_set_level(LOG_LEVEL_INFO);
    assert_null(strstr(line, "hidden"));
    assert_contains(line, "shown");
}

static void long_line_is_cut_and_ends(void **state)
{
    (void)state;
    char text[3 * LOG_LINE_MAX];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    capture();
    log_info("a", "%s", text);
    const char *line = captured();
    assert_true(strlen(line) <= LOG_LINE_MAX);
    assert_string_equal(line + strlen(line) - 4, "...\n");
}

static void errno_survives(void **state)
{
    (void)state;
    capture();
    errno = ENOSPC;
    log_info("a", "x");
    int after = errno;
    captured();
    assert_int_equal(after, ENOSPC);
}

static void level_names_are_known(void **state)
{
    (void)state;
    enum log_level level = LOG_LEVEL_ERROR;
    assert_true(log_level_from_name("debug", &level));
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_false(log_level_from_name("loud", &level));
    assert_int_equal(level, LOG_LEVEL_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_has_time_level_area_and_text),
        cmocka_unit_test(input_cannot_forge_a_line_or_colours),
        cmocka_unit_test(json_lines_are_json_whatever_the_text),
        cmocka_unit_test(the_journal_gets_priorities_and_no_time),
        cmocka_unit_test(level_above_the_limit_is_not_written),
        cmocka_unit_test(long_line_is_cut_and_ends),
        cmocka_unit_test(errno_survives),
        cmocka_unit_test(level_names_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
