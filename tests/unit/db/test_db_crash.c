/*
 * tests/unit/db/test_db_crash.c - nothing that was acknowledged is lost: kill -9 and full disks.
 */
#include "tests/unit/db/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define KILLS       12
#define IN_FLIGHT   32
#define FILLER_SIZE 65536

static void *doc(void)
{
    return (void *)(uintptr_t) "tenant/a/policy";
}

/* The child: keeps IN_FLIGHT writes queued; each acknowledgement is a byte in the pipe. */
struct writer {
    struct db *db;
    int fd;
};

static enum err_code put_of_writer(struct db_tx *tx, void *arg, struct err *err)
{
    (void)arg;
    return put_all(tx, doc(), err);
}

static void acknowledge(void *arg, enum err_code code, const struct err *err);

static void write_one(struct writer *writer)
{
    struct err err = ERR_INIT;
    if (db_write(writer->db, put_of_writer, acknowledge, writer, &err) != ERR_OK)
        _exit(1);
}

static void acknowledge(void *arg, enum err_code code, const struct err *err)
{
    (void)err;
    struct writer *writer = arg;
    if (code != ERR_OK || write(writer->fd, "a", 1) != 1)
        _exit(1);
    write_one(writer);
}

static void write_until_killed(const char *path, int fd)
{
    struct err err = ERR_INIT;
    struct writer writer = {.fd = fd};
    if (db_open(path, clock_system(), NULL, &writer.db, &err) != ERR_OK) {
        fprintf(stderr, "child: %s\n", err.text);
        _exit(1);
    }
    for (int i = 0; i < IN_FLIGHT; i++)
        write_one(&writer);
    for (;;)
        pause();
}

static int64_t drain(int fd)
{
    char bytes[65536];
    int64_t total = 0;
    for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0;)
        total += n;
    return total;
}

/* Reads acknowledgements for some time, kills, and reads the rest. The time runs from the first
 * acknowledgement, or from the start of the process, so that opening is killed too. */
static int64_t run_and_kill(const char *path, int run_ms, bool from_first)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(fds[0]);
        write_until_killed(path, fds[1]);
    }
    close(fds[1]);
    struct clock *clock = clock_system();
    int64_t acknowledged = 0, started_ns = clock->mono_ns(clock);
    while ((from_first && acknowledged == 0) ||
           clock->mono_ns(clock) < started_ns + run_ms * NS_PER_MS) {
        struct pollfd poll_fd = {.fd = fds[0], .events = POLLIN};
        char bytes[4096];
        if (poll(&poll_fd, 1, 1) == 0)
            continue;
        ssize_t n = read(fds[0], bytes, sizeof(bytes));
        assert_true(n > 0); /* else the child ended by itself */
        if (from_first && acknowledged == 0)
            started_ns = clock->mono_ns(clock);
        acknowledged += n;
    }
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status)); /* it did not stop by itself */
    acknowledged += drain(fds[0]);
    close(fds[0]);
    return acknowledged;
}

static void everything_acknowledged_is_there_after_kill_9(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    int64_t acknowledged = 0;
    srand((unsigned)getpid());
    for (int i = 0; i < KILLS; i++) {
        acknowledged += run_and_kill(t->path, rand() % 100, i % 2 == 0);
        store_open(t);
        struct counts counts;
        assert_ok(db_read_wait(t->db, count_all, &counts, &err));
        store_close(t);
        assert_true(counts.audits >= acknowledged);
        assert_true(counts.audits <= acknowledged + (i + 1) * (int64_t)DB_GROUP_MAX);
        assert_int_equal(counts.audits, counts.revisions);
        assert_int_equal(counts.audits, counts.events);
        assert_int_equal(counts.audits, counts.generations);
        /* What was durable but not told counts as told from now on. */
        acknowledged = counts.audits;
    }
    assert_true(acknowledged > KILLS);
}

/* Writes until one fails; returns how many were acknowledged. */
static int64_t write_until_it_fails(struct db *db, int limit)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < limit; i++) {
        enum err_code code = db_write_wait(db, put_all, doc(), &err);
        if (code != ERR_OK) {
            assert_int_equal(code, ERR_IO);
            return i;
        }
    }
    fail_msg("%d writes and the disk is not full", limit);
    return 0;
}

static void count_rolled_back(void *arg, struct db_tx *tx)
{
    (void)tx;
    (*(int *)arg)++;
}

/* The limit of file sizes stands for a disk that refuses: writes beyond it fail with EFBIG. */
static void a_file_that_cannot_grow_fails_writes_until_it_can(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    int rolled_back = 0;
    struct db_hooks hooks = {.arg = &rolled_back, .rolled_back = count_rolled_back};
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(db_open(t->path, clock_system(), &hooks, &t->db, &err));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)1024 * 1024; /* the schema alone takes a part of it */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int64_t acknowledged = write_until_it_fails(t->db, 10000);
    for (int i = 0; i < 5; i++)
        if (db_write_wait(t->db, put_all, doc(), &err) == ERR_OK)
            acknowledged++;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(acknowledged > 0);
    assert_true(rolled_back > 0);
    assert_counts(t->db, acknowledged);
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    store_close(t);
    store_open(t);
    assert_counts(t->db, acknowledged + 1);
}

static bool fill_disk(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    static char zeros[FILLER_SIZE];
    size_t size = sizeof(zeros);
    while (size > 0)
        if (write(fd, zeros, size) != (ssize_t)size)
            size /= 2;
    close(fd);
    return errno == ENOSPC;
}

static void a_full_disk_loses_nothing_and_works_again_when_it_has_room(void **state)
{
    struct store_test *t = *state;
    struct err err = ERR_INIT;
    if (mount("tmpfs", t->folder, "tmpfs", 0, "size=8m,mode=0700") != 0) {
        print_message("SKIP: a small tmpfs cannot be mounted here: %s\n", strerror(errno));
        skip();
    }
    char filler[TEST_PATH_MAX + 32];
    snprintf(filler, sizeof(filler), "%s/filler", t->folder);
    int64_t acknowledged = 0;
    store_open(t);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++, acknowledged++)
            assert_ok(db_write_wait(t->db, put_all, doc(), &err));
        assert_true(fill_disk(filler));
        acknowledged += write_until_it_fails(t->db, 100000);
        assert_counts(t->db, acknowledged);
        assert_int_equal(unlink(filler), 0);
    }
    assert_ok(db_write_wait(t->db, put_all, doc(), &err));
    acknowledged++;
    /* Closed while the disk is full, too. */
    assert_true(fill_disk(filler));
    acknowledged += write_until_it_fails(t->db, 100000);
    store_close(t);
    assert_int_equal(unlink(filler), 0);
    store_open(t);
    assert_counts(t->db, acknowledged);
}

/* The mount must go even when the test failed. */
static int mount_teardown(void **state)
{
    struct store_test *t = *state;
    store_close(t);
    umount2(t->folder, MNT_DETACH);
    return store_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(everything_acknowledged_is_there_after_kill_9),
        folder_test(a_file_that_cannot_grow_fails_writes_until_it_can),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_nothing_and_works_again_when_it_has_room,
                                        folder_setup, mount_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
