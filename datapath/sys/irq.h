#pragma once
/*
 * datapath/sys/irq.h - the interrupt vectors of a device and the processors they go to. How many
 * interrupts came is telemetry's business.
 */

#include <jansson.h>

#define IRQ_GROUPS_MAX 64 /* sets of processors that are listed */

/*
 * {"vectors": N, "affinity": [{"cpus": "0-3", "vectors": 8}, ...], "truncated": true}; sorted by
 * the first processor. A vector whose affinity cannot be read counts and is in no group. NULL: the
 * device has no message interrupts, or memory is out.
 */
json_t *irq_facts(const char *root, const char *device);
