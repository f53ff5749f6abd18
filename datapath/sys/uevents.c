/*
 * datapath/sys/uevents.c - see uevents.h.
 */
#include "datapath/sys/uevents.h"

#include <stdlib.h>
#include <string.h>

#include <libudev.h>

#define BATCH_MAX 4096 /* in one drain; the descriptor stays readable for the rest */

struct uevents {
    struct udev *udev;
    struct udev_monitor *monitor;
};

bool uevents_is_news(const char *subsystem, const char *action)
{
    static const char *const subsystems[] = {"infiniband", "pci",      "ptp",
                                             "net",        "platform", "auxiliary"};
    static const char *const actions[] = {"add", "remove", "bind", "unbind", "move"};
    bool ours = false, news = false;
    if (subsystem == NULL || action == NULL)
        return false;
    for (size_t i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
        ours |= strcmp(subsystem, subsystems[i]) == 0;
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        news |= strcmp(action, actions[i]) == 0;
    return ours && news;
}

bool uevents_has_knobs(const char *subsystem, const char *action)
{
    return uevents_is_news(subsystem, action) && strcmp(subsystem, "infiniband") == 0;
}

enum err_code uevents_open(struct uevents **out, struct err *err)
{
    OWN(uevents) struct uevents *events = calloc(1, sizeof(*events));
    if (events == NULL || (events->udev = udev_new()) == NULL)
        return err_nomem(err);
    /* "kernel": also without a udev daemon, and before its rules have run. */
    events->monitor = udev_monitor_new_from_netlink(events->udev, "kernel");
    if (events->monitor == NULL || udev_monitor_enable_receiving(events->monitor) < 0)
        return err_set(err, ERR_UNSUPPORTED, "cannot listen for devices that come and go");
    *out = GIVE(events);
    return ERR_OK;
}

void uevents_close(struct uevents *events)
{
    if (events == NULL)
        return;
    udev_monitor_unref(events->monitor);
    udev_unref(events->udev);
    free(events);
}

int uevents_fd(const struct uevents *events)
{
    return udev_monitor_get_fd(events->monitor);
}

bool uevents_drain(struct uevents *events, bool *out_knobs)
{
    bool changed = false;
    struct udev_device *device;
    for (int i = 0; i < BATCH_MAX; i++) {
        device = udev_monitor_receive_device(events->monitor);
        if (device == NULL)
            break;
        const char *subsystem = udev_device_get_subsystem(device);
        const char *action = udev_device_get_action(device);
        changed |= uevents_is_news(subsystem, action);
        *out_knobs |= uevents_has_knobs(subsystem, action);
        udev_device_unref(device);
    }
    return changed;
}
