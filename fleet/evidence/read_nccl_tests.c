/*
 * fleet/evidence/read_nccl_tests.c - all_reduce_perf and the other tests of nccl-tests.
 *
 * Comment lines tell the options, the ranks and the columns; a row is size, count, type, then what
 * the test has of redop and root, then four columns (time, algbw, busbw, errors) out of place and
 * four in place. The last column is called error (a difference) in old versions and #wrong (a
 * count) in new ones; without validation it is N/A. Lines of NCCL itself may stand between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/evidence/nccl_line.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define WORDS_MAX  16
#define TAIL_WORDS 8
/* A larger message that takes less than half the time of a smaller one, or twice as long in place
 * as out of place: no test varies so much that runs steadily. */
#define JUMP 2

struct table {
    bool known, redop, root, wrong; /* columns of the head */
    double time_us;                 /* out of place, of the row before; 0 = none */
    struct nccl_seen nccl;
};

/* The oldest versions wrote some of them without the '#'. */
static bool is_comment(struct slice line)
{
    return slice_starts(line, "#") || slice_starts(line, "nThread ") ||
           slice_starts(line, "Avg bus bandwidth") || slice_starts(line, "Out of bounds values");
}

static bool is_columns(struct slice line)
{
    return slice_starts(line, "#") && slice_has(line, "algbw") && slice_has(line, "busbw");
}

static bool is_type(struct slice word)
{
    static const char *const types[] = {
        "float", "half",   "double",   "bfloat16", "int8",   "uint8",  "int32", "uint32",
        "int64", "uint64", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "char",  "int"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (slice_is(word, types[i]))
            return true;
    }
    return false;
}

/* Words of a row of results; 0 = it is none. */
static size_t row_words(struct slice line, struct slice words[WORDS_MAX])
{
    uint64_t size, elements;
    size_t count = slice_words(line, words, WORDS_MAX);
    if (count < TAIL_WORDS + 3 || count > TAIL_WORDS + 5 || !slice_uint(words[0], &size) ||
        !slice_uint(words[1], &elements) || !is_type(words[2]))
        return 0;
    for (size_t i = count - TAIL_WORDS; i < count; i++) {
        if (number_read(words[i]).kind == NUMBER_NONE && !slice_is_unknown(words[i]))
            return 0;
    }
    return count;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = tag_skip(job_line(job, i)), words[WORDS_MAX];
    return is_columns(line) || slice_starts(line, "# nThread") ||
           (is_comment(line) && !slice_starts(line, "#")) ||
           slice_starts(line, "# Avg bus bandwidth") || slice_starts(line, "# Out of bounds") ||
           slice_starts(line, "# nccl-tests version") ||
           (slice_starts(line, "#") && slice_has(line, "out-of-place")) ||
           row_words(line, words) > 0;
}

/* "# nThread 1 nGpus 1 minBytes 8 maxBytes 2147483648 step: 2(factor) warmup iters: 10 ..."; RCCL:
 * "# nThread: 1 nGpus: 1 minBytes: 8 ... warmupIters: 5 iters: 20". */
static void read_options(struct evidence_job *job, size_t i, struct slice line)
{
    static const struct {
        const char *after, *name, *unit;
    } options[] = {
        {"nThread ", "threads", ""},
        {"nGpus ", "gpus_per_thread", ""},
        {"minBytes ", "min_size", "B"},
        {"maxBytes ", "max_size", "B"},
        {"nThread: ", "threads", ""},
        {"nGpus: ", "gpus_per_thread", ""},
        {"minBytes: ", "min_size", "B"},
        {"maxBytes: ", "max_size", "B"},
        {"warmup iters: ", "warmup_iterations", ""},
        {"warmupIters: ", "warmup_iterations", ""},
        {" iters: ", "iterations", ""},
        {"validation: ", "validation", ""},
    };
    job_subject(job, "host");
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
        struct slice from = line, rest;
        /* "iters: " stands in "warmup iters: " too: the second one is meant. */
        if (strcmp(options[k].name, "iterations") == 0 &&
            slice_after(line, "warmup iters: ", &rest))
            from = rest;
        if (!slice_after(from, options[k].after, &rest))
            continue;
        struct number number = number_front(slice_word(&rest), &rest);
        put_number(job, i, options[k].name, slice_of(number.text), options[k].unit);
    }
}

/* "#   Rank  0 Group  0 Pid  14926 on node-1 device  0 [0x00] Tesla V100-PCIE-16GB" */
static bool read_rank(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice rest, host, device, name;
    if (!slice_after(line, "Rank ", &rest) || !slice_has(line, " device "))
        return false;
    struct slice rank = slice_word(&rest);
    uint64_t number;
    if (!slice_uint(rank, &number) || !slice_after(rest, " on ", &host))
        return false;
    job_subject(job, "rank %.*s", (int)rank.len, rank.at);
    put_text(job, i, "host", slice_word(&host));
    if (slice_after(rest, " device ", &device))
        put_number(job, i, "device", slice_word(&device), "");
    if (slice_after(rest, "] ", &name))
        put_text(job, i, "gpu", name);
    return true;
}

/* "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 7.76739" */
static void read_summary(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice rest;
    job_subject(job, "host");
    if (slice_after(line, "Avg bus bandwidth", &rest) && slice_skip(&rest, ":")) {
        rest = slice_trim(rest);
        put_number(job, i, "average_busbw_all_sizes", slice_word(&rest), "GB/s");
    } else if (slice_after(line, "Out of bounds values", &rest) && slice_skip(&rest, ":")) {
        rest = slice_trim(rest);
        put_number(job, i, "out_of_bounds", slice_word(&rest), "");
        if (slice_has(rest, "FAILED"))
            put_finding(job, i, RULE_TESTS_WRONG, "out of bounds values: the test says FAILED");
    }
}

static void read_comment(struct evidence_job *job, size_t i, struct slice line, struct table *t)
{
    if (is_columns(line)) {
        *t = (struct table){.known = true,
                            .redop = slice_has(line, "redop"),
                            .root = slice_has(line, "root"),
                            .wrong = slice_has(line, "#wrong"),
                            .nccl = t->nccl};
        return;
    }
    if (slice_has(line, "nThread"))
        read_options(job, i, line);
    else if (!read_rank(job, i, line))
        read_summary(job, i, line);
}

static void put_half(struct evidence_job *job, size_t i, const struct table *t,
                     const struct slice *words, const char *place)
{
    static const struct {
        const char *name, *unit;
    } columns[] = {{"time", "us"}, {"algbw", "GB/s"}, {"busbw", "GB/s"}};
    char name[EVIDENCE_NAME_MAX];
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        snprintf(name, sizeof(name), "%s.%s", place, columns[c].name);
        put_number(job, i, name, words[c], columns[c].unit);
    }
    snprintf(name, sizeof(name), "%s.%s", place, t->wrong ? "wrong" : "error");
    if (t->known)
        put_number(job, i, name, words[3], "");
    struct number wrong = number_read(words[3]);
    if (t->wrong && wrong.is_unsigned && wrong.value > 0)
        put_finding(job, i, RULE_TESTS_WRONG, "%s values are wrong, %s", wrong.text, place);
}

static double time_of(struct slice word)
{
    struct number number = number_read(word);
    return number.kind != NUMBER_NONE ? strtod(number.text, NULL) : 0;
}

static void judge_times(struct evidence_job *job, size_t i, struct table *t, uint64_t size,
                        const struct slice *tail)
{
    double out = time_of(tail[0]), in = time_of(tail[4]);
    if (out <= 0 || in <= 0 || size == 0)
        return;
    bool drops = t->time_us > JUMP * out;
    /* What is not checked in place alone (alltoall: N/A) is not done in place either. */
    bool both = slice_is_unknown(tail[3]) == slice_is_unknown(tail[7]);
    bool differs = both && (out > JUMP * in || in > JUMP * out);
    job_subject(job, "host");
    if (drops || differs)
        put_finding(
            job, i, RULE_TESTS_UNSTABLE,
            "size %llu takes %.1f us out of place and %.1f us in place, the size before %.1f us",
            (unsigned long long)size, out, in, t->time_us);
    t->time_us = out;
}

static void read_row(struct evidence_job *job, size_t i, const struct slice *words, size_t count,
                     struct table *t)
{
    uint64_t size = 0;
    const struct slice *tail = words + count - TAIL_WORDS;
    (void)slice_uint(words[0], &size);
    job_subject(job, "run %llu", (unsigned long long)size);
    put_number(job, i, "elements", words[1], "");
    put_text(job, i, "type", words[2]);
    if (t->redop && count > TAIL_WORDS + 3)
        put_text(job, i, "redop", words[3]);
    if (t->root && count > TAIL_WORDS + 3)
        put_number(job, i, "root", words[count - TAIL_WORDS - 1], "");
    put_half(job, i, t, tail, "out_of_place");
    put_half(job, i, t, tail + 4, "in_place");
    judge_times(job, i, t, size, tail);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct table t = {.known = false};
    struct slice words[WORDS_MAX];
    size_t next = i;
    for (; i < job->line_count; i++) {
        struct slice line = tag_skip(job_line(job, i));
        if (line.len == 0 || slice_is(line, "..."))
            continue;
        if (job_is_prompt(job, i, NULL) && !slice_starts(line, "#"))
            break;
        size_t count = row_words(line, words);
        if (count > 0)
            read_row(job, i, words, count, &t);
        else if (is_comment(line))
            read_comment(job, i, line, &t);
        else if (!nccl_line_read(job, i, &t.nccl))
            break;
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_nccl_tests = {
    .kind = "nccl-tests", .tool = "nccl-tests", .begins = begins, .read = read};
