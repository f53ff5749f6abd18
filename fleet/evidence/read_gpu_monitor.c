/*
 * fleet/evidence/read_gpu_monitor.c - nvidia-smi dmon and pmon: two lines of '#', the names and the
 * units of the columns, then rows that begin with the GPU's index.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define COLUMNS_MAX 40

static bool begins(const struct evidence_job *job, size_t i)
{
    return slice_starts(job_line(job, i), "# gpu ") && slice_starts(job_line(job, i + 1), "# Idx");
}

static const char *unit_of(struct slice text)
{
    static const struct {
        const char *text, *unit;
    } units[] = {{"W", "W"},     {"C", "C"},   {"%", "%"},
                 {"MHz", "MHz"}, {"MB", "MB"}, {"MB/s", "MB/s"}};
    for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++) {
        if (slice_is(text, units[k].text))
            return units[k].unit;
    }
    return "";
}

/* Of a pmon row the process is the subject. */
static void set_subject(struct evidence_job *job, const struct slice *heads,
                        const struct slice *words, size_t count)
{
    job_subject(job, "gpu %.*s", (int)words[0].len, words[0].at);
    for (size_t k = 1; k < count; k++) {
        uint64_t pid;
        if (slice_is(heads[k], "pid") && slice_uint(words[k], &pid))
            job_subject(job, "gpu %.*s process %llu", (int)words[0].len, words[0].at,
                        (unsigned long long)pid);
    }
}

static void read_row(struct evidence_job *job, size_t i, const struct slice *heads,
                     const struct slice *units, size_t count)
{
    struct slice words[COLUMNS_MAX];
    (void)slice_words(job_line(job, i), words, COLUMNS_MAX);
    set_subject(job, heads, words, count);
    for (size_t k = 1; k < count; k++) {
        char name[EVIDENCE_NAME_MAX];
        uint64_t number;
        slice_copy(heads[k], name, sizeof(name));
        put_value(job, i, name, words[k], unit_of(units[k]));
        if (slice_is(heads[k], "dbecc") && slice_uint(words[k], &number) && number > 0)
            put_finding(job, i, RULE_GPU_ECC, "dbecc is %llu", (unsigned long long)number);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice heads[COLUMNS_MAX + 1], units[COLUMNS_MAX + 1], words[COLUMNS_MAX];
    uint64_t gpu;
    size_t count = slice_words(job_line(job, i), heads, COLUMNS_MAX + 1);
    size_t named = slice_words(job_line(job, i + 1), units, COLUMNS_MAX + 1);
    if (count < 2 || count > COLUMNS_MAX || named != count)
        return i + 1;
    for (i += 2; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "# "))
            continue; /* the head comes again */
        size_t n = slice_words(line, words, COLUMNS_MAX);
        if (n < count - 1 || !slice_uint(words[0], &gpu))
            break;
        read_row(job, i, heads + 1, units + 1, count - 1); /* without the '#' */
    }
    return i;
}

const struct evidence_reader reader_gpu_monitor = {
    .kind = "nvidia-smi", .tool = "nvidia-smi dmon", .begins = begins, .read = read};
