/*
 * datapath/sys/child.c - see child.h.
 */
#include "datapath/sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "datapath/sys/starter.h"

extern char **environ;

static void close_pair(int pipe_fd[2])
{
    for (int i = 0; i < 2; i++)
        if (pipe_fd[i] >= 0)
            close(pipe_fd[i]);
}

int child_spawn(const char *const *argv, int output_fd, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none); /* the worker's thread blocks all signals */
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
    int error =
        posix_spawnp(out, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return error;
}

/* Until the output ends; false: the deadline passed. */
static bool collect(const struct child *child, int fd, char *text, size_t *len)
{
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + child->deadline_ms * NS_PER_MS;
    char part[4096];
    for (;;) {
        int64_t left_ms = (end_ns - clock->mono_ns(clock)) / NS_PER_MS;
        if (left_ms <= 0)
            return false;
        int ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)left_ms);
        ssize_t n = ready > 0 ? read(fd, part, sizeof(part)) : -1;
        if (ready > 0 && n == 0)
            return true;
        if (n <= 0)
            continue;
        size_t room = CHILD_OUTPUT_MAX - *len, kept = (size_t)n < room ? (size_t)n : room;
        memcpy(text + *len, part, kept);
        *len += kept;
        if (child->output != NULL)
            child->output(child->arg, part, (size_t)n);
    }
}

int child_wait(pid_t pid)
{
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One that runs: ours, or the starter's. */
struct process {
    pid_t pid;
    int control; /* of starter.h */
};

static enum err_code start(const struct child *child, int output_fd, struct process *out,
                           struct err *err)
{
    if (child->starter != NULL)
        return starter_start(child->starter, child->argv, output_fd, &out->control, err);
    int error = child_spawn(child->argv, output_fd, &out->pid);
    return error == 0 ? ERR_OK
                      : err_set_errno(err, error == ENOENT ? ERR_NOT_FOUND : ERR_IO, error,
                                      "cannot start %s", child->argv[0]);
}

static int end(const struct child *child, const struct process *process, bool ended)
{
    if (child->starter == NULL) {
        if (!ended)
            kill(process->pid, SIGKILL);
        return child_wait(process->pid);
    }
    if (!ended)
        starter_kill(process->control);
    return starter_wait(process->control);
}

enum err_code child_run(const struct child *child, int *out_status, char **out_text,
                        size_t *out_len, struct err *err)
{
    const char *name = child->argv[0];
    OWN(str) char *text = malloc(CHILD_OUTPUT_MAX + 1);
    int pipe_fd[2] = {-1, -1};
    struct process process;
    size_t len = 0;
    if (text == NULL)
        return err_nomem(err);
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make a pipe for %s", name);
    enum err_code code = start(child, pipe_fd[1], &process, err);
    if (code != ERR_OK) {
        close_pair(pipe_fd);
        return code;
    }
    close(pipe_fd[1]);
    pipe_fd[1] = -1;
    bool ended = collect(child, pipe_fd[0], text, &len);
    int status = end(child, &process, ended);
    close_pair(pipe_fd);
    if (!ended)
        return err_set(err, ERR_UNAVAILABLE, "%s did not end within %d ms and was killed", name,
                       child->deadline_ms);
    text[len] = '\0';
    *out_status = status;
    *out_len = len;
    *out_text = GIVE(text);
    return ERR_OK;
}
