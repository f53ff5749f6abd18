/*
 * fleet/evidence/read_dcgm.c - dcgmi diag: a table of tests and their results, of all GPUs or of
 * some.
 *
 *   | GPU Memory                | Pass - GPUs: 1, 2, 3                           |
 *   |                           | Fail - GPU: 0                                  |
 *   | Warning                   | GPU 0 Thermal violations totaling 13.3 second  |
 *   |                           | s started at 9.7 seconds into the test         |
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

/* "| name | value |", trimmed; either may be empty. */
static bool split_row(struct slice line, struct slice *name, struct slice *value)
{
    struct slice rest;
    if (!slice_skip(&line, "|") || !slice_split(line, '|', name, &rest) || !slice_ends(rest, "|"))
        return false;
    rest.len--;
    *name = slice_trim(*name);
    *value = slice_trim(rest);
    return true;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice name, value;
    return split_row(job_line(job, i), &name, &value) && slice_is(name, "Diagnostic") &&
           slice_is(value, "Result");
}

/* "Pass", "Pass - All", "Fail - GPUs: 0, 3", "Skip": the word before the dash. */
static bool result_of(struct slice value, struct slice *result, struct slice *gpus)
{
    static const char *const results[] = {"Pass", "Fail", "Skip", "Warn", "Not Run"};
    struct slice rest = value;
    *gpus = slice_of("");
    for (size_t k = 0; k < sizeof(results) / sizeof(results[0]); k++) {
        if (!slice_skip(&rest, results[k]))
            continue;
        *result = (struct slice){.at = value.at, .len = strlen(results[k])};
        rest = slice_trim(rest);
        if (rest.len == 0)
            return true;
        if (!slice_skip(&rest, "- "))
            return false;
        if (slice_skip(&rest, "GPUs:") || slice_skip(&rest, "GPU:"))
            *gpus = slice_trim(rest);
        return true;
    }
    return false;
}

static void put_result(struct evidence_job *job, size_t i, struct slice test, struct slice result)
{
    char name[EVIDENCE_NAME_MAX];
    fact_name("diag", test, "", name);
    put_text(job, i, name, result);
    if (slice_is(result, "Fail"))
        put_finding(job, i, RULE_GPU_DIAG, "The test %.*s failed", (int)test.len, test.at);
}

static bool put_results(struct evidence_job *job, size_t i, struct slice test, struct slice value)
{
    struct slice result, gpus, gpu;
    uint64_t index;
    if (test.len == 0 || !result_of(value, &result, &gpus))
        return false;
    job_subject(job, "host");
    if (gpus.len == 0)
        put_result(job, i, test, result);
    while (gpus.len > 0) {
        struct slice rest = slice_of("");
        gpu = gpus;
        (void)slice_split(gpus, ',', &gpu, &rest);
        gpus = slice_trim(rest);
        if (!slice_uint(slice_trim(gpu), &index))
            continue;
        job_subject(job, "gpu %llu", (unsigned long long)index);
        put_result(job, i, test, result);
    }
    return true;
}

static void put_note(struct evidence_job *job, size_t i, struct slice name, struct slice value)
{
    char key[EVIDENCE_NAME_MAX];
    fact_name("diag", name, "", key);
    job_subject(job, "host");
    put_text(job, i, key, value);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice name, value, last = slice_of("");
    size_t next = i + 1;
    for (i++; i < job->line_count && !job_stops(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        bool row = split_row(line, &name, &value);
        if (!row && !slice_starts(line, "+") && !slice_starts(line, "|--"))
            break;
        next = i + 1;
        if (!row || slice_starts(name, "--"))
            continue; /* a rule, or the title of a part */
        bool goes_on = name.len == 0;
        name = goes_on ? last : name;
        last = name;
        if (value.len > 0 && !put_results(job, i, name, value) && name.len > 0)
            put_note(job, i, name, value);
    }
    return next;
}

const struct evidence_reader reader_dcgm = {
    .kind = "dcgmi", .tool = "dcgmi diag", .begins = begins, .read = read};
