/*
 * fleet/evidence/ruled_table.c - tables whose columns are told by a line of dashes.
 */
#include "fleet/evidence/ruled_table.h"

#include <string.h>

bool ruled_table_at(const struct evidence_job *job, size_t i, struct ruled_table *out)
{
    struct slice line = job_line(job, i);
    *out = (struct ruled_table){.rule = i};
    for (size_t at = 0; at < line.len; at++) {
        if (line.at[at] != '-' && line.at[at] != ' ')
            return false;
        bool begins = line.at[at] == '-' && (at == 0 || line.at[at - 1] == ' ');
        if (begins && out->count < RULED_COLUMNS_MAX)
            out->starts[out->count++] = job->lines[i].indent + (uint32_t)at;
    }
    return out->count >= 2 && i > 0;
}

struct slice ruled_cell(const struct evidence_job *job, const struct ruled_table *t, size_t i,
                        size_t column)
{
    struct slice line = job_line(job, i), none = {.at = "", .len = 0};
    uint32_t indent = i < job->line_count ? job->lines[i].indent : 0;
    uint32_t start = t->starts[column];
    size_t from = column == 0 || start <= indent ? 0 : start - indent;
    size_t to = line.len;
    if (column + 1 < t->count) {
        uint32_t end = t->starts[column + 1];
        if (end <= indent)
            return none;
        if (end - indent < to)
            to = end - indent;
    }
    if (from >= to)
        return none;
    return slice_trim((struct slice){.at = line.at + from, .len = to - from});
}

void key_name(struct slice key, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < key.len && n + 1 < size; i++) {
        char c = key.at[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '.';
        if (!plain)
            c = '_';
        if (c != '_' || (n > 0 && out[n - 1] != '_'))
            out[n++] = c;
    }
    while (n > 0 && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

void ruled_head(const struct evidence_job *job, const struct ruled_table *t, size_t column,
                char *out, size_t size)
{
    key_name(ruled_cell(job, t, t->rule - 1, column), out, size);
}

void put_measure(struct evidence_job *job, size_t line, const char *name, struct slice value)
{
    static const char *const units[] = {"B",  "KB", "kB",   "MB",   "GB", "KiB", "MiB",
                                        "us", "%",  "Mb/s", "Gb/s", "m",  "Gbps"};
    struct slice rest;
    if (slice_has(value, ",")) {
        put_text(job, line, name, value);
        return;
    }
    struct number number = number_front(value, &rest);
    for (size_t i = 0; number.kind != NUMBER_NONE && i < sizeof(units) / sizeof(units[0]); i++) {
        if (slice_is(rest, units[i])) {
            put_number(job, line, name, slice_of(number.text), units[i]);
            return;
        }
    }
    put_value(job, line, name, value, "");
}
