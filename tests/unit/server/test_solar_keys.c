/*
 * tests/unit/server/test_solar_keys.c - keys that follow from one secret: the same for the same
 * job, another for another, and the secret is for its owner alone.
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mac.h"
#include "server/solar_keys.h"

static char folder[] = "/tmp/stellar-secret-XXXXXX";
static char path[128];
static struct err err;

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/solar.key", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void a_secret_is_made_once_and_is_its_owners_alone(void **state)
{
    (void)state;
    unsigned char first[MAC_KEY_SIZE], again[MAC_KEY_SIZE], fresh[MAC_KEY_SIZE];
    struct stat st;
    assert_ok(solar_secret_open(folder, first, &err));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_ok(solar_secret_open(folder, again, &err));
    assert_memory_equal(first, again, MAC_KEY_SIZE);
    assert_int_equal(chmod(path, 0640), 0);
    assert_fails(solar_secret_open(folder, again, &err), ERR_DENIED);
    assert_int_equal(unlink(path), 0);
    assert_ok(solar_secret_open(folder, fresh, &err));
    assert_memory_not_equal(first, fresh, MAC_KEY_SIZE);
    assert_int_equal(truncate(path, 40), 0);
    assert_fails(solar_secret_open(folder, again, &err), ERR_INVALID);
}

static void a_key_is_of_one_job_and_epoch(void **state)
{
    (void)state;
    const unsigned char secret[MAC_KEY_SIZE] = "a secret", other[MAC_KEY_SIZE] = "another";
    unsigned char keys[8][MAC_KEY_SIZE];
    const struct placement job = {.tenant = "a", .job = "bc", .label = 7};
    const struct placement shifted = {.tenant = "ab", .job = "c", .label = 7};
    const struct placement renamed = {.tenant = "a", .job = "bd", .label = 7};
    const struct placement relabelled = {.tenant = "a", .job = "bc", .label = 77};
    solar_job_key(secret, &job, 5, keys[0]);
    solar_job_key(secret, &job, 6, keys[1]);
    solar_job_key(secret, &shifted, 5, keys[2]);
    solar_job_key(secret, &renamed, 5, keys[3]);
    solar_job_key(secret, &relabelled, 5, keys[4]);
    solar_job_key(other, &job, 5, keys[5]);
    solar_job_key(secret, &relabelled, 55, keys[6]);
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(keys[i], keys[j], MAC_KEY_SIZE);
    solar_job_key(secret, &job, 5, keys[7]);
    assert_memory_equal(keys[7], keys[0], MAC_KEY_SIZE);
}

static void epochs_go_by_the_clock(void **state)
{
    (void)state;
    const int64_t period_us = SOLAR_KEY_PERIOD_S * 1000000;
    assert_int_equal(solar_epoch_at(period_us * 80000), 80000);
    assert_int_equal(solar_epoch_at(period_us * 80001 - 1), 80000);
    assert_int_equal(solar_epoch_at(period_us * 80001), 80001);
    assert_int_equal(solar_epoch_at(0), 2); /* one before it is an epoch too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_made_once_and_is_its_owners_alone),
        cmocka_unit_test(a_key_is_of_one_job_and_epoch),
        cmocka_unit_test(epochs_go_by_the_clock),
    };
    return cmocka_run_group_tests_name("solar_keys", tests, make_folder, remove_folder);
}
