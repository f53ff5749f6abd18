/*
 * db/db_writer.c - the writer thread: group commit, checkpoints, idle work.
 *
 * Owns the only connection that writes. Called through db_write(), db_run() and db_look(); knows no
 * table.
 *
 *     take up to DB_GROUP_MAX jobs
 *       writes, up to the next "run" job = one group:
 *         BEGIN IMMEDIATE
 *           SAVEPOINT w; fn; RELEASE w          (or ROLLBACK TO w; RELEASE w)   each write
 *         COMMIT                                 durable here
 *         committed hook, done calls in order   (or rolled_back hook, done with the error)
 *       a "run" job: fn, done
 *     checkpoint when the log is long; one slice of idle work
 */
#include "db/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"

#define SQL_BEGIN       "BEGIN IMMEDIATE"
#define SQL_COMMIT      "COMMIT"
#define SQL_ROLLBACK    "ROLLBACK"
#define SQL_SAVEPOINT   "SAVEPOINT w"
#define SQL_RELEASE     "RELEASE SAVEPOINT w"
#define SQL_ROLLBACK_TO "ROLLBACK TO SAVEPOINT w"

static struct db_tx tx_now(struct db *db)
{
    return (struct db_tx){
        .db = db,
        .ro = {.conn = &db->writer, .now_us = db->clock->wall_us(db->clock)},
    };
}

static bool in_transaction(struct db *db)
{
    return sqlite3_get_autocommit(db->writer.sql) == 0;
}

static enum err_code run(struct db *db, const char *sql, struct err *err)
{
    return stmt_run(&db->writer, sql, NO_VALUES, err);
}

/* A function may return a code without a text. */
static enum err_code complete(enum err_code code, struct err *err)
{
    if (code != ERR_OK && err->code != code)
        err_set(err, code, "%s", err->text[0] != '\0' ? err->text : err_code_name(code));
    return code;
}

static struct err *err_copy(const struct err *err)
{
    struct err *copy = malloc(sizeof(*copy));
    if (copy != NULL)
        *copy = *err;
    return copy;
}

/* One write in its savepoint. An error that SQLite answered by rolling everything back (disk full,
 * I/O, memory) leaves no transaction behind: the caller looks for that. */
static enum err_code run_write(struct db *db, const struct db_job *job, struct err *err)
{
    struct db_heads before = db->heads;
    enum err_code code = run(db, SQL_SAVEPOINT, err);
    if (code != ERR_OK)
        return code;
    struct db_tx tx = tx_now(db);
    code = complete(job->write(&tx, job->arg, err), err);
    if (code == ERR_OK && in_transaction(db)) {
        code = run(db, SQL_RELEASE, err);
        /* The function took it for done and may have changed memory, which only the rolled_back
         * hook takes back. */
        if (code != ERR_OK && in_transaction(db))
            sqlite3_exec(db->writer.sql, SQL_ROLLBACK, NULL, NULL, NULL);
    }
    if (code == ERR_OK || !in_transaction(db))
        return code;
    db->heads = before;
    events_undo(db);
    struct err undo_err = ERR_INIT;
    if (run(db, SQL_ROLLBACK_TO, &undo_err) != ERR_OK || run(db, SQL_RELEASE, &undo_err) != ERR_OK)
        sqlite3_exec(db->writer.sql, SQL_ROLLBACK, NULL, NULL, NULL);
    return code;
}

/* Durable when it returns ERR_OK. */
static enum err_code commit(struct db *db, struct err *err)
{
    int64_t started_ns = db->clock->mono_ns(db->clock);
    enum err_code code = ERR_OK;
    if (atomic_exchange(&db->fail_commit, false))
        code = err_set(err, ERR_IO, "database: the commit was made to fail by a test");
    if (code == ERR_OK)
        code = run(db, SQL_COMMIT, err);
    atomic_store(&db->last_commit_ns, db->clock->mono_ns(db->clock) - started_ns);
    return code;
}

/* The writes of jobs[from..to) in one transaction. Returns the end of what was run: less than `to`
 * when the transaction broke in between. The group's fate is in *code and *err. */
static size_t run_group(struct db *db, size_t from, size_t to, enum err_code *code, struct err *err)
{
    struct db_heads before = db->heads;
    *code = run(db, SQL_BEGIN, err);
    size_t i = from;
    for (; i < to && *code == ERR_OK; i++) {
        db->outcomes[i] = (struct db_outcome){.code = ERR_OK};
        if (db->jobs[i].kind != DB_JOB_WRITE)
            continue;
        struct err own = ERR_INIT;
        enum err_code own_code = run_write(db, &db->jobs[i], &own);
        if (own_code != ERR_OK)
            db->outcomes[i] = (struct db_outcome){own_code, err_copy(&own)};
        if (in_transaction(db))
            continue;
        /* A function that hides the error of its statement must not make it a success. */
        *code = own_code != ERR_OK ? own_code : ERR_IO;
        *err = own;
        if (own_code == ERR_OK)
            err_set(err, ERR_IO, "database: the transaction was rolled back");
    }
    if (*code == ERR_OK)
        *code = commit(db, err);
    if (*code != ERR_OK) {
        if (in_transaction(db))
            sqlite3_exec(db->writer.sql, SQL_ROLLBACK, NULL, NULL, NULL);
        db->heads = before;
        events_undo(db);
        if (i == from)
            i = to; /* it did not even begin: all of them fail */
    }
    return i;
}

static void run_alone(struct db *db, const struct db_job *job)
{
    struct err err = ERR_INIT;
    struct db_tx tx = tx_now(db);
    enum err_code code = complete(job->write(&tx, job->arg, &err), &err);
    assert(!in_transaction(db));
    if (job->done != NULL)
        job->done(job->arg, code, &err);
}

static void finish_write(struct db *db, size_t i, enum err_code group_code,
                         const struct err *group_err)
{
    const struct db_job *job = &db->jobs[i];
    struct db_outcome outcome = db->outcomes[i];
    struct err err = ERR_INIT;
    if (group_code != ERR_OK) {
        /* What a failed write saw may have been a neighbour that is gone now: one answer for all.
         */
        err = *group_err;
        outcome.code = group_code;
    } else if (outcome.err != NULL) {
        err = *outcome.err;
    } else if (outcome.code != ERR_OK) {
        err_set(&err, outcome.code, "%s", err_code_name(outcome.code));
    }
    free(outcome.err);
    db->outcomes[i].err = NULL;
    atomic_fetch_add(&db->writes_done, 1);
    if (outcome.code != ERR_OK)
        atomic_fetch_add(&db->failed_writes, 1);
    if (job->done != NULL)
        job->done(job->arg, outcome.code, &err);
}

static void finish_group(struct db *db, size_t from, size_t to, enum err_code code,
                         const struct err *err)
{
    if (code == ERR_OK) {
        atomic_fetch_add(&db->commits, 1);
        events_tell(db);
        if (db->hooks.committed != NULL)
            db->hooks.committed(db->hooks.arg);
    } else {
        atomic_fetch_add(&db->failed_commits, 1);
        struct db_tx tx = tx_now(db);
        if (db->hooks.rolled_back != NULL)
            db->hooks.rolled_back(db->hooks.arg, &tx);
    }
    for (size_t i = from; i < to; i++) {
        if (db->jobs[i].kind == DB_JOB_WRITE)
            finish_write(db, i, code, err);
        else
            run_alone(db, &db->jobs[i]);
    }
}

/* Errors are not looked at: nothing is lost by them, and what causes them fails the next commit. */
static void checkpoint(struct db *db, int mode)
{
    bool waits = mode != SQLITE_CHECKPOINT_PASSIVE;
    if (waits)
        sqlite3_busy_timeout(db->writer.sql, DB_CHECKPOINT_WAIT_MS);
    sqlite3_wal_checkpoint_v2(db->writer.sql, NULL, mode, NULL, NULL);
    if (waits)
        sqlite3_busy_timeout(db->writer.sql, DB_BUSY_TIMEOUT_MS);
    db->log_is_dirty = false;
    /* Unless the log starts anew with the next write (see after_commit), a reader was in the way.
     */
    db->checkpoint_at = db->log_pages + (waits ? DB_CHECKPOINT_PAGES : DB_CHECKPOINT_RETRY_PAGES);
}

static void become_quiet(struct db *db)
{
    checkpoint(db, SQLITE_CHECKPOINT_PASSIVE);
    if (db->hooks.quiet != NULL)
        db->hooks.quiet(db->hooks.arg);
}

static void checkpoint_if_long(struct db *db)
{
    if (db->log_pages < db->checkpoint_at)
        return;
    bool is_forced = db->log_pages >= DB_CHECKPOINT_FORCE_PAGES;
    checkpoint(db, is_forced ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE);
}

/* SQLite tells the length of the log; a shorter one is a new one. */
static int after_commit(void *arg, sqlite3 *sql, const char *name, int pages)
{
    (void)sql;
    (void)name;
    struct db *db = arg;
    if (pages < db->log_pages)
        db->checkpoint_at = DB_CHECKPOINT_PAGES;
    db->log_pages = pages;
    db->log_is_dirty = true;
    return SQLITE_OK;
}

static size_t group_end(struct db *db, size_t from, size_t count, bool *out_has_write)
{
    size_t i = from;
    *out_has_write = false;
    for (; i < count && db->jobs[i].kind != DB_JOB_RUN; i++)
        *out_has_write = *out_has_write || db->jobs[i].kind == DB_JOB_WRITE;
    return i;
}

static void run_jobs(struct db *db, size_t count)
{
    for (size_t i = 0; i < count;) {
        bool has_write;
        size_t end = group_end(db, i, count, &has_write);
        if (!has_write) {
            for (size_t stop = end < count ? end + 1 : count; i < stop; i++)
                run_alone(db, &db->jobs[i]);
            continue;
        }
        struct err err = ERR_INIT;
        enum err_code code;
        end = run_group(db, i, end, &code, &err);
        finish_group(db, i, end, code, &err);
        if (code != ERR_OK && db->log_pages > 0)
            checkpoint(db, SQLITE_CHECKPOINT_PASSIVE); /* a full disk may get room in the log */
        i = end;
    }
}

static enum err_code start(struct db *db, struct err *err)
{
    enum err_code code = run(db, SQL_BEGIN, err);
    if (code != ERR_OK)
        return code;
    struct db_tx tx = tx_now(db);
    if ((code = audit_start(&tx, err)) == ERR_OK && (code = events_start(&tx, err)) == ERR_OK &&
        (code = generations_start(&tx, err)) == ERR_OK && db->hooks.start != NULL)
        code = complete(db->hooks.start(db->hooks.arg, &tx, err), err);
    if (code == ERR_OK)
        code = run(db, SQL_COMMIT, err);
    if (code != ERR_OK && in_transaction(db))
        sqlite3_exec(db->writer.sql, SQL_ROLLBACK, NULL, NULL, NULL);
    return code;
}

static int wait_ms(const struct db *db, bool has_idle_work)
{
    if (has_idle_work)
        return 0;
    return db->log_is_dirty ? DB_CHECKPOINT_IDLE_MS : -1;
}

static void *writer_main(void *arg)
{
    struct db *db = arg;
    bool has_idle_work = db->hooks.idle != NULL;
    for (;;) {
        bool ended;
        size_t n =
            db_queue_take(&db->writes, db->jobs, DB_GROUP_MAX, wait_ms(db, has_idle_work), &ended);
        if (ended)
            return NULL;
        run_jobs(db, n);
        if (n > 0)
            checkpoint_if_long(db);
        else if (!has_idle_work && db->log_is_dirty)
            become_quiet(db);
        has_idle_work = db->hooks.idle != NULL && db->hooks.idle(db->hooks.arg);
    }
}

struct starting {
    struct db *db;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    enum err_code code;
    struct err err;
};

/* The start hook runs on this thread, because what it loads belongs to it. */
static void *writer_start(void *arg)
{
    struct starting *starting = arg;
    struct db *db = starting->db;
    enum err_code code = start(db, &starting->err);
    pthread_mutex_lock(&starting->lock);
    starting->code = code;
    starting->is_done = true;
    pthread_cond_signal(&starting->changed);
    pthread_mutex_unlock(&starting->lock);
    return code == ERR_OK ? writer_main(db) : NULL;
}

enum err_code db_writer_start(struct db *db, struct err *err)
{
    db->checkpoint_at = DB_CHECKPOINT_PAGES;
    sqlite3_wal_hook(db->writer.sql, after_commit, db);
    db->writer.fail_in = &db->fail_in;
    struct starting starting = {
        .db = db,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    enum err_code code = db_thread_start(&db->writer_thread, writer_start, &starting, err);
    if (code != ERR_OK)
        return code;
    pthread_mutex_lock(&starting.lock);
    while (!starting.is_done)
        pthread_cond_wait(&starting.changed, &starting.lock);
    pthread_mutex_unlock(&starting.lock);
    pthread_cond_destroy(&starting.changed);
    pthread_mutex_destroy(&starting.lock);
    if (starting.code != ERR_OK) {
        pthread_join(db->writer_thread, NULL);
        if (err != NULL)
            *err = starting.err;
        return starting.code;
    }
    db->has_writer = true;
    return ERR_OK;
}

void db_writer_stop(struct db *db)
{
    if (!db->has_writer)
        return;
    db_queue_close(&db->writes);
    pthread_join(db->writer_thread, NULL);
    db->has_writer = false;
    checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE);
}

static enum err_code submit(struct db *db, enum db_job_kind kind, db_write_fn *fn, db_done_fn *done,
                            void *arg, struct err *err)
{
    const struct db_job job = {.kind = kind, .write = fn, .done = done, .arg = arg};
    return db_queue_push(&db->writes, &job, err);
}

enum err_code db_write(struct db *db, db_write_fn *fn, db_done_fn *done, void *arg, struct err *err)
{
    return submit(db, DB_JOB_WRITE, fn, done, arg, err);
}

enum err_code db_run(struct db *db, db_write_fn *fn, db_done_fn *done, void *arg, struct err *err)
{
    return submit(db, DB_JOB_RUN, fn, done, arg, err);
}

enum err_code db_look(struct db *db, db_write_fn *fn, db_done_fn *done, void *arg, struct err *err)
{
    return submit(db, DB_JOB_LOOK, fn, done, arg, err);
}

struct db_ro *db_tx_ro(struct db_tx *tx)
{
    return &tx->ro;
}

int64_t db_tx_now_us(const struct db_tx *tx)
{
    return tx->ro.now_us;
}
