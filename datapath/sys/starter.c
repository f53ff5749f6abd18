/*
 * datapath/sys/starter.c - see starter.h.
 *
 *   agent --request: words, output, control--> starter --fork--> monitor --spawn--> tool
 *     ^------------- control: errno of the start, then the status -----'
 *
 * Each tool has a monitor that waits for it, so that the starter never waits and tools do not
 * know of each other.
 */
#include "datapath/sys/starter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "datapath/sys/child.h"
#include "datapath/sys/confine.h"

#define PAUSE_NS 10000000 /* before a want that passes is met again */

enum { OUTPUT_FD, CONTROL_FD, FD_COUNT };

struct starter {
    int fd;
    pid_t pid;
};

/* Room for the descriptors that come with a request. */
union rights {
    struct cmsghdr header;
    char space[CMSG_SPACE(FD_COUNT * sizeof(int))];
};

struct request {
    char text[STARTER_REQUEST_MAX];
    char *words[STARTER_WORDS_MAX + 1];
    int fds[FD_COUNT];
};

/* The tool's side ------------------------------------------------------------------------------ */

static void tell(int control, int32_t value)
{
    (void)!send(control, &value, sizeof(value), MSG_NOSIGNAL);
}

/* Until the tool has ended. A message kills it; that the owner is gone does not: a burn that is
 * cut off may leave a device without firmware. */
static int32_t watch_tool(pid_t pid, int control)
{
    char word;
    struct pollfd fds[] = {{.fd = pidfd_open(pid, 0), .events = POLLIN},
                           {.fd = control, .events = POLLIN}};
    while (fds[0].fd >= 0 && (fds[0].revents & POLLIN) == 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents == 0)
            continue;
        if (recv(control, &word, sizeof(word), MSG_DONTWAIT) == sizeof(word))
            kill(pid, SIGKILL);
        fds[1] = (struct pollfd){.fd = -1};
    }
    return child_wait(pid);
}

static _Noreturn void monitor(struct request *request)
{
    pid_t pid = -1;
    int control = request->fds[CONTROL_FD];
    signal(SIGCHLD, SIG_DFL);
    int error = child_spawn((const char *const *)request->words, request->fds[OUTPUT_FD], &pid);
    close(request->fds[OUTPUT_FD]);
    tell(control, error);
    if (error == 0)
        tell(control, watch_tool(pid, control));
    _exit(0);
}

/* The starter's side --------------------------------------------------------------------------- */

static void close_fds(struct request *request)
{
    for (int i = 0; i < FD_COUNT; i++)
        if (request->fds[i] >= 0)
            close(request->fds[i]);
}

/* Cut at their NULs; false: not a list of words. */
static bool split(struct request *request, size_t len)
{
    size_t count = 0;
    if (len == 0 || request->text[len - 1] != '\0')
        return false;
    for (char *at = request->text; at < request->text + len; at += strlen(at) + 1) {
        if (count == STARTER_WORDS_MAX)
            return false;
        request->words[count++] = at;
    }
    request->words[count] = NULL;
    return true;
}

/* What passes: a signal, or want of memory or descriptors. Anything else shows that the socket is
 * of no use any more. */
static bool is_passing(int error)
{
    return error == EINTR || error == EAGAIN || error == ENOMEM || error == ENOBUFS ||
           error == EMFILE || error == ENFILE || error == ETOOMANYREFS;
}

/* Descriptors that came; what is not as it should be is closed with them. */
static bool take_fds(const struct cmsghdr *head, struct request *request)
{
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len < CMSG_LEN(sizeof(int)) || head->cmsg_len > CMSG_LEN(sizeof(request->fds)))
        return false;
    memcpy(request->fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
    return head->cmsg_len == CMSG_LEN(sizeof(request->fds));
}

/* 1: a request; 0: the owner is gone; -1: none that can be used. */
static int receive(int fd, struct request *request)
{
    union rights rights;
    struct iovec iov = {.iov_base = request->text, .iov_len = sizeof(request->text)};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof(rights)};
    request->fds[OUTPUT_FD] = request->fds[CONTROL_FD] = -1;
    ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    if (n == 0 || (n < 0 && !is_passing(errno)))
        return 0;
    if (n < 0) {
        const struct timespec pause = {.tv_nsec = PAUSE_NS};
        nanosleep(&pause, NULL);
        return -1;
    }
    if (!take_fds(CMSG_FIRSTHDR(&msg), request))
        return -1;
    return (msg.msg_flags & MSG_TRUNC) == 0 && split(request, (size_t)n) ? 1 : -1;
}

static bool fits(const struct starter_form *form, char *const *words)
{
    size_t i = 0;
    for (; form->words[i] != NULL && words[i] != NULL; i++) {
        bool any = strcmp(form->words[i], "*") == 0;
        if (any ? words[i][0] == '-' || words[i][0] == '\0' : strcmp(form->words[i], words[i]) != 0)
            return false;
    }
    return form->words[i] == NULL && words[i] == NULL;
}

static bool is_listed(const struct starter_form *forms, char *const *words)
{
    for (; forms->words[0] != NULL; forms++)
        if (fits(forms, words))
            return true;
    return false;
}

static void serve(int fd, const struct starter_form *forms)
{
    struct request request;
    for (;;) {
        int rc = receive(fd, &request);
        if (rc == 0)
            return;
        if (rc > 0 && !is_listed(forms, request.words)) {
            tell(request.fds[CONTROL_FD], EACCES);
        } else if (rc > 0) {
            pid_t pid = fork();
            if (pid == 0) {
                close(fd);
                monitor(&request);
            }
            if (pid < 0)
                tell(request.fds[CONTROL_FD], errno);
        }
        close_fds(&request);
    }
}

static _Noreturn void run(int fd, const struct starter_form *forms)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE};
    struct err err = ERR_INIT;
    prctl(PR_SET_NAME, "stellar-tools");
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN); /* it ends with its owner; who is told to stop is that one */
    if (confine(CONFINE_TOOLS, &err) == ERR_OK)
        serve(fd, forms);
    _exit(err.code == ERR_OK ? 0 : 1);
}

/* The owner's side ----------------------------------------------------------------------------- */

enum err_code starter_new(const struct starter_form *forms, struct starter **out, struct err *err)
{
    int pair[2];
    struct starter *starter = calloc(1, sizeof(*starter));
    if (starter == NULL)
        return err_nomem(err);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        free(starter);
        return err_set_errno(err, ERR_IO, errno, "cannot make a socket pair");
    }
    fflush(NULL);
    starter->fd = pair[0];
    starter->pid = fork();
    if (starter->pid == 0) {
        close(pair[0]);
        run(pair[1], forms);
    }
    int error = errno;
    close(pair[1]);
    if (starter->pid < 0) {
        close(starter->fd);
        free(starter);
        return err_set_errno(err, ERR_IO, error, "cannot start the process that starts tools");
    }
    *out = starter;
    return ERR_OK;
}

void starter_free(struct starter *starter)
{
    if (starter == NULL)
        return;
    close(starter->fd);
    (void)child_wait(starter->pid);
    free(starter);
}

pid_t starter_pid(const struct starter *starter)
{
    return starter->pid;
}

static enum err_code join(const char *const *argv, char *out, size_t *out_len, struct err *err)
{
    size_t len = 0, count = 0;
    for (; *argv != NULL; argv++) {
        if (++count > STARTER_WORDS_MAX)
            return err_set(err, ERR_LIMIT, "the command line has more than %d words",
                           STARTER_WORDS_MAX);
        size_t size = strlen(*argv) + 1;
        if (size > STARTER_REQUEST_MAX - len)
            return err_set(err, ERR_LIMIT, "the command line is longer than %d bytes",
                           STARTER_REQUEST_MAX);
        memcpy(out + len, *argv, size);
        len += size;
    }
    *out_len = len;
    return ERR_OK;
}

static int ask(const struct starter *starter, const char *text, size_t len, int output, int control)
{
    const int fds[FD_COUNT] = {[OUTPUT_FD] = output, [CONTROL_FD] = control};
    union rights rights = {.header = {.cmsg_len = CMSG_LEN(sizeof(fds)),
                                      .cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS}};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = len};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof(rights)};
    memcpy(CMSG_DATA(&rights.header), fds, sizeof(fds));
    return sendmsg(starter->fd, &msg, MSG_NOSIGNAL) == (ssize_t)len ? 0 : errno;
}

static bool hear(int control, int32_t *out)
{
    ssize_t n;
    do {
        n = recv(control, out, sizeof(*out), 0);
    } while (n < 0 && errno == EINTR);
    return n == sizeof(*out);
}

enum err_code starter_start(struct starter *starter, const char *const *argv, int output_fd,
                            int *out_control, struct err *err)
{
    char text[STARTER_REQUEST_MAX];
    size_t len = 0;
    int pair[2];
    int32_t error = 0;
    enum err_code code = join(argv, text, &len, err);
    if (code != ERR_OK)
        return code;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make a socket pair for %s", argv[0]);
    error = ask(starter, text, len, output_fd, pair[1]);
    close(pair[1]);
    bool heard = error == 0 && hear(pair[0], &error);
    if (heard && error == 0) {
        *out_control = pair[0];
        return ERR_OK;
    }
    close(pair[0]);
    if (!heard)
        return err_set(err, ERR_IO, "the process that starts %s has ended; restart the agent",
                       argv[0]);
    code = error == ENOENT ? ERR_NOT_FOUND : error == EACCES ? ERR_DENIED : ERR_IO;
    return err_set_errno(err, code, error, "cannot start %s", argv[0]);
}

void starter_kill(int control)
{
    (void)!send(control, "k", 1, MSG_NOSIGNAL);
}

int starter_wait(int control)
{
    int32_t status = -1;
    if (!hear(control, &status))
        status = -1;
    close(control);
    return status;
}
