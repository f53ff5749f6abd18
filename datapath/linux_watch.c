/*
 * datapath/linux_watch.c - see linux_watch.h.
 */
#include "datapath/linux_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "datapath/nl/genl_events.h"
#include "datapath/sys/uevents.h"

struct linux_watch {
    int epoll;
    struct nl_events *route;
    struct genl_events *genl; /* NULL = there are none */
    struct uevents *uevents;  /* NULL = there are none */
    struct sys_watch *files;
};

enum err_code linux_watch_add(struct linux_watch *watch, int fd, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot watch the kernel's events");
    return ERR_OK;
}

static enum err_code open_all(struct linux_watch *watch, struct nlx *route, struct nlx *genl,
                              struct err *err)
{
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (watch->epoll < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot watch the kernel's events");
    enum err_code code = nl_events_open(nlx_port(route), &watch->route, err);
    if (code == ERR_OK)
        code = linux_watch_add(watch, nl_events_fd(watch->route), err);
    if (code == ERR_OK && genl != NULL && genl_events_open(genl, &watch->genl, NULL) == ERR_OK)
        code = linux_watch_add(watch, genl_events_fd(watch->genl), err);
    if (code == ERR_OK && uevents_open(&watch->uevents, NULL) == ERR_OK)
        code = linux_watch_add(watch, uevents_fd(watch->uevents), err);
    if (code == ERR_OK)
        code = sys_watch_new(&watch->files, err);
    return code == ERR_OK ? linux_watch_add(watch, sys_watch_fd(watch->files), err) : code;
}

enum err_code linux_watch_open(struct nlx *route, struct nlx *genl, struct linux_watch **out,
                               struct err *err)
{
    struct linux_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return err_nomem(err);
    enum err_code code = open_all(watch, route, genl, err);
    if (code == ERR_OK)
        *out = watch;
    else
        linux_watch_close(watch);
    return code;
}

void linux_watch_close(struct linux_watch *watch)
{
    if (watch == NULL)
        return;
    nl_events_close(watch->route);
    genl_events_close(watch->genl);
    uevents_close(watch->uevents);
    sys_watch_free(watch->files);
    if (watch->epoll >= 0)
        close(watch->epoll);
    free(watch);
}

int linux_watch_fd(const struct linux_watch *watch)
{
    return watch->epoll;
}

int linux_watch_route_fd(const struct linux_watch *watch)
{
    return nl_events_fd(watch->route);
}

void linux_watch_on_change(struct linux_watch *watch, nl_change_fn *fn, void *arg)
{
    nl_events_on_change(watch->route, fn, arg);
}

struct sys_watch *linux_watch_files(struct linux_watch *watch)
{
    return watch->files;
}

enum err_code linux_watch_drain(struct linux_watch *watch, bool *out_changed, bool *out_devices,
                                struct err *err)
{
    bool changed = false, files = false, devices = false;
    enum err_code code = nl_events_drain(watch->route, &changed, &devices, err);
    if (code == ERR_OK)
        code = sys_watch_drain(watch->files, &files, err);
    if (code != ERR_OK)
        return code;
    bool settings = watch->genl != NULL && genl_events_drain(watch->genl);
    devices |= settings;
    bool knobs = false;
    if (watch->uevents != NULL)
        devices |= uevents_drain(watch->uevents, &knobs);
    *out_changed = changed || files || settings || knobs;
    *out_devices = devices;
    return ERR_OK;
}
