/*
 * fleet/evidence/read_dcbtool.c - dcbtool gc: "Command: Get Config" and the feature's keys.
 */
#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "Command:") && slice_has(line, "Get ") &&
           slice_starts(job_line(job, i + 1), "Feature:");
}

/* "0 0 0 1 0 0 0 0": a flag for each priority. */
static void put_flags(struct evidence_job *job, size_t i, struct slice port, struct slice list)
{
    struct slice words[9];
    if (slice_words(list, words, 9) != 8)
        return;
    for (unsigned p = 0; p < 8; p++) {
        job_subject(job, "netdev %.*s prio %u", (int)port.len, port.at, p);
        if (slice_is(words[p], "0") || slice_is(words[p], "1"))
            put_text(job, i, "prio-pfc", slice_of(slice_is(words[p], "1") ? "on" : "off"));
        else
            put_unknown(job, i, "prio-pfc");
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice port = slice_of(""), key, value;
    size_t first = i;
    char name[EVIDENCE_NAME_MAX];
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || (i > first && begins(job, i)) || !slice_split(line, ':', &key, &value))
            break;
        key = slice_trim(key);
        value = slice_trim(value);
        if (slice_is(key, "Port") && is_device_name(value))
            port = value;
        job_subject(job, "netdev%s%.*s", port.len > 0 ? " " : "", (int)port.len, port.at);
        if (slice_is(key, "pfcup")) {
            put_flags(job, i, port, value);
        } else if (!slice_is(key, "Command") && !slice_is(key, "Port")) {
            fact_name("dcbtool", key, "", name);
            put_value(job, i, name, value, "");
        }
    }
    return i > first ? i : first + 1;
}

const struct evidence_reader reader_dcbtool = {
    .kind = "dcb", .tool = "dcbtool", .begins = begins, .read = read};
