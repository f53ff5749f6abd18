/*
 * fleet/evidence/read_ucx.c - ucx_perftest: a box of "| Key: value |", a head of two lines, rows.
 *
 * "Final:" is the run as a whole; other rows are the intervals on the way, of which old versions
 * print no others, so that nobody can tell the last one. A megabyte of UCX is 2^20 bytes.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/kernel_line.h"
#include "fleet/evidence/readers.h"

#define COLUMNS_MAX 8
#define WORDS_MAX   12

struct run {
    const char *prefix; /* of the first three rates; NULL = no head was read yet */
    char names[COLUMNS_MAX][EVIDENCE_NAME_MAX];
    size_t count; /* 0 = no columns were read yet, or others than these */
    unsigned intervals;
};

static const char *prefix_of(struct slice line)
{
    if (!slice_starts(line, "|") || !slice_has(line, "bandwidth (MB/s)") ||
        !slice_has(line, "message rate (msg/s)"))
        return NULL;
    if (slice_has(line, "latency (usec)"))
        return "latency";
    return slice_has(line, "overhead (usec)") ? "overhead" : NULL;
}

static bool is_rule(struct slice line)
{
    return slice_starts(line, "+--") && slice_ends(line, "-+");
}

/* "| API:          protocol layer   |" */
static bool is_pair(struct slice line, struct slice *key, struct slice *value)
{
    if (line.len < 2 || !slice_skip(&line, "|") || !slice_ends(line, "|"))
        return false;
    line.len--;
    if (memchr(line.at, '|', line.len) != NULL || !slice_split(line, ':', key, value))
        return false;
    *key = slice_trim(*key);
    *value = slice_trim(*value);
    return key->len > 0 && value->len > 0;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), key, value;
    if (is_rule(line))
        line = job_line(job, i + 1);
    return prefix_of(line) != NULL || (is_pair(line, &key, &value) && slice_is(key, "API"));
}

static void put_pair(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    char name[EVIDENCE_NAME_MAX];
    fact_name("", key, "", name);
    job_subject(job, "run");
    put_value(job, i, name[0] == '_' ? name + 1 : name, value, "");
}

/* "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall | ...": under
 * three rates of the first quantity stand two of the bandwidth and two of the messages. */
static void read_columns(struct slice line, struct run *run)
{
    static const char *const groups[COLUMNS_MAX] = {
        "", NULL, NULL, NULL, "bandwidth", "bandwidth", "message_rate", "message_rate"};
    struct slice cell, rest = line;
    size_t n = 0;
    run->count = 0;
    (void)slice_skip(&rest, "|");
    while (slice_split(rest, '|', &cell, &rest)) {
        cell = slice_trim(cell);
        if (n == 0 && slice_is(cell, "Stage"))
            continue;
        if (n == COLUMNS_MAX || (n == 0) != slice_is(cell, "# iterations"))
            return;
        if (n == 0)
            snprintf(run->names[n], EVIDENCE_NAME_MAX, "iterations");
        else
            fact_name(groups[n] != NULL ? groups[n] : run->prefix, cell, "", run->names[n]);
        n++;
    }
    run->count = n == COLUMNS_MAX ? n : 0;
}

static const char *unit_of(size_t column)
{
    static const char *const units[COLUMNS_MAX] = {"",     "us",   "us",    "us",
                                                   "MB/s", "MB/s", "msg/s", "msg/s"};
    return units[column];
}

/* "Final:  1000000  0.845 ...", "[thread 0]  586527 ...", "586527 ...": the label and all numbers,
 * or no row. */
static bool read_row(struct evidence_job *job, size_t i, struct run *run)
{
    struct slice words[WORDS_MAX], line = job_line(job, i), label;
    bool final = slice_skip(&line, "Final:");
    if (!final && slice_starts(line, "[thread "))
        (void)slice_split(line, ']', &label, &line);
    if (run->count == 0 || slice_words(line, words, WORDS_MAX) != run->count)
        return false;
    for (size_t k = 0; k < run->count; k++) {
        if (number_read(words[k]).kind == NUMBER_NONE)
            return false;
    }
    if (final)
        job_subject(job, "run");
    else
        job_subject(job, "run interval %u", ++run->intervals);
    for (size_t k = 0; k < run->count; k++)
        put_number(job, i, run->names[k], words[k], unit_of(k));
    return true;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct run run = {.prefix = NULL};
    struct slice key, value;
    size_t next = i;
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (is_pair(line, &key, &value)) {
            if (slice_is(key, "API"))
                run = (struct run){.prefix = NULL};
            put_pair(job, i, key, value);
        } else if (prefix_of(line) != NULL) {
            run = (struct run){.prefix = prefix_of(line)};
        } else if (slice_starts(line, "|") && slice_has(line, "# iterations")) {
            if (run.prefix != NULL)
                read_columns(line, &run);
        } else if (!is_rule(line) && !ucx_message(line) && !read_row(job, i, &run)) {
            break;
        }
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_ucx = {
    .kind = "perftest", .tool = "ucx_perftest", .begins = begins, .read = read};
