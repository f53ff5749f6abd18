/*
 * db/db_readers.c - reader threads: each job in one short transaction of a read-only connection.
 *
 * A long transaction would keep the log from starting anew; see db_ro_renew().
 */
#include "db/store.h"

#include "db/db.h"

static enum err_code begin(struct db_ro *ro, struct err *err)
{
    return stmt_run(ro->conn, "BEGIN", NO_VALUES, err);
}

static void end(struct db_ro *ro)
{
    struct err err = ERR_INIT;
    if (stmt_run(ro->conn, "COMMIT", NO_VALUES, &err) != ERR_OK &&
        sqlite3_get_autocommit(ro->conn->sql) == 0)
        sqlite3_exec(ro->conn->sql, "ROLLBACK", NULL, NULL, NULL);
}

enum err_code db_ro_renew(struct db_ro *ro, struct err *err)
{
    if (!ro->is_snapshot)
        return ERR_OK;
    end(ro);
    return begin(ro, err);
}

static void run_read(struct db_reader *reader, const struct db_job *job)
{
    struct db *db = reader->db;
    struct db_ro ro = {
        .conn = &reader->conn,
        .now_us = db->clock->wall_us(db->clock),
        .is_snapshot = true,
    };
    struct err err = ERR_INIT;
    enum err_code code = begin(&ro, &err);
    if (code == ERR_OK) {
        code = job->read(&ro, job->arg, &err);
        end(&ro);
    }
    if (code != ERR_OK && err.code != code)
        err_set(&err, code, "%s", err_code_name(code));
    atomic_fetch_add(&db->reads_done, 1);
    if (job->done != NULL)
        job->done(job->arg, code, &err);
}

static void *reader_main(void *arg)
{
    struct db_reader *reader = arg;
    for (;;) {
        struct db_job job;
        bool ended;
        if (db_queue_take(&reader->db->reads, &job, 1, -1, &ended) == 1)
            run_read(reader, &job);
        else if (ended)
            return NULL;
    }
}

static enum err_code start_reader(struct db_reader *reader, struct err *err)
{
    enum err_code code = conn_open(&reader->conn, reader->db->path, SQLITE_OPEN_READONLY, err);
    if (code != ERR_OK)
        return code;
    code = conn_exec(&reader->conn,
                     "PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0;"
                     "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF",
                     err);
    if (code == ERR_OK)
        code = db_thread_start(&reader->thread, reader_main, reader, err);
    if (code != ERR_OK)
        conn_close(&reader->conn);
    return code;
}

enum err_code db_readers_start(struct db *db, struct err *err)
{
    for (int i = 0; i < DB_READERS; i++) {
        db->readers[i].db = db;
        enum err_code code = start_reader(&db->readers[i], err);
        if (code != ERR_OK)
            return code;
        db->reader_count++;
    }
    return ERR_OK;
}

void db_readers_stop(struct db *db)
{
    if (db->reader_count > 0)
        db_queue_close(&db->reads);
    for (int i = 0; i < db->reader_count; i++) {
        pthread_join(db->readers[i].thread, NULL);
        conn_close(&db->readers[i].conn);
    }
    db->reader_count = 0;
}

enum err_code db_read(struct db *db, db_read_fn *fn, db_done_fn *done, void *arg, struct err *err)
{
    const struct db_job job = {.kind = DB_JOB_READ, .read = fn, .done = done, .arg = arg};
    return db_queue_push(&db->reads, &job, err);
}
