/*
 * tests/unit/server/test_backoff.c - guessing becomes slow, and locks nobody else out.
 */
#include "tests/unit/test.h"

#include "server/backoff.h"

static struct backoff *backoff;
static struct clock_fake fake;

static int setup(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    clock_fake_init(&fake, 1);
    fake.mono = NS_PER_S;
    assert_ok(backoff_new(&fake.base, &backoff, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    backoff_free(backoff);
    return 0;
}

/* 0 = may try, else the seconds to wait. */
static int64_t try(const char *account, const char *address)
{
    int64_t wait_s = 0;
    return backoff_try(backoff, account, address, &wait_s) ? 0 : wait_s;
}

static void later(int64_t seconds)
{
    clock_fake_advance(&fake, seconds * NS_PER_S);
}

static void the_wait_doubles_up_to_its_maximum(void **state)
{
    (void)state;
    for (int i = 0; i <= BACKOFF_PAIR_FREE; i++)
        assert_int_equal(try("ann", "192.0.2.1"), 0);
    for (int64_t wait_s = 1; wait_s < 2 * BACKOFF_PAIR_S; wait_s *= 2) {
        int64_t now_s = wait_s > BACKOFF_PAIR_S ? BACKOFF_PAIR_S : wait_s;
        assert_int_equal(try("ann", "192.0.2.1"), now_s);
        later(now_s);
        assert_int_equal(try("ann", "192.0.2.1"), 0);
    }
    assert_int_equal(try("ann", "192.0.2.1"), BACKOFF_PAIR_S);
    later(BACKOFF_FORGET_S + 1);
    assert_int_equal(try("ann", "192.0.2.1"), 0);
    assert_int_equal(try("ann", "192.0.2.1"), 0);
}

static void what_was_right_does_not_count(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(try("ann", "192.0.2.1"), 0);
        backoff_right(backoff, "ann", "192.0.2.1");
    }
    for (int i = 0; i < 200; i++) {
        assert_int_equal(try("bob", "192.0.2.2"), 0);
        backoff_undo(backoff, "bob", "192.0.2.2");
    }
}

static void attempts_at_once_are_no_way_around(void **state)
{
    (void)state;
    int admitted = 0;
    for (int i = 0; i < 100; i++)
        admitted += try("ann", "192.0.2.1") == 0;
    assert_int_equal(admitted, BACKOFF_PAIR_FREE + 1);
}

static void many_addresses_slow_the_account_and_not_its_owner(void **state)
{
    (void)state;
    char address[32];
    assert_int_equal(try("ann", "198.51.100.1"), 0);
    backoff_right(backoff, "ann", "198.51.100.1");
    int admitted = 0;
    for (int i = 0; i < 250; i++) {
        snprintf(address, sizeof(address), "192.0.2.%d", i);
        admitted += try("ann", address) == 0;
    }
    assert_int_equal(admitted, BACKOFF_ACCOUNT_FREE + 1);
    assert_true(try("ann", "203.0.113.1") > 0);
    assert_int_equal(try("ann", "198.51.100.1"), 0);
    assert_int_equal(try("bob", "192.0.2.1"), 0);
    later(BACKOFF_ACCOUNT_S);
    assert_int_equal(try("ann", "203.0.113.1"), 0);
}

static void one_address_is_slowed_over_many_accounts(void **state)
{
    (void)state;
    char account[32];
    assert_int_equal(try("ann", "192.0.2.1"), 0);
    backoff_right(backoff, "ann", "192.0.2.1");
    int admitted = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(account, sizeof(account), "u%d", i);
        admitted += try(account, "192.0.2.1") == 0;
    }
    assert_int_equal(admitted, BACKOFF_ADDRESS_FREE + 1);
    assert_int_equal(try("u1", "192.0.2.2"), 0);
    assert_int_equal(try("ann", "192.0.2.1"), 0);
    later(BACKOFF_ADDRESS_S);
    assert_int_equal(try("u200", "192.0.2.1"), 0);
}

static void an_ipv6_network_is_one_address(void **state)
{
    (void)state;
    char address[64];
    int admitted = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(address, sizeof(address), "2001:db8::%d", i + 1);
        admitted += try("ann", address) == 0;
    }
    assert_int_equal(admitted, BACKOFF_PAIR_FREE + 1);
    assert_int_equal(try("ann", "2001:db8:0:1::1"), 0);
}

static void a_flood_of_names_keeps_to_the_table(void **state)
{
    (void)state;
    char account[32], address[32];
    for (int i = 0; i < 4 * BACKOFF_SLOTS; i++) {
        snprintf(account, sizeof(account), "u%d", i);
        snprintf(address, sizeof(address), "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        clock_fake_advance(&fake, 1000);
        assert_int_equal(try(account, address), 0);
    }
    int admitted = 0;
    for (int i = 0; i < 100; i++)
        admitted += try("ann", "192.0.2.1") == 0;
    assert_int_equal(admitted, BACKOFF_PAIR_FREE + 1);
}

static void the_three_counts_of_an_attempt_do_not_push_each_other_out(void **state)
{
    (void)state;
    char account[32], address[32];
    for (int i = 0; i < 4 * BACKOFF_SLOTS; i++) {
        snprintf(account, sizeof(account), "full%d", i);
        snprintf(address, sizeof(address), "172.16.%d.%d", i >> 8 & 255, i & 255);
        try(account, address);
    }
    for (int i = 0; i < 2000; i++) {
        later(1);
        snprintf(account, sizeof(account), "u%d", i);
        snprintf(address, sizeof(address), "10.0.%d.%d", i >> 8, i & 255);
        for (int k = 0; k <= BACKOFF_PAIR_FREE; k++)
            assert_int_equal(try(account, address), 0);
        assert_int_equal(try(account, address), 1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_wait_doubles_up_to_its_maximum),
        TEST(what_was_right_does_not_count),
        TEST(attempts_at_once_are_no_way_around),
        TEST(many_addresses_slow_the_account_and_not_its_owner),
        TEST(one_address_is_slowed_over_many_accounts),
        TEST(an_ipv6_network_is_one_address),
        TEST(a_flood_of_names_keeps_to_the_table),
        TEST(the_three_counts_of_an_attempt_do_not_push_each_other_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
