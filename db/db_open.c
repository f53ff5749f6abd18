/*
 * db/db_open.c - opening and closing: lock file, file modes, pragmas, threads; figures and faults.
 */
#include "db/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "db/db.h"

#define FILE_MODE         0600
#define SQLITE_HEADER_LEN 100

/* SQLite counts its memory under one global lock unless told not to; nobody reads the counts. What
 * a savepoint would put back stays in memory: a large write must not make a temporary file. */
static void configure_sqlite(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
}

static enum err_code lock_conflict(int fd, const char *path, struct err *err)
{
    char holder[32] = "";
    ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);
    holder[n > 0 ? strcspn(holder, "\n") : 0] = '\0';
    return err_set(err, ERR_CONFLICT, "the database %s is in use by process %s; stop it first",
                   path, holder[0] != '\0' ? holder : "(unknown)");
}

/* The lock is the kernel's, so that it ends with its holder; the file stays, because unlinking it
 * could leave two holders of two files with one name. */
enum err_code db_lock(struct db *db, struct err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s.lock", db->path);
    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(err, ERR_INVALID, "the path of the database is too long");
    db->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (db->lock_fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open the lock file %s", path);
    enum err_code code = file_give_to_folder(path, err);
    if (code != ERR_OK)
        return code;
    if (flock(db->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return lock_conflict(db->lock_fd, db->path, err);
        return err_set_errno(err, ERR_IO, errno, "cannot lock %s", path);
    }
    char pid[32];
    n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    if (ftruncate(db->lock_fd, 0) != 0 || pwrite(db->lock_fd, pid, (size_t)n, 0) != n)
        return err_set_errno(err, ERR_IO, errno, "cannot write %s", path);
    return ERR_OK;
}

void db_unlock(struct db *db)
{
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    db->lock_fd = -1;
}

static enum err_code check_restored(const struct db *db, struct err *err)
{
    char mark[PATH_MAX];
    snprintf(mark, sizeof(mark), "%s" RESTORE_MARK, db->path);
    if (access(mark, F_OK) != 0)
        return ERR_OK;
    return err_set(err, ERR_CONFLICT, "a restore of %s was cut short; run it again", db->path);
}

/* SQLite gives the log the modes of the file. Must come before SQLite opens it: closing another
 * descriptor of the file would drop SQLite's locks. */
static enum err_code file_prepare(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open the database %s", path);
    struct stat st;
    enum err_code code = ERR_OK;
    if (fstat(fd, &st) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot look at the database %s", path);
    else if (!S_ISREG(st.st_mode))
        code = err_set(err, ERR_INVALID, "%s is no file", path);
    else if (st.st_size > 0 && st.st_size < SQLITE_HEADER_LEN)
        code = err_set(err, ERR_INVALID, "%s is no database", path); /* SQLite takes 1 byte for 0 */
    else if ((st.st_mode & 0077) != 0 && fchmod(fd, FILE_MODE) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot close %s to other users", path);
    close(fd);
    return code;
}

static enum err_code open_writer(struct db *db, const struct embed_file *migrations,
                                 struct err *err)
{
    enum err_code code = conn_open(&db->writer, db->path, SQLITE_OPEN_READWRITE, err);
    if (code == ERR_OK)
        code = db_migrate(db, migrations, err);
    if (code == ERR_OK)
        code = conn_exec(&db->writer,
                         "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                         "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;"
                         "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;"
                         "PRAGMA secure_delete = FAST; PRAGMA trusted_schema = OFF",
                         err);
    return code;
}

static enum err_code open_all(struct db *db, const struct embed_file *migrations, struct err *err)
{
    enum err_code code;
    if ((code = db_queue_init(&db->writes, err)) != ERR_OK ||
        (code = db_queue_init(&db->reads, err)) != ERR_OK || (code = db_lock(db, err)) != ERR_OK ||
        (code = check_restored(db, err)) != ERR_OK ||
        (code = file_prepare(db->path, err)) != ERR_OK ||
        (code = open_writer(db, migrations, err)) != ERR_OK ||
        (code = db_readers_start(db, err)) != ERR_OK)
        return code;
    return db_writer_start(db, err);
}

enum err_code db_open_with(const char *path, struct clock *clock, const struct db_hooks *hooks,
                           const struct embed_file *migrations, struct db **out, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, configure_sqlite);
    OWN(db) struct db *db = calloc(1, sizeof(*db));
    if (db == NULL)
        return err_nomem(err);
    db->lock_fd = -1;
    db->clock = clock;
    if (hooks != NULL)
        db->hooks = *hooks;
    db->path = strdup(path);
    if (db->path == NULL)
        return err_nomem(err);
    enum err_code code = open_all(db, migrations, err);
    if (code == ERR_OK)
        *out = GIVE(db);
    return code;
}

enum err_code db_open(const char *path, struct clock *clock, const struct db_hooks *hooks,
                      struct db **out, struct err *err)
{
    return db_open_with(path, clock, hooks, migration_files, out, err);
}

/* Readers first: their done calls may still write, and the last connection to close must be the
 * one that may checkpoint. */
void db_close(struct db *db)
{
    if (db == NULL)
        return;
    db_readers_stop(db);
    db_writer_stop(db);
    conn_close(&db->writer);
    events_release(db);
    db_queue_release(&db->reads);
    db_queue_release(&db->writes);
    db_unlock(db);
    free(db->path);
    free(db);
}

static int64_t size_of(const char *path, const char *suffix)
{
    struct stat st;
    char name[PATH_MAX];
    int n = snprintf(name, sizeof(name), "%s%s", path, suffix);
    return n < (int)sizeof(name) && stat(name, &st) == 0 ? (int64_t)st.st_size : 0;
}

void db_stats_get(struct db *db, struct db_stats *out)
{
    *out = (struct db_stats){
        .commits = atomic_load(&db->commits),
        .writes = atomic_load(&db->writes_done),
        .failed_writes = atomic_load(&db->failed_writes),
        .failed_commits = atomic_load(&db->failed_commits),
        .reads = atomic_load(&db->reads_done),
        .queue_depth = (uint32_t)db_queue_depth(&db->writes),
        .last_commit_ns = atomic_load(&db->last_commit_ns),
        .file_bytes = size_of(db->path, ""),
        .log_bytes = size_of(db->path, "-wal"),
    };
}

void db_test_fail_statement(struct db *db, int n)
{
    atomic_store(&db->fail_in, n);
}

void db_test_fail_commit(struct db *db)
{
    atomic_store(&db->fail_commit, true);
}
