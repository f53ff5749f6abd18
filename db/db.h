#pragma once
/*
 * db/db.h - the store: one SQLite file, exactly one connection that writes and checkpoints, readers
 * that only read (DESIGN section 8).
 *
 * One writer thread ("the core") runs queued writes in groups: BEGIN IMMEDIATE; each write in its
 * own savepoint; one durable COMMIT (WAL, synchronous=FULL). A write that fails rolls back its
 * savepoint only. `done` is called after the commit is durable, in queue order, on the writer
 * thread.
 *
 * The writer thread may own more than the file: whoever opens the store hangs the in-memory picture
 * of the fleet on it through the hooks, so that it needs no lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

struct db;       /* the store */
struct db_tx;    /* inside one write, on the writer thread */
struct db_ro;    /* inside one read, on a reader thread */
struct db_event; /* db/tables.h */

#define DB_QUEUE_MAX 8192 /* queued writes; more: ERR_UNAVAILABLE */
#define DB_GROUP_MAX 1024 /* writes a commit */
#define DB_READERS   2

struct db_hooks {
    void *arg;
    /* On the writer thread, before the first write: load what hangs on it. Failure stops db_open.
     */
    enum err_code (*start)(void *arg, struct db_tx *tx, struct err *err);
    /* After a group's commit, before `committed`: each event that the group added, in order. */
    void (*event)(void *arg, const struct db_event *event);
    /* After a group's commit, before the done calls of that group. */
    void (*committed)(void *arg);
    /* The group's commit failed (or SQLite gave the transaction up: disk full, I/O) and everything
     * in it is gone: reload from tx, which stands outside any transaction. Every write of the group
     * then hears this error, also one that had failed by itself. */
    void (*rolled_back)(void *arg, struct db_tx *tx);
    /* After the done calls, with the queue looked at in between: background work in slices. Return
     * true when there is more to do now. */
    bool (*idle)(void *arg);
    /* Nothing came for a quarter of a second after commits, and the log was checkpointed. */
    void (*quiet)(void *arg);
};

/*
 * Opens or creates path; takes path + ".lock" (ERR_CONFLICT naming the holder's pid when another
 * server has it); backs up (path + ".before-NNNN") and migrates; refuses a newer file
 * (ERR_UNSUPPORTED) and a file that is no database (ERR_INVALID). hooks may be NULL.
 */
ERR_MUST_CHECK enum err_code db_open(const char *path, struct clock *clock,
                                     const struct db_hooks *hooks, struct db **out,
                                     struct err *err);
/* Finishes what is queued, checkpoints, joins the threads, releases the lock. */
void db_close(struct db *db);
OWN_DEFINE(db, struct db *, db_close)

typedef enum err_code db_write_fn(struct db_tx *tx, void *arg, struct err *err);
typedef enum err_code db_read_fn(struct db_ro *ro, void *arg, struct err *err);
/* code/err of fn, or of the commit. Must not block. */
typedef void db_done_fn(void *arg, enum err_code code, const struct err *err);

/* From any thread. fn must not leave side effects outside the file when it returns an error. */
ERR_MUST_CHECK enum err_code db_write(struct db *db, db_write_fn *fn, db_done_fn *done, void *arg,
                                      struct err *err);
/* Queue for the writer thread without a savepoint and outside any commit (reads of what hangs on
 * it, background work). done may be NULL. */
ERR_MUST_CHECK enum err_code db_run(struct db *db, db_write_fn *fn, db_done_fn *done, void *arg,
                                    struct err *err);
/* As db_run, but for a look at what hangs on the writer that may wait a little: it runs after the
 * done calls of all writes queued before it and may see later writes that became durable together
 * with them. Unlike db_run it does not cut a group of writes in two, so that many looks between
 * many writes cost no commits. */
ERR_MUST_CHECK enum err_code db_look(struct db *db, db_write_fn *fn, db_done_fn *done, void *arg,
                                     struct err *err);
/* On one of DB_READERS threads with a read-only connection. */
ERR_MUST_CHECK enum err_code db_read(struct db *db, db_read_fn *fn, db_done_fn *done, void *arg,
                                     struct err *err);
/* Blocking forms for start-up and tests; never from the writer or a reader thread. */
ERR_MUST_CHECK enum err_code db_write_wait(struct db *db, db_write_fn *fn, void *arg,
                                           struct err *err);
ERR_MUST_CHECK enum err_code db_read_wait(struct db *db, db_read_fn *fn, void *arg,
                                          struct err *err);

struct db_stats {
    uint64_t commits, writes, failed_writes, failed_commits, reads;
    uint32_t queue_depth;
    int64_t last_commit_ns; /* how long the last commit took */
    int64_t file_bytes, log_bytes;
};
void db_stats_get(struct db *db, struct db_stats *out); /* thread-safe */

/* PRAGMA integrity_check and foreign_key_check; ERR_INVALID with the first problem. */
ERR_MUST_CHECK enum err_code db_check(struct db_ro *ro, struct err *err);
/* A read-only connection inside a write, so that the table functions below that take db_ro work on
 * the writer's own view. */
struct db_ro *db_tx_ro(struct db_tx *tx);
int64_t db_tx_now_us(const struct db_tx *tx); /* one time a write */

/* Fault injection for tests: the n-th SQL statement from now on the writer fails with ERR_IO, once;
 * 0 = off. */
void db_test_fail_statement(struct db *db, int n);
/* The next commit fails. */
void db_test_fail_commit(struct db *db);
