#pragma once
/*
 * datapath/sim_flash.h - the firmware of the simulator's devices: what dp_sim.c shows of it and
 * flash_sim.c changes from another thread. Nobody else includes it.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fleet/flash.h"

#define SIM_DRIVER   "dp_sim"
#define SIM_PSID     "SIM_0000000001"
#define SIM_FIRMWARE "2.1.8"

struct sim_flash_device {
    char running[FLASH_VERSION_SIZE], stored[FLASH_VERSION_SIZE];
    bool dead; /* no link since an activation */
};

struct sim_flash_faults {
    int fail_percent; /* the write fails there; -1 = it does not */
    int step_ms;      /* of a write, each of SIM_FLASH_STEPS */
    bool psid, dead_link, stuck, no_activate, users, ignore;
};

struct sim_flash {
    pthread_mutex_t lock; /* of all below */
    struct sim_flash_device devices[INVENTORY_PORTS_MAX];
    struct sim_flash_faults faults;
};

void sim_flash_init(struct sim_flash *flash);
void sim_flash_release(struct sim_flash *flash);
void sim_flash_get(struct sim_flash *flash, int index, struct sim_flash_device *out);
/* The part behind "flash:" of a fault (dp_sim.h). */
ERR_MUST_CHECK enum err_code sim_flash_fault(struct sim_flash *flash, const char *text,
                                             struct err *err);
