/*
 * fleet/evidence/read_perftest_json.c - perftest --out_json. The document does not say its unit:
 * bandwidths carry none.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/tool_json.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"test_info\"", "\"BW_average\"", "\"t_typical\"", NULL};
    return tool_json_begins(job, i, NULL, keys);
}

/* Names as the readers of the text have them. */
static const struct {
    const char *key, *name, *unit;
} names[] = {
    {"test", "test", ""},
    {"Device", "device", ""},
    {"Number_of_qps", "qps", ""},
    {"Transport_type", "transport", ""},
    {"Connection_type", "connection", ""},
    {"Using_SRQ", "srq", ""},
    {"TX_depth", "tx_depth", ""},
    {"CQ_Moderation", "cq_moderation", ""},
    {"MTU", "mtu", "bytes"},
    {"Link_type", "link_layer", ""},
    {"GID_index", "gid_index", ""},
    {"n_iterations", "iterations", ""},
    {"BW_peak", "bw_peak", ""},
    {"BW_average", "bw_average", ""},
    {"MsgRate", "msgrate", "Mpps"},
    {"t_min", "t_min", "us"},
    {"t_max", "t_max", "us"},
    {"t_typical", "t_typical", "us"},
    {"t_avg", "t_avg", "us"},
    {"t_stdev", "t_stdev", "us"},
    {"percentile_99", "99_percentile", "us"},
    {"percentile_99.9", "99.9_percentile", "us"},
    {"t_99_percentile", "99_percentile", "us"},
    {"t_99.9_percentile", "99.9_percentile", "us"},
};

static void put_member(struct evidence_job *job, size_t line, const char *key, const json_t *value)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(key, names[i].key) == 0) {
            json_part_put(job, line, names[i].name, value, names[i].unit);
            return;
        }
    }
}

static void put_results(struct evidence_job *job, struct json_part *part, const json_t *results)
{
    const char *key;
    json_t *value;
    char size[24];
    tool_json_word(json_object_get(results, "MsgSize"), size, sizeof(size));
    job_subject(job, "run%s%s", size[0] != '\0' ? " " : "", size);
    json_object_foreach((json_t *)results, key, value)
    {
        put_member(job, json_part_line(part, key), key, value);
    }
    job_subject(job, "run");
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *key, *name;
    json_t *value, *item;
    job_subject(job, "run");
    if (json_object_get(object, "BW_average") != NULL ||
        json_object_get(object, "t_typical") != NULL) {
        put_results(job, part, object);
        return;
    }
    json_object_foreach((json_t *)object, key, value)
    {
        (void)json_part_line(part, key);
        if (strcmp(key, "results") == 0 && json_is_object(value)) {
            put_results(job, part, value);
        } else if (strcmp(key, "results") == 0) {
            for (size_t i = 0; i < json_array_size(value); i++)
                put_results(job, part, json_array_get(value, i));
        } else {
            json_object_foreach(json_is_object(value) ? value : NULL, name, item)
            {
                put_member(job, json_part_line(part, name), name, item);
            }
        }
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_perftest_json = {
    .kind = "perftest", .tool = "perftest --out_json", .begins = begins, .read = read};
