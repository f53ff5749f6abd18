#pragma once
/*
 * datapath/mstflint.h - firmware by mstflint, for devices whose driver has no devlink flash. The
 * tool is asked about device and image first; it is never told to force anything or to change a
 * board id. Blocking.
 */

#include "datapath/flash.h"
#include "datapath/sys/starter.h"

struct mstflint {
    const char *tool;        /* a program or its path */
    const char *device;      /* PCI address */
    struct starter *starter; /* NULL = started by this process */
};

/* All command lines of "mstflint" that are used here. */
extern const struct starter_form mstflint_forms[];

/* What the tool says of the device. ERR_NOT_FOUND: there is no such tool. */
ERR_MUST_CHECK enum err_code mstflint_identify(const struct mstflint *tool,
                                               struct flash_identity *out, struct err *err);
/* ERR_INVALID: the image is none, or of another board than the device. */
ERR_MUST_CHECK enum err_code mstflint_check_image(const struct mstflint *tool, const char *path,
                                                  struct err *err);
ERR_MUST_CHECK enum err_code mstflint_burn(const struct mstflint *tool,
                                           const struct flash_write *write, struct err *err);
