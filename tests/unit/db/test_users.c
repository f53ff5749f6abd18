/*
 * tests/unit/db/test_users.c - users, their sessions, their tokens, and who is left to administer.
 */
#include "tests/unit/db/table.h"

static bool see_user(void *arg, const struct db_user *user)
{
    return seen_add(
        arg, "%s '%s' %s '%s' %s%s r%lld +%lld +%lld +%lld\n", user->name, user->tenant, user->role,
        user->description, user->password_hash, user->disabled ? " disabled" : "",
        (long long)user->revision, (long long)(user->created_us - START_US),
        (long long)(user->updated_us - START_US), (long long)(user->password_us - START_US));
}

static bool see_session(void *arg, const struct db_session *session)
{
    return seen_add(arg, "%s %s +%lld +%lld\n", session->id, session->owner,
                    (long long)(session->seen_us - START_US),
                    (long long)(session->expires_us - START_US));
}

static bool see_token(void *arg, const struct db_token *token)
{
    return seen_add(arg, "%s %s %lld '%s' %s %lld\n", token->id, token->owner,
                    (long long)token->scopes, token->sources, token->created_by,
                    (long long)token->used_us);
}

static int64_t put(struct table_test *t, const char *name, const char *tenant, const char *role)
{
    struct err err = ERR_INIT;
    int64_t revision = 0;
    const struct db_user user = {
        .name = name, .tenant = tenant, .role = role, .password_hash = "h"};
    assert_ok(user_put(&t->tx, &user, &revision, &err));
    return revision;
}

static void put_session(struct table_test *t, const char *id, const char *owner)
{
    struct err err = ERR_INIT;
    const struct db_session session = {
        .id = id, .hash = id, .owner = owner, .expires_us = START_US + 100};
    assert_ok(session_put(&t->tx, &session, &err));
}

static int64_t admins(struct table_test *t)
{
    struct err err = ERR_INIT;
    int64_t count = -1;
    assert_ok(admins_count(t->ro, &count, &err));
    return count;
}

static void a_user_is_stored_and_changed(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen one = {.rows = 0}, none = {.rows = 0};
    int64_t revision = 0;
    assert_int_equal(put(t, "ann", "", "operator"), 1);
    struct db_user user = {
        .name = "ann", .tenant = "x", .role = "admin", .description = "d", .password_hash = "h"};
    table_later(t, 5);
    user.disabled = true;
    assert_ok(user_put(&t->tx, &user, &revision, &err));
    table_later(t, 5);
    user.password_hash = "h2";
    assert_ok(user_put(&t->tx, &user, &revision, &err));
    assert_int_equal(revision, 3);
    assert_ok(user_get(t->ro, "ann", see_user, &one, &err));
    assert_string_equal(one.text, "ann '' admin 'd' h2 disabled r3 +0 +10 +10\n");
    assert_ok(user_get(t->ro, "bob", see_user, &none, &err));
    assert_int_equal(none.rows, 0);
}

static void a_list_is_of_all_or_of_one_tenant(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen all = {.rows = 0}, own = {.rows = 0}, rest = {.rows = 0};
    put(t, "ann", "", "admin");
    put(t, "ann@a", "a", "tenant-user");
    put(t, "bob@a", "a", "tenant-user");
    put(t, "ann@b", "b", "tenant-user");
    assert_ok(user_list(t->ro, NULL, NULL, 3, see_user, &all, &err));
    assert_int_equal(all.rows, 3);
    assert_ok(user_list(t->ro, "a", NULL, 9, see_user, &own, &err));
    assert_int_equal(own.rows, 2);
    assert_ok(user_list(t->ro, "a", "ann@a", 9, see_user, &rest, &err));
    assert_int_equal(rest.rows, 1);
    assert_contains(rest.text, "bob@a 'a'");
    int64_t count = 0;
    assert_ok(users_count(t->ro, "a", &count, &err));
    assert_int_equal(count, 2);
}

static void a_users_end_ends_what_it_had_and_its_revisions_do_not_repeat(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen sessions = {.rows = 0}, tokens = {.rows = 0};
    put(t, "ann", "", "admin");
    put(t, "bob", "", "admin");
    put_session(t, "s1", "ann");
    put_session(t, "s2", "bob");
    struct db_token token = {
        .id = "t1", .hash = "h1", .role = "admin", .owner = "ann", .scopes = 1, .created_by = "x"};
    assert_ok(token_put(&t->tx, &token, &err));
    token.id = token.hash = "t2";
    token.owner = "bob";
    token.sources = "10.0.0.0/8";
    assert_ok(token_put(&t->tx, &token, &err));
    assert_ok(user_delete(&t->tx, "ann", &err));
    assert_fails(user_delete(&t->tx, "ann", &err), ERR_NOT_FOUND);
    assert_ok(session_each(t->ro, NULL, see_session, &sessions, &err));
    assert_string_equal(sessions.text, "s2 bob +0 +100\n");
    assert_ok(token_each(t->ro, "", see_token, &tokens, &err));
    assert_string_equal(tokens.text, "t2 bob 1 '10.0.0.0/8' x 0\n");
    assert_int_equal(put(t, "ann", "", "admin"), 2);
}

static void a_tenants_end_is_its_users_end(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen users = {.rows = 0}, sessions = {.rows = 0};
    int64_t revision;
    assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    put(t, "ann", "", "admin");
    put(t, "ann@a", "a", "tenant-user");
    put_session(t, "s1", "ann@a");
    put_session(t, "s2", "ann");
    assert_ok(tenant_delete(&t->tx, "a", &err));
    assert_ok(user_list(t->ro, NULL, NULL, 9, see_user, &users, &err));
    assert_int_equal(users.rows, 1);
    assert_ok(session_each(t->ro, NULL, see_session, &sessions, &err));
    assert_string_equal(sessions.text, "s2 ann +0 +100\n");
    assert_int_equal(put(t, "ann@a", "a", "tenant-user"), 2);
}

static void sessions_end_when_over_or_idle(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen left = {.rows = 0}, after = {.rows = 0}, none = {.rows = 0};
    put(t, "ann", "", "admin");
    put_session(t, "s1", "ann");
    put_session(t, "s2", "ann");
    table_later(t, 50);
    put_session(t, "s3", "ann");
    assert_ok(session_seen(&t->tx, "s2", START_US + 60, &err));
    assert_ok(session_seen(&t->tx, "s2", START_US + 10, &err));
    assert_ok(sessions_expire(&t->tx, START_US + 1, &err));
    assert_ok(session_each(t->ro, "ann", see_session, &left, &err));
    assert_string_equal(left.text, "s3 ann +50 +100\ns2 ann +60 +100\n");
    assert_ok(session_delete(&t->tx, "s3", &err));
    table_later(t, 49);
    assert_ok(sessions_expire(&t->tx, 0, &err));
    assert_ok(session_each(t->ro, "ann", see_session, &after, &err));
    assert_int_equal(after.rows, 1);
    table_later(t, 1);
    assert_ok(sessions_expire(&t->tx, 0, &err));
    assert_ok(session_each(t->ro, "ann", see_session, &none, &err));
    assert_int_equal(none.rows, 0);
}

static void a_session_is_some_users(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    const struct db_session session = {.id = "s", .hash = "s", .owner = "nobody"};
    assert_fails(session_put(&t->tx, &session, &err), ERR_CONFLICT);
}

static void only_lasting_ways_in_are_admins(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_int_equal(admins(t), 0);
    const struct db_token tokens[] = {
        {.id = "1", .hash = "1", .role = "operator", .scopes = 3},
        {.id = "2", .hash = "2", .role = "admin", .scopes = 3, .expires_us = 1},
        {.id = "3", .hash = "3", .role = "admin", .scopes = 1},
        {.id = "4", .hash = "4", .role = "admin", .scopes = 3, .sources = "10.0.0.0/8"},
        {.id = "5", .hash = "5", .role = "admin", .scopes = 3, .owner = "ann"},
    };
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
        assert_ok(token_put(&t->tx, &tokens[i], &err));
    assert_int_equal(admins(t), 0);
    const struct db_token good = {.id = "6", .hash = "6", .role = "admin", .scopes = 3};
    assert_ok(token_put(&t->tx, &good, &err));
    assert_int_equal(admins(t), 1);
    put(t, "ann", "", "admin");
    assert_int_equal(admins(t), 2);
    struct db_user off = {.name = "ann", .role = "admin", .password_hash = "h", .disabled = true};
    int64_t revision;
    assert_ok(user_put(&t->tx, &off, &revision, &err));
    assert_int_equal(admins(t), 1);
}

static void tokens_are_listed_by_tenant_and_by_owner(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    const struct db_token tokens[] = {
        {.id = "1", .hash = "1", .role = "tenant-user", .tenant = "a", .owner = "u@a"},
        {.id = "2", .hash = "2", .role = "tenant-user", .tenant = "b"},
        {.id = "3", .hash = "3", .role = "tenant-user", .tenant = "a"},
    };
    struct seen own = {.rows = 0}, of = {.rows = 0}, rest = {.rows = 0}, one = {.rows = 0};
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
        assert_ok(token_put(&t->tx, &tokens[i], &err));
    assert_ok(token_each_of_tenant(t->ro, "a", "", see_token, &own, &err));
    assert_int_equal(own.rows, 2);
    assert_ok(token_each_of_tenant(t->ro, "a", "1", see_token, &rest, &err));
    assert_int_equal(rest.rows, 1);
    assert_ok(token_each_of_owner(t->ro, "u@a", "", see_token, &of, &err));
    assert_int_equal(of.rows, 1);
    assert_ok(token_each_of_owner(t->ro, "", "", see_token, &of, &err));
    assert_ok(token_each_of_tenant(t->ro, "", "", see_token, &of, &err));
    assert_int_equal(of.rows, 1);
    assert_ok(token_used(&t->tx, "2", 7, &err));
    assert_ok(token_used(&t->tx, "2", 6, &err));
    assert_ok(token_get(t->ro, "2", see_token, &one, &err));
    assert_string_equal(one.text, "2  0 ''  7\n");
    assert_ok(tokens_delete_of(&t->tx, "u@a", &err));
    assert_ok(tokens_delete_of(&t->tx, "", &err));
    assert_int_equal(table_number(t, "SELECT count(*) FROM tokens"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_user_is_stored_and_changed),
        table_test(a_list_is_of_all_or_of_one_tenant),
        table_test(a_users_end_ends_what_it_had_and_its_revisions_do_not_repeat),
        table_test(a_tenants_end_is_its_users_end),
        table_test(sessions_end_when_over_or_idle),
        table_test(a_session_is_some_users),
        table_test(only_lasting_ways_in_are_admins),
        table_test(tokens_are_listed_by_tenant_and_by_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
