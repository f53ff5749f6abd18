/*
 * datapath/sys/irq_spread.c - see irq_spread.h.
 */
#include "datapath/sys/irq_spread.h"

#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool parse_number(const char **at, uint64_t *out)
{
    const char *text = skip_blanks(*at);
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    *at = end;
    return true;
}

bool irq_columns_parse(const char *line, struct irq_columns *out)
{
    out->count = 0;
    for (const char *at = skip_blanks(line); strncmp(at, "CPU", 3) == 0; at = skip_blanks(at)) {
        uint64_t cpu;
        at += 3;
        if (out->count == IRQ_CPUS_MAX || *at < '0' || !parse_number(&at, &cpu) || cpu > UINT16_MAX)
            return false;
        out->cpus[out->count++] = (uint16_t)cpu;
    }
    return out->count > 0;
}

bool irq_number_parse(const char *line, uint32_t *out, const char **out_counts)
{
    uint64_t number;
    if (!parse_number(&line, &number) || *line != ':' || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    *out_counts = line + 1;
    return true;
}

bool irq_counts_add(const char *counts, size_t column_count, uint64_t *into)
{
    for (size_t i = 0; i < column_count; i++) {
        uint64_t value;
        if (!parse_number(&counts, &value))
            return false;
        into[i] += value;
    }
    return true;
}

bool irq_spread_between(const struct irq_columns *columns, const uint64_t *before,
                        const uint64_t *now, struct irq_spread *out)
{
    uint64_t most = 0;
    *out = (struct irq_spread){0};
    for (size_t i = 0; i < columns->count; i++) {
        if (now[i] < before[i])
            return false;
        out->interrupts += now[i] - before[i];
        if (now[i] - before[i] > most) {
            most = now[i] - before[i];
            out->cpu = columns->cpus[i];
        }
    }
    out->known = out->interrupts >= IRQ_SHARE_INTERRUPTS && out->interrupts < UINT64_MAX / 10000;
    if (out->known)
        out->share_permyriad = (int64_t)(most * 10000 / out->interrupts);
    return true;
}
