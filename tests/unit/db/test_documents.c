/*
 * tests/unit/db/test_documents.c - documents and revisions.
 */
#include "tests/unit/db/table.h"

static bool see(void *arg, const struct db_revision *r)
{
    return seen_add(arg, "%s %lld %s %s %s '%s' %s %lld\n", r->doc, (long long)r->number,
                    r->body != NULL ? r->body : "-", r->digest, r->author, r->message, r->origin,
                    (long long)(r->created_us - START_US));
}

static int64_t put(struct table_test *t, const char *doc, const char *body)
{
    struct err err = ERR_INIT;
    struct db_revision revision = {
        .doc = doc,
        .body = body,
        .digest = "sha256:d",
        .author = "token:a",
        .message = "why",
        .origin = "upload",
    };
    int64_t number = 0;
    assert_ok(document_put(&t->tx, &revision, &number, &err));
    return number;
}

static void revisions_count_from_1_and_the_last_is_current(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t number = -1;
    assert_ok(document_current(t->ro, "fabric", &number, &err));
    assert_int_equal(number, 0);
    assert_int_equal(put(t, "fabric", "{\"a\":1}"), 1);
    assert_int_equal(put(t, "tenant/a/policy", "{}"), 1);
    table_later(t, 5);
    assert_int_equal(put(t, "fabric", "{\"a\":2}"), 2);
    assert_ok(document_current(t->ro, "fabric", &number, &err));
    assert_int_equal(number, 2);
    struct seen seen = {.rows = 0};
    assert_ok(revision_get(t->ro, "fabric", 2, see, &seen, &err));
    assert_string_equal(seen.text, "fabric 2 {\"a\":2} sha256:d token:a 'why' upload 5\n");
}

static void numbers_go_on_after_a_deletion(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "fabric", "{}");
    put(t, "fabric", "{}");
    assert_ok(document_delete(&t->tx, "fabric", &err));
    int64_t number = -1;
    assert_ok(document_current(t->ro, "fabric", &number, &err));
    assert_int_equal(number, 0);
    struct seen seen = {.rows = 0};
    assert_ok(revision_get(t->ro, "fabric", 1, see, &seen, &err));
    assert_int_equal(put(t, "fabric", "{}"), 3);
}

static void deleting_what_is_not_there_is_not_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_fails(document_delete(&t->tx, "fabric", &err), ERR_NOT_FOUND);
    put(t, "fabric", "{}");
    assert_ok(document_delete(&t->tx, "fabric", &err));
    assert_fails(document_delete(&t->tx, "fabric", &err), ERR_NOT_FOUND);
}

static void a_missing_revision_is_not_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    put(t, "fabric", "{}");
    assert_fails(revision_get(t->ro, "fabric", 2, see, &seen, &err), ERR_NOT_FOUND);
    assert_fails(revision_get(t->ro, "fabric", 0, see, &seen, &err), ERR_NOT_FOUND);
    assert_fails(revision_get(t->ro, "other", 1, see, &seen, &err), ERR_NOT_FOUND);
    assert_int_equal(seen.rows, 0);
}

static void revisions_are_listed_newest_first_in_pages_without_bodies(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    for (int i = 0; i < 5; i++)
        put(t, "fabric", "{}");
    put(t, "fabric2", "{}");
    struct seen seen = {.rows = 0};
    assert_ok(revision_list(t->ro, "fabric", 0, 2, see, &seen, &err));
    assert_string_equal(seen.text, "fabric 5 - sha256:d token:a 'why' upload 0\n"
                                   "fabric 4 - sha256:d token:a 'why' upload 0\n");
    struct seen rest = {.rows = 0};
    assert_ok(revision_list(t->ro, "fabric", 4, 1000, see, &rest, &err));
    assert_int_equal(rest.rows, 3);
    struct seen stopped = {.stop_after = 1};
    assert_ok(revision_list(t->ro, "fabric", 0, 1000, see, &stopped, &err));
    assert_int_equal(stopped.rows, 1);
}

static void a_page_of_0_or_1001_rows_is_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    assert_fails(revision_list(t->ro, "fabric", 0, 0, see, &seen, &err), ERR_INVALID);
    assert_ok(revision_list(t->ro, "fabric", 0, 1, see, &seen, &err));
    assert_ok(revision_list(t->ro, "fabric", 0, DB_PAGE_MAX, see, &seen, &err));
    assert_fails(revision_list(t->ro, "fabric", 0, DB_PAGE_MAX + 1, see, &seen, &err), ERR_INVALID);
}

static void each_gives_the_current_bodies_of_documents_that_are_not_deleted(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "b", "{\"n\":1}");
    put(t, "b", "{\"n\":2}");
    put(t, "a", "{}");
    put(t, "c", "{}");
    assert_ok(document_delete(&t->tx, "c", &err));
    struct seen seen = {.rows = 0};
    assert_ok(document_each(t->ro, see, &seen, &err));
    assert_string_equal(seen.text, "a 1 {} sha256:d token:a 'why' upload 0\n"
                                   "b 2 {\"n\":2} sha256:d token:a 'why' upload 0\n");
}

static bool see_and_list(void *arg, const struct db_revision *r)
{
    struct table_test *t = arg;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    assert_ok(revision_list(t->ro, r->doc, 0, 10, see, &seen, &err));
    assert_int_equal(seen.rows, 2);
    return true;
}

static void a_callback_may_run_the_same_statement(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "a", "{}");
    put(t, "a", "{}");
    assert_ok(revision_list(t->ro, "a", 0, 10, see_and_list, t, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(revisions_count_from_1_and_the_last_is_current),
        table_test(numbers_go_on_after_a_deletion),
        table_test(deleting_what_is_not_there_is_not_found),
        table_test(a_missing_revision_is_not_found),
        table_test(revisions_are_listed_newest_first_in_pages_without_bodies),
        table_test(a_page_of_0_or_1001_rows_is_refused),
        table_test(each_gives_the_current_bodies_of_documents_that_are_not_deleted),
        table_test(a_callback_may_run_the_same_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
