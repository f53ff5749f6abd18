/*
 * fleet/evidence/read_iperf_json.c - iperf3 --json: what the whole run sent and received.
 */
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/tool_json.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"test_start\"", "\"timestamp\"", "\"connected\"", NULL};
    static const char *const version[] = {"\"iperf ", NULL};
    return tool_json_begins(job, i, "\"start\"", keys) && json_part_begins(job, i, version);
}

static const struct {
    const char *key, *name, *unit;
} names[] = {
    {"bytes", "transfer", "Bytes"},     {"bits_per_second", "bitrate", "bits/sec"},
    {"retransmits", "retransmits", ""}, {"jitter_ms", "jitter", "ms"},
    {"lost_packets", "lost", ""},       {"packets", "datagrams", ""},
    {"seconds", "duration", "s"},
};

static void put_sum(struct evidence_job *job, struct json_part *part, const char *side,
                    const json_t *sum)
{
    const char *key;
    json_t *value;
    job_subject(job, "run%s", side);
    json_object_foreach((json_t *)sum, key, value)
    {
        size_t line = json_part_line(part, key);
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (strcmp(key, names[k].key) == 0)
                json_part_put(job, line, names[k].name, value, names[k].unit);
        }
    }
}

static void put_start(struct evidence_job *job, struct json_part *part, const json_t *start)
{
    static const char *const wanted[] = {"protocol", "num_streams", "reverse"};
    const json_t *test = json_object_get(start, "test_start");
    job_subject(job, "run");
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
        const json_t *value = json_object_get(test, wanted[k]);
        if (value != NULL)
            json_part_put(job, json_part_line(part, wanted[k]), wanted[k], value, "");
    }
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    static const struct {
        const char *key, *side;
    } sums[] = {{"sum_sent", " sender"}, {"sum_received", " receiver"}, {"sum", ""}};
    const json_t *end = json_object_get(object, "end");
    const char *error = json_string_value(json_object_get(object, "error"));
    put_start(job, part, json_object_get(object, "start"));
    (void)json_part_line(part, "end");
    for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++) {
        const json_t *sum = json_object_get(end, sums[k].key);
        if (!json_is_object(sum))
            continue;
        (void)json_part_line(part, sums[k].key);
        put_sum(job, part, sums[k].side, sum);
    }
    job_subject(job, "run");
    if (error != NULL)
        put_finding(job, json_part_line(part, "error"), RULE_RUN_FAILED, "%.200s", error);
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_iperf_json = {
    .kind = "perftest", .tool = "iperf3 --json", .begins = begins, .read = read};
