/*
 * fleet/evidence/counter.c - looks a counter's name up.
 */
#include "fleet/evidence/counter.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The whole name against the pattern; the numbers that stand for '#' and '*'. */
static bool matches(const char *pattern, struct slice name, struct counter *out)
{
    size_t at = 0;
    for (; *pattern != '\0'; pattern++) {
        if (at >= name.len)
            return false;
        if (*pattern == '#') {
            if (name.at[at] < '0' || name.at[at] > '7')
                return false;
            out->prio = name.at[at++] - '0';
        } else if (*pattern == '*') {
            size_t from = at;
            for (out->queue = 0; at < name.len && is_digit(name.at[at]) && at < from + 5; at++)
                out->queue = out->queue * 10 + (name.at[at] - '0');
            if (at == from)
                return false;
        } else if (*pattern != name.at[at++]) {
            return false;
        }
    }
    return at == name.len;
}

bool counter_find(struct slice name, struct counter *out)
{
    for (size_t i = 0; name.len > 0 && i < counter_row_count; i++) {
        const struct counter_row *row = &counter_rows[i];
        *out = (struct counter){.prio = -1, .queue = -1};
        if (row->pattern[0] != name.at[0] && row->pattern[0] != '*')
            continue;
        if (!matches(row->pattern, name, out))
            continue;
        out->name = row->name;
        out->unit = row->unit != NULL ? row->unit : "";
        out->width = row->width;
        out->class = row->class;
        return true;
    }
    *out = (struct counter){.unit = "", .prio = -1, .queue = -1};
    return false;
}

enum counter_class counter_class_in(const char *kind, const char *name)
{
    static const struct {
        const char *kind, *start, *end;
        enum counter_class class;
    } counts[] = {
        {"nvidia-smi-nvlink", "nvlink_", "_errors", COUNTER_NVLINK},
        {"nvidia-smi-nvlink", "nvlink_", "_discards", COUNTER_NVLINK},
        {"nvidia-smi-nvlink", "nvlink_", "_failed_events", COUNTER_NVLINK},
        {"ufm", "Infiniband_LinkDowned", "", COUNTER_UFM_DOWN},
        {"ufm", "Infiniband_SymbolErrors", "", COUNTER_UFM_ERROR},
        {"ufm", "Infiniband_LinkRecovers", "", COUNTER_UFM_ERROR},
        {"ufm", "Infiniband_RcvErrors", "", COUNTER_UFM_ERROR},
        {"ufm", "Infiniband_RcvRemotePhysErrors", "", COUNTER_UFM_ERROR},
        {"ufm", "Infiniband_LinkIntegrityErrors", "", COUNTER_UFM_ERROR},
        {"ufm", "Infiniband_ExcBufOverrunErrors", "", COUNTER_UFM_ERROR},
        {"ufm", "Infiniband_XmtDiscards", "", COUNTER_UFM_ERROR},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        bool whole = counts[i].end[0] == '\0';
        if (strcmp(kind, counts[i].kind) == 0 &&
            (whole ? strcmp(name, counts[i].start) == 0
                   : slice_starts(slice_of(name), counts[i].start) &&
                         slice_ends(slice_of(name), counts[i].end)))
            return counts[i].class;
    }
    return COUNTER_PLAIN;
}
