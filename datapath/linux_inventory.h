#pragma once
/*
 * datapath/linux_inventory.h - what the files of dp_linux's inventory share: the job at hand. A
 * part of it that hangs costs its own deadline, and all of them together LINUX_INVENTORY_BUDGET_MS.
 */

#include "datapath/linux.h"
#include "datapath/nl/rdma.h"

#define LINUX_INVENTORY_BUDGET_MS 15000 /* for everything that hangs */

struct linux_inventory {
    struct dp_linux *dp;
    struct nlx *genl; /* NULL = there is no generic netlink */
    struct rdma_list *rdma;
    json_t *problems; /* borrowed array */
    int64_t until_ms; /* monotonic: from then on nobody is waited for */
};

/* Runs the job aside within its deadline; a failure is among the problems of `subject`. */
bool linux_aside(struct linux_inventory *job, const char *subject, const struct aside_job *work);

/*
 * What does not change while a device stays and nothing is announced, and is slow to read: "vpd",
 * "module", or was known before the device hung: "roce_tos". Forgotten when an inventory is taken
 * after an announcement (or a lost one). Borrowed; NULL = not read yet.
 */
json_t *linux_kept_get(const struct dp_linux *dp, const struct dp_port *port, const char *what);
/* Takes over value. */
void linux_kept_put(struct dp_linux *dp, const struct dp_port *port, const char *what,
                    json_t *value);

/* Of dp->ports[], with everything that is known; owned. */
json_t *linux_inventory_port(struct linux_inventory *job, const struct dp_port *port);

/* Asks the kernel which RDMA devices there are. */
void linux_inventory_list_rdma(struct linux_inventory *job);
/* The member "rdma_devices"; owned. */
json_t *linux_inventory_rdma(struct linux_inventory *job);
/* The RDMA device of a port, also when it shares one with the other ports of its bond. NULL = it
 * has none. */
const struct rdma_device *linux_inventory_rdma_of(const struct linux_inventory *job,
                                                  const struct dp_port *port);
/* Whether it is software (rxe, siw), which has no hardware below it. */
bool linux_rdma_is_software(const struct dp_linux *dp, const char *name);

/* Puts host, CPU, GPUs and topology into the inventory. */
void linux_inventory_host(struct linux_inventory *job, json_t *inventory);
