/*
 * tests/unit/db/test_db_load.c - many threads, much data, long reads.
 */
#include "tests/unit/db/store.h"

#include <sys/stat.h>

#define THREADS 16
#define WRITES  2000

static void *many_writes(void *arg)
{
    struct store_test *t = arg;
    for (int i = 0; i < WRITES / THREADS; i++) {
        struct err err = ERR_INIT;
        db_write_fn *fn = i % 5 == 4 ? nothing : put_all;
        if (db_write_wait(t->db, fn, (void *)(uintptr_t) "d", &err) != ERR_OK)
            return (void *)(uintptr_t)1;
        struct db_stats stats;
        db_stats_get(t->db, &stats);
    }
    return NULL;
}

static void sixteen_threads_write_two_thousand_times(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_writes, t), 0);
    struct counts counts;
    for (int i = 0; i < 20; i++)
        assert_ok(db_read_wait(t->db, count_all, &counts, &err));
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_counts(t->db, WRITES / 5 * 4);
    struct db_stats stats;
    db_stats_get(t->db, &stats);
    assert_int_equal(stats.writes, WRITES);
    assert_true(stats.commits < WRITES);
}

/* More than DB_CHECKPOINT_PAGES go through the log; it must not keep them all. */
static enum err_code put_large(struct db_tx *tx, void *arg, struct err *err)
{
    int64_t id;
    const struct db_event event = {.kind = "k", .subject = "s", .body = arg};
    return event_add(tx, &event, &id, err);
}

static enum err_code read_briefly(struct db_ro *ro, void *arg, struct err *err)
{
    int64_t number;
    (void)arg;
    return generation_current(ro, &number, err);
}

struct endless {
    struct db *db;
    atomic_bool stop;
};

static void *read_all_the_time(void *arg)
{
    struct endless *endless = arg;
    while (!atomic_load(&endless->stop)) {
        struct err err = ERR_INIT;
        if (db_read_wait(endless->db, read_briefly, NULL, &err) != ERR_OK)
            return arg;
    }
    return NULL;
}

static void the_log_starts_anew_under_load_although_readers_read(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    char *body = malloc(400001);
    assert_non_null(body);
    memset(body, 'x', 400000);
    body[400000] = '\0';
    struct endless endless = {.db = t->db};
    pthread_t readers[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, &endless), 0);
    for (int i = 0; i < 300; i++)
        assert_ok(db_write_wait(t->db, put_large, body, &err));
    atomic_store(&endless.stop, true);
    for (int i = 0; i < 3; i++) {
        void *failed;
        pthread_join(readers[i], &failed);
        assert_null(failed);
    }
    free(body);
    char path[TEST_PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s-wal", t->path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 80 * 1000 * 1000); /* 120 MB went through */
}

#define LONG_LOG 25000 /* rows: more than two chunks of audit_verify() */

static enum err_code fill_log(struct db_tx *tx, void *arg, struct err *err)
{
    (void)arg;
    struct db_audit row = {.actor = "a", .action = "b", .subject = "c"};
    enum err_code code = ERR_OK;
    for (int i = 0; code == ERR_OK && i < LONG_LOG; i++)
        code = audit_add(tx, &row, err);
    return code;
}

static enum err_code verify(struct db_ro *ro, void *arg, struct err *err)
{
    return audit_verify(ro, arg, err);
}

static void a_long_log_is_verified_by_a_reader_while_it_grows(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    assert_ok(db_write_wait(t->db, fill_log, NULL, &err));
    for (int i = 0; i < 200; i++)
        assert_ok(db_write(t->db, put_all, NULL, (void *)(uintptr_t) "d", &err));
    struct audit_check check = {.rows = 0};
    assert_ok(db_read_wait(t->db, verify, &check, &err));
    assert_int_equal(check.bad_id, 0);
    assert_in_range(check.rows, LONG_LOG, LONG_LOG + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(sixteen_threads_write_two_thousand_times),
        store_test(the_log_starts_anew_under_load_although_readers_read),
        store_test(a_long_log_is_verified_by_a_reader_while_it_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
