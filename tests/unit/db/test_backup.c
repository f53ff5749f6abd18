#include "tests/unit/db/store.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/file.h"
#include "db/backup.h"

#define WRITES_MAX 2000

static char copy[TEST_PATH_MAX + 32];

static const char *copy_path(const struct store_test *t)
{
    snprintf(copy, sizeof(copy), "%s/copy.db", t->folder);
    return copy;
}

static void write_documents(struct db *db, int count)
{
    struct err err = ERR_INIT;
    static char doc[] = "fabric";
    for (int i = 0; i < count; i++)
        assert_ok(db_write_wait(db, put_all, doc, &err));
}

static bool is_there(const struct store_test *t, const char *suffix)
{
    char path[TEST_PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s%s", t->path, suffix);
    return access(path, F_OK) == 0;
}

static void damage(const char *path, off_t at)
{
    static const char junk[] = "this is no page of a database, whatever it was before";
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < 200; i++)
        assert_true(pwrite(fd, junk, sizeof(junk), at + i * (off_t)sizeof(junk)) > 0);
    close(fd);
}

static void a_copy_holds_what_was_durable(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures = {.size_bytes = 0};
    struct stat st;
    write_documents(t->db, 3);
    assert_ok(db_backup(t->db, copy_path(t), NULL, &figures, &err));
    assert_int_equal(figures.generation, 3);
    assert_int_equal(figures.audit_rows, 3);
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, figures.size_bytes);
    assert_fails(db_backup(t->db, copy, NULL, &figures, &err), ERR_CONFLICT);
    assert_contains(err.text, "is there already");
    assert_ok(db_verify(copy, &figures, &err));
}

struct writer {
    struct db *db;
    atomic_bool stop;
    atomic_int written;
};

static void *keep_writing(void *arg)
{
    struct writer *w = arg;
    while (!atomic_load(&w->stop) && atomic_load(&w->written) < WRITES_MAX) {
        write_documents(w->db, 1);
        atomic_fetch_add(&w->written, 1);
    }
    return NULL;
}

static void copies_under_load_are_whole_and_writes_go_on(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures = {.size_bytes = 0};
    struct writer w = {.db = t->db};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, keep_writing, &w), 0);
    for (int i = 0; i < 5; i++) {
        int before = atomic_load(&w.written);
        unlink(copy_path(t));
        assert_ok(db_backup(t->db, copy, NULL, &figures, &err));
        assert_true(figures.generation >= before);
        assert_int_equal(figures.generation, figures.audit_rows);
    }
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&w.written) > 0);
}

struct looker {
    struct db *db;
    int looks, stop_at; /* 0 = never */
    int64_t done, total;
};

static bool look_and_write(void *arg, int64_t done, int64_t total)
{
    struct looker *looker = arg;
    assert_true(done > looker->done && done <= total);
    looker->done = done;
    looker->total = total;
    write_documents(looker->db, 2);
    return ++looker->looks != looker->stop_at;
}

#define DOCUMENTS_OF_SLICES 4000 /* a store of several slices of a copy */

static void what_is_written_between_two_slices_is_not_in_the_copy(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures = {.size_bytes = 0};
    struct looker looker = {.db = t->db};
    const struct copy_watch watch = {.go_on = look_and_write, .arg = &looker};
    write_documents(t->db, DOCUMENTS_OF_SLICES);
    assert_ok(db_backup(t->db, copy_path(t), &watch, &figures, &err));
    assert_true(looker.looks >= 1);
    assert_int_equal(figures.generation, DOCUMENTS_OF_SLICES);
    assert_ok(db_verify(copy, &figures, &err));
    assert_counts(t->db, DOCUMENTS_OF_SLICES + 2 * looker.looks);
}

static void a_copy_that_is_stopped_leaves_nothing(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    struct looker looker = {.db = t->db, .stop_at = 1};
    const struct copy_watch watch = {.go_on = look_and_write, .arg = &looker};
    char part[sizeof(copy) + 8];
    write_documents(t->db, DOCUMENTS_OF_SLICES);
    assert_fails(db_backup(t->db, copy_path(t), &watch, &figures, &err), ERR_UNAVAILABLE);
    assert_contains(err.text, "stopped");
    assert_int_equal(looker.looks, 1);
    snprintf(part, sizeof(part), "%s.part", copy);
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(access(part, F_OK), -1);
    write_documents(t->db, 1);
}

static void a_copy_that_cannot_be_written_leaves_nothing(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    assert_fails(db_backup(t->db, "/nonexistent/copy.db", NULL, &figures, &err), ERR_IO);
    char part[sizeof(copy) + 8];
    snprintf(part, sizeof(part), "%s.part", copy_path(t));
    assert_int_equal(mkdir(part, 0700), 0); /* in the way, and no file */
    assert_fails(db_backup(t->db, copy, NULL, &figures, &err), ERR_IO);
    assert_int_equal(access(copy, F_OK), -1);
}

static void a_store_goes_back_to_its_copy_and_the_old_one_is_kept(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    char aside[RESTORE_PATH_MAX];
    write_documents(t->db, 3);
    assert_ok(db_backup(t->db, copy_path(t), NULL, &figures, &err));
    write_documents(t->db, 4);
    store_close(t);
    assert_ok(db_restore(t->path, copy, clock_system(), aside, &figures, &err));
    assert_int_equal(figures.generation, 3);
    assert_ok(db_verify(aside, &figures, &err));
    assert_int_equal(figures.generation, 7);
    assert_false(is_there(t, RESTORE_MARK));
    assert_false(is_there(t, ".incoming"));
    store_open(t);
    assert_counts(t->db, 3);
    write_documents(t->db, 1); /* and goes on from there */
    assert_counts(t->db, 4);
}

static enum err_code read_name(struct db_tx *tx, void *arg, struct err *err)
{
    return store_key_get(tx, STORE_KEY_ID, arg, err);
}

static void a_restored_store_is_another_store(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    char aside[RESTORE_PATH_MAX];
    unsigned char first[STORE_KEY_SIZE], same[STORE_KEY_SIZE], restored[STORE_KEY_SIZE];
    assert_ok(db_write_wait(t->db, read_name, first, &err));
    assert_ok(db_backup(t->db, copy_path(t), NULL, &figures, &err));
    store_close(t);
    store_open(t);
    assert_ok(db_write_wait(t->db, read_name, same, &err));
    assert_memory_equal(first, same, sizeof(first)); /* a start makes no other */
    store_close(t);
    assert_ok(db_restore(t->path, copy, clock_system(), aside, &figures, &err));
    store_open(t);
    assert_ok(db_write_wait(t->db, read_name, restored, &err));
    assert_memory_not_equal(first, restored, sizeof(first));
}

static void a_lost_store_is_put_back(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    char aside[RESTORE_PATH_MAX];
    write_documents(t->db, 2);
    store_close(t);
    assert_ok(db_backup_offline(t->path, copy_path(t), &figures, &err));
    assert_int_equal(unlink(t->path), 0);
    assert_ok(db_restore(t->path, copy, clock_system(), aside, &figures, &err));
    assert_string_equal(aside, "");
    store_open(t);
    assert_counts(t->db, 2);
}

static void nothing_is_replaced_while_a_server_runs(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    char aside[RESTORE_PATH_MAX];
    write_documents(t->db, 1);
    assert_ok(db_backup(t->db, copy_path(t), NULL, &figures, &err));
    assert_fails(db_restore(t->path, copy, clock_system(), aside, &figures, &err), ERR_CONFLICT);
    assert_contains(err.text, "in use by process");
    assert_fails(db_verify(t->path, &figures, &err), ERR_CONFLICT);
    assert_fails(db_backup_offline(t->path, "x", &figures, &err), ERR_CONFLICT);
    assert_counts(t->db, 1);
}

static void assert_restore_refused(struct store_test *t, const char *from, enum err_code code)
{
    struct err err = ERR_INIT;
    struct store_figures figures;
    char aside[RESTORE_PATH_MAX];
    assert_fails(db_restore(t->path, from, clock_system(), aside, &figures, &err), code);
    assert_contains(err.text, "nothing was changed: ");
    assert_false(is_there(t, RESTORE_MARK));
    assert_false(is_there(t, ".incoming"));
    assert_ok(db_verify(t->path, &figures, &err));
    assert_int_equal(figures.generation, 3);
}

static void what_is_no_whole_copy_is_refused_before_anything_changes(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    write_documents(t->db, 3);
    assert_ok(db_backup(t->db, copy_path(t), NULL, &figures, &err));
    store_close(t);
    assert_restore_refused(t, "/nonexistent", ERR_NOT_FOUND);
    damage(copy, 8192);
    assert_restore_refused(t, copy, ERR_INVALID);
    assert_ok(file_write_atomic(copy, "no database at all", 18, 0600, &err));
    assert_restore_refused(t, copy, ERR_INVALID);
    assert_ok(file_write_atomic(copy, "", 0, 0600, &err));
    assert_restore_refused(t, copy, ERR_INVALID);
}

static enum err_code break_audit(struct db_tx *tx, void *arg, struct err *err)
{
    (void)arg;
    return stmt_run(tx->ro.conn, "UPDATE audit SET actor = 'z' WHERE id = 2", NO_VALUES, err);
}

static void a_copy_with_a_broken_audit_log_is_refused(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    write_documents(t->db, 3);
    assert_ok(db_write_wait(t->db, break_audit, NULL, &err));
    assert_fails(db_backup(t->db, copy_path(t), NULL, &figures, &err), ERR_INVALID);
    assert_contains(err.text, "audit log is broken at row 2");
    assert_int_equal(access(copy, F_OK), -1);
}

/* As left by a restore that was killed between any two renames. */
static void a_restore_that_was_cut_short_must_be_ended(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    struct store_figures figures;
    struct db *db = NULL;
    char aside[RESTORE_PATH_MAX], mark[sizeof(t->path) + 16];
    write_documents(t->db, 2);
    assert_ok(db_backup(t->db, copy_path(t), NULL, &figures, &err));
    store_close(t);
    snprintf(mark, sizeof(mark), "%s%s", t->path, RESTORE_MARK);
    assert_ok(file_write_atomic(mark, "", 0, 0600, &err));
    for (int gone = 0; gone < 2; gone++) {
        assert_fails(db_open(t->path, clock_system(), NULL, &db, &err), ERR_CONFLICT);
        assert_contains(err.text, "cut short");
        unlink(t->path);
    }
    assert_int_equal(access(t->path, F_OK), -1); /* a start makes no new store over it */
    assert_ok(db_restore(t->path, copy, clock_system(), aside, &figures, &err));
    store_open(t);
    assert_counts(t->db, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(a_copy_holds_what_was_durable),
        store_test(copies_under_load_are_whole_and_writes_go_on),
        store_test(what_is_written_between_two_slices_is_not_in_the_copy),
        store_test(a_copy_that_is_stopped_leaves_nothing),
        store_test(a_copy_that_cannot_be_written_leaves_nothing),
        store_test(a_store_goes_back_to_its_copy_and_the_old_one_is_kept),
        store_test(a_restored_store_is_another_store),
        store_test(a_lost_store_is_put_back),
        store_test(nothing_is_replaced_while_a_server_runs),
        store_test(what_is_no_whole_copy_is_refused_before_anything_changes),
        store_test(a_copy_with_a_broken_audit_log_is_refused),
        store_test(a_restore_that_was_cut_short_must_be_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
