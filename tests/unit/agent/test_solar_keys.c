/*
 * tests/unit/agent/test_solar_keys.c - the server's answer goes into the folders of the jobs, and
 * one that is not right changes none of them.
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/solar_keys.h"
#include "datapath/solar/keyring.h"

#define HEX    "00112233445566778899aabbccddeeff00112233445566778899aabbccddee07"
#define KEY    "{\"epoch\":5,\"key\":\"" HEX "\"}"
#define BEFORE "{\"epoch\":4,\"key\":\"" HEX "\"}"

static char folder[] = "/tmp/stellar-take-XXXXXX";
static char path[128];
static struct err err;
static size_t left;

static const char *at(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(mkdir(at("jobs"), 0755), 0);
    assert_int_equal(mkdir(at("jobs/7"), 0730), 0);
    assert_int_equal(mkdir(at("jobs/8"), 0730), 0);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    keyring_drop(at("jobs/7"));
    keyring_drop(at("jobs/8"));
    rmdir(at("jobs/7"));
    rmdir(at("jobs/8"));
    rmdir(at("jobs"));
    return rmdir(folder);
}

static enum err_code take(const char *body)
{
    err = (struct err)ERR_INIT;
    return solar_keys_take(folder, body, strlen(body), &left, &err);
}

static bool has(const char *job)
{
    struct keyring ring;
    return keyring_read(at(job), &ring, NULL) == ERR_OK;
}

static void each_job_gets_its_own_and_one_that_left_loses_it(void **state)
{
    (void)state;
    struct keyring ring;
    assert_ok(take("{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[" KEY "," BEFORE
                   "]},{\"label\":99,\"epochs\":[" KEY "]}]}"));
    assert_int_equal(left, 1); /* 8 has none; 99 runs nowhere here, and gets no folder */
    assert_int_equal(access(at("jobs/99"), F_OK), -1);
    assert_ok(keyring_read(at("jobs/7"), &ring, &err));
    assert_int_equal(ring.count, 2);
    assert_int_equal(ring.keys[0].epoch, 5);
    assert_int_equal(ring.keys[0].key[31], 7);
    assert_false(has("jobs/8"));
    assert_ok(take("{\"truncated\":false,\"keys\":[{\"label\":8,\"epochs\":[" KEY "]}]}"));
    assert_false(has("jobs/7"));
    assert_true(has("jobs/8"));
    assert_ok(take("{\"truncated\":false,\"keys\":[]}"));
    assert_int_equal(left, 2);
    assert_false(has("jobs/8"));
}

static void an_answer_that_is_not_right_changes_nothing_and_is_not_repeated(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "[]",
        "{}",
        "{\"keys\":[]}",
        "{\"truncated\":false,\"keys\":[],\"more\":1}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":0,\"epochs\":[" KEY "]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":65536,\"epochs\":[" KEY "]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[" KEY "," KEY "]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[" KEY "]},"
        "{\"label\":7,\"epochs\":[" KEY "]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[{\"epoch\":0,\"key\":\"" HEX
        "\"}]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[{\"epoch\":5,\"key\":\"" HEX
        "0\"}]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[{\"epoch\":5,\"key\":"
        "\"zz112233445566778899aabbccddeeff00112233445566778899aabbccddee07\"}]}]}",
        "{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[" KEY
        ",{\"epoch\":1,\"key\":\"" HEX "\"},{\"epoch\":2,\"key\":\"" HEX
        "\"},{\"epoch\":3,\"key\":\"" HEX "\"},{\"epoch\":4,\"key\":\"" HEX "\"}]}]}",
        "{\"truncated\":false,\"keys\":{\"label\":7}}",
    };
    assert_ok(take("{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[" KEY "]}]}"));
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        if (take(bodies[i]) == ERR_OK)
            fail_msg("taken: %s", bodies[i]);
        assert_null(strstr(err.text, "00112233"));
        assert_true(has("jobs/7"));
        assert_false(has("jobs/8"));
    }
}

static void a_folder_that_gets_none_is_told_and_the_others_get_theirs(void **state)
{
    (void)state;
    assert_int_equal(chmod(at("jobs/7"), 0777), 0);
    keyring_drop(at("jobs/7"));
    assert_fails(take("{\"truncated\":false,\"keys\":[{\"label\":7,\"epochs\":[" KEY
                      "]},{\"label\":8,\"epochs\":[" KEY "]}]}"),
                 ERR_DENIED);
    assert_non_null(strstr(err.text, "jobs/7"));
    assert_int_equal(left, 1);
    assert_true(has("jobs/8"));
    assert_int_equal(chmod(at("jobs/7"), 0730), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_gets_its_own_and_one_that_left_loses_it),
        cmocka_unit_test(an_answer_that_is_not_right_changes_nothing_and_is_not_repeated),
        cmocka_unit_test(a_folder_that_gets_none_is_told_and_the_others_get_theirs),
    };
    return cmocka_run_group_tests_name("solar_keys", tests, make_folder, remove_folder);
}
