/*
 * tests/unit/fleet/test_ip_prefix.c - networks as text, and which holds which.
 */
#include "tests/unit/test.h"

#include <sys/socket.h>

#include "fleet/ip_prefix.h"

static struct ip_prefix of(const char *text)
{
    struct err err = ERR_INIT;
    struct ip_prefix prefix = {.family = 0};
    assert_ok(ip_prefix_parse(text, &prefix, &err));
    return prefix;
}

static bool covers(const char *outer, const char *inner)
{
    const struct ip_prefix a = of(outer), b = of(inner);
    return ip_prefix_covers(&a, &b);
}

static void good_texts_come_back_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {"0.0.0.0/0",      "10.0.0.0/8", "10.9.0.128/25",
                                        "192.0.2.1/32",   "::/0",       "2001:db8::/32",
                                        "2001:db8::1/128"};
    char text[IP_PREFIX_TEXT_MAX];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct ip_prefix prefix = of(texts[i]);
        ip_prefix_format(&prefix, true, text);
        assert_string_equal(text, texts[i]);
    }
    assert_int_equal(of("192.0.2.1").prefix_len, 32);
    assert_int_equal(of("::1").prefix_len, 128);
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "10",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.0/08",
        "10.0.0.0/-1",
        "10.0.0/8",
        "10.0.0.1/8",
        "::1/127",
        "::/129",
        "a.b.c.d",
        "10.0.0.0/8 ",
        " 10.0.0.0",
        "10.0.0.0/8/8",
        "1.2.3.4.5",
        "2001:db8:::/32",
        "00000000000000000000000000000000000000000000000000000000000000000000000"};
    struct ip_prefix prefix = {.family = 7};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct err err = ERR_INIT;
        assert_fails(ip_prefix_parse(texts[i], &prefix, &err), ERR_INVALID);
        assert_int_equal(prefix.family, 7);
    }
}

static void a_prefix_covers_what_lies_in_it(void **state)
{
    (void)state;
    assert_true(covers("10.0.0.0/8", "10.255.255.255"));
    assert_false(covers("10.0.0.0/8", "11.0.0.0"));
    assert_true(covers("10.9.0.0/17", "10.9.127.255"));
    assert_false(covers("10.9.0.0/17", "10.9.128.0"));
    assert_true(covers("10.0.0.0/8", "10.0.0.0/8"));
    assert_false(covers("10.0.0.0/9", "10.0.0.0/8"));
    assert_true(covers("0.0.0.0/0", "203.0.113.9"));
    assert_false(covers("0.0.0.0/0", "::1"));
    assert_false(covers("::/0", "10.0.0.1"));
    assert_true(covers("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(covers("2001:db8::/33", "2001:db8:8000::1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_come_back_the_same),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(a_prefix_covers_what_lies_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
