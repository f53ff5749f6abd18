#pragma once
/*
 * agent/hardware.h - when the node's inventory is told again: it is another one, but not more often
 * than AGENT_INVENTORY_BURST times and then once in AGENT_INVENTORY_REFILL_NS, so that a link that
 * flaps fills no server. Private to agent/.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/json.h"

#define AGENT_INVENTORY_DEBOUNCE_NS (200 * NS_PER_MS) /* after an announcement */
#define AGENT_INVENTORY_LOOK_NS     (1 * NS_PER_S)    /* at least between two looks for events */
#define AGENT_INVENTORY_BURST       5
#define AGENT_INVENTORY_REFILL_NS   (60 * NS_PER_S)

struct hardware_rate {
    int spent;        /* of AGENT_INVENTORY_BURST */
    int64_t since_ns; /* from here on refills count */
};
/* Pure. Takes one; false = none is left, *out_wait_ns until there is. */
bool hardware_rate_take(struct hardware_rate *rate, int64_t now_ns, int64_t *out_wait_ns);

/*
 * Digest of what a node is, without what changes while it works: the processors that interrupts go
 * to (irqbalance moves them), the PCIe generation of a GPU at rest.
 */
ERR_MUST_CHECK enum err_code hardware_identity(const json_t *inventory, char out[DIGEST_TEXT_MAX],
                                               struct err *err);
