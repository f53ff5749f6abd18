/*
 * Tokens: known until they end, by digest only; and what readers see of published blobs.
 */
#include "tests/unit/test.h"

#include <arpa/inet.h>

#include "server/auth.h"
#include "server/publish.h"

#define NOW_US INT64_C(1700000000000000)

static struct auth *auth;
static struct clock_fake clock_now;

static int setup(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    clock_fake_init(&clock_now, NOW_US);
    assert_ok(auth_new(&clock_now.base, &auth, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    auth_free(auth);
    return 0;
}

/* A token of this name; change it before auth_put(). */
static struct auth_token *make(const char *name, const char *tenant, char out[TOKEN_TEXT_MAX])
{
    struct auth_token *token = calloc(1, sizeof(*token));
    assert_non_null(token);
    token_make("st_", out, token->hash);
    token->principal.role = ROLE_AUDITOR;
    snprintf(token->principal.name, sizeof(token->principal.name), "%s", name);
    snprintf(token->principal.tenant, sizeof(token->principal.tenant), "%s", tenant);
    return token;
}

static void put(const char *name, const char *tenant, int64_t expires_us, char out[TOKEN_TEXT_MAX])
{
    struct auth_token *token = make(name, tenant, out);
    token->expires_us = expires_us == 0 ? 0 : NOW_US + expires_us;
    auth_put(auth, token, true);
}

/* A session of the user, last seen now. */
static void put_session(const char *id, const char *user, char out[TOKEN_TEXT_MAX])
{
    struct auth_token *token = make(user, "", out);
    token->principal.by_cookie = true;
    token->used_us = clock_now.wall;
    snprintf(token->principal.credential, sizeof(token->principal.credential), "%s", id);
    snprintf(token->principal.user, sizeof(token->principal.user), "%s", user);
    auth_put(auth, token, true);
}

static bool check(const struct credentials *given)
{
    struct principal who = {.role = ROLE_NONE};
    bool known = auth_check(auth, given, &who);
    assert_int_equal(who.role, known ? ROLE_AUDITOR : ROLE_NONE);
    return known && who.wait_s == 0;
}

static bool knows(const char *token, int64_t at_us)
{
    clock_now.wall = NOW_US + at_us;
    return check(&(struct credentials){.bearer = token});
}

static bool knows_session(const char *cookie)
{
    return check(&(struct credentials){.session = cookie});
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

static void a_session_ends_when_idle_or_over(void **state)
{
    char one[TOKEN_TEXT_MAX], two[TOKEN_TEXT_MAX];
    (void)state;
    put_session("s1", "ann", one);
    put_session("s2", "ann", two);
    clock_now.wall += SESSION_IDLE_US;
    assert_true(knows_session(one));
    clock_now.wall += 1;
    assert_true(knows_session(one));
    assert_false(knows_session(two));
    clock_now.wall += SESSION_IDLE_US - 1;
    assert_true(knows_session(one));
    auth_expire(auth);
    assert_true(knows_session(one));
    clock_now.wall += SESSION_IDLE_US + 1;
    assert_false(knows_session(one));
    clock_now.wall = NOW_US;
    struct auth_token *token = make("ann", "", two);
    token->principal.by_cookie = true;
    token->used_us = NOW_US;
    token->expires_us = NOW_US + 10;
    auth_put(auth, token, false);
    clock_now.wall += 9;
    assert_true(knows_session(two));
    clock_now.wall += 1;
    assert_false(knows_session(two));
}

static void a_cookie_is_no_token_and_a_token_no_cookie(void **state)
{
    char session[TOKEN_TEXT_MAX], token[TOKEN_TEXT_MAX];
    (void)state;
    put_session("s1", "ann", session);
    put("token:1", "", 0, token);
    assert_true(knows_session(session));
    assert_false(knows(session, 1));
    assert_false(knows_session(token));
    assert_false(check(&(struct credentials){.bearer = "x", .session = session}));
    assert_false(check(&(struct credentials){.bearer = NULL}));
}

static void a_users_end_ends_sessions_and_tokens_of_nobody_else(void **state)
{
    char first[TOKEN_TEXT_MAX], second[TOKEN_TEXT_MAX], other[TOKEN_TEXT_MAX],
        token[TOKEN_TEXT_MAX];
    (void)state;
    put_session("s1", "ann", first);
    put_session("s2", "ann", second);
    put_session("s3", "anna", other);
    struct auth_token *own = make("token:t", "", token);
    strcpy(own->principal.user, "ann");
    auth_put(auth, own, true);
    auth_end_credential(auth, "s1");
    assert_false(knows_session(first));
    assert_true(knows_session(second));
    auth_end(auth, "ann");
    assert_false(knows_session(second));
    assert_true(knows(token, 1));
    auth_end_user(auth, "ann");
    assert_false(knows(token, 1));
    assert_true(knows_session(other));
}

static bool knows_from(const char *token, const char *address)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    bool is_v6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
    assert_true(is_v6 || inet_pton(AF_INET, address, &v4.sin_addr) == 1);
    return check(&(struct credentials){.bearer = token,
                                       .peer = is_v6 ? (const struct sockaddr *)&v6
                                                     : (const struct sockaddr *)&v4});
}

static void a_token_with_sources_is_good_from_them_only(void **state)
{
    char token[TOKEN_TEXT_MAX];
    struct err err = ERR_INIT;
    (void)state;
    struct auth_token *bound = make("token:1", "", token);
    assert_ok(ip_prefix_parse("10.9.0.0/16", &bound->sources[0], &err));
    assert_ok(ip_prefix_parse("2001:db8::/32", &bound->sources[1], &err));
    bound->source_count = 2;
    auth_put(auth, bound, true);
    assert_true(knows_from(token, "10.9.255.255"));
    assert_true(knows_from(token, "::ffff:10.9.0.1"));
    assert_true(knows_from(token, "2001:db8:1::1"));
    assert_false(knows_from(token, "10.10.0.0"));
    assert_false(knows_from(token, "2001:db9::1"));
    assert_false(knows_from(token, "::1"));
    assert_false(check(&(struct credentials){.bearer = token}));
}

static int calls_until_refused(const char *token)
{
    int calls = 0;
    while (calls < 1000 && knows(token, 1))
        calls++;
    return calls;
}

static void each_token_and_each_tenant_has_its_rate(void **state)
{
    char one[TOKEN_TEXT_MAX], two[TOKEN_TEXT_MAX], other[TOKEN_TEXT_MAX], staff[TOKEN_TEXT_MAX];
    (void)state;
    auth_set_rates(auth, 10, 15);
    clock_now.mono = NS_PER_S;
    put("token:1", "a", 0, one);
    put("token:2", "a", 0, two);
    put("token:3", "b", 0, other);
    put("token:4", "", 0, staff);
    assert_int_equal(calls_until_refused(one), 10 * LIMIT_BURST_S);
    assert_int_equal(calls_until_refused(two), 5 * LIMIT_BURST_S);
    assert_int_equal(calls_until_refused(other), 10 * LIMIT_BURST_S);
    assert_int_equal(calls_until_refused(staff), 10 * LIMIT_BURST_S);
    struct principal who = {.role = ROLE_NONE};
    assert_true(auth_check(auth, &(struct credentials){.bearer = staff}, &who));
    assert_int_equal(who.wait_s, 1);
    clock_now.mono += NS_PER_S / 10;
    assert_int_equal(calls_until_refused(staff), 1);
    auth_set_rates(auth, 0, 0);
    assert_int_equal(calls_until_refused(staff), 1000);
}

static void an_agent_may_report_when_people_are_limited(void **state)
{
    char token[TOKEN_TEXT_MAX];
    (void)state;
    auth_set_rates(auth, 1, 1);
    struct auth_token *agent = make("node:n1", "", token);
    agent->principal.role = ROLE_AGENT;
    auth_put(auth, agent, true);
    for (int i = 0; i < AUTH_RATE_AGENT_MIN * LIMIT_BURST_S; i++) {
        struct principal who = {.role = ROLE_NONE};
        assert_true(auth_check(auth, &(struct credentials){.bearer = token}, &who));
        assert_int_equal(who.wait_s, 0);
    }
}

static void a_use_is_told_once(void **state)
{
    char token[TOKEN_TEXT_MAX], session[TOKEN_TEXT_MAX];
    struct auth_use uses[4];
    (void)state;
    struct auth_token *made = make("token:1", "", token);
    strcpy(made->principal.credential, "t1");
    char hash[DIGEST_TEXT_MAX];
    memcpy(hash, made->hash, sizeof(hash));
    auth_put(auth, made, true);
    assert_int_equal(auth_used(auth, hash), 0);
    assert_int_equal(auth_used_each(auth, uses, 4), 0);
    assert_true(knows(token, 5));
    assert_true(knows(token, 6));
    assert_int_equal(auth_used(auth, hash), NOW_US + 5);
    put_session("s1", "ann", session);
    assert_int_equal(auth_used_each(auth, uses, 1), 1);
    assert_int_equal(auth_used_each(auth, uses, 4), 1);
    assert_int_equal(auth_used_each(auth, uses, 4), 0);
    assert_true(knows(token, 1000005));
    assert_int_equal(auth_used_each(auth, uses, 4), 1);
    assert_string_equal(uses[0].id, "t1");
    assert_false(uses[0].session);
    assert_int_equal(uses[0].used_us, NOW_US + 1000005);
    assert_int_equal(auth_used(auth, "sha256:00"), 0);
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
    char tag[PUBLISH_TAG_SIZE];
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

static struct principal who_is(const char *secret, bool cookie)
{
    struct principal who;
    const struct credentials given = {.bearer = cookie ? NULL : secret,
                                      .session = cookie ? secret : NULL};
    assert_true(auth_check(auth, &given, &who));
    return who;
}

static void a_credential_is_alive_until_it_ends_and_no_other_counts(void **state)
{
    char one[TOKEN_TEXT_MAX], two[TOKEN_TEXT_MAX], next[TOKEN_TEXT_MAX];
    (void)state;
    put("token:1", "", 0, one);
    put("token:2", "", 0, two);
    const struct principal first = who_is(one, false), second = who_is(two, false);
    assert_true(auth_is_alive(auth, &first));
    auth_end(auth, "token:2");
    assert_false(auth_is_alive(auth, &second));
    assert_true(auth_is_alive(auth, &first));
    put("token:1", "", 0, next); /* the former one ends with it */
    assert_false(auth_is_alive(auth, &first));
    const struct principal none = {.name = "node:n1"};
    assert_false(auth_is_alive(auth, &none));
}

static void an_open_stream_keeps_its_session_and_wakes_none_that_is_over(void **state)
{
    char one[TOKEN_TEXT_MAX], two[TOKEN_TEXT_MAX];
    (void)state;
    put_session("s1", "ann", one);
    put_session("s2", "bob", two);
    const struct principal ann = who_is(one, true), bob = who_is(two, true);
    clock_now.wall += SESSION_IDLE_US;
    auth_touch(auth, &ann);
    clock_now.wall += SESSION_IDLE_US;
    assert_true(auth_is_alive(auth, &ann));
    assert_false(auth_is_alive(auth, &bob));
    auth_touch(auth, &bob);
    assert_false(auth_is_alive(auth, &bob));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_token_is_known_and_a_near_miss_is_not),
        TEST(a_token_ends_at_its_time),
        TEST(a_new_token_ends_the_old_one_of_the_same_principal),
        TEST(a_tenants_end_is_its_tokens_end),
        TEST(a_session_ends_when_idle_or_over),
        TEST(a_cookie_is_no_token_and_a_token_no_cookie),
        TEST(a_users_end_ends_sessions_and_tokens_of_nobody_else),
        TEST(a_token_with_sources_is_good_from_them_only),
        TEST(each_token_and_each_tenant_has_its_rate),
        TEST(an_agent_may_report_when_people_are_limited),
        TEST(a_use_is_told_once),
        TEST(a_credential_is_alive_until_it_ends_and_no_other_counts),
        TEST(an_open_stream_keeps_its_session_and_wakes_none_that_is_over),
        TEST(tokens_differ),
        TEST(what_a_reader_holds_stays_when_it_is_replaced),
        TEST(ten_thousand_keys_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
