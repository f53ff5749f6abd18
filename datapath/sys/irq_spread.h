#pragma once
/*
 * datapath/sys/irq_spread.h - how the interrupts of a device spread over processors, by the text of
 * /proc/interrupts. Pure.
 *
 * A line is hundreds of processors wide and the file thousands of lines long: it is read a line at
 * a time. Columns are those of the header: processors that are off have none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IRQ_CPUS_MAX         1024 /* a machine with more tells no spread */
#define IRQ_SHARE_INTERRUPTS 100  /* of fewer, nobody can say where they go */

struct irq_columns {
    uint16_t cpus[IRQ_CPUS_MAX];
    size_t count;
};
/* "           CPU0       CPU1      CPU15"; false: it is no such line, or there are too many. */
bool irq_columns_parse(const char *line, struct irq_columns *out);

/* " 98:  35  0  2902361  PCI-MSI-X  eth1-0": its number. False: a row that is no device's (NMI,
 * ERR). counts: where its columns begin. */
bool irq_number_parse(const char *line, uint32_t *out, const char **out_counts);
/* Adds the counts of a row to those of its device; false: it has fewer than the header. */
bool irq_counts_add(const char *counts, size_t column_count, uint64_t *into);

struct irq_spread {
    uint64_t interrupts;     /* that came in between */
    bool known;              /* they were enough to say: */
    uint16_t cpu;            /* the busiest processor */
    int64_t share_permyriad; /* of them that it took */
};
/* False: one of the counts fell (its vector went). */
bool irq_spread_between(const struct irq_columns *columns, const uint64_t *before,
                        const uint64_t *now, struct irq_spread *out);
