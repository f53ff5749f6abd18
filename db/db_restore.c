/*
 * db/db_restore.c - puts a checked copy in the place of the store; see backup.h.
 *
 *   FROM --copy--> STORE.incoming --checked, migrated--+
 *   STORE.restoring written                            |   from here no server starts
 *   STORE, STORE-wal, STORE-shm --> STORE.replaced-TIME|
 *   STORE.incoming --> STORE  <------------------------+
 *   STORE.restoring removed
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "db/backup.h"
#include "db/stmt.h"
#include "db/store.h"
#include "db/tables.h"

static const char *const log_suffixes[] = {"-wal", "-shm", "-journal"};
#define LOG_SUFFIXES (sizeof(log_suffixes) / sizeof(log_suffixes[0]))

struct restore {
    const char *store, *from;
    char incoming[PATH_MAX], mark[PATH_MAX];
    char *aside; /* RESTORE_PATH_MAX */
};

static enum err_code path_of(const char *store, const char *suffix, size_t size, char *out,
                             struct err *err)
{
    int n = snprintf(out, size, "%s%s", store, suffix);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, ERR_INVALID, "the path of the store is too long");
    return ERR_OK;
}

/* The copy's own log and lock go with it. */
static void remove_incoming(const struct restore *r)
{
    char path[PATH_MAX];
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (path_of(r->incoming, suffixes[i], sizeof(path), path, NULL) == ERR_OK)
            unlink(path);
}

/* Opening the copy would make a new store of an empty file. */
static enum err_code check_ours(struct db_conn *conn, struct err *err)
{
    int64_t id = 0;
    enum err_code code = stmt_number(conn, "PRAGMA application_id", NO_VALUES, &id, err);
    if (code == ERR_OK && id != DB_APPLICATION_ID)
        return err_set(err, ERR_INVALID, "this is no copy of stellard's store");
    return code;
}

/* Reads `from` alone: what lies beside it (a log of a store that was copied by hand) counts. */
static enum err_code fetch(const struct restore *r, struct err *err)
{
    struct db_conn from;
    enum err_code code = conn_open(&from, r->from, SQLITE_OPEN_READONLY, err);
    if (code != ERR_OK)
        return code;
    code = check_ours(&from, err);
    if (code == ERR_OK)
        code = conn_copy_to(&from, r->incoming, NULL, err);
    conn_close(&from);
    return code;
}

/* Who spoke with the old store must hear that this is another: what it was told may not be here.
 * The next server makes the name. */
static enum err_code forget_name(const struct restore *r, struct err *err)
{
    struct db_conn conn;
    enum err_code code = conn_open(&conn, r->incoming, SQLITE_OPEN_READWRITE, err);
    if (code != ERR_OK)
        return code;
    code =
        stmt_run(&conn, "DELETE FROM store_keys WHERE name = $1", VALUES(TEXT(STORE_KEY_ID)), err);
    conn_close(&conn);
    return code;
}

/* Opening migrates, and refuses what is no store of ours or newer than this program. */
static enum err_code check(const struct restore *r, struct clock *clock, struct store_figures *out,
                           struct err *err)
{
    struct db *db = NULL;
    enum err_code code = db_open(r->incoming, clock, NULL, &db, err);
    if (code != ERR_OK)
        return code;
    db_close(db);
    code = forget_name(r, err);
    if (code == ERR_OK)
        code = db_verify(r->incoming, out, err);
    /* Before it is in place: the server that runs as the folder's owner could not read root's. */
    return code == ERR_OK ? file_give_to_folder(r->incoming, err) : code;
}

static enum err_code write_mark(const struct restore *r, struct err *err)
{
    static const char text[] = "A restore was cut short here; run it again.\n";
    return file_write_atomic(r->mark, text, sizeof(text) - 1, 0600, err);
}

static enum err_code move(const char *from, const char *to, struct err *err)
{
    if (rename(from, to) != 0 && errno != ENOENT)
        return err_set_errno(err, ERR_IO, errno, "cannot rename %s to %s", from, to);
    return ERR_OK;
}

/* The logs first: a log may never stand beside a store that it is not of. */
static enum err_code set_aside(const struct restore *r, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < LOG_SUFFIXES; i++) {
        char from[PATH_MAX], to[PATH_MAX];
        code = path_of(r->store, log_suffixes[i], sizeof(from), from, err);
        if (code == ERR_OK)
            code = path_of(r->aside, log_suffixes[i], sizeof(to), to, err);
        if (code == ERR_OK)
            code = move(from, to, err);
    }
    if (code == ERR_OK && access(r->store, F_OK) != 0)
        r->aside[0] = '\0'; /* there was none */
    else if (code == ERR_OK)
        code = move(r->store, r->aside, err);
    return code;
}

static enum err_code replace(const struct restore *r, struct err *err)
{
    enum err_code code = write_mark(r, err);
    if (code == ERR_OK)
        code = set_aside(r, err);
    if (code == ERR_OK && rename(r->incoming, r->store) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot rename %s", r->incoming);
    if (code == ERR_OK)
        code = file_sync_folder_of(r->store, err);
    if (code != ERR_OK)
        return code;
    if (unlink(r->mark) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot remove %s", r->mark);
    return file_sync_folder_of(r->store, err);
}

static enum err_code run(const struct restore *r, struct clock *clock, struct store_figures *out,
                         struct err *err)
{
    remove_incoming(r);
    enum err_code code = fetch(r, err);
    if (code == ERR_OK)
        code = check(r, clock, out, err);
    if (code != ERR_OK)
        err_context(err, "nothing was changed: %s", r->from);
    else
        code = replace(r, err);
    remove_incoming(r);
    return code;
}

enum err_code db_restore(const char *store, const char *from, struct clock *clock,
                         char out_aside[RESTORE_PATH_MAX], struct store_figures *out,
                         struct err *err)
{
    struct restore r = {.store = store, .from = from, .aside = out_aside};
    struct db lock = {.path = (char *)(uintptr_t)store, .lock_fd = -1};
    char when[32];
    snprintf(when, sizeof(when), ".replaced-%lld",
             (long long)(clock->wall_us(clock) / INT64_C(1000000)));
    enum err_code code = path_of(store, ".incoming", sizeof(r.incoming), r.incoming, err);
    if (code == ERR_OK)
        code = path_of(store, RESTORE_MARK, sizeof(r.mark), r.mark, err);
    if (code == ERR_OK)
        code = path_of(store, when, RESTORE_PATH_MAX, out_aside, err);
    if (code == ERR_OK && access(from, R_OK) != 0)
        code = err_set_errno(err, ERR_NOT_FOUND, errno, "cannot read %s", from);
    if (code == ERR_OK)
        code = db_lock(&lock, err);
    if (code != ERR_OK)
        return err_context(err, "nothing was changed");
    code = run(&r, clock, out, err);
    db_unlock(&lock);
    return code;
}
