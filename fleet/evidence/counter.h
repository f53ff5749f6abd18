#pragma once
/*
 * fleet/evidence/counter.h - one name for one counter, whoever counts it. For fleet/evidence/, and
 * for datapath/counters_linux.c, which reads the same counters where they are.
 *
 * Drivers (mlx5, bnxt, ice, i40e, hns, ionic, rxe, irdma), sysfs, rdma and perfquery call the same
 * counter by other names. The table says what a name means; a name that it does not hold keeps its
 * own.
 */

#include <stdbool.h>
#include <stddef.h>

#include "fleet/evidence/slice.h"

/* What a rule makes of a counter that is not zero. */
enum counter_class {
    COUNTER_PLAIN = 0,
    COUNTER_FCS,
    COUNTER_SYMBOL,
    COUNTER_RX_DISCARD,
    COUNTER_LINK_PAUSE, /* IEEE 802.3x, of the whole link */
    COUNTER_PRIO_PAUSE,
    COUNTER_PRIO_DISCARD,
    COUNTER_IB_DISCARD, /* a port that could not send */
    COUNTER_RDMA,       /* of an RDMA port, a QP or a device */
    COUNTER_RDMA_RETRY, /* something was sent again, or given up */
    COUNTER_RDMA_LOSS,  /* packets did not arrive */
    COUNTER_STORM,      /* pause storms, by the device's own watch */
    COUNTER_LINK_DOWN,
    COUNTER_PCI_ERROR,
    COUNTER_NVLINK,    /* an error of one link between GPUs */
    COUNTER_UFM_ERROR, /* as UFM counts them at a port */
    COUNTER_UFM_DOWN,
    COUNTER_CLASSES,
};

struct counter {
    const char *name; /* canonical; NULL = the tool's own */
    const char *unit;
    unsigned width; /* bits at whose end it stays; 0 = wide enough never to */
    enum counter_class class;
    int prio;  /* 0 to 7; -1 = none */
    int queue; /* -1 = none */
};

/* A row of counter_table.c; '#' in a pattern stands for a priority, '*' for a queue's number. */
struct counter_row {
    const char *pattern, *name, *unit;
    unsigned width;
    enum counter_class class;
};
extern const struct counter_row counter_rows[];
extern const size_t counter_row_count;

/* True when the name is listed; *out is always set. */
bool counter_find(struct slice name, struct counter *out);
/* Of a count that only one kind of output has, and the table does not: what its name means there.
 * COUNTER_PLAIN = it tells of no fault. */
enum counter_class counter_class_in(const char *kind, const char *name);
