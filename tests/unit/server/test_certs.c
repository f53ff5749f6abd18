/*
 * tests/unit/server/test_certs.c - the certificates that count, in memory.
 */
#include "tests/unit/test.h"

#include "server/certs.h"

#define PRINT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define PRINT_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define PRINT_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static struct err err;

static void put(struct certs *certs, const char *fingerprint, const char *node, bool renewal)
{
    struct cert *cert = calloc(1, sizeof(*cert));
    assert_non_null(cert);
    snprintf(cert->fingerprint, sizeof(cert->fingerprint), "%s", fingerprint);
    snprintf(cert->node, sizeof(cert->node), "%s", node);
    cert->expires_us = 100;
    cert->renewal = renewal;
    certs_put(certs, cert);
}

static bool knows(struct certs *certs, const char *fingerprint, const char *wanted)
{
    char node[NAME_SIZE] = "";
    bool first;
    return certs_check(certs, fingerprint, 1, node, &first) && strcmp(node, wanted) == 0;
}

static int setup(void **state)
{
    struct certs *certs = NULL;
    assert_ok(certs_new(&certs, &err));
    put(certs, PRINT_A, "n1", false);
    put(certs, PRINT_B, "n1", true);
    put(certs, PRINT_C, "n2", false);
    *state = certs;
    return 0;
}

static int teardown(void **state)
{
    certs_free(*state);
    return 0;
}

static void a_fingerprint_is_a_node(void **state)
{
    assert_true(knows(*state, PRINT_A, "n1"));
    assert_true(knows(*state, PRINT_C, "n2"));
    assert_false(knows(*state, "", ""));
    assert_false(knows(*state, "aaaaaaaa", ""));
}

static void it_ends_with_its_time(void **state)
{
    char node[NAME_SIZE];
    bool first;
    assert_true(certs_check(*state, PRINT_A, 99, node, &first));
    assert_false(certs_check(*state, PRINT_A, 100, node, &first));
    assert_false(first);
}

static void a_node_that_ends_takes_its_own_along(void **state)
{
    certs_end_node(*state, "n1");
    assert_false(knows(*state, PRINT_A, "n1"));
    assert_false(knows(*state, PRINT_B, "n1"));
    assert_true(knows(*state, PRINT_C, "n2"));
}

static void the_first_use_of_a_renewal_is_told_once(void **state)
{
    char node[NAME_SIZE];
    bool first;
    assert_true(certs_check(*state, PRINT_A, 1, node, &first));
    assert_false(first);
    assert_true(certs_check(*state, PRINT_B, 1, node, &first));
    assert_true(first);
    assert_true(certs_check(*state, PRINT_B, 1, node, &first));
    assert_false(first);
    certs_first_again(*state, PRINT_B);
    assert_true(certs_check(*state, PRINT_B, 1, node, &first));
    assert_true(first);
    certs_first_again(*state, "unknown");
}

static void the_others_of_a_node_end(void **state)
{
    certs_end_others(*state, "unknown");
    assert_true(knows(*state, PRINT_A, "n1"));
    certs_end_others(*state, PRINT_B);
    assert_false(knows(*state, PRINT_A, "n1"));
    assert_true(knows(*state, PRINT_B, "n1"));
    assert_true(knows(*state, PRINT_C, "n2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fingerprint_is_a_node, setup, teardown),
        cmocka_unit_test_setup_teardown(it_ends_with_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_ends_takes_its_own_along, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_use_of_a_renewal_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(the_others_of_a_node_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
