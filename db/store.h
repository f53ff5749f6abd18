#pragma once
/*
 * db/store.h - what the parts of the store share. Private to db/ and its tests.
 *
 *     db_write, db_run, db_look --> [queue] --> writer thread --> SQLite file + WAL
 *     db_read                   --> [queue] --> reader threads -----^ (read-only)
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/json.h"
#include "db/db.h"
#include "db/stmt.h"

#define DB_CHECKPOINT_PAGES       8000 /* 32 MiB of log: then the writer checkpoints */
#define DB_CHECKPOINT_RETRY_PAGES 1000 /* more, when a reader stood in the way */
#define DB_CHECKPOINT_FORCE_PAGES                                                                  \
    16000                                /* then it waits for readers, so that the log starts anew \
                                          */
#define DB_CHECKPOINT_WAIT_MS 100        /* at most this long */
#define DB_CHECKPOINT_IDLE_MS 250        /* a quiet store checkpoints after this */
#define DB_APPLICATION_ID     0x53544c52 /* "STLR" in the file's header */

/* Queue --------------------------------------------------------------------------------------- */

enum db_job_kind {
    DB_JOB_WRITE,
    DB_JOB_RUN,
    DB_JOB_LOOK,
    DB_JOB_READ,
};

struct db_job {
    enum db_job_kind kind;
    union {
        db_write_fn *write; /* WRITE, RUN, LOOK */
        db_read_fn *read;
    };
    db_done_fn *done; /* NULL = nobody waits */
    void *arg;
};

struct db_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct db_job *ring; /* DB_QUEUE_MAX */
    size_t first, count;
    int sleeping; /* threads in db_queue_take() */
    bool is_closed;
};

ERR_MUST_CHECK enum err_code db_queue_init(struct db_queue *queue, struct err *err);
void db_queue_release(struct db_queue *queue);
ERR_MUST_CHECK enum err_code db_queue_push(struct db_queue *queue, const struct db_job *job,
                                           struct err *err);
/* Takes up to max jobs; waits for one (wait_ms -1 = for ever). 0 = none came; then *out_ended says
 * that none will come. */
size_t db_queue_take(struct db_queue *queue, struct db_job *out, size_t max, int wait_ms,
                     bool *out_ended);
void db_queue_close(struct db_queue *queue); /* what is in it can still be taken */
size_t db_queue_depth(struct db_queue *queue);

/* Store --------------------------------------------------------------------------------------- */

/* What the writer remembers of the tables' ends. It follows the transaction: the writer copies it
 * before each savepoint and each group and puts the copy back when either is rolled back. */
struct db_heads {
    int64_t audit_id;
    char audit_hash[DIGEST_TEXT_MAX]; /* "" before the first row */
    int64_t event_id;
    int64_t generation;
};

/* The events of the open group, for the `event` hook. */
struct db_event_log {
    struct db_event_copy *items;
    size_t count, room;
};

struct db_ro {
    struct db_conn *conn;
    int64_t now_us;
    bool is_snapshot; /* on a reader: inside a transaction of its own */
};

struct db_tx {
    struct db_ro ro;
    struct db *db;
};

struct db_outcome {
    enum err_code code;
    struct err *err; /* NULL: no text (success, or no memory for one) */
};

struct db {
    char *path;
    struct clock *clock;
    struct db_hooks hooks;
    int lock_fd;

    /* Writer thread. */
    pthread_t writer_thread;
    bool has_writer;
    struct db_queue writes;
    struct db_conn writer;
    struct db_heads heads;
    struct db_event_log event_log;
    struct db_job jobs[DB_GROUP_MAX];
    struct db_outcome outcomes[DB_GROUP_MAX];
    int log_pages;     /* in the WAL after the last commit */
    int checkpoint_at; /* log_pages that start the next checkpoint */
    bool log_is_dirty; /* commits since the last checkpoint */

    /* Reader threads. */
    struct db_queue reads;
    int reader_count; /* started */
    struct db_reader {
        struct db *db;
        pthread_t thread;
        struct db_conn conn;
    } readers[DB_READERS];

    /* Any thread. */
    _Atomic uint64_t commits, writes_done, failed_writes, failed_commits, reads_done;
    _Atomic int64_t last_commit_ns;
    _Atomic int fail_in;
    atomic_bool fail_commit;
};

/* db_open() with other migrations than the built-in ones: for tests. */
ERR_MUST_CHECK enum err_code db_open_with(const char *path, struct clock *clock,
                                          const struct db_hooks *hooks,
                                          const struct embed_file *migrations, struct db **out,
                                          struct err *err);

/* db_migrate.c: checks what the file is, backs it up and migrates it. */
ERR_MUST_CHECK enum err_code db_migrate(struct db *db, const struct embed_file *migrations,
                                        struct err *err);

/* db_check.c: foreign keys; ERR_INVALID with the first row whose parent is missing. */
ERR_MUST_CHECK enum err_code conn_check_parents(struct db_conn *conn, struct err *err);

/* db_writer.c: starts the thread and waits for the start hook. */
ERR_MUST_CHECK enum err_code db_writer_start(struct db *db, struct err *err);
void db_writer_stop(struct db *db);
/* db_readers.c */
ERR_MUST_CHECK enum err_code db_readers_start(struct db *db, struct err *err);
void db_readers_stop(struct db *db);
/* A thread with all signals blocked, so that they go to the program's own loop. */
ERR_MUST_CHECK enum err_code db_thread_start(pthread_t *out, void *(*fn)(void *), void *arg,
                                             struct err *err);

/* Tables that keep a head in memory: on the writer, before the start hook. */
ERR_MUST_CHECK enum err_code audit_start(struct db_tx *tx, struct err *err);
ERR_MUST_CHECK enum err_code events_start(struct db_tx *tx, struct err *err);
/* The open group's events: events_undo() drops those behind the heads (after a roll-back),
 * events_tell() calls the hook for each, then forgets them. */
void events_undo(struct db *db);
void events_tell(struct db *db);
void events_release(struct db *db);
ERR_MUST_CHECK enum err_code generations_start(struct db_tx *tx, struct err *err);
/* A reader's transaction begins anew, so that a long walk does not hold the log. */
ERR_MUST_CHECK enum err_code db_ro_renew(struct db_ro *ro, struct err *err);

/* Locks and copies ----------------------------------------------------------------------------- */

/* STORE.lock, until db_unlock() or the process's end. ERR_CONFLICT: another has it. */
ERR_MUST_CHECK enum err_code db_lock(struct db *db, struct err *err);
void db_unlock(struct db *db);
#define RESTORE_MARK ".restoring" /* STORE.restoring: the store is not whole */

/* All pages as they are at one moment, into a new file without a log, mode 0600, synced; one that
 * is there goes. watch (db/backup.h) may be NULL. */
struct copy_watch;
ERR_MUST_CHECK enum err_code conn_copy_to(struct db_conn *from, const char *part,
                                          const struct copy_watch *watch, struct err *err);
