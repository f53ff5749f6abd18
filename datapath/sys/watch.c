/*
 * datapath/sys/watch.c - see watch.h. Owned by dp_linux, fed by sys.c and modparam.c.
 */
#include "datapath/sys/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FILE_EVENTS   (IN_MODIFY | IN_DELETE_SELF)
#define FOLDER_EVENTS (IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

struct watched {
    char *path; /* owned */
    int wd;
    int pin; /* -1 = none */
    uint32_t round;
};

struct sys_watch {
    int fd;
    uint32_t round;
    struct watched items[SYS_WATCH_MAX];
    size_t count;
};

static _Thread_local struct sys_watch *tracing;

enum err_code sys_watch_new(struct sys_watch **out, struct err *err)
{
    struct sys_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return err_nomem(err);
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch->fd < 0) {
        int why = errno;
        free(watch);
        return err_set_errno(err, ERR_IO, why, "cannot watch files");
    }
    *out = watch;
    return ERR_OK;
}

/* Two paths of one file share its descriptor: it goes with the last of them. */
static void drop(struct sys_watch *watch, size_t i)
{
    struct watched gone = watch->items[i];
    watch->items[i] = watch->items[--watch->count];
    for (i = 0; i < watch->count && watch->items[i].wd != gone.wd; i++)
        ;
    if (i == watch->count && gone.wd >= 0)
        (void)inotify_rm_watch(watch->fd, gone.wd);
    if (gone.pin >= 0)
        close(gone.pin);
    free(gone.path);
}

void sys_watch_free(struct sys_watch *watch)
{
    if (watch == NULL)
        return;
    if (tracing == watch)
        tracing = NULL;
    while (watch->count > 0)
        drop(watch, watch->count - 1);
    close(watch->fd);
    free(watch);
}

int sys_watch_fd(const struct sys_watch *watch)
{
    return watch->fd;
}

enum err_code sys_watch_drain(struct sys_watch *watch, bool *out_changed, struct err *err)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    bool changed = false;
    for (;;) {
        ssize_t n = read(watch->fd, buffer.bytes, sizeof(buffer));
        for (ssize_t at = 0; at < n;) {
            struct inotify_event event;
            memcpy(&event, buffer.bytes + at, sizeof(event));
            at += (ssize_t)(sizeof(event) + event.len);
            changed |= (event.mask & ~(uint32_t)IN_IGNORED) != 0; /* that is our letting go */
        }
        if (n > 0)
            continue;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        return err_set_errno(err, ERR_IO, errno, "cannot read what was written to files");
    }
    *out_changed = changed;
    return ERR_OK;
}

void sys_watch_trace(struct sys_watch *watch)
{
    tracing = watch;
}

void sys_watch_round(struct sys_watch *watch)
{
    watch->round++;
    for (size_t i = watch->count; i-- > 0;)
        if (watch->round - watch->items[i].round > SYS_WATCH_KEEP)
            drop(watch, i);
}

/* /proc/sys makes another inode when its own fell out of the cache, configfs at once, and the watch
 * would stay on the old one: an open path keeps it in. sysfs finds the same one again. */
static int pin(const char *path)
{
    return strstr(path, "/proc/") != NULL || strstr(path, "/kernel/config/") != NULL
               ? open(path, O_PATH | O_CLOEXEC)
               : -1;
}

static int add(const struct sys_watch *watch, const char *path)
{
    int wd = inotify_add_watch(watch->fd, path, FOLDER_EVENTS | IN_ONLYDIR);
    return wd >= 0 ? wd : inotify_add_watch(watch->fd, path, FILE_EVENTS);
}

/* Whether it is watched as it is now: a device that came back has other files under the same names.
 */
static bool still_watched(struct sys_watch *watch, const char *path)
{
    size_t i = 0;
    while (i < watch->count && strcmp(watch->items[i].path, path) != 0)
        i++;
    if (i == watch->count)
        return false;
    if (add(watch, path) != watch->items[i].wd) {
        drop(watch, i);
        return false;
    }
    watch->items[i].round = watch->round;
    return true;
}

void sys_watch_seen(const char *path)
{
    struct sys_watch *watch = tracing;
    if (watch == NULL || still_watched(watch, path) || watch->count == SYS_WATCH_MAX)
        return;
    struct watched item = {.path = strdup(path), .pin = pin(path), .round = watch->round};
    item.wd = item.path == NULL ? -1 : add(watch, path); /* after the pin */
    watch->items[watch->count++] = item;
    if (item.wd < 0)
        drop(watch, watch->count - 1);
}
