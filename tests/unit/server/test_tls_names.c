/*
 * tests/unit/server/test_tls_names.c - names of the server's certificate.
 */
#include "tests/unit/test.h"

#include "server/tls_names.h"

static struct err err;

static bool has(const struct tls_names *names, const char *name)
{
    for (size_t i = 0; names->list[i] != NULL; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

static void names_are_hosts_or_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "host-1.example", "192.0.2.1", "2001:db8::1", "::1"};
    static const char *const bad[] = {"",    ".",   "a.",  "-a",      "a-", "a_b",
                                      "a b", "a/b", "*.x", "0.0.0.0", "::", "a..b"};
    char label[130];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_ok(tls_name_check(good[i], &err));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_fails(tls_name_check(bad[i], &err), ERR_INVALID);
    memset(label, 'x', sizeof(label));
    label[63] = '\0';
    assert_ok(tls_name_check(label, &err));
    label[63] = 'x';
    label[64] = '\0';
    assert_fails(tls_name_check(label, &err), ERR_INVALID);
}

static void loopback_is_always_there_and_once(void **state)
{
    (void)state;
    struct tls_names names;
    char url[TLS_URL_SIZE];
    tls_names_fill(&names, NULL, "127.0.0.1");
    size_t count = 0;
    for (size_t i = 0; names.list[i] != NULL; i++)
        count += strcmp(names.list[i], "127.0.0.1") == 0;
    assert_int_equal(count, 1);
    assert_true(has(&names, "localhost") && has(&names, "::1"));
    tls_names_url(&names, true, 8440, url);
    assert_string_equal(url, "https://127.0.0.1:8440");
}

static void the_given_name_is_the_one_that_is_told(void **state)
{
    (void)state;
    struct tls_names names;
    char url[TLS_URL_SIZE];
    static const char *const given[] = {"2001:db8::1", "b", NULL};
    tls_names_fill(&names, given, "0.0.0.0");
    assert_false(has(&names, "0.0.0.0"));
    tls_names_url(&names, true, 1, url);
    assert_string_equal(url, "https://[2001:db8::1]:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_hosts_or_addresses),
        cmocka_unit_test(loopback_is_always_there_and_once),
        cmocka_unit_test(the_given_name_is_the_one_that_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
