#pragma once
/*
 * tests/unit/db/table.h - a store without threads for tests of table functions: they run on the
 * test's own thread, so that assertions work, in a transaction that is never committed.
 */

#include "tests/unit/db/store.h"

#include "base/clock.h"
#include "base/embed.h"

#define START_US INT64_C(1700000000000000)

struct table_test {
    char folder[TEST_PATH_MAX];
    char path[TEST_PATH_MAX + 16];
    struct clock_fake clock;
    struct db *db;
    struct db_tx tx;
    struct db_ro *ro;
};

static inline int table_setup(void **state)
{
    struct err err = ERR_INIT;
    struct table_test *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    test_folder(t->folder);
    snprintf(t->path, sizeof(t->path), "%s/db", t->folder);
    clock_fake_init(&t->clock, START_US);
    t->db = calloc(1, sizeof(*t->db));
    assert_non_null(t->db);
    t->db->path = t->path;
    t->db->clock = &t->clock.base;
    struct db_conn *conn = &t->db->writer;
    assert_ok(conn_open(conn, t->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &err));
    assert_ok(db_migrate(t->db, migration_files, &err));
    assert_ok(conn_exec(conn, "PRAGMA foreign_keys = ON; BEGIN", &err));
    t->tx = (struct db_tx){.db = t->db, .ro = {.conn = conn, .now_us = START_US}};
    t->ro = db_tx_ro(&t->tx);
    assert_ok(audit_start(&t->tx, &err));
    assert_ok(events_start(&t->tx, &err));
    *state = t;
    return 0;
}

static inline int table_teardown(void **state)
{
    struct table_test *t = *state;
    conn_close(&t->db->writer);
    free(t->db);
    folder_remove(t->folder);
    free(t);
    return 0;
}

#define table_test(fn) cmocka_unit_test_setup_teardown(fn, table_setup, table_teardown)

static inline void table_later(struct table_test *t, int64_t us)
{
    t->tx.ro.now_us += us;
}

/* A number out of the file, by SQL of the test. */
static inline int64_t table_number(struct table_test *t, const char *sql)
{
    struct err err = ERR_INIT;
    int64_t number = -1;
    assert_ok(stmt_number(t->ro->conn, sql, NO_VALUES, &number, &err));
    return number;
}

/* Rows as text, for comparison: callbacks append to it. */
struct seen {
    char text[8192];
    int rows;
    int stop_after; /* 0 = never */
};

static inline bool seen_add(struct seen *seen, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static inline bool seen_add(struct seen *seen, const char *fmt, ...)
{
    size_t used = strlen(seen->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(seen->text + used, sizeof(seen->text) - used, fmt, ap);
    va_end(ap);
    seen->rows++;
    return seen->rows != seen->stop_after;
}
