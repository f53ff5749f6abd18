/*
 * tests/unit/datapath/test_confine.c - datapath/sys/{confine,starter}: what is given up is gone, in
 * processes of their own, because there is no way back. Also run by the lab, as root of its kernel.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/own.h"
#include "datapath/sys/child.h"
#include "datapath/sys/confine.h"
#include "datapath/sys/starter.h"

#define STATUS_MAX 8192

/* In a process of its own: confined to the role, then fn(arg); its answer. -1: not even that. */
static int confined(enum confine_role role, int (*fn)(const void *arg), const void *arg)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(confine(role, NULL) == ERR_OK ? fn(arg) : 255);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

/* Refused -------------------------------------------------------------------------------------- */

struct call {
    const char *name;
    long number;
    long args[4];
    bool tools_too; /* refused to tools as well */
};

/* With arguments that make them do nothing where they are allowed. */
static const struct call calls[] = {
    {"init_module", SYS_init_module, {0, 0, 0}, true},
    {"finit_module", SYS_finit_module, {-1, 0, 0}, true},
    {"delete_module", SYS_delete_module, {0, 0}, true},
    {"mount", SYS_mount, {0, 0, 0, 0}, true},
    {"umount2", SYS_umount2, {0, 0}, true},
    {"move_mount", SYS_move_mount, {-1, 0, -1, 0}, true},
    {"pivot_root", SYS_pivot_root, {0, 0}, true},
    {"chroot", SYS_chroot, {0}, true},
    {"ptrace", SYS_ptrace, {16, 1, 0, 0}, true},                    /* PTRACE_ATTACH to process 1 */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their leak search needs it  \
                                                                     */
    {"process_vm_readv", SYS_process_vm_readv, {1, 0, 0, 0}, true},
    {"kill", SYS_kill, {1, 0}, false},
#endif
    {"reboot", SYS_reboot, {0, 0, 0, 0}, true},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, -1}, true},
    {"swapon", SYS_swapon, {0, 0}, true},
    {"unshare", SYS_unshare, {CLONE_NEWUSER}, true},
    {"setns", SYS_setns, {-1, 0}, true},
    {"clone with a namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD, 0, 0, 0}, true},
    {"bpf", SYS_bpf, {0, 0, 0}, true},
    {"perf_event_open", SYS_perf_event_open, {0, 0, 0, 0}, true},
    {"keyctl", SYS_keyctl, {0, 0, 0, 0}, true},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, 0, 0}, true},
    {"io_uring_setup", SYS_io_uring_setup, {0, 0}, true},
    {"settimeofday", SYS_settimeofday, {1, 1}, true},
    {"sethostname", SYS_sethostname, {0, -1}, true},
    {"execve", SYS_execve, {0, 0, 0}, false},
    {"fork", SYS_fork, {0}, false},
    {"setuid", SYS_setuid, {65534}, false},
    {"chown", SYS_chown, {0, 0, 0}, false},
    {"mknod", SYS_mknod, {0, 0, 0}, false},
    {"a packet socket", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, false},
    {"memory to write and run",
     SYS_mmap,
     {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS},
     false},
    {"memory to run later", SYS_mprotect, {0, 0, PROT_READ | PROT_EXEC}, false},
};

static int attempt(const void *arg)
{
    const struct call *call = arg;
    errno = 0;
    long rc =
        syscall(call->number, call->args[0], call->args[1], call->args[2], call->args[3], -1, 0);
    return rc < 0 ? errno : 0;
}

static void what_nobody_needs_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const struct call *call = &calls[i];
        int agent = confined(CONFINE_AGENT, attempt, call);
        int tools = call->tools_too ? confined(CONFINE_TOOLS, attempt, call) : EPERM;
        if (agent != EPERM || tools != EPERM)
            fail_msg("%s: error %d in the agent, %d in tools", call->name, agent, tools);
    }
}

/* Allowed -------------------------------------------------------------------------------------- */

static void *thread_main(void *arg)
{
    return arg;
}

static int work(const void *arg)
{
    char path[] = "/tmp/confine-XXXXXX", *memory;
    pthread_t thread;
    void *back = NULL;
    struct timespec now, pause = {.tv_nsec = 1000};
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, "x", 1) != 1 || fchmod(fd, 0600) != 0 || fsync(fd) != 0 ||
        unlink(path) != 0)
        return 1;
    if (pthread_create(&thread, NULL, thread_main, (void *)(uintptr_t)arg) != 0 ||
        pthread_join(thread, &back) != 0 || back != arg)
        return 2;
    if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0 || socket(AF_INET, SOCK_STREAM, 0) < 0 ||
        socket(AF_INET6, SOCK_DGRAM, 0) < 0 || socket(AF_UNIX, SOCK_STREAM, 0) < 0)
        return 3;
    memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || munmap(memory, 1 << 20) != 0)
        return 4;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || nanosleep(&pause, NULL) != 0 ||
        timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) < 0)
        return 5;
    return 0;
}

static void what_the_agent_does_goes_on(void **state)
{
    (void)state;
    static const char token[] = "token";
    assert_int_equal(confined(CONFINE_AGENT, work, token), 0);
    assert_int_equal(confined(CONFINE_TOOLS, work, token), 0);
}

/* What stays ----------------------------------------------------------------------------------- */

static uint64_t status_of(const char *text, const char *name, int base)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoull(at + strlen(name), NULL, base);
}

static void read_status(char text[STATUS_MAX])
{
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, STATUS_MAX - 1);
    text[n < 0 ? 0 : n] = '\0';
    close(fd);
}

static int is_confined(const void *arg)
{
    char text[STATUS_MAX];
    uint64_t kept = UINT64_C(1) << *(const int *)arg;
    read_status(text);
    /* Whoever has no CAP_SETPCAP keeps a bounding set, which no_new_privs makes void. */
    uint64_t most = status_of(text, "CapPrm:", 16);
    bool good = (most & ~kept) == 0 && status_of(text, "CapEff:", 16) == most &&
                status_of(text, "CapInh:", 16) == 0 && status_of(text, "CapAmb:", 16) == 0;
    return good && status_of(text, "NoNewPrivs:", 10) == 1 && status_of(text, "Seccomp:", 10) == 2
               ? 0
               : 1;
}

static void one_capability_stays_at_most(void **state)
{
    (void)state;
    static const int agent = CAP_NET_ADMIN, tools = CAP_SYS_ADMIN;
    assert_int_equal(confined(CONFINE_AGENT, is_confined, &agent), 0);
    assert_int_equal(confined(CONFINE_TOOLS, is_confined, &tools), 0);
    assert_int_equal(confined(CONFINE_AGENT, is_confined, &tools), geteuid() == 0);
}

static int confine_again(const void *arg)
{
    (void)arg;
    return confine(CONFINE_AGENT, NULL) == ERR_OK ? 0 : 1;
}

static void there_is_no_way_back(void **state)
{
    (void)state;
    /* capset and seccomp are not among what is allowed: nothing can be changed any more. */
    assert_int_equal(confined(CONFINE_AGENT, confine_again, NULL), 1);
}

/* Starting tools ------------------------------------------------------------------------------- */

static const struct starter_form forms[] = {
    {{"cat", "*"}},
    {{"sleep", "*"}},
    {{"sh", "-c", "exit 7"}},
    {{"no-such-tool-of-ours"}},
    {{"printf", "%s.", "*", "*"}},
    {{NULL}},
};

static enum err_code run_tool(struct starter *starter, const char *const *argv, int deadline_ms,
                              int *status, char **text, struct err *err)
{
    size_t len;
    const struct child child = {.argv = argv, .deadline_ms = deadline_ms, .starter = starter};
    return child_run(&child, status, text, &len, err);
}

static void a_listed_command_line_is_started(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(starter) struct starter *starter = NULL;
    OWN(str) char *text = NULL;
    OWN(str) char *none = NULL;
    int status = -1;
    assert_ok(starter_new(forms, &starter, &err));
    const char *const print[] = {"printf", "%s.", "a b;$HOME", "c", NULL};
    assert_ok(run_tool(starter, print, 60000, &status, &text, &err));
    assert_string_equal(text, "a b;$HOME.c."); /* as it is: no shell has seen it */
    assert_int_equal(status, 0);
    const char *const fails[] = {"sh", "-c", "exit 7", NULL};
    assert_ok(run_tool(starter, fails, 60000, &status, &none, &err));
    assert_int_equal(status, 7);
}

static void an_end_that_is_not_known_is_no_success(void **state)
{
    (void)state;
    const char *const fine[] = {"true", NULL};
    pid_t pid = -1;
    assert_int_equal(child_spawn(fine, STDERR_FILENO, &pid), 0);
    assert_int_equal(child_wait(pid), 0);
    assert_int_equal(child_wait(pid), -1); /* waited for before */
}

static void any_other_command_line_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(starter) struct starter *starter = NULL;
    char *text = NULL;
    int status = -1;
    static const char *const others[][STARTER_WORDS_MAX + 2] = {
        {"id", NULL},
        {"cat", NULL},
        {"cat", "/dev/null", "/dev/null", NULL},
        {"cat", "-n", NULL},
        {"cat", "", NULL},
        {"/bin/cat", "/dev/null", NULL},
        {"sh", "-c", "exit 8", NULL},
        {"cat", "1", "2", "3", "4", "5", "6", "7", "8", NULL},
    };
    assert_ok(starter_new(forms, &starter, &err));
    for (size_t i = 0; i + 1 < sizeof(others) / sizeof(others[0]); i++)
        assert_fails(run_tool(starter, others[i], 60000, &status, &text, &err), ERR_DENIED);
    assert_fails(run_tool(starter, others[7], 60000, &status, &text, &err), ERR_LIMIT);
    const char *const missing[] = {"no-such-tool-of-ours", NULL};
    assert_fails(run_tool(starter, missing, 60000, &status, &text, &err), ERR_NOT_FOUND);
}

static void a_request_whose_descriptors_get_lost_is_not_the_last(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(starter) struct starter *starter = NULL;
    char *text = NULL;
    int status = -1;
    struct rlimit limit, none = {0};
    const char *const print[] = {"printf", "%s.", "a", "b", NULL};
    assert_ok(starter_new(forms, &starter, &err));
    pid_t pid = starter_pid(starter);
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &limit), 0);
    none.rlim_max = limit.rlim_max;
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
    assert_int_not_equal(run_tool(starter, print, 60000, &status, &text, &err), ERR_OK);
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &limit, NULL), 0);
    assert_ok(run_tool(starter, print, 60000, &status, &text, &err));
    assert_string_equal(text, "a.b.");
    free(text);
}

static void a_command_line_has_a_longest_length(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(starter) struct starter *starter = NULL;
    OWN(str) char *text = NULL;
    int status = -1;
    static char word[STARTER_REQUEST_MAX];
    const char *const argv[] = {"cat", word, NULL};
    assert_ok(starter_new(forms, &starter, &err));
    memset(word, 'x', sizeof(word) - 1 - strlen("cat") - 1);
    assert_ok(run_tool(starter, argv, 60000, &status, &text, &err));
    assert_int_equal(status, 1); /* no such file: it was started */
    word[strlen(word)] = 'x';
    assert_fails(run_tool(starter, argv, 60000, &status, &text, &err), ERR_LIMIT);
}

static void a_tool_beyond_its_time_is_killed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(starter) struct starter *starter = NULL;
    char *text = NULL;
    int status;
    const char *const argv[] = {"sleep", "1000", NULL};
    assert_ok(starter_new(forms, &starter, &err));
    assert_fails(run_tool(starter, argv, 50, &status, &text, &err), ERR_UNAVAILABLE);
}

static void a_tool_keeps_what_tools_need_and_no_more(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(starter) struct starter *starter = NULL;
    OWN(str) char *text = NULL;
    char own[STATUS_MAX];
    int status;
    const char *const argv[] = {"cat", "/proc/self/status", NULL};
    read_status(own);
    assert_ok(starter_new(forms, &starter, &err));
    assert_ok(run_tool(starter, argv, 60000, &status, &text, &err));
    assert_int_equal(status_of(text, "NoNewPrivs:", 10), 1);
    assert_int_equal(status_of(text, "Seccomp:", 10), 2);
    uint64_t had = status_of(own, "CapPrm:", 16);
    assert_int_equal(status_of(text, "CapEff:", 16), had & (UINT64_C(1) << CAP_SYS_ADMIN));
}

/* The owner is killed with no word of farewell: its starter ends all the same. */
static void it_ends_with_its_owner(void **state)
{
    (void)state;
    int ends[2], status;
    pid_t starter_is = -1;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t owner = fork();
    if (owner == 0) {
        struct starter *starter = NULL;
        if (starter_new(forms, &starter, NULL) != ERR_OK)
            _exit(1);
        pid_t pid = starter_pid(starter);
        (void)!write(ends[1], &pid, sizeof(pid));
        pause();
    }
    assert_int_equal(read(ends[0], &starter_is, sizeof(starter_is)), sizeof(starter_is));
    assert_int_equal(kill(owner, SIGKILL), 0);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_int_equal(waitpid(starter_is, &status, 0), starter_is); /* it is ours now */
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_needs_is_refused),
        cmocka_unit_test(what_the_agent_does_goes_on),
        cmocka_unit_test(one_capability_stays_at_most),
        cmocka_unit_test(there_is_no_way_back),
        cmocka_unit_test(a_listed_command_line_is_started),
        cmocka_unit_test(an_end_that_is_not_known_is_no_success),
        cmocka_unit_test(any_other_command_line_is_refused),
        cmocka_unit_test(a_request_whose_descriptors_get_lost_is_not_the_last),
        cmocka_unit_test(a_command_line_has_a_longest_length),
        cmocka_unit_test(a_tool_beyond_its_time_is_killed),
        cmocka_unit_test(a_tool_keeps_what_tools_need_and_no_more),
        cmocka_unit_test(it_ends_with_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
