/*
 * fleet/evidence/read_irq_affinity.c - show_irq_affinity.sh: "98: 000000,00000001", the mask of the
 * CPUs that an interrupt may go to.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define VECTORS_MIN 3 /* fewer say nothing of a NIC */

static bool row(struct slice line, struct slice *irq, struct slice *mask)
{
    uint64_t number;
    if (!slice_split(line, ':', irq, mask) || !slice_uint(*irq, &number))
        return false;
    *mask = slice_trim(*mask);
    if (mask->len < 2 || strspn(mask->at, "0123456789abcdefABCDEF,") < mask->len)
        return false;
    return memchr(mask->at, ',', mask->len) != NULL || mask->len % 8 == 0;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice irq, mask;
    return row(job_line(job, i), &irq, &mask) && row(job_line(job, i + 1), &irq, &mask);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice irq, mask, first = {.at = "", .len = 0};
    size_t count = 0, at = i;
    bool same = true;
    char device[64];
    bool named = job_netdev(job, "show_irq_affinity.sh", device, sizeof(device));
    for (; row(job_line(job, i), &irq, &mask); i++) {
        job_subject(job, "irq %.*s", (int)irq.len, irq.at);
        put_text(job, i, "affinity", mask);
        if (count++ == 0)
            first = mask;
        same = same && mask.len == first.len && memcmp(mask.at, first.at, mask.len) == 0;
    }
    size_t ones = 0;
    for (size_t k = 0; k < first.len; k++)
        ones += first.at[k] != '0' && first.at[k] != ',';
    bool one_cpu = ones == 1 && strcspn(first.at, "1248") < first.len;
    if (named)
        job_subject(job, "netdev %s", device);
    else
        job_subject(job, "netdev");
    if (same && one_cpu && count >= VECTORS_MIN)
        put_finding(job, at, RULE_IRQ_ONE_CPU, "all %zu interrupts go to the CPU of mask %.*s",
                    count, (int)first.len, first.at);
    return i;
}

const struct evidence_reader reader_irq_affinity = {
    .kind = "interrupts", .tool = "show_irq_affinity", .begins = begins, .read = read};
