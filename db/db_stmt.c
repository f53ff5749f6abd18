/*
 * db/db_stmt.c - see stmt.h.
 */
#include "db/stmt.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "db/db.h"
#include "db/tables.h"

static enum err_code code_of(int extended)
{
    switch (extended & 0xff) {
    case SQLITE_NOMEM:
        return ERR_NOMEM;
    case SQLITE_CONSTRAINT:
        return ERR_CONFLICT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_UNAVAILABLE;
    case SQLITE_NOTADB:
        return ERR_INVALID;
    default:
        return ERR_IO;
    }
}

/* SQLite keeps no errno of a write that failed while it ended a transaction; the system still has
 * it, for what follows there writes nothing. */
static int system_errno(const struct db_conn *conn, int left)
{
    int extended = sqlite3_extended_errcode(conn->sql);
    int sys_errno = sqlite3_system_errno(conn->sql);
    if ((extended & 0xff) == SQLITE_FULL)
        return ENOSPC;
    bool no_room = left == ENOSPC || left == EDQUOT || left == EFBIG;
    return sys_errno == 0 && extended == SQLITE_IOERR_WRITE && no_room ? left : sys_errno;
}

enum err_code conn_err(struct db_conn *conn, struct err *err)
{
    int sys_errno = system_errno(conn, errno);
    enum err_code code = code_of(sqlite3_extended_errcode(conn->sql));
    if (code == ERR_NOMEM)
        return err_nomem(err);
    if (code == ERR_IO && sys_errno != 0)
        return err_set_errno(err, code, sys_errno, "database: %s", sqlite3_errmsg(conn->sql));
    return err_set(err, code, "database: %s", sqlite3_errmsg(conn->sql));
}

enum err_code conn_open(struct db_conn *conn, const char *path, int flags, struct err *err)
{
    memset(conn, 0, sizeof(*conn));
    if (sqlite3_open_v2(path, &conn->sql, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        enum err_code code = conn->sql == NULL ? err_nomem(err) : conn_err(conn, err);
        conn_close(conn);
        return code;
    }
    sqlite3_extended_result_codes(conn->sql, 1);
    sqlite3_busy_timeout(conn->sql, DB_BUSY_TIMEOUT_MS);
    return ERR_OK;
}

void conn_close(struct db_conn *conn)
{
    for (size_t i = 0; i < STMT_CACHE_SLOTS; i++)
        sqlite3_finalize(conn->cache[i].prepared);
    int rc = sqlite3_close(conn->sql);
    assert(rc == SQLITE_OK); /* a statement was not ended */
    (void)rc;
    memset(conn, 0, sizeof(*conn));
}

enum err_code conn_exec(struct db_conn *conn, const char *sql, struct err *err)
{
    return sqlite3_exec(conn->sql, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK
                                                                       : conn_err(conn, err);
}

/* SQLite numbers $n by first use, PostgreSQL by n: a text where both agree means the same to both.
 */
static bool parameters_in_order(sqlite3_stmt *prepared)
{
    for (int i = sqlite3_bind_parameter_count(prepared); i > 0; i--) {
        char want[16];
        snprintf(want, sizeof(want), "$%d", i);
        const char *name = sqlite3_bind_parameter_name(prepared, i);
        if (name == NULL || strcmp(name, want) != 0)
            return false;
    }
    return true;
}

static sqlite3_stmt *prepare(struct db_conn *conn, const char *sql, unsigned flags)
{
    sqlite3_stmt *prepared = NULL;
    if (sqlite3_prepare_v3(conn->sql, sql, -1, flags, &prepared, NULL) != SQLITE_OK)
        return NULL;
    assert(parameters_in_order(prepared));
    return prepared;
}

static void find_or_prepare(struct stmt *s, const char *sql)
{
    struct db_conn *conn = s->conn;
    size_t slot = ((uintptr_t)sql >> 4) * 0x9e3779b9u % STMT_CACHE_SLOTS;
    while (conn->cache[slot].text != NULL && conn->cache[slot].text != sql)
        slot = (slot + 1) % STMT_CACHE_SLOTS;
    if (conn->cache[slot].text == NULL) {
        assert(conn->cached < STMT_CACHE_SLOTS / 2);
        s->prepared = prepare(conn, sql, SQLITE_PREPARE_PERSISTENT);
        if (s->prepared == NULL)
            return;
        conn->cache[slot].text = sql;
        conn->cache[slot].prepared = s->prepared;
        conn->cached++;
    } else if (sqlite3_stmt_busy(conn->cache[slot].prepared)) {
        s->prepared = prepare(conn, sql, 0);
        s->is_private = true;
    } else {
        s->prepared = conn->cache[slot].prepared;
    }
}

static bool is_made_to_fail(struct db_conn *conn)
{
    return conn->fail_in != NULL && atomic_load_explicit(conn->fail_in, memory_order_relaxed) > 0 &&
           atomic_fetch_sub(conn->fail_in, 1) == 1;
}

static void release(struct stmt *s)
{
    if (s->is_private)
        sqlite3_finalize(s->prepared);
    else
        sqlite3_reset(s->prepared);
    s->prepared = NULL;
}

static void fail(struct stmt *s, enum err_code code)
{
    s->code = code;
    release(s);
}

static bool bind(struct stmt *s, int index, const struct stmt_value *value)
{
    if (!value->is_text)
        return sqlite3_bind_int64(s->prepared, index, value->number) == SQLITE_OK;
    return sqlite3_bind_text(s->prepared, index, value->text, -1, SQLITE_STATIC) == SQLITE_OK;
}

struct stmt stmt_start(struct db_conn *conn, const char *sql, struct stmt_values values,
                       struct err *err)
{
    struct stmt s = {.conn = conn, .err = err};
    if (is_made_to_fail(conn)) {
        s.code = err_set(err, ERR_IO, "database: made to fail by a test");
        return s;
    }
    find_or_prepare(&s, sql);
    if (s.prepared == NULL) {
        s.code = conn_err(conn, err);
        return s;
    }
    assert(sqlite3_bind_parameter_count(s.prepared) == (int)values.count);
    for (size_t i = 0; i < values.count && s.prepared != NULL; i++)
        if (!bind(&s, (int)i + 1, &values.list[i]))
            fail(&s, conn_err(conn, err));
    return s;
}

bool stmt_next(struct stmt *s)
{
    if (s->prepared == NULL)
        return false;
    int rc = sqlite3_step(s->prepared);
    if (rc == SQLITE_ROW)
        return true;
    if (rc == SQLITE_DONE)
        release(s);
    else
        fail(s, conn_err(s->conn, s->err));
    return false;
}

int64_t stmt_int(struct stmt *s, int column)
{
    return sqlite3_column_int64(s->prepared, column);
}

const char *stmt_text(struct stmt *s, int column)
{
    return text_or_empty(stmt_text_or_null(s, column));
}

const char *stmt_text_or_null(struct stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s->prepared, column);
    /* No memory looks like NULL here: the row is wrong, so the statement must fail at its end. */
    if (text == NULL && sqlite3_errcode(s->conn->sql) == SQLITE_NOMEM)
        s->code = err_nomem(s->err);
    return text;
}

enum err_code stmt_end(struct stmt *s)
{
    if (s->prepared != NULL)
        release(s);
    return s->code;
}

enum err_code stmt_run(struct db_conn *conn, const char *sql, struct stmt_values values,
                       struct err *err)
{
    struct stmt s = stmt_start(conn, sql, values, err);
    while (stmt_next(&s))
        ;
    return stmt_end(&s);
}

enum err_code stmt_number(struct db_conn *conn, const char *sql, struct stmt_values values,
                          int64_t *out, struct err *err)
{
    struct stmt s = stmt_start(conn, sql, values, err);
    /* To the end, because foreign keys are checked there. */
    bool found = false;
    int64_t number = 0;
    while (stmt_next(&s)) {
        if (!found)
            number = stmt_int(&s, 0);
        found = true;
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && found)
        *out = number;
    return code;
}

enum err_code list_check(int limit, struct err *err)
{
    if (limit < 1 || limit > DB_PAGE_MAX)
        return err_set(err, ERR_INVALID, "a page of %d rows: 1 to %d are possible", limit,
                       DB_PAGE_MAX);
    return ERR_OK;
}
