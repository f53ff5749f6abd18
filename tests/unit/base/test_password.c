/*
 * tests/unit/base/test_password.c - hashes of passwords, and what is no password.
 */
#include "tests/unit/test.h"

#include "base/clock.h"
#include "base/password.h"

static bool right(const char *hash, const char *password)
{
    struct err err = ERR_INIT;
    bool good = false;
    assert_ok(password_verify(hash, password, &good, &err));
    return good;
}

static void a_password_is_known_by_its_hash(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char hash[PASSWORD_HASH_SIZE], other[PASSWORD_HASH_SIZE];
    assert_ok(password_hash("correct horse battery", hash, &err));
    assert_ok(password_hash("correct horse battery", other, &err));
    assert_string_not_equal(hash, other);
    assert_true(right(hash, "correct horse battery"));
    assert_false(right(hash, "correct horse batterz"));
    assert_false(right(hash, ""));
    assert_false(right("", ""));
    assert_false(right("$argon2id$", "correct horse battery"));
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "$argon2id$v=19$m=%lu,t=%d,p=1$", PASSWORD_MEMORY_BYTES / 1024,
             PASSWORD_PASSES);
    assert_int_equal(strncmp(hash, wanted, strlen(wanted)), 0);
}

static int64_t best_ns(const char *hash)
{
    struct clock *clock = clock_system();
    int64_t best = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t start = clock->mono_ns(clock);
        assert_false(right(hash, "wrong wrong wrong"));
        int64_t took = clock->mono_ns(clock) - start;
        best = took < best ? took : best;
    }
    return best;
}

static void nobodys_password_takes_as_long_as_a_wrong_one(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char hash[PASSWORD_HASH_SIZE];
    assert_ok(password_hash("correct horse battery", hash, &err));
    int64_t some = best_ns(hash), none = best_ns(NULL);
    if (none > 3 * some || some > 3 * none)
        fail_msg("nobody's %lld ns, somebody's %lld ns", (long long)none, (long long)some);
}

static void a_password_has_its_length_and_is_not_the_name(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char long_one[PASSWORD_MAX_BYTES + 2];
    memset(long_one, 'x', sizeof(long_one));
    long_one[PASSWORD_MAX_BYTES + 1] = '\0';
    assert_fails(password_check("12345678901", "u", &err), ERR_INVALID);
    assert_ok(password_check("123456789012", "u", &err));
    assert_fails(password_check(long_one, "u", &err), ERR_INVALID);
    long_one[PASSWORD_MAX_BYTES] = '\0';
    assert_ok(password_check(long_one, "u", &err));
    assert_fails(password_check("administrator", "Administrator", &err), ERR_INVALID);
    assert_fails(password_check("administrator", "administrator@a", &err), ERR_INVALID);
    assert_fails(password_check("administrator@a", "administrator@a", &err), ERR_INVALID);
    assert_ok(password_check("administrator2", "administrator", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_is_known_by_its_hash),
        cmocka_unit_test(nobodys_password_takes_as_long_as_a_wrong_one),
        cmocka_unit_test(a_password_has_its_length_and_is_not_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
