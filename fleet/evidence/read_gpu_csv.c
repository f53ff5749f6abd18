/*
 * fleet/evidence/read_gpu_csv.c - nvidia-smi --query-gpu=... --format=csv.
 *
 * The head names the columns with their units ("memory.total [MiB]"); rows follow. Without a head
 * (noheader) only the command tells what the columns are.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/gpu_name.h"
#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define COLUMNS_MAX 64

struct table {
    char names[COLUMNS_MAX][EVIDENCE_NAME_MAX];
    char units[COLUMNS_MAX][8];
    size_t count;
    int index, bus, uuid; /* columns that say which GPU; -1 = none */
};

static size_t fields_of(struct slice line, struct slice *out)
{
    size_t count = 0;
    struct slice field, rest = line;
    while (count < COLUMNS_MAX && slice_split(rest, ',', &field, &rest))
        out[count++] = slice_trim(field);
    if (count < COLUMNS_MAX)
        out[count++] = slice_trim(rest);
    return count;
}

/* What stands behind --query-gpu= in the command above, where it asks for no head. */
static bool asked(const struct evidence_job *job, struct slice *columns)
{
    struct slice rest;
    if (!slice_has(job->command, "noheader") || !slice_after(job->command, "--query-gpu=", &rest))
        return false;
    *columns = slice_word(&rest);
    return columns->len > 0;
}

static bool begins_bare(const struct evidence_job *job, size_t i)
{
    struct slice columns, fields[COLUMNS_MAX];
    if (i != job->command_line + 1 || !asked(job, &columns))
        return false;
    size_t wanted = fields_of(columns, fields);
    return wanted > 1 && fields_of(job_line(job, i), fields) == wanted;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const known[] = {
        "index",        "name",           "uuid",           "gpu_name",       "gpu_uuid",
        "pci.bus_id",   "gpu_bus_id",     "serial",         "gpu_serial",     "timestamp",
        "count",        "driver_version", "pstate",         "ecc.mode",       "memory.",
        "temperature.", "ecc.errors.",    "utilization.",   "remapped_rows.", "pcie.link.",
        "power.",       "clocks",         "retired_pages.",
    };
    struct slice fields[COLUMNS_MAX];
    size_t count = fields_of(job_line(job, i), fields), found = 0;
    if (begins_bare(job, i))
        return true;
    if (count < 2)
        return false;
    for (size_t f = 0; f < count; f++) {
        bool hit = false;
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
            size_t len = strlen(known[k]);
            hit = hit || (known[k][len - 1] == '.' ? slice_starts(fields[f], known[k])
                                                   : slice_is(fields[f], known[k]));
        }
        found += hit;
    }
    return found >= 2 && found * 2 >= count;
}

static void read_head(struct slice line, struct table *t)
{
    struct slice fields[COLUMNS_MAX];
    t->count = fields_of(line, fields);
    t->index = t->bus = t->uuid = -1;
    for (size_t f = 0; f < t->count; f++) {
        struct slice name = fields[f], unit, rest;
        t->units[f][0] = '\0';
        if (slice_split(fields[f], '[', &name, &rest) && slice_split(rest, ']', &unit, &rest))
            slice_copy(unit, t->units[f], sizeof(t->units[f]));
        gpu_fact_name(slice_trim(name), t->names[f], sizeof(t->names[f]));
        if (strcmp(t->names[f], "index") == 0)
            t->index = (int)f;
        if (strcmp(t->names[f], "pci.bus_id") == 0)
            t->bus = (int)f;
        if (strcmp(t->names[f], "gpu_uuid") == 0)
            t->uuid = (int)f;
    }
}

static void set_subject(struct evidence_job *job, const struct table *t, const struct slice *fields)
{
    char address[PCI_TEXT_MAX];
    int at = t->index >= 0 ? t->index : t->uuid;
    if (t->bus >= 0 && pci_text(fields[t->bus], address))
        job_subject(job, "gpu %s", address);
    else if (at >= 0)
        job_subject(job, "gpu %.*s", (int)fields[at].len, fields[at].at);
    else
        job_subject(job, "gpu");
}

static void read_row(struct evidence_job *job, size_t i, const struct table *t,
                     const struct slice *fields)
{
    struct gpu_seen seen = {.ecc = false};
    set_subject(job, t, fields);
    for (size_t f = 0; f < t->count; f++) {
        char text[EVIDENCE_VALUE_MAX];
        bool bare = t->units[f][0] != '\0' && number_read(fields[f]).kind != NUMBER_NONE;
        if (slice_starts(fields[f], "[") && slice_ends(fields[f], "]")) {
            put_unknown(job, i, t->names[f]); /* "[N/A]", "[GPU requires reset]" */
        } else if (bare) {                    /* nounits: the head still has them */
            snprintf(text, sizeof(text), "%.*s %s", (int)fields[f].len, fields[f].at, t->units[f]);
            gpu_put(job, i, t->names[f], slice_of(text));
        } else {
            gpu_put(job, i, t->names[f], fields[f]);
        }
        gpu_judge(job, i, t->names[f], fields[f], &seen);
        if (slice_is(fields[f], "[GPU requires reset]"))
            put_finding(job, i, RULE_GPU_RESET, "%s: the GPU requires a reset", t->names[f]);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct table t;
    struct slice fields[COLUMNS_MAX];
    struct slice columns;
    if (begins_bare(job, i) && asked(job, &columns))
        read_head(columns, &t);
    else
        read_head(job_line(job, i++), &t);
    size_t first = i; /* without a head the first row begins the section */
    for (; i < job->line_count && (i == first || !job_stops(job, i, NULL)); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            break;
        if (fields_of(line, fields) != t.count)
            break;
        read_row(job, i, &t, fields);
    }
    return i;
}

const struct evidence_reader reader_gpu_csv = {
    .kind = "nvidia-smi", .tool = "nvidia-smi --query-gpu", .begins = begins, .read = read};
