/*
 * base/notify.c - see notify.h.
 */
#include "base/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define LISTEN_FD_FIRST 3 /* sd_listen_fds(3), SD_LISTEN_FDS_START */

static enum err_code address_of(const char *name, struct sockaddr_un *out, socklen_t *out_len,
                                struct err *err)
{
    size_t len = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(out->sun_path))
        return err_set(
            err, ERR_INVALID,
            "NOTIFY_SOCKET is neither a path nor an abstract name of less than %zu bytes",
            sizeof(out->sun_path));
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, name, len);
    if (name[0] == '@')
        out->sun_path[0] = '\0'; /* unix(7): an abstract name begins with a zero byte */
    *out_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return ERR_OK;
}

enum err_code notify_send(const char *lines, struct err *err)
{
    struct sockaddr_un address;
    socklen_t len = 0;
    const char *name = getenv("NOTIFY_SOCKET");
    if (name == NULL || name[0] == '\0')
        return ERR_OK;
    enum err_code code = address_of(name, &address, &len, err);
    if (code != ERR_OK)
        return code;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "a socket to the service manager");
    ssize_t sent = sendto(fd, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL,
                          (const struct sockaddr *)&address, len);
    if (sent < 0)
        code = err_set_errno(err, ERR_IO, errno, "telling the service manager");
    close(fd);
    return code;
}

/* False: not set, or no number of 1 to max. */
static bool number_of(const char *variable, long long max, long long *out)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && *out >= 1 && *out <= max;
}

static bool is_for_us(const char *variable)
{
    long long pid;
    return getenv(variable) == NULL || (number_of(variable, INT32_MAX, &pid) && pid == getpid());
}

int64_t notify_watchdog_ns(void)
{
    long long us;
    if (!is_for_us("WATCHDOG_PID") || !number_of("WATCHDOG_USEC", INT64_MAX / 1000, &us))
        return 0;
    return us * 1000;
}

static enum err_code check_listening(int fd, struct err *err)
{
    int type = 0, listening = 0;
    socklen_t len = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
        return err_set_errno(err, ERR_INVALID, errno, "the descriptor handed over is no socket");
    len = sizeof(listening);
    if (type != SOCK_STREAM || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) != 0 ||
        !listening)
        return err_set(err, ERR_INVALID, "the socket handed over is no listening stream socket");
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return err_set_errno(err, ERR_IO, errno, "the socket handed over");
    return ERR_OK;
}

enum err_code notify_listen_fd(int *out, struct err *err)
{
    long long count = 0;
    bool ours = getenv("LISTEN_PID") != NULL && is_for_us("LISTEN_PID") &&
                number_of("LISTEN_FDS", INT32_MAX, &count);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (ours && count > 1)
        return err_set(err, ERR_LIMIT, "%lld sockets were handed over; one is wanted", count);
    if (ours) {
        enum err_code code = check_listening(LISTEN_FD_FIRST, err);
        if (code != ERR_OK)
            return code;
    }
    *out = ours ? LISTEN_FD_FIRST : -1;
    return ERR_OK;
}
