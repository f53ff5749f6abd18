/*
 * tests/unit/base/test_x509.c - keys and requests; certificates are tested with the authority.
 */
#include "tests/unit/test.h"

#include "base/x509.h"

static struct err err;

static void two_keys_are_never_the_same(void **state)
{
    (void)state;
    OWN(x509_key) char *a = NULL;
    OWN(x509_key) char *b = NULL;
    assert_ok(x509_key_new(&a, &err));
    assert_ok(x509_key_new(&b, &err));
    assert_contains(a, "-----BEGIN PRIVATE KEY-----");
    assert_string_not_equal(a, b);
}

static void a_request_is_made_for_a_key(void **state)
{
    (void)state;
    OWN(x509_key) char *key = NULL;
    OWN(str) char *request = NULL;
    assert_ok(x509_key_new(&key, &err));
    assert_ok(x509_request_new(key, "n1", &request, &err));
    assert_contains(request, "CERTIFICATE REQUEST-----");
    assert_null(strstr(request, "PRIVATE"));
}

static void what_is_no_key_makes_no_request(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *request = NULL;
        assert_fails(x509_request_new(wrong[i], "n1", &request, &err), ERR_INVALID);
        assert_null(request);
    }
}

static void what_is_no_certificate_has_no_facts(void **state)
{
    (void)state;
    struct x509_facts facts = {.serial = "kept"};
    OWN(x509_key) char *key = NULL;
    assert_ok(x509_key_new(&key, &err));
    assert_fails(x509_facts("", &facts, &err), ERR_INVALID);
    assert_fails(x509_facts(key, &facts, &err), ERR_INVALID);
    assert_string_equal(facts.serial, "kept");
    assert_fails(x509_pair_check("nothing", key, &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_keys_are_never_the_same),
        cmocka_unit_test(a_request_is_made_for_a_key),
        cmocka_unit_test(what_is_no_key_makes_no_request),
        cmocka_unit_test(what_is_no_certificate_has_no_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
