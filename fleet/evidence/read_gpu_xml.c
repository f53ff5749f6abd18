/*
 * fleet/evidence/read_gpu_xml.c - nvidia-smi -q -x.
 *
 * The tool writes one element a line: "<tag>value</tag>", "<tag>" and "</tag>". That form is read,
 * no other XML: entities and attributes beside the id of <gpu> do not occur in what is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/gpu_name.h"
#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define DEPTH_MAX 8

struct report {
    struct slice path[DEPTH_MAX];
    size_t depth; /* below <gpu>, or below <nvidia_smi_log> before the first */
    bool in_gpu;
    uint64_t attached;
    size_t attached_line, gpus;
    struct gpu_seen seen;
};

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "<nvidia_smi_log") ||
           (slice_starts(line, "<?xml") &&
            (slice_starts(job_line(job, i + 1), "<!DOCTYPE nvidia") ||
             slice_starts(job_line(job, i + 1), "<nvidia_smi")));
}

/* "<tag>value</tag>" */
static bool split_element(struct slice line, struct slice *tag, struct slice *value)
{
    struct slice inside, rest;
    if (!slice_skip(&line, "<") || !slice_split(line, '>', &inside, &rest))
        return false;
    const char *end = rest.len > 1 ? memrchr(rest.at, '<', rest.len) : NULL;
    if (end == NULL || end + 1 >= rest.at + rest.len || end[1] != '/')
        return false;
    *tag = inside;
    *value = slice_trim((struct slice){.at = rest.at, .len = (size_t)(end - rest.at)});
    return true;
}

static void read_value(struct evidence_job *job, struct report *r, size_t i, struct slice tag,
                       struct slice value)
{
    char path[256], name[EVIDENCE_NAME_MAX];
    size_t len = 0;
    path[0] = '\0';
    for (size_t d = 0; d < r->depth && len < sizeof(path) - 1; d++) {
        int n =
            snprintf(path + len, sizeof(path) - len, "%.*s/", (int)r->path[d].len, r->path[d].at);
        len += n > 0 ? (size_t)n : 0;
    }
    if (len < sizeof(path) - 1)
        snprintf(path + len, sizeof(path) - len, "%.*s", (int)tag.len, tag.at);
    gpu_fact_name(slice_of(path), name, sizeof(name));
    if (strncmp(name, "processes.", 10) == 0 || strncmp(name, "supported_clocks", 16) == 0)
        return;
    if (!r->in_gpu && slice_is(tag, "attached_gpus") && slice_uint(value, &r->attached))
        r->attached_line = i;
    gpu_put(job, i, name, value);
    gpu_judge(job, i, name, value, &r->seen);
}

static void open_tag(struct evidence_job *job, struct report *r, struct slice tag)
{
    struct slice id, rest;
    char address[PCI_TEXT_MAX];
    if (slice_starts(tag, "gpu id=\"") && slice_after(tag, "id=\"", &rest) &&
        slice_split(rest, '"', &id, &rest) && pci_text(id, address)) {
        r->in_gpu = true;
        r->gpus++;
        r->depth = 0;
        r->seen = (struct gpu_seen){.ecc = false};
        job_subject(job, "gpu %s", address);
    } else if (!slice_starts(tag, "nvidia_smi_log") && !slice_ends(tag, "/") &&
               r->depth < DEPTH_MAX) {
        r->path[r->depth++] = tag;
    }
}

static void close_tag(struct evidence_job *job, struct report *r, size_t i, struct slice tag)
{
    if (slice_is(tag, "gpu") && r->in_gpu) {
        gpu_judge_end(job, i, &r->seen);
        r->in_gpu = false;
        r->depth = 0;
        job_subject(job, "host");
    } else if (r->depth > 0) {
        r->depth--;
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct report r = {.depth = 0};
    struct slice tag, value;
    job_subject(job, "host");
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "<?") || slice_starts(line, "<!"))
            continue;
        if (line.at[0] != '<')
            break;
        if (split_element(line, &tag, &value)) {
            read_value(job, &r, i, tag, value);
            continue;
        }
        if (slice_is(line, "</nvidia_smi_log>")) {
            i++;
            break;
        }
        if (slice_ends(line, ">"))
            line.len--;
        if (slice_skip(&line, "</"))
            close_tag(job, &r, i, line);
        else if (slice_skip(&line, "<"))
            open_tag(job, &r, line);
    }
    if (r.attached > r.gpus) {
        job_subject(job, "host");
        put_finding(job, r.attached_line, RULE_GPU_PARTIAL, "%zu of %llu attached GPUs are here",
                    r.gpus, (unsigned long long)r.attached);
    }
    return i;
}

const struct evidence_reader reader_gpu_xml = {
    .kind = "nvidia-smi", .tool = "nvidia-smi -q -x", .begins = begins, .read = read};
