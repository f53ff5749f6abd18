#pragma once
/*
 * datapath/nl/devlink_param.h - a driver's parameters over devlink (DEVLINK_CMD_PARAM_GET, _SET).
 *
 * A parameter has up to three values, by when they take effect (cmode): runtime now, driverinit at
 * the driver's next reload, permanent (kept in the device) at the next boot. A boolean is a flag
 * attribute: present is true, absent is false.
 */

#include "datapath/nl/nlx.h"

#define DEVLINK_PARAM_NAME_SIZE 64
#define DEVLINK_PARAM_TEXT_SIZE 32 /* the kernel's own limit */
#define DEVLINK_PARAMS_MAX      128

enum devlink_cmode {
    DEVLINK_CMODE_RUNTIME = 0,
    DEVLINK_CMODE_DRIVERINIT,
    DEVLINK_CMODE_PERMANENT,
    DEVLINK_CMODES,
};

enum devlink_type {
    DEVLINK_TYPE_BOOL = 0,
    DEVLINK_TYPE_U8,
    DEVLINK_TYPE_U16,
    DEVLINK_TYPE_U32,
    DEVLINK_TYPE_TEXT,
};

struct devlink_value {
    uint32_t number; /* a boolean's 0 or 1 */
    char text[DEVLINK_PARAM_TEXT_SIZE];
};

struct devlink_param {
    char name[DEVLINK_PARAM_NAME_SIZE];
    enum devlink_type type;
    bool has[DEVLINK_CMODES];
    struct devlink_value values[DEVLINK_CMODES];
};

struct devlink_param_list {
    struct devlink_param items[DEVLINK_PARAMS_MAX];
    size_t count;
    bool truncated;
};

/* ERR_NOT_FOUND: no such device; ERR_UNSUPPORTED: it has no such parameter, or no devlink. */
ERR_MUST_CHECK enum err_code devlink_param_get(struct nlx *nlx, const char *bus, const char *device,
                                               const char *name, struct devlink_param *out,
                                               struct err *err);
/* All of a device; none is no error. */
ERR_MUST_CHECK enum err_code devlink_param_all(struct nlx *nlx, const char *bus, const char *device,
                                               struct devlink_param_list *out, struct err *err);
/* One value of one cmode; `param` tells name and type. A driver's refusal carries its own words. */
ERR_MUST_CHECK enum err_code devlink_param_set(struct nlx *nlx, const char *bus, const char *device,
                                               const struct devlink_param *param,
                                               enum devlink_cmode cmode,
                                               const struct devlink_value *value, struct err *err);

/* Pure parts. NULL = no memory. name NULL: a dump. */
struct nl_msg *devlink_param_encode_get(uint16_t family, const char *bus, const char *device,
                                        const char *name);
struct nl_msg *devlink_param_encode_set(uint16_t family, const char *bus, const char *device,
                                        const struct devlink_param *param, enum devlink_cmode cmode,
                                        const struct devlink_value *value);
/* *out_ours: the message is about this device. */
ERR_MUST_CHECK enum err_code devlink_param_decode(const struct nlmsghdr *msg, const char *bus,
                                                  const char *device, struct devlink_param *out,
                                                  bool *out_ours, struct err *err);
