#include "tests/unit/test.h"

#include "base/text.h"

static size_t decode(const char *text, uint32_t *cp)
{
    return utf8_decode(text, strlen(text), cp);
}

static void smallest_and_largest_of_each_length_decode(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t cp;
    } good[] = {
        {"\x01", 1},
        {"\x7f", 0x7f},
        {"\xc2\x80", 0x80},
        {"\xdf\xbf", 0x7ff},
        {"\xe0\xa0\x80", 0x800},
        {"\xed\x9f\xbf", 0xd7ff},
        {"\xee\x80\x80", 0xe000},
        {"\xef\xbf\xbf", 0xffff},
        {"\xf0\x90\x80\x80", 0x10000},
        {"\xf4\x8f\xbf\xbf", 0x10ffff},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint32_t cp = 0;
        assert_int_equal(decode(good[i].text, &cp), strlen(good[i].text));
        assert_int_equal(cp, good[i].cp);
    }
}

static void overlong_surrogate_too_large_and_cut_forms_are_invalid(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",     "\xc1\xbf",         "\xe0\x80\x80",     "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",         "\xc2",         "\xe2\x82",         "\xf0\x9f\x98",     "\xc2\x41",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(decode(bad[i], NULL), 0);
    assert_int_equal(utf8_decode("", 0, NULL), 0);
}

static void code_points_are_counted(void **state)
{
    (void)state;
    assert_int_equal(utf8_count("a\xc3\xa4\xf0\x9f\x98\x80", 7), 3);
}

static void invisible_characters_are_found_and_visible_ones_are_not(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {0,      0x1f,    0x7f,    0x80,     0x9f,   0xad,
                                      0x200b, 0x200f,  0x2028,  0x202e,   0x2060, 0x2066,
                                      0x206f, 0xfe0f,  0xfeff,  0xffff,   0xfdd0, 0x115f,
                                      0x3164, 0xe0001, 0xe0fff, 0x10ffff, 0x180e};
    static const uint32_t visible[] = {0x20,   0x7e,   0xa0,   0xe4,    0x200a, 0x2010,
                                       0x2030, 0x2070, 0x4e2d, 0x1f600, 0xff05, 0xfffd};
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        assert_true(text_is_hidden(hidden[i]));
    for (size_t i = 0; i < sizeof(visible) / sizeof(visible[0]); i++)
        assert_false(text_is_hidden(visible[i]));
    uint32_t cp = 0;
    assert_true(text_find_hidden("a\xe2\x80\x8b", 4, &cp));
    assert_int_equal(cp, 0x200b);
    assert_true(text_find_hidden("a\xff", 2, &cp));
    assert_int_equal(cp, UINT32_MAX);
    assert_false(text_find_hidden("a \xc3\xa4", 4, &cp));
}

static void sanitize_replaces_only_bad_bytes(void **state)
{
    (void)state;
    char text[] = "\xc3\xa4\xff\xe2\x82z";
    text_sanitize(text);
    assert_string_equal(text, "\xc3\xa4???z");
}

static void clean_replaces_hidden_characters_but_those_kept(void **state)
{
    (void)state;
    char text[] = "\xc3\xa4\xff\te\xe2\x80\x8bz\xc2\x85\n\x7f";
    text_clean(text, "\t\n");
    assert_string_equal(text, "\xc3\xa4?\te?z?\n?");
    text_clean(text, "");
    assert_string_equal(text, "\xc3\xa4??e?z???");
    text[0] = '\0';
    text_clean(text, "");
    assert_string_equal(text, "");
}

static void quote_escapes_and_cuts_on_a_character(void **state)
{
    (void)state;
    char out[16];
    text_quote("a\n\xff", 3, out, sizeof(out));
    assert_string_equal(out, "a\\u000a\\xff");
    text_quote("123456789012345", 15, out, sizeof(out));
    assert_string_equal(out, "123456789012345");
    text_quote("1234567890123456", 16, out, sizeof(out));
    assert_string_equal(out, "123456789012...");
    text_quote("12345678901\xc3\xa4zzzz", 17, out, sizeof(out));
    assert_string_equal(out, "12345678901...");
}

static void copy_cuts_on_a_character(void **state)
{
    (void)state;
    char out[4];
    text_copy(out, sizeof(out), "");
    assert_string_equal(out, "");
    text_copy(out, sizeof(out), "abc");
    assert_string_equal(out, "abc");
    text_copy(out, sizeof(out), "abcd");
    assert_string_equal(out, "abc");
    text_copy(out, sizeof(out), "a\xc3\xa4z");
    assert_string_equal(out, "a\xc3\xa4");
    text_copy(out, sizeof(out), "ab\xc3\xa4");
    assert_string_equal(out, "ab");
    text_copy(out, sizeof(out), "\xf0\x9f\x98\x80");
    assert_string_equal(out, "");
}

static void pieces_follow_each_other(void **state)
{
    (void)state;
    static const struct {
        int64_t number;
        const char *text;
    } numbers[] = {{0, "<0>"},
                   {9, "<9>"},
                   {10, "<10>"},
                   {-1, "<-1>"},
                   {INT64_MAX, "<9223372036854775807>"},
                   {INT64_MIN, "<-9223372036854775808>"}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char text[TEXT_NUMBER_MAX + 2];
        char *end = text_put(text_put_number(text_put(text, "<"), numbers[i].number), ">");
        assert_string_equal(text, numbers[i].text);
        assert_ptr_equal(end, text + strlen(text));
    }
}

static void hex_digits_have_their_value(void **state)
{
    (void)state;
    const char *digits = "0123456789abcdef", *capitals = "0123456789ABCDEF";
    int found = 0;
    for (int i = 0; i < 16; i++) {
        assert_int_equal(hex_value(digits[i]), i);
        assert_int_equal(hex_value(capitals[i]), i);
    }
    for (int c = -128; c < 128; c++)
        found += hex_value((char)c) >= 0;
    assert_int_equal(found, 22);
}

static void closest_name_is_at_most_one_edit_for_three_letters(void **state)
{
    (void)state;
    static const char *const names[] = {"bw_guarantee", "bw_limit", "priority", "mtu"};
    assert_string_equal(text_closest("bw_garantee", names, 4), "bw_guarantee");
    assert_string_equal(text_closest("bw_limt", names, 4), "bw_limit");
    assert_string_equal(text_closest("pirority", names, 4), "priority");
    assert_string_equal(text_closest("mut", names, 4), "mtu");
    assert_null(text_closest("color", names, 4));
    assert_null(text_closest("mx", names, 4));
    assert_null(text_closest("", names, 4));
    char word[100];
    memset(word, 'a', 99);
    word[99] = '\0';
    assert_null(text_closest(word, names, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_and_largest_of_each_length_decode),
        cmocka_unit_test(overlong_surrogate_too_large_and_cut_forms_are_invalid),
        cmocka_unit_test(code_points_are_counted),
        cmocka_unit_test(invisible_characters_are_found_and_visible_ones_are_not),
        cmocka_unit_test(sanitize_replaces_only_bad_bytes),
        cmocka_unit_test(clean_replaces_hidden_characters_but_those_kept),
        cmocka_unit_test(quote_escapes_and_cuts_on_a_character),
        cmocka_unit_test(copy_cuts_on_a_character),
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(hex_digits_have_their_value),
        cmocka_unit_test(closest_name_is_at_most_one_edit_for_three_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
