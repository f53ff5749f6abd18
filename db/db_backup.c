/*
 * db/db_backup.c - copies of the store, checked; see backup.h.
 */
#include "db/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "db/store.h"
#include "db/tables.h"

#define COPY_SLICE_PAGES 256 /* 1 MiB between two looks at whether to go on */

/* All pages of one moment: the caller's transaction holds it between the slices. */
static enum err_code copy_pages(struct db_conn *from, struct db_conn *to,
                                const struct copy_watch *watch, struct err *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->sql, "main", from->sql, "main");
    bool goes_on = true;
    int step = SQLITE_OK;
    if (backup == NULL)
        return conn_err(to, err);
    while (step == SQLITE_OK && goes_on) {
        step = sqlite3_backup_step(backup, COPY_SLICE_PAGES);
        int all = sqlite3_backup_pagecount(backup);
        if (step == SQLITE_OK && watch != NULL)
            goes_on = watch->go_on(watch->arg, all - sqlite3_backup_remaining(backup), all);
    }
    int end = sqlite3_backup_finish(backup);
    if (step == SQLITE_DONE && end == SQLITE_OK)
        return ERR_OK;
    if (!goes_on)
        return err_set(err, ERR_UNAVAILABLE, "the copy was stopped");
    if (end == SQLITE_OK)
        return err_set(err, ERR_UNAVAILABLE, "the store was busy; try again");
    return conn_err(to, err);
}

static enum err_code conn_copy(struct db_conn *from, struct db_conn *to,
                               const struct copy_watch *watch, struct err *err)
{
    int64_t tables;
    enum err_code code = conn_exec(from, "BEGIN", err);
    if (code != ERR_OK)
        return code;
    /* The first read fixes the moment. */
    code = stmt_number(from, "SELECT count(*) FROM sqlite_schema", NO_VALUES, &tables, err);
    if (code == ERR_OK)
        code = copy_pages(from, to, watch, err);
    enum err_code end = conn_exec(from, "ROLLBACK", code == ERR_OK ? err : NULL);
    return code != ERR_OK ? code : end;
}

static enum err_code sync_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return err_set_errno(err, ERR_IO, error, "cannot sync %s", path);
    }
    close(fd);
    return ERR_OK;
}

/* A copy under way, with the journal that a failure leaves beside it. */
static void remove_part(const char *part)
{
    char journal[PATH_MAX];
    int n = snprintf(journal, sizeof(journal), "%s-journal", part);
    unlink(part);
    if (n > 0 && (size_t)n < sizeof(journal))
        unlink(journal);
}

enum err_code conn_copy_to(struct db_conn *from, const char *part, const struct copy_watch *watch,
                           struct err *err)
{
    struct db_conn to;
    remove_part(part); /* of a copy that was cut short */
    int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot create %s", part);
    close(fd);
    enum err_code code = conn_open(&to, part, SQLITE_OPEN_READWRITE, err);
    if (code != ERR_OK)
        return code;
    code = conn_copy(from, &to, watch, err);
    /* One file, without a log beside it. */
    if (code == ERR_OK)
        code = conn_exec(&to, "PRAGMA journal_mode = DELETE", err);
    conn_close(&to);
    return code != ERR_OK ? code : sync_file(part, err);
}

static enum err_code read_figures(struct db_conn *conn, struct store_figures *out, struct err *err)
{
    struct db_ro ro = {.conn = conn};
    struct audit_check check = {.rows = 0};
    int64_t pages = 0, page_bytes = 0;
    enum err_code code = db_check(&ro, err);
    if (code == ERR_OK)
        code = audit_verify(&ro, &check, err);
    if (code == ERR_OK && check.bad_id != 0)
        return err_set(err, ERR_INVALID, "the audit log is broken at row %lld: %s",
                       (long long)check.bad_id, check.problem);
    if (code == ERR_OK)
        code = generation_current(&ro, &out->generation, err);
    if (code == ERR_OK)
        code = stmt_number(conn, "SELECT coalesce(max(number), 0) FROM migrations", NO_VALUES,
                           &out->schema, err);
    if (code == ERR_OK)
        code = stmt_number(conn, "PRAGMA page_count", NO_VALUES, &pages, err);
    if (code == ERR_OK)
        code = stmt_number(conn, "PRAGMA page_size", NO_VALUES, &page_bytes, err);
    out->size_bytes = pages * page_bytes;
    out->audit_rows = check.rows;
    return code;
}

/* Reads the file alone: no log, no lock, no migration. */
static enum err_code check_file(const char *path, struct store_figures *out, struct err *err)
{
    struct db_conn conn;
    enum err_code code = conn_open(&conn, path, SQLITE_OPEN_READONLY, err);
    if (code != ERR_OK)
        return code;
    code = read_figures(&conn, out, err);
    conn_close(&conn);
    return code;
}

/* link(2) refuses a name that is there, which rename(2) would replace. */
static enum err_code publish(const char *part, const char *path, struct err *err)
{
    if (link(part, path) != 0)
        return err_set_errno(err, errno == EEXIST ? ERR_CONFLICT : ERR_IO, errno,
                             "cannot name the copy %s", path);
    unlink(part);
    return file_sync_folder_of(path, err);
}

static enum err_code copy_checked(struct db_conn *from, const char *path,
                                  const struct copy_watch *watch, struct store_figures *out,
                                  struct err *err)
{
    char part[PATH_MAX];
    int n = snprintf(part, sizeof(part), "%s.part", path);
    if (n < 0 || (size_t)n >= sizeof(part))
        return err_set(err, ERR_INVALID, "the path of the copy is too long");
    if (access(path, F_OK) == 0)
        return err_set(err, ERR_CONFLICT, "%s is there already", path);
    enum err_code code = conn_copy_to(from, part, watch, err);
    if (code == ERR_OK)
        code = check_file(part, out, err);
    if (code == ERR_OK)
        code = publish(part, path, err);
    if (code != ERR_OK)
        remove_part(part);
    return code;
}

enum err_code db_backup(struct db *db, const char *path, const struct copy_watch *watch,
                        struct store_figures *out, struct err *err)
{
    struct db_conn from;
    enum err_code code = conn_open(&from, db->path, SQLITE_OPEN_READONLY, err);
    if (code != ERR_OK)
        return code;
    code = conn_exec(&from, "PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0", err);
    if (code == ERR_OK)
        code = copy_checked(&from, path, watch, out, err);
    conn_close(&from);
    return code;
}

/* A store that nobody runs, held by its lock. */
static enum err_code hold(struct db *db, const char *store, struct db_conn *conn, struct err *err)
{
    *db = (struct db){.path = (char *)(uintptr_t)store, .lock_fd = -1};
    if (access(store, F_OK) != 0)
        return err_set_errno(err, ERR_NOT_FOUND, errno, "there is no store %s", store);
    enum err_code code = db_lock(db, err);
    /* Not read-only: a log that was left behind must be read, which may need its index made. */
    if (code == ERR_OK)
        code = conn_open(conn, store, SQLITE_OPEN_READWRITE, err);
    if (code == ERR_OK) {
        code = conn_exec(conn, "PRAGMA query_only = ON", err);
        if (code != ERR_OK)
            conn_close(conn);
    }
    if (code != ERR_OK)
        db_unlock(db);
    return code;
}

enum err_code db_backup_offline(const char *store, const char *path, struct store_figures *out,
                                struct err *err)
{
    struct db db;
    struct db_conn conn;
    enum err_code code = hold(&db, store, &conn, err);
    if (code != ERR_OK)
        return code;
    code = copy_checked(&conn, path, NULL, out, err);
    conn_close(&conn);
    db_unlock(&db);
    return code;
}

enum err_code db_verify(const char *store, struct store_figures *out, struct err *err)
{
    struct db db;
    struct db_conn conn;
    enum err_code code = hold(&db, store, &conn, err);
    if (code != ERR_OK)
        return code;
    code = read_figures(&conn, out, err);
    conn_close(&conn);
    db_unlock(&db);
    return code;
}
