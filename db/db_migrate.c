/*
 * db/db_migrate.c - what the file is, whether this program may use it, and bringing it up to date.
 *
 * The table "migrations" holds number, name and checksum of each applied file. Refused, before
 * anything is changed: what is no database or another program's, a newer schema, and a migration
 * whose text is another than the one that was applied.
 */
#include "db/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "db/db.h"

struct migrating {
    struct db *db;
    const struct embed_file *files;
    int64_t file_count;
    int64_t applied; /* migrations in the file; they are numbered 1, 2, ... */
};

static int64_t number_of(const struct embed_file *file)
{
    return strtol(file->name, NULL, 10);
}

/* Is this our file, or a new one? */
static enum err_code identify(struct migrating *m, bool *out_is_new, struct err *err)
{
    struct db_conn *conn = &m->db->writer;
    int64_t objects = 0, id = 0;
    enum err_code code =
        stmt_number(conn, "SELECT count(*) FROM sqlite_schema", NO_VALUES, &objects, err);
    if (code == ERR_OK)
        code = stmt_number(conn, "PRAGMA application_id", NO_VALUES, &id, err);
    if (code == ERR_INVALID)
        return err_set(err, code, "%s is no database", m->db->path);
    if (code != ERR_OK)
        return code;
    *out_is_new = objects == 0 && id == 0;
    if (!*out_is_new && id != DB_APPLICATION_ID)
        return err_set(err, ERR_INVALID, "%s is the database of another program", m->db->path);
    return ERR_OK;
}

static enum err_code check_one(struct migrating *m, int64_t number, const char *checksum,
                               struct err *err)
{
    if (number > m->file_count)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s has schema %lld, this program knows up to %lld; use the newer program",
                       m->db->path, (long long)number, (long long)m->file_count);
    if (number < 1)
        return err_set(err, ERR_INVALID, "%s has a migration %lld", m->db->path, (long long)number);
    const struct embed_file *file = &m->files[number - 1];
    char want[DIGEST_TEXT_MAX];
    bytes_digest(file->data, file->len, want);
    if (strcmp(want, checksum) != 0)
        return err_set(err, ERR_CONFLICT,
                       "%s was migrated by another text of %s than this program has", m->db->path,
                       file->name);
    return ERR_OK;
}

/* Newest first, so that a newer file is named as such before its older checksums are compared. */
static enum err_code check_applied(struct migrating *m, struct err *err)
{
    struct stmt s =
        stmt_start(&m->db->writer, "SELECT number, checksum FROM migrations ORDER BY number DESC",
                   NO_VALUES, err);
    enum err_code code = ERR_OK;
    while (code == ERR_OK && stmt_next(&s)) {
        int64_t number = stmt_int(&s, 0);
        code = check_one(m, number, stmt_text(&s, 1), err);
        if (number > m->applied)
            m->applied = number;
    }
    enum err_code end_code = stmt_end(&s);
    return code != ERR_OK ? code : end_code;
}

/* A name that is there is always a whole copy. */
static enum err_code backup(struct migrating *m, struct err *err)
{
    char name[PATH_MAX], part[PATH_MAX];
    int n = snprintf(name, sizeof(name), "%s.before-%04d", m->db->path, (int)m->applied + 1);
    int n2 = snprintf(part, sizeof(part), "%s.before-%04d.part", m->db->path, (int)m->applied + 1);
    if (n < 0 || n2 < 0 || (size_t)n2 >= sizeof(part))
        return err_set(err, ERR_INVALID, "the path of the database is too long");
    enum err_code code = conn_copy_to(&m->db->writer, part, NULL, err);
    if (code == ERR_OK && rename(part, name) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot rename %s", part);
    if (code != ERR_OK) {
        unlink(part);
        err_context(err, "backup before the migration");
        return code;
    }
    return file_sync_folder_of(name, err);
}

static enum err_code record(struct migrating *m, const struct embed_file *file, struct err *err)
{
    char checksum[DIGEST_TEXT_MAX];
    bytes_digest(file->data, file->len, checksum);
    return stmt_run(&m->db->writer,
                    "INSERT INTO migrations (number, name, checksum, applied_us)"
                    " VALUES ($1, $2, $3, $4)",
                    VALUES(INT(number_of(file)), TEXT(file->name), TEXT(checksum),
                           INT(m->db->clock->wall_us(m->db->clock))),
                    err);
}

static enum err_code apply_inside(struct migrating *m, const struct embed_file *file,
                                  struct err *err)
{
    struct db_conn *conn = &m->db->writer;
    enum err_code code = ERR_OK;
    if (number_of(file) == 1) {
        char sql[256];
        snprintf(sql, sizeof(sql),
                 "PRAGMA application_id = %d;"
                 "CREATE TABLE migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,"
                 " checksum TEXT NOT NULL, applied_us INTEGER NOT NULL) STRICT",
                 DB_APPLICATION_ID);
        code = conn_exec(conn, sql, err);
    }
    if (code == ERR_OK)
        code = conn_exec(conn, (const char *)file->data, err);
    if (code == ERR_OK)
        code = conn_check_parents(conn, err);
    return code != ERR_OK ? code : record(m, file, err);
}

static enum err_code apply(struct migrating *m, const struct embed_file *file, struct err *err)
{
    struct db_conn *conn = &m->db->writer;
    enum err_code code = conn_exec(conn, "BEGIN IMMEDIATE", err);
    if (code == ERR_OK)
        code = apply_inside(m, file, err);
    if (code == ERR_OK)
        code = conn_exec(conn, "COMMIT", err);
    if (code == ERR_OK)
        return code;
    if (sqlite3_get_autocommit(conn->sql) == 0)
        sqlite3_exec(conn->sql, "ROLLBACK", NULL, NULL, NULL);
    err_context(err, "migration %s of %s", file->name, m->db->path);
    return code;
}

/* The log needs shared memory, which some network file systems do not have. */
static enum err_code use_log(struct db *db, struct err *err)
{
    struct stmt s = stmt_start(&db->writer, "PRAGMA journal_mode = WAL", NO_VALUES, err);
    bool is_wal = stmt_next(&s) && strcmp(stmt_text(&s, 0), "wal") == 0;
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_wal)
        return err_set(err, ERR_UNSUPPORTED,
                       "the file system of %s cannot hold the database's log; use a local one",
                       db->path);
    return code;
}

enum err_code db_migrate(struct db *db, const struct embed_file *migrations, struct err *err)
{
    struct migrating m = {.db = db, .files = migrations};
    while (m.files[m.file_count].name != NULL)
        m.file_count++;
    bool is_new = false;
    enum err_code code = identify(&m, &is_new, err);
    if (code == ERR_OK && !is_new)
        code = check_applied(&m, err);
    if (code == ERR_OK && !is_new && m.applied < m.file_count)
        code = backup(&m, err);
    if (code == ERR_OK)
        code = use_log(db, err);
    /* Off while tables may be rebuilt; each migration is checked before it is committed. */
    if (code == ERR_OK)
        code = conn_exec(&db->writer, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF", err);
    for (int64_t i = m.applied; code == ERR_OK && i < m.file_count; i++)
        code = apply(&m, &migrations[i], err);
    return code;
}
