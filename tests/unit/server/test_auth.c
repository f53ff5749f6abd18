/*
 * Tokens: known until they end, by digest only; and what readers see of published blobs.
 */
#include "tests/unit/test.h"

#include "server/auth.h"
#include "server/publish.h"

static struct auth *auth;

static int setup(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    assert_ok(auth_new(&auth, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    auth_free(auth);
    return 0;
}

static void put(const char *name, const char *tenant, int64_t expires_us, char out[TOKEN_TEXT_MAX])
{
    struct auth_token *token = calloc(1, sizeof(*token));
    assert_non_null(token);
    token_make("st_", out, token->hash);
    token->expires_us = expires_us;
    token->principal.role = ROLE_AUDITOR;
    snprintf(token->principal.name, sizeof(token->principal.name), "%s", name);
    snprintf(token->principal.tenant, sizeof(token->principal.tenant), "%s", tenant);
    auth_put(auth, token, true);
}

static bool knows(const char *token, int64_t now_us)
{
    struct principal who = {.role = ROLE_NONE};
    bool known = auth_check(auth, token, now_us, &who);
    assert_int_equal(who.role, known ? ROLE_AUDITOR : ROLE_NONE);
    return known;
}

static void a_token_is_known_and_a_near_miss_is_not(void **state)
{
    char token[TOKEN_TEXT_MAX], near[TOKEN_TEXT_MAX];
    (void)state;
    put("token:1", "", 0, token);
    assert_true(knows(token, 1));
    assert_int_equal(strlen(token), 3 + 64);
    for (size_t i = 0; i < strlen(token); i++) {
        strcpy(near, token);
        near[i] = near[i] == '0' ? '1' : '0';
        assert_false(knows(near, 1));
    }
    assert_false(knows("", 1));
    strcpy(near, token);
    near[strlen(near) - 1] = '\0';
    assert_false(knows(near, 1));
}

static void a_token_ends_at_its_time(void **state)
{
    char token[TOKEN_TEXT_MAX];
    (void)state;
    put("token:1", "", 1000, token);
    assert_true(knows(token, 999));
    assert_false(knows(token, 1000));
    assert_false(knows(token, 1001));
}

static void a_new_token_ends_the_old_one_of_the_same_principal(void **state)
{
    char first[TOKEN_TEXT_MAX], second[TOKEN_TEXT_MAX], other[TOKEN_TEXT_MAX];
    (void)state;
    put("node:n1", "", 0, first);
    put("node:n2", "", 0, other);
    put("node:n1", "", 0, second);
    assert_false(knows(first, 1));
    assert_true(knows(second, 1));
    assert_true(knows(other, 1));
    auth_end(auth, "node:n1");
    assert_false(knows(second, 1));
    assert_true(knows(other, 1));
}

static void a_tenants_end_is_its_tokens_end(void **state)
{
    char one[TOKEN_TEXT_MAX], two[TOKEN_TEXT_MAX], other[TOKEN_TEXT_MAX];
    (void)state;
    put("token:1", "a", 0, one);
    put("token:2", "a", 0, two);
    put("token:3", "ab", 0, other);
    auth_end_tenant(auth, "a");
    assert_false(knows(one, 1));
    assert_false(knows(two, 1));
    assert_true(knows(other, 1));
}

static void tokens_differ(void **state)
{
    char a[TOKEN_TEXT_MAX], b[TOKEN_TEXT_MAX], hash_a[DIGEST_TEXT_MAX], hash_b[DIGEST_TEXT_MAX];
    (void)state;
    token_make("sa_", a, hash_a);
    token_make("sa_", b, hash_b);
    assert_string_not_equal(a, b);
    assert_string_not_equal(hash_a, hash_b);
    assert_null(strstr(hash_a, a + 3));
}

static void publish_text(struct publish *publish, const char *key, const char *text)
{
    struct err err = ERR_INIT;
    struct publish_entry *entry = NULL;
    struct blob *blob = blob_new(strdup(text), strlen(text), "\"1\"", "text/plain");
    assert_ok(publish_entry_new(key, blob, "tag", &entry, &err));
    publish_put(publish, entry);
}

static void what_a_reader_holds_stays_when_it_is_replaced(void **state)
{
    struct err err = ERR_INIT;
    char tag[DIGEST_TEXT_MAX];
    (void)state;
    OWN(publish) struct publish *publish = NULL;
    assert_ok(publish_new(&publish, &err));
    assert_null(publish_get(publish, "k", tag));
    publish_text(publish, "k", "one");
    struct blob *held = publish_get(publish, "k", tag);
    assert_string_equal(tag, "tag");
    publish_text(publish, "k", "two");
    publish_remove(publish, "other");
    struct blob *now = publish_get(publish, "k", NULL);
    assert_memory_equal(held->data, "one", 3);
    assert_memory_equal(now->data, "two", 3);
    publish_remove(publish, "k");
    assert_null(publish_get(publish, "k", NULL));
    blob_unref(held);
    blob_unref(now);
}

static void ten_thousand_keys_are_found_again(void **state)
{
    struct err err = ERR_INIT;
    char key[32];
    (void)state;
    OWN(publish) struct publish *publish = NULL;
    assert_ok(publish_new(&publish, &err));
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof(key), "tenant/t%d/policy", i);
        publish_text(publish, key, key);
    }
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof(key), "tenant/t%d/policy", i);
        struct blob *blob = publish_get(publish, key, NULL);
        assert_non_null(blob);
        assert_memory_equal(blob->data, key, strlen(key));
        blob_unref(blob);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_token_is_known_and_a_near_miss_is_not),
        TEST(a_token_ends_at_its_time),
        TEST(a_new_token_ends_the_old_one_of_the_same_principal),
        TEST(a_tenants_end_is_its_tokens_end),
        TEST(tokens_differ),
        TEST(what_a_reader_holds_stays_when_it_is_replaced),
        TEST(ten_thousand_keys_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
