/*
 * tests/unit/db/test_db_open.c - what may be opened: lock, file modes, foreign files, migrations.
 */
#include "tests/unit/db/store.h"

#include <sys/stat.h>
#include <sys/wait.h>

static void write_file(const char *path, const char *text, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
}

/* SQL on the closed file, past the store. */
static void edit(struct store_test *t, const char *sql)
{
    sqlite3 *file = NULL;
    assert_int_equal(sqlite3_open(t->path, &file), SQLITE_OK);
    char *error = NULL;
    if (sqlite3_exec(file, sql, NULL, NULL, &error) != SQLITE_OK)
        fail_msg("%s: %s", sql, error);
    sqlite3_close(file);
}

static enum err_code open_again(struct store_test *t, struct err *err)
{
    return db_open(t->path, clock_system(), NULL, &t->db, err);
}

static void *doc(void)
{
    return (void *)(uintptr_t) "tenant/a/policy";
}

static void what_is_written_is_there_after_reopening(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    assert_counts(t->db, 2);
}

static void a_second_store_in_this_process_is_refused(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    struct db *second = NULL;
    assert_fails(db_open(t->path, clock_system(), NULL, &second, &err), ERR_CONFLICT);
    char pid[32];
    snprintf(pid, sizeof(pid), "process %d", (int)getpid());
    assert_contains(err.text, pid);
    assert_null(second);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);
    store_open(t);
}

static void a_lock_held_by_another_process_names_it(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct err own = ERR_INIT;
        struct db *db = NULL;
        bool opened = db_open(t->path, clock_system(), NULL, &db, &own) == ERR_OK;
        if (!opened || write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_fails(open_again(t, &err), ERR_CONFLICT);
    char pid[32];
    snprintf(pid, sizeof(pid), "process %d", (int)child);
    assert_contains(err.text, pid);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    store_open(t);
}

static void all_files_are_closed_to_others(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    write_file(t->path, "", 0);
    assert_int_equal(chmod(t->path, 0644), 0);
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char path[TEST_PATH_MAX + 32];
        struct stat st;
        snprintf(path, sizeof(path), "%s%s", t->path, ends[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static void a_file_that_is_no_database_is_refused_and_stays_as_it_is(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    char garbage[5000];
    memset(garbage, 'g', sizeof(garbage));
    static const size_t lens[] = {1, 15, 100, 512, 5000};
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        write_file(t->path, garbage, lens[i]);
        assert_fails(open_again(t, &err), ERR_INVALID);
        assert_contains(err.text, "no database");
        size_t len;
        char *now = test_load_path(t->path, &len);
        assert_int_equal(len, lens[i]);
        assert_memory_equal(now, garbage, len);
        free(now);
    }
}

static void a_folder_or_a_missing_folder_is_refused(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    assert_int_equal(mkdir(t->path, 0700), 0);
    assert_fails(open_again(t, &err), ERR_IO);
    char path[TEST_PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/none/db", t->folder);
    assert_fails(db_open(path, clock_system(), NULL, &t->db, &err), ERR_IO);
}

static void the_database_of_another_program_is_refused(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    edit(t, "CREATE TABLE things (a)");
    assert_fails(open_again(t, &err), ERR_INVALID);
    assert_contains(err.text, "another program");
}

static void a_newer_file_is_refused_and_stays_as_it_is(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    store_close(t);
    edit(t, "INSERT INTO migrations VALUES (9999, 'later', 'sha256:x', 1)");
    assert_fails(open_again(t, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "9999");
    edit(t, "DELETE FROM migrations WHERE number = 9999");
    store_open(t);
}

static void a_migration_that_changed_after_it_was_applied_is_refused(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    store_close(t);
    edit(t, "UPDATE migrations SET checksum = 'sha256:x' WHERE number = 1");
    assert_fails(open_again(t, &err), ERR_CONFLICT);
    assert_contains(err.text, "0001_init");
}

/* Migrations: the built-in ones and one more. ------------------------------------------------- */

#define MAX_FILES 64

static size_t more_files(struct embed_file files[MAX_FILES], char name[32], const char *sql)
{
    size_t n = 0;
    for (; migration_files[n].name != NULL; n++)
        files[n] = migration_files[n];
    assert_true(n + 2 <= MAX_FILES);
    snprintf(name, 32, "%04d_more", (int)n + 1);
    files[n] = (struct embed_file){name, (const unsigned char *)sql, strlen(sql)};
    files[n + 1] = (struct embed_file){NULL, NULL, 0};
    return n + 1;
}

static void backup_path(struct store_test *t, size_t number, char out[TEST_PATH_MAX + 48])
{
    snprintf(out, TEST_PATH_MAX + 48, "%s.before-%04d", t->path, (int)number);
}

static void a_migration_keeps_the_rows_and_a_backup_of_the_old_file(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);

    struct embed_file files[MAX_FILES];
    char name[32], path[TEST_PATH_MAX + 48];
    size_t number = more_files(files, name, "CREATE TABLE more (a INTEGER) STRICT;");
    assert_ok(db_open_with(t->path, clock_system(), NULL, files, &t->db, &err));
    assert_counts(t->db, 1);
    store_close(t);
    edit(t, "INSERT INTO more VALUES (1)");

    backup_path(t, number, path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* This program is too old for the new file but opens the backup. */
    assert_fails(open_again(t, &err), ERR_UNSUPPORTED);
    assert_ok(db_open(path, clock_system(), NULL, &t->db, &err));
    assert_counts(t->db, 1);
}

static void no_backup_is_made_of_a_new_file_or_when_nothing_is_to_do(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct embed_file files[MAX_FILES];
    char name[32], path[TEST_PATH_MAX + 48];
    size_t number = more_files(files, name, "CREATE TABLE more (a INTEGER) STRICT;");
    for (int i = 0; i < 2; i++) {
        assert_ok(db_open_with(t->path, clock_system(), NULL, files, &t->db, &err));
        store_close(t);
    }
    for (size_t i = 1; i <= number; i++) {
        backup_path(t, i, path);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static void a_migration_that_fails_leaves_the_file_as_it_was(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    static const char *const bad[] = {
        "CREATE TABLE more (a INTEGER) STRICT; CREATE TABLE more (a INTEGER) STRICT;",
        "CREATE TABLE more (a INTEGER) STRICT; DELETE FROM documents;",
    };
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);
    for (size_t i = 0; i < 2; i++) {
        struct embed_file files[MAX_FILES];
        char name[32];
        more_files(files, name, bad[i]);
        assert_int_not_equal(db_open_with(t->path, clock_system(), NULL, files, &t->db, &err),
                             ERR_OK);
        assert_contains(err.text, name);
        store_open(t);
        assert_counts(t->db, 1);
        store_close(t);
    }
}

static void a_changed_audit_row_is_found_after_reopening(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    for (int i = 0; i < 3; i++)
        assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);
    edit(t, "UPDATE audit SET actor = 'somebody else' WHERE id = 2");
    store_open(t);
    struct counts counts;
    assert_fails(db_read_wait(t->db, count_all, &counts, &err), ERR_CONFLICT);
    assert_contains(err.text, "audit row 2");
}

static void a_damaged_file_is_found_by_the_check(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);
    edit(t, "PRAGMA foreign_keys = OFF; DELETE FROM documents");
    store_open(t);
    struct counts counts;
    assert_fails(db_read_wait(t->db, count_all, &counts, &err), ERR_INVALID);
    assert_contains(err.text, "revisions");
}

static enum err_code see_settings(struct db_tx *tx, void *arg, struct err *err)
{
    static const char *const settings[] = {
        "PRAGMA synchronous",
        "PRAGMA foreign_keys",
        "PRAGMA wal_autocheckpoint",
        "PRAGMA application_id",
    };
    int64_t *out = arg;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        enum err_code code = stmt_number(tx->ro.conn, settings[i], NO_VALUES, &out[i], err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* No test can pull the plug: that commits are synced is seen by the setting only. */
static void the_writer_syncs_each_commit_and_checks_foreign_keys(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    int64_t settings[4] = {-1, -1, -1, -1};
    store_open(t);
    assert_ok(db_write_wait(t->db, see_settings, settings, &err));
    assert_int_equal(settings[0], 2); /* FULL */
    assert_int_equal(settings[1], 1);
    assert_int_equal(settings[2], 0);
    assert_int_equal(settings[3], DB_APPLICATION_ID);
}

static enum err_code write_as_reader(struct db_ro *ro, void *arg, struct err *err)
{
    (void)arg;
    return conn_exec(ro->conn, "DELETE FROM events", err);
}

static void a_reader_cannot_write(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    store_open(t);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    assert_fails(db_read_wait(t->db, write_as_reader, NULL, &err), ERR_IO);
    assert_counts(t->db, 1);
}

/* Start-up reads the ends of the tables only. */
static void a_million_audit_rows_do_not_slow_the_start(void **state)
{
    struct store_test *t = *state;
    struct clock *clock = clock_system();
    store_open(t);
    store_close(t);
    edit(t, "PRAGMA synchronous = OFF;"
            "INSERT INTO audit SELECT i, 1, 'a', 'b', 'c', '', '', '', '', '', '', 'h', 0 FROM"
            " (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)"
            " SELECT i FROM n)");
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t started_ns = clock->mono_ns(clock);
        store_open(t);
        int64_t took_ns = clock->mono_ns(clock) - started_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        assert_int_equal(t->db->heads.audit_id, 1000000);
        store_close(t);
    }
    assert_true(best_ns < 100 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(what_is_written_is_there_after_reopening),
        folder_test(a_second_store_in_this_process_is_refused),
        folder_test(a_lock_held_by_another_process_names_it),
        folder_test(all_files_are_closed_to_others),
        folder_test(a_file_that_is_no_database_is_refused_and_stays_as_it_is),
        folder_test(a_folder_or_a_missing_folder_is_refused),
        folder_test(the_database_of_another_program_is_refused),
        folder_test(a_newer_file_is_refused_and_stays_as_it_is),
        folder_test(a_migration_that_changed_after_it_was_applied_is_refused),
        folder_test(a_migration_keeps_the_rows_and_a_backup_of_the_old_file),
        folder_test(no_backup_is_made_of_a_new_file_or_when_nothing_is_to_do),
        folder_test(a_migration_that_fails_leaves_the_file_as_it_was),
        folder_test(a_changed_audit_row_is_found_after_reopening),
        folder_test(a_damaged_file_is_found_by_the_check),
        folder_test(the_writer_syncs_each_commit_and_checks_foreign_keys),
        folder_test(a_reader_cannot_write),
        folder_test(a_million_audit_rows_do_not_slow_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
