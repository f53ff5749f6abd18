#include "tests/unit/test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/notify.h"

/* A socket of a service manager's; name is put into NOTIFY_SOCKET. */
static int manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    memcpy(address.sun_path, name, len);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void assert_heard(int fd, const char *wanted)
{
    char heard[128];
    ssize_t n = recv(fd, heard, sizeof(heard) - 1, MSG_DONTWAIT);
    assert_true(n >= 0);
    heard[n] = '\0';
    assert_string_equal(heard, wanted);
}

static void nobody_listens_and_nothing_happens(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    unsetenv("NOTIFY_SOCKET");
    assert_ok(notify_send("READY=1", &err));
}

static void the_manager_hears_a_path_and_an_abstract_name(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char folder[TEST_PATH_MAX], name[64];
    test_folder(folder);
    snprintf(name, sizeof(name), "%.40s/s", folder);
    int fd = manager(name);
    assert_ok(notify_send("READY=1\nSTATUS=here", &err));
    assert_heard(fd, "READY=1\nSTATUS=here");
    close(fd);
    unlink(name);
    rmdir(folder);
    snprintf(name, sizeof(name), "@stellar-test-%d", (int)getpid());
    fd = manager(name);
    assert_ok(notify_send("WATCHDOG=1", &err));
    assert_heard(fd, "WATCHDOG=1");
    close(fd);
    assert_fails(notify_send("WATCHDOG=1", &err), ERR_IO);
}

static void a_name_that_is_none_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char name[200];
    setenv("NOTIFY_SOCKET", "relative", 1);
    assert_fails(notify_send("READY=1", &err), ERR_INVALID);
    memset(name, 'a', sizeof(name));
    name[0] = '/';
    name[sizeof(name) - 1] = '\0';
    setenv("NOTIFY_SOCKET", name, 1);
    assert_fails(notify_send("READY=1", &err), ERR_INVALID);
    unsetenv("NOTIFY_SOCKET");
}

static void the_watchdog_is_ours_alone(void **state)
{
    (void)state;
    char pid[16];
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "30000000", 1);
    assert_int_equal(notify_watchdog_ns(), INT64_C(30000000000));
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(notify_watchdog_ns(), INT64_C(30000000000));
    setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(notify_watchdog_ns(), 0);
    unsetenv("WATCHDOG_PID");
    const char *wrong[] = {"", "0", "-1", "x", "30s", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("WATCHDOG_USEC", wrong[i], 1);
        assert_int_equal(notify_watchdog_ns(), 0);
    }
    unsetenv("WATCHDOG_USEC");
}

static void offer(const char *count)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", count, 1);
}

static void a_listening_socket_is_taken_over(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int out = 7, saved = fcntl(3, F_DUPFD_CLOEXEC, 100);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_ok(notify_listen_fd(&out, &err));
    assert_int_equal(out, -1);
    dup2(fd, 3);
    offer("1");
    assert_fails(notify_listen_fd(&out, &err), ERR_INVALID); /* it does not listen */
    assert_null(getenv("LISTEN_FDS"));
    assert_int_equal(listen(3, 1), 0);
    offer("2");
    assert_fails(notify_listen_fd(&out, &err), ERR_LIMIT);
    offer("1");
    assert_ok(notify_listen_fd(&out, &err));
    assert_int_equal(out, 3);
    assert_int_equal(fcntl(3, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    setenv("LISTEN_PID", "1", 1);
    setenv("LISTEN_FDS", "1", 1);
    assert_ok(notify_listen_fd(&out, &err)); /* another process's */
    assert_int_equal(out, -1);
    close(3);
    close(fd);
    if (saved >= 0) {
        dup2(saved, 3);
        close(saved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_listens_and_nothing_happens),
        cmocka_unit_test(the_manager_hears_a_path_and_an_abstract_name),
        cmocka_unit_test(a_name_that_is_none_is_refused),
        cmocka_unit_test(the_watchdog_is_ours_alone),
        cmocka_unit_test(a_listening_socket_is_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
