#pragma once
/*
 * datapath/nl/devlink.h - what a device says of itself over devlink (DEVLINK_CMD_INFO_GET).
 */

#include "datapath/nl/nlx.h"

#define DEVLINK_TEXT_SIZE    64
#define DEVLINK_VERSIONS_MAX 24

struct devlink_version {
    char name[DEVLINK_TEXT_SIZE]; /* "fw", "fw.psid", ... */
    char value[DEVLINK_TEXT_SIZE];
};
struct devlink_versions {
    struct devlink_version items[DEVLINK_VERSIONS_MAX];
    size_t count;
};
struct devlink_info {
    char driver[DEVLINK_TEXT_SIZE];
    char serial[DEVLINK_TEXT_SIZE];
    struct devlink_versions fixed, running, stored;
};

/* bus "pci", device "0000:3b:00.0". ERR_UNSUPPORTED: the kernel has no devlink, or the device no
 * info; ERR_NOT_FOUND: no devlink instance of this name. */
ERR_MUST_CHECK enum err_code devlink_info_get(struct nlx *nlx, const char *bus, const char *device,
                                              struct devlink_info *out, struct err *err);

/* The firmware version among `versions`: "fw", else "fw.version", else "fw.mgmt"; NULL = none. */
const char *devlink_firmware(const struct devlink_versions *versions);
/* The board id (PSID) among the fixed versions, or in the firmware text of the old ioctl
 * ("22.36.1010 (MT_0000000359)"); false = there is none that the inventory could hold. */
#define DEVLINK_PSID_SIZE 64
bool devlink_psid(const struct devlink_versions *fixed, const char *firmware,
                  char out[DEVLINK_PSID_SIZE]);

/* A device's name in a request and in an answer (tb: DEVLINK_ATTR_MAX + 1 attributes). */
bool devlink_put_handle(struct nl_msg *msg, const char *bus, const char *device);
bool devlink_is_handle(struct nlattr *const *tb, const char *bus, const char *device);

struct nl_msg *devlink_encode_info(uint16_t family, const char *bus, const char *device);
ERR_MUST_CHECK enum err_code devlink_decode_info(const struct nlmsghdr *msg,
                                                 struct devlink_info *out, struct err *err);
