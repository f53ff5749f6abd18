#pragma once
/*
 * datapath/flash.h - the flash contract: what the agent's firmware worker needs of a device. A
 * sibling of dp.h with providers of its own: flash_linux (devlink, else mstflint) and flash_sim.
 *
 * Threads: any, one call of a flasher at a time. Blocking: identify, users, links and check as long
 * as DP_DEADLINE_MS a request; write, activate and reload as long as the device takes, at most
 * their deadline. A device is named by its bus address ("0000:3b:00.0"), a port's id without
 * "/PORT".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "fleet/flash.h"

#define FLASH_PORTS_MAX INVENTORY_PORTS_MAX /* of one device */

/* "" = unknown, as everywhere. */
struct flash_identity {
    char driver[FLASH_COMPONENT_SIZE];
    char psid[PSID_SIZE];
    char running[FLASH_VERSION_SIZE];
    char stored[FLASH_VERSION_SIZE];
};

struct flash_links {
    int count;
    struct {
        int port;
        bool up;
    } items[FLASH_PORTS_MAX]; /* in the order of their ports */
};

/* The device's own words while it writes. */
struct flash_progress {
    char message[FLASH_MESSAGE_SIZE];
    char component[FLASH_COMPONENT_SIZE];
    int percent;   /* of this message's work; -1 = no figure */
    int timeout_s; /* how long the device says this may take; 0 = it says nothing */
};

struct flash_write {
    const char *device;
    const char *path; /* of the image, hash checked */
    const char *id;   /* of the image: its name where the kernel looks for it */
    int deadline_s;
    void (*progress)(void *arg, const struct flash_progress *progress); /* on any thread */
    void *arg;
};

struct flasher;

struct flasher_ops {
    /* ERR_NOT_FOUND: no such device. What it does not say is "". */
    enum err_code (*identify)(struct flasher *flasher, const char *device,
                              struct flash_identity *out, struct err *err);
    /* Whether write() has a way, without writing, and takes the image of `path` as far as one can
     * tell (NULL: it is not there yet). ERR_UNSUPPORTED: neither devlink nor a tool can;
     * ERR_INVALID: the image is not for this device. */
    enum err_code (*check)(struct flasher *flasher, const char *device, const char *path,
                           struct err *err);
    /* How many queue pairs of user programs are on the device, the other functions of its card and
     * their virtual functions: all of them have its firmware. */
    enum err_code (*users)(struct flasher *flasher, const char *device, int *out_count,
                           struct err *err);
    enum err_code (*links)(struct flasher *flasher, const char *device, struct flash_links *out,
                           struct err *err);
    /*
     * Writes the image; what runs is not touched. Errors carry the device's words. ERR_UNAVAILABLE:
     * it did not come back within the deadline, what it did is unknown.
     */
    enum err_code (*write)(struct flasher *flasher, const struct flash_write *write,
                           struct err *err);
    /* Makes the device run what it has stored; its ports go and come. ERR_UNSUPPORTED: it needs a
     * reset or a reboot; nothing was changed. */
    enum err_code (*activate)(struct flasher *flasher, const char *device, int deadline_s,
                              struct err *err);
    /* The device's driver begins anew, with the parameters that were set for that; its ports go and
     * come, their settings may be lost. As long as activate. ERR_UNSUPPORTED: it cannot. */
    enum err_code (*reload)(struct flasher *flasher, const char *device, int deadline_s,
                            struct err *err);
    /* What a crash left where images are put for the kernel. */
    void (*sweep)(struct flasher *flasher);
    void (*free)(struct flasher *flasher);
};

struct flasher {
    const struct flasher_ops *ops;
};

void flasher_free(struct flasher *flasher);
OWN_DEFINE(flasher, struct flasher *, flasher_free)

struct dp;
/* Over dp_sim: devices "sim.0", ... The simulator outlives it. */
ERR_MUST_CHECK enum err_code flash_sim_new(struct dp *sim, struct flasher **out, struct err *err);

struct starter;
struct flash_linux_config {
    const char *root;        /* prefix of /sys, /lib/firmware for tests; NULL = "" */
    const char *mstflint;    /* the tool; NULL = "mstflint" in the PATH */
    struct starter *starter; /* of mstflint_forms; NULL = started by this process; borrowed */
};
ERR_MUST_CHECK enum err_code flash_linux_new(const struct flash_linux_config *config,
                                             struct flasher **out, struct err *err);
