/*
 * fleet/evidence/read_gpu_query.c - nvidia-smi -q, as text.
 *
 * A report is "==============NVSMI LOG==============", a head, and a block for each GPU: rows "Key
 * : value" and titles without a value, in depth by indentation. The same key ("Pending") stands
 * under many titles, so a fact's name is the whole path. Titles that hold no value in one driver
 * have one in another ("Remapped Rows : N/A").
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/gpu_name.h"
#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define DEPTH_MAX 8

struct level {
    uint32_t indent;
    struct slice key;
};

struct report {
    struct level levels[DEPTH_MAX];
    size_t depth;
    uint64_t attached; /* GPUs that the head says; 0 = it does not */
    size_t attached_line;
    size_t gpus; /* blocks */
    bool full;   /* the report is a whole one, not of some sections (-d) */
    size_t gpu_line;
    struct gpu_seen seen;
};

static bool is_title(struct slice line)
{
    return slice_starts(line, "=====") && slice_has(line, "NVSMI LOG");
}

static bool is_gpu(struct slice line, char address[PCI_TEXT_MAX])
{
    struct slice head = line;
    if (!slice_skip(&head, "GPU "))
        return false;
    return pci_text(slice_trim(head), address);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    char address[PCI_TEXT_MAX];
    struct slice line = job_line(job, i);
    return is_title(line) || is_gpu(line, address) ||
           (slice_starts(line, "Attached GPUs") && slice_has(line, ":"));
}

/* "Key                 : value"; the colon has a blank before it, values have colons of their own.
 */
static bool split_row(struct slice line, struct slice *key, struct slice *value)
{
    const char *colon = slice_find(line, " : ");
    if (colon == NULL && line.len >= 2 && slice_ends(line, " :"))
        colon = line.at + line.len - 2;
    if (colon == NULL && (colon = slice_find(line, "\t: ")) == NULL)
        return false;
    *key = slice_trim((struct slice){.at = line.at, .len = (size_t)(colon - line.at)});
    *value = slice_trim(
        (struct slice){.at = colon + 2, .len = (size_t)(line.at + line.len - colon - 2)});
    return true;
}

static void push(struct report *r, uint32_t indent, struct slice key)
{
    while (r->depth > 0 && r->levels[r->depth - 1].indent >= indent)
        r->depth--;
    if (r->depth < DEPTH_MAX)
        r->levels[r->depth++] = (struct level){.indent = indent, .key = key};
}

/* Below the GPU's own line, which is the first level. */
static void path_of(const struct report *r, char *out, size_t size)
{
    char path[256];
    size_t len = 0;
    path[0] = '\0';
    for (size_t i = 0; i < r->depth && len < sizeof(path) - 1; i++) {
        int n = snprintf(path + len, sizeof(path) - len, "%s%.*s", len > 0 ? "/" : "",
                         (int)r->levels[i].key.len, r->levels[i].key.at);
        len += n > 0 ? (size_t)n : 0;
    }
    gpu_fact_name(slice_of(path), out, size);
}

static void end_gpu(struct evidence_job *job, struct report *r)
{
    if (r->gpus > 0 && r->full)
        gpu_judge_end(job, r->gpu_line, &r->seen);
}

static void end_report(struct evidence_job *job, struct report *r)
{
    end_gpu(job, r);
    if (r->attached > r->gpus) {
        job_subject(job, "host");
        put_finding(job, r->attached_line, RULE_GPU_PARTIAL, "%zu of %llu attached GPUs are here",
                    r->gpus, (unsigned long long)r->attached);
    }
    *r = (struct report){.depth = 0};
    job_subject(job, "host");
}

static void begin_gpu(struct evidence_job *job, struct report *r, size_t i, const char *address)
{
    end_gpu(job, r);
    r->gpus++;
    r->gpu_line = i;
    r->full = false;
    r->depth = 0;
    r->seen = (struct gpu_seen){.ecc = false};
    job_subject(job, "gpu %s", address);
}

static void read_row(struct evidence_job *job, struct report *r, size_t i, struct slice key,
                     struct slice value)
{
    char name[EVIDENCE_NAME_MAX];
    path_of(r, name, sizeof(name));
    if (strncmp(name, "processes.", 10) == 0)
        return; /* a list of what runs, not of the GPU */
    if (r->gpus == 0 && slice_is(key, "Attached GPUs") && slice_uint(value, &r->attached))
        r->attached_line = i;
    r->full = r->full || slice_is(key, "Product Name");
    gpu_put(job, i, name, value);
    gpu_judge(job, i, name, value, &r->seen);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct report r = {.depth = 0};
    char address[PCI_TEXT_MAX];
    struct slice key, value;
    job_subject(job, "host");
    for (size_t first = i; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (i > first && job_stops(job, i, &reader_gpu_query))
            break;
        if (is_title(line)) {
            end_report(job, &r);
            continue;
        }
        if (is_gpu(line, address)) {
            begin_gpu(job, &r, i, address);
            continue;
        }
        bool row = split_row(line, &key, &value);
        push(&r, job->lines[i].indent, row ? key : line);
        if (row)
            read_row(job, &r, i, key, value);
    }
    end_report(job, &r);
    return i;
}

const struct evidence_reader reader_gpu_query = {
    .kind = "nvidia-smi", .tool = "nvidia-smi -q", .begins = begins, .read = read};
