#pragma once
/*
 * db/stmt.h - SQL as functions of tables use it: text and values in, rows out. Private to db/.
 *
 * Statements are prepared once a connection and kept; the text must be a string literal, because
 * the cache knows it by its address. Parameters are $1, $2, ... in the order of their first use.
 *
 *     struct stmt s = stmt_start(conn, "SELECT body FROM tenants WHERE name = $1",
 *                                VALUES(TEXT(name)), err);
 *     while (stmt_next(&s))
 *         use(stmt_text(&s, 0));
 *     return stmt_end(&s);
 *
 * The first error is kept (in err and for stmt_end); after it stmt_next() is false.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/err.h"

#define STMT_CACHE_SLOTS 1024 /* a power of two; at least twice the statements of db/ (assert) */

#define DB_BUSY_TIMEOUT_MS 5000

struct db_conn {
    sqlite3 *sql;
    struct {
        const char *text;
        sqlite3_stmt *prepared;
    } cache[STMT_CACHE_SLOTS];
    size_t cached;
    _Atomic int *fail_in; /* db_test_fail_statement(); NULL = never */
};

struct stmt_value {
    const char *text; /* borrowed until stmt_end(); NULL = SQL NULL */
    int64_t number;
    bool is_text;
};
struct stmt_values {
    const struct stmt_value *list;
    size_t count;
};
#define TEXT(x)                                                                                    \
    {                                                                                              \
        .text = (x), .is_text = true                                                               \
    }
#define INT(x)                                                                                     \
    {                                                                                              \
        .number = (x)                                                                              \
    }
#define VALUES(...)                                                                                \
    ((struct stmt_values){                                                                         \
        .list = (const struct stmt_value[]){__VA_ARGS__},                                          \
        .count = sizeof((const struct stmt_value[]){__VA_ARGS__}) / sizeof(struct stmt_value),     \
    })
#define NO_VALUES ((struct stmt_values){.count = 0})

struct stmt {
    struct db_conn *conn;
    sqlite3_stmt *prepared; /* NULL after an error */
    struct err *err;
    enum err_code code;
    bool is_private; /* not in the cache: the same text was in use already */
};

struct stmt stmt_start(struct db_conn *conn, const char *sql, struct stmt_values values,
                       struct err *err);
bool stmt_next(struct stmt *s);
int64_t stmt_int(struct stmt *s, int column);
/* "" for NULL; lives until the next stmt_next() or stmt_end(). */
const char *stmt_text(struct stmt *s, int column);
/* NULL for NULL. */
const char *stmt_text_or_null(struct stmt *s, int column);
/* Also resets the statement; must follow every stmt_start(). */
ERR_MUST_CHECK enum err_code stmt_end(struct stmt *s);

/* Runs to the end, rows are dropped. */
ERR_MUST_CHECK enum err_code stmt_run(struct db_conn *conn, const char *sql,
                                      struct stmt_values values, struct err *err);
/* Runs to the end; *out is the first column of the first row, untouched when there is no row. */
ERR_MUST_CHECK enum err_code stmt_number(struct db_conn *conn, const char *sql,
                                         struct stmt_values values, int64_t *out, struct err *err);

/* Connections --------------------------------------------------------------------------------- */

/* flags of sqlite3_open_v2. On failure nothing is left open. */
ERR_MUST_CHECK enum err_code conn_open(struct db_conn *conn, const char *path, int flags,
                                       struct err *err);
void conn_close(struct db_conn *conn);
/* One or more statements that need no values, not cached: pragmas, migrations. */
ERR_MUST_CHECK enum err_code conn_exec(struct db_conn *conn, const char *sql, struct err *err);
/* The connection's last error in SQLite's words. */
enum err_code conn_err(struct db_conn *conn, struct err *err);

/* limit of a list function: 1..DB_PAGE_MAX. */
ERR_MUST_CHECK enum err_code list_check(int limit, struct err *err);
/* NULL as "". */
static inline const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}
