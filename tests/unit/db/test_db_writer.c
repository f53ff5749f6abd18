/*
 * tests/unit/db/test_db_writer.c - group commit: order, failures, hooks, many threads.
 */
#include "tests/unit/db/store.h"

#include <semaphore.h>

/* What happened on the writer thread, in order. Read after the store is closed or after a
 * db_write_wait(), which makes it visible. */
static struct {
    char text[4096];
    size_t used;
    sem_t entered, gate;
} trace;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    trace.used +=
        (size_t)vsnprintf(trace.text + trace.used, sizeof(trace.text) - trace.used, fmt, ap);
    va_end(ap);
    assert_true(trace.used < sizeof(trace.text));
}

static enum err_code good(struct db_tx *tx, void *arg, struct err *err)
{
    note("write-%s ", (const char *)arg);
    return put_all(tx, arg, err);
}

/* Fails after it has written. */
static enum err_code bad(struct db_tx *tx, void *arg, struct err *err)
{
    enum err_code code = good(tx, arg, err);
    return code != ERR_OK ? code : err_set(err, ERR_DENIED, "no to %s", (const char *)arg);
}

static enum err_code silent(struct db_tx *tx, void *arg, struct err *err)
{
    (void)tx;
    (void)err;
    note("silent-%s ", (const char *)arg);
    return ERR_LIMIT;
}

static enum err_code look(struct db_tx *tx, void *arg, struct err *err)
{
    int64_t number = -1;
    enum err_code code = document_current(db_tx_ro(tx), "d", &number, err);
    note("look-%s@%lld ", (const char *)arg, (long long)number);
    return code;
}

static void pass(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        ;
}

static enum err_code wait_at_gate(struct db_tx *tx, void *arg, struct err *err)
{
    (void)tx;
    (void)arg;
    (void)err;
    sem_post(&trace.entered);
    pass(&trace.gate);
    return ERR_OK;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    assert_int_equal(code, err->code);
    note("done-%s:%s ", (const char *)arg, err_code_name(code));
    if (code != ERR_OK)
        assert_true(err->text[0] != '\0');
}

static void on_committed(void *arg)
{
    (void)arg;
    note("| ");
}

static void on_rolled_back(void *arg, struct db_tx *tx)
{
    (void)arg;
    struct err err = ERR_INIT;
    int64_t number = -1;
    assert_int_equal(document_current(db_tx_ro(tx), "d", &number, &err), ERR_OK);
    note("back@%lld ", (long long)number);
}

static const struct db_hooks tracing = {.committed = on_committed, .rolled_back = on_rolled_back};

static int traced_setup(void **state)
{
    struct err err = ERR_INIT;
    memset(&trace, 0, sizeof(trace));
    assert_int_equal(sem_init(&trace.gate, 0, 0), 0);
    assert_int_equal(sem_init(&trace.entered, 0, 0), 0);
    folder_setup(state);
    struct store_test *t = *state;
    assert_ok(db_open(t->path, clock_system(), &tracing, &t->db, &err));
    return 0;
}
#define traced_test(fn) cmocka_unit_test_setup_teardown(fn, traced_setup, store_teardown)

/* Holds the writer, so that what follows is queued as one batch. */
static void hold(struct store_test *t)
{
    struct err err = ERR_INIT;
    assert_ok(db_run(t->db, wait_at_gate, NULL, NULL, &err));
    pass(&trace.entered);
}

static void let_go_and_finish(struct store_test *t)
{
    struct err err = ERR_INIT;
    sem_post(&trace.gate);
    assert_ok(db_write_wait(t->db, nothing, NULL, &err));
}

static void queue(struct store_test *t, db_write_fn *fn, const char *name)
{
    struct err err = ERR_INIT;
    assert_ok(db_write(t->db, fn, done, (void *)(uintptr_t)name, &err));
}

static void writes_queued_together_share_a_commit_and_keep_their_order(void **state)
{
    struct store_test *t = *state;
    hold(t);
    queue(t, good, "a");
    queue(t, good, "b");
    queue(t, good, "c");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-a write-b write-c | done-a:ok done-b:ok done-c:ok ");
    assert_counts(t->db, 3);
    struct db_stats stats;
    db_stats_get(t->db, &stats);
    assert_in_range(stats.commits, 1, 2);
    assert_int_equal(stats.writes, 4);
    assert_int_equal(stats.failed_writes, 0);
    assert_int_equal(stats.queue_depth, 0);
}

static void a_failing_write_among_good_ones_leaves_nothing_and_hears_its_error_in_turn(void **state)
{
    struct store_test *t = *state;
    hold(t);
    queue(t, good, "a");
    queue(t, bad, "b");
    queue(t, silent, "s");
    queue(t, good, "c");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-a write-b silent-s write-c | "
                                "done-a:ok done-b:denied done-s:limit done-c:ok ");
    assert_counts(t->db, 2);
    struct db_stats stats;
    db_stats_get(t->db, &stats);
    assert_int_equal(stats.failed_writes, 2);
    assert_int_equal(stats.failed_commits, 0);
}

static void a_failed_commit_fails_the_group_and_the_next_one_works(void **state)
{
    struct store_test *t = *state;
    queue(t, good, "d");
    hold(t);
    queue(t, good, "d");
    queue(t, bad, "b");
    queue(t, good, "c");
    db_test_fail_commit(t->db);
    sem_post(&trace.gate);
    struct err err = ERR_INIT;
    /* One that is queued later may share the failing group or not. */
    if (db_write_wait(t->db, nothing, NULL, &err) != ERR_OK)
        assert_ok(db_write_wait(t->db, nothing, NULL, &err));
    assert_contains(trace.text, "write-d write-b write-c back@1 done-d:io done-b:io done-c:io ");
    assert_counts(t->db, 1);
    assert_ok(db_write_wait(t->db, put_all, (void *)(uintptr_t) "d", &err));
    assert_counts(t->db, 2);
    struct db_stats stats;
    db_stats_get(t->db, &stats);
    assert_int_equal(stats.failed_commits, 1);
}

static void a_run_job_cuts_the_group_and_sees_what_was_queued_before_it(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    hold(t);
    queue(t, good, "d");
    assert_ok(db_run(t->db, look, done, (void *)(uintptr_t) "r", &err));
    queue(t, good, "d");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-d | done-d:ok look-r@1 done-r:ok write-d | done-d:ok ");
}

static void a_look_does_not_cut_the_group_and_sees_durable_writes_only(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    hold(t);
    assert_ok(db_look(t->db, look, done, (void *)(uintptr_t) "0", &err));
    queue(t, good, "d");
    assert_ok(db_look(t->db, look, done, (void *)(uintptr_t) "1", &err));
    queue(t, good, "d");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-d write-d | look-0@2 done-0:ok done-d:ok look-1@2 "
                                "done-1:ok done-d:ok ");
}

static void a_group_is_at_most_1024_writes(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    hold(t);
    for (int i = 0; i < DB_GROUP_MAX + 1; i++)
        assert_ok(db_write(t->db, put_all, NULL, (void *)(uintptr_t) "d", &err));
    let_go_and_finish(t);
    struct db_stats stats;
    db_stats_get(t->db, &stats);
    assert_in_range(stats.commits, 2, 3);
    assert_counts(t->db, DB_GROUP_MAX + 1);
}

static void a_full_queue_is_unavailable_and_nothing_of_it_is_lost(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    hold(t);
    for (int i = 0; i < DB_QUEUE_MAX; i++)
        assert_ok(db_write(t->db, nothing, NULL, NULL, &err));
    assert_fails(db_write(t->db, nothing, NULL, NULL, &err), ERR_UNAVAILABLE);
    struct db_stats stats;
    db_stats_get(t->db, &stats);
    assert_int_equal(stats.queue_depth, DB_QUEUE_MAX);
    sem_post(&trace.gate);
    while (db_queue_depth(&t->db->writes) > 0)
        usleep(100);
    assert_ok(db_write_wait(t->db, nothing, NULL, &err));
    db_stats_get(t->db, &stats);
    assert_int_equal(stats.writes, DB_QUEUE_MAX + 1);
}

static void each_statement_that_fails_leaves_nothing_half_there(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    void *doc = (void *)(uintptr_t) "d";
    int written = 1, n = 1;
    assert_ok(db_write_wait(t->db, put_all, doc, &err));
    for (; n < 100; n++) {
        db_test_fail_statement(t->db, n);
        enum err_code code = db_write_wait(t->db, put_all, doc, &err);
        if (code == ERR_OK)
            break;
        assert_int_equal(code, ERR_IO);
        db_test_fail_statement(t->db, 0);
        assert_counts(t->db, written);
        /* The heads in memory went back as well: the chain goes on without a gap. */
        assert_ok(db_write_wait(t->db, put_all, doc, &err));
        assert_counts(t->db, ++written);
    }
    /* BEGIN, SAVEPOINT, six of the tables, RELEASE, COMMIT. */
    assert_int_equal(n, 11);
    db_test_fail_statement(t->db, 0);
}

/* The statement that undoes a failed write fails too: then the whole group goes. */
static enum err_code fail_and_break_the_undo(struct db_tx *tx, void *arg, struct err *err)
{
    enum err_code code = bad(tx, arg, err);
    db_test_fail_statement(tx->db, 1);
    return code;
}

static void a_write_that_cannot_be_undone_takes_its_group_along_but_not_later_writes(void **state)
{
    struct store_test *t = *state;
    hold(t);
    queue(t, good, "a");
    queue(t, fail_and_break_the_undo, "b");
    queue(t, good, "c");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-a write-b back@0 done-a:denied done-b:denied "
                                "write-c | done-c:ok ");
    assert_counts(t->db, 1);
}

/* The statement that ends a good write fails: what the function did in memory must be taken back
 * too, so the whole group goes. */
static enum err_code succeed_and_break_the_end(struct db_tx *tx, void *arg, struct err *err)
{
    enum err_code code = good(tx, arg, err);
    db_test_fail_statement(tx->db, 1);
    return code;
}

static void a_good_write_that_cannot_end_takes_its_group_along_but_not_later_writes(void **state)
{
    struct store_test *t = *state;
    hold(t);
    queue(t, good, "a");
    queue(t, succeed_and_break_the_end, "b");
    queue(t, good, "c");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-a write-b back@0 done-a:io done-b:io write-c | done-c:ok ");
    assert_counts(t->db, 1);
}

/* A function that hides that its transaction is gone. */
static enum err_code roll_back_and_hide_it(struct db_tx *tx, void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    sqlite3_exec(tx->ro.conn->sql, "ROLLBACK", NULL, NULL, NULL);
    return ERR_OK;
}

static void a_lost_transaction_is_noticed_even_if_the_write_says_ok(void **state)
{
    struct store_test *t = *state;
    hold(t);
    queue(t, good, "a");
    queue(t, roll_back_and_hide_it, "b");
    let_go_and_finish(t);
    assert_contains(trace.text, "write-a back@0 done-a:io done-b:io ");
    assert_counts(t->db, 0);
}

static void write_from_done(void *arg, enum err_code code, const struct err *err)
{
    (void)err;
    struct err own = ERR_INIT;
    assert_int_equal(code, ERR_OK);
    assert_int_equal(db_write(arg, put_all, NULL, (void *)(uintptr_t) "d", &own), ERR_OK);
    sem_post(&trace.gate);
}

static void done_may_queue_the_next_write(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    assert_ok(db_write(t->db, nothing, write_from_done, t->db, &err));
    pass(&trace.gate);
    assert_ok(db_write_wait(t->db, nothing, NULL, &err));
    assert_counts(t->db, 1);
}

static void close_finishes_what_is_queued(void **state)
{
    struct store_test *t = *state;
    hold(t);
    queue(t, good, "a");
    queue(t, good, "b");
    sem_post(&trace.gate);
    store_close(t);
    assert_contains(trace.text, "done-a:ok done-b:ok ");
    store_open(t);
    assert_counts(t->db, 2);
}

static bool idle_three_times(void *arg)
{
    int *slices = arg;
    (*slices)++;
    if (*slices == 3)
        sem_post(&trace.gate);
    return *slices < 3;
}

static void idle_work_goes_on_in_slices_until_there_is_none(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    int slices = 0;
    store_close(t);
    struct db_hooks hooks = {.arg = &slices, .idle = idle_three_times};
    assert_ok(db_open(t->path, clock_system(), &hooks, &t->db, &err));
    pass(&trace.gate);
    store_close(t);
    assert_int_equal(slices, 3);
}

static void on_quiet(void *arg)
{
    int *quiet = arg;
    (*quiet)++;
    sem_post(&trace.gate);
}

static void a_quiet_moment_comes_after_commits_only(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct timespec pause = {.tv_nsec = 400000000};
    int quiet = 0;
    store_close(t);
    struct db_hooks hooks = {.arg = &quiet, .quiet = on_quiet};
    assert_ok(db_open(t->path, clock_system(), &hooks, &t->db, &err));
    assert_ok(db_write_wait(t->db, put_all, (void *)(uintptr_t) "q", &err));
    pass(&trace.gate);
    nanosleep(&pause, NULL); /* longer than quiet lasts: it is told once */
    store_close(t);
    assert_int_equal(quiet, 1);
}

static enum err_code start_writes(void *arg, struct db_tx *tx, struct err *err)
{
    (void)arg;
    return put_all(tx, (void *)(uintptr_t) "d", err);
}

static enum err_code start_fails(void *arg, struct db_tx *tx, struct err *err)
{
    enum err_code code = start_writes(arg, tx, err);
    return code != ERR_OK ? code : err_set(err, ERR_INVALID, "a policy that cannot be read");
}

static void the_start_hook_may_write_and_its_failure_stops_the_opening(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_close(t);
    struct db_hooks hooks = {.start = start_fails};
    assert_fails(db_open(t->path, clock_system(), &hooks, &t->db, &err), ERR_INVALID);
    assert_contains(err.text, "cannot be read");
    assert_null(t->db);
    hooks.start = start_writes;
    assert_ok(db_open(t->path, clock_system(), &hooks, &t->db, &err));
    assert_counts(t->db, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        traced_test(writes_queued_together_share_a_commit_and_keep_their_order),
        traced_test(a_failing_write_among_good_ones_leaves_nothing_and_hears_its_error_in_turn),
        traced_test(a_failed_commit_fails_the_group_and_the_next_one_works),
        traced_test(a_run_job_cuts_the_group_and_sees_what_was_queued_before_it),
        traced_test(a_look_does_not_cut_the_group_and_sees_durable_writes_only),
        traced_test(a_group_is_at_most_1024_writes),
        traced_test(a_full_queue_is_unavailable_and_nothing_of_it_is_lost),
        store_test(each_statement_that_fails_leaves_nothing_half_there),
        traced_test(a_write_that_cannot_be_undone_takes_its_group_along_but_not_later_writes),
        traced_test(a_good_write_that_cannot_end_takes_its_group_along_but_not_later_writes),
        traced_test(a_lost_transaction_is_noticed_even_if_the_write_says_ok),
        traced_test(done_may_queue_the_next_write),
        traced_test(close_finishes_what_is_queued),
        traced_test(idle_work_goes_on_in_slices_until_there_is_none),
        traced_test(a_quiet_moment_comes_after_commits_only),
        traced_test(the_start_hook_may_write_and_its_failure_stops_the_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
