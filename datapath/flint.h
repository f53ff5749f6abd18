#pragma once
/*
 * datapath/flint.h - what firmware tools say (mstflint, flint, mlxfwmanager, mlxup, devlink), read
 * line by line. Pure; the text is from a tool about a device: hostile, bounded by the caller.
 */

#include <stdbool.h>
#include <stddef.h>

#include "fleet/flash.h"

struct flint {
    char flash_version[FLASH_VERSION_SIZE]; /* what the flash holds; "" = not said, as below */
    char running[FLASH_VERSION_SIZE];       /* said apart only when it is another */
    char image_version[FLASH_VERSION_SIZE];
    char psid[PSID_SIZE]; /* of the device, or of the image that was asked about */
    char image_psid[PSID_SIZE];
    char problem[FLASH_MESSAGE_SIZE]; /* the first line that says a failure; "" = none */
    int percent;                      /* of the last progress; -1 = no figure */
    bool begun;                       /* something was written */
    bool done;                        /* the tool says that it ended well */
    bool current;                     /* nothing had to be done */
    bool needs_reset;                 /* what is stored does not run yet */
};

void flint_read(const char *text, size_t len, struct flint *out);

/*
 * How the burning ended: a failure after good lines is a failure; one before anything was written
 * is aborted; a burn that ended well leaves the old firmware running (pending-reset), unless there
 * was nothing to do (success). FLASH_OPEN: the text does not say, which is no success.
 */
enum flash_outcome flint_outcome(const struct flint *flint);
