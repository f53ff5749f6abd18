/*
 * fleet/evidence/read_qperf.c - qperf: the name of a test and a colon, then "name  =  value unit".
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"

static bool is_test(struct slice line)
{
    static const char *const heads[] = {"rc_",  "uc_",   "ud_",  "xrc_",    "rds_", "tcp_",
                                        "udp_", "sctp_", "sdp_", "ver_rc_", "conf"};
    if (!slice_ends(line, ":"))
        return false;
    for (size_t k = 0; k < sizeof(heads) / sizeof(heads[0]); k++) {
        if (slice_starts(line, heads[k]))
            return true;
    }
    return false;
}

static bool row(struct slice line, struct slice *name, struct slice *value)
{
    if (!slice_split(line, '=', name, value))
        return false;
    *name = slice_trim(*name);
    *value = slice_trim(*value);
    return name->len > 0 && value->len > 0 && memchr(name->at, ' ', name->len) == NULL;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice name, value;
    return is_test(job_line(job, i)) && row(job_line(job, i + 1), &name, &value);
}

/* Facts have units of this table; "11.5 GB/sec" is 11.5 in GB/s. */
static const char *unit_of(struct slice text)
{
    static const struct {
        const char *text, *unit;
    } units[] = {
        {"GB/sec", "GB/s"}, {"MB/sec", "MB/s"}, {"KB/sec", "KB/s"}, {"Gb/sec", "Gb/s"},
        {"us", "us"},       {"ms", "ms"},       {"ns", "ns"},       {"K/sec", "K/s"},
        {"M/sec", "M/s"},   {"/sec", "/s"},     {"bytes", "bytes"}, {"sec", "s"},
        {"KB", "KB"},       {"%", "%"},         {"cores", "cores"}, {"% cpus", "% cpus"},
    };
    for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++) {
        if (slice_is(text, units[k].text))
            return units[k].unit;
    }
    return NULL;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice name, value, rest;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (is_test(line)) {
            job_subject(job, "run %.*s", (int)(line.len - 1 < 40 ? line.len - 1 : 40), line.at);
            continue;
        }
        if (line.len == 0)
            continue;
        if (job_is_prompt(job, i, NULL) || !row(line, &name, &value))
            break;
        char key[EVIDENCE_NAME_MAX];
        slice_copy(name, key, sizeof(key));
        struct number number = number_front(value, &rest);
        const char *unit = unit_of(rest);
        if (number.kind != NUMBER_NONE && unit != NULL)
            put_number(job, i, key, slice_of(number.text), unit);
        else
            put_value(job, i, key, value, "");
    }
    return i;
}

const struct evidence_reader reader_qperf = {
    .kind = "perftest", .tool = "qperf", .begins = begins, .read = read};
