#pragma once
/*
 * tests/unit/db/store.h - a whole store in a folder of its own, and a composite write on it.
 */

#include "tests/unit/test.h"

#include <ftw.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/store.h"
#include "db/tables.h"

struct store_test {
    char folder[TEST_PATH_MAX];
    char path[TEST_PATH_MAX + 16];
    struct db *db;
};

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void folder_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int folder_setup(void **state)
{
    struct store_test *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    test_folder(t->folder);
    snprintf(t->path, sizeof(t->path), "%s/db", t->folder);
    *state = t;
    return 0;
}

static inline void store_open(struct store_test *t)
{
    struct err err = ERR_INIT;
    assert_ok(db_open(t->path, clock_system(), NULL, &t->db, &err));
}

static inline void store_close(struct store_test *t)
{
    db_close(t->db);
    t->db = NULL;
}

static inline int store_setup(void **state)
{
    folder_setup(state);
    store_open(*state);
    return 0;
}

static inline int store_teardown(void **state)
{
    struct store_test *t = *state;
    db_close(t->db);
    folder_remove(t->folder);
    free(t);
    return 0;
}

#define store_test(fn)  cmocka_unit_test_setup_teardown(fn, store_setup, store_teardown)
#define folder_test(fn) cmocka_unit_test_setup_teardown(fn, folder_setup, store_teardown)

/* One composite write as the server does it: revision, generation, audit row and event. arg: the
 * document's name. */
static inline enum err_code put_all(struct db_tx *tx, void *arg, struct err *err)
{
    const char *doc = arg;
    struct db_revision revision = {
        .doc = doc, .body = "{}", .digest = "d", .author = "a", .message = "", .origin = "upload"};
    struct db_audit audit = {.actor = "a", .action = "put", .subject = doc};
    int64_t number;
    enum err_code code;
    if ((code = document_put(tx, &revision, &number, err)) != ERR_OK ||
        (code = generation_next(tx, doc, &number, err)) != ERR_OK ||
        (code = audit_add(tx, &audit, err)) != ERR_OK)
        return code;
    const struct db_event event = {.kind = "changed", .subject = doc, .body = "{}"};
    return event_add(tx, &event, &number, err);
}

static inline enum err_code nothing(struct db_tx *tx, void *arg, struct err *err)
{
    (void)tx;
    (void)arg;
    (void)err;
    return ERR_OK;
}

/* How many of each are in the file; the audit chain and the file itself must be whole. */
struct counts {
    int64_t revisions, generations, audits, events;
};

static inline enum err_code count_all(struct db_ro *ro, void *arg, struct err *err)
{
    struct counts *counts = arg;
    struct audit_check check = {.rows = 0};
    enum err_code code;
    if ((code = db_check(ro, err)) != ERR_OK || (code = audit_verify(ro, &check, err)) != ERR_OK ||
        (code = generation_current(ro, &counts->generations, err)) != ERR_OK ||
        (code = stmt_number(ro->conn, "SELECT count(*) FROM revisions", NO_VALUES,
                            &counts->revisions, err)) != ERR_OK)
        return code;
    if (check.bad_id != 0)
        return err_set(err, ERR_CONFLICT, "audit row %lld: %s", (long long)check.bad_id,
                       check.problem);
    counts->audits = check.rows;
    return stmt_number(ro->conn, "SELECT count(*) FROM events", NO_VALUES, &counts->events, err);
}

static inline void assert_counts(struct db *db, int64_t wanted)
{
    struct err err = ERR_INIT;
    struct counts counts = {.revisions = 0};
    assert_ok(db_read_wait(db, count_all, &counts, &err));
    assert_int_equal(counts.revisions, wanted);
    assert_int_equal(counts.generations, wanted);
    assert_int_equal(counts.audits, wanted);
    assert_int_equal(counts.events, wanted);
}
