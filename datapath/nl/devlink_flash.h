#pragma once
/*
 * datapath/nl/devlink_flash.h - writing and activating firmware over devlink: FLASH_UPDATE, its
 * notifications in the multicast group "config", and RELOAD, of the driver or of the firmware.
 *
 * The request comes back when the device is done, minutes later; the kernel holds the device's
 * devlink lock all the while, so that nothing else can be asked of it.
 */

#include "datapath/nl/nlx.h"

#define DEVLINK_FLASH_TEXT 256

enum devlink_flash_kind { DEVLINK_FLASH_BEGIN, DEVLINK_FLASH_STATUS, DEVLINK_FLASH_END };

struct devlink_flash_event {
    enum devlink_flash_kind kind;
    char bus[32], device[96];
    char message[DEVLINK_FLASH_TEXT];
    char component[DEVLINK_FLASH_TEXT]; /* "" = the whole */
    uint64_t done, total;               /* both 0: no figure */
    uint64_t timeout_s; /* what the device says this may take; 0 = it says nothing */
};

/* False: a message of another kind, or a malformed one. */
bool devlink_decode_flash(const struct nlmsghdr *msg, uint16_t family,
                          struct devlink_flash_event *out);
/* -1 = no figure. */
int devlink_flash_percent(const struct devlink_flash_event *event);

/* file: relative to the kernel's firmware path; component NULL = the whole. */
struct nl_msg *devlink_encode_flash(uint16_t family, const char *bus, const char *device,
                                    const char *file, const char *component);

enum devlink_reload {
    DEVLINK_RELOAD_DRIVER,   /* driver_reinit: takes the driverinit parameters */
    DEVLINK_RELOAD_FIRMWARE, /* fw_activate: runs the firmware that is stored */
};
struct nl_msg *devlink_encode_reload(uint16_t family, const char *bus, const char *device,
                                     enum devlink_reload what);

struct devlink_flash {
    const char *bus, *device, *file;
    int deadline_s;
    void (*event)(void *arg, const struct devlink_flash_event *event); /* on another thread */
    void *arg;
};

/* Blocking, on sockets of its own. ERR_UNSUPPORTED: the driver has no such operation. */
ERR_MUST_CHECK enum err_code devlink_flash(const struct devlink_flash *flash, struct err *err);
/* Asks for a file that is not there: ERR_OK when the driver would have looked for it. */
ERR_MUST_CHECK enum err_code devlink_flash_probe(struct nlx *nlx, const char *bus,
                                                 const char *device, struct err *err);
/* Blocking. ERR_UNSUPPORTED: the driver cannot, or has nothing to activate that way. */
ERR_MUST_CHECK enum err_code devlink_reload(const char *bus, const char *device,
                                            enum devlink_reload what, int deadline_s,
                                            struct err *err);
