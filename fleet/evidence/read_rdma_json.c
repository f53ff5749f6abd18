/*
 * fleet/evidence/read_rdma_json.c - rdma -j: link, dev, resource, statistic.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/tool_json.h"

static const char *const keys[] = {
    "\"lqpn\"",
    "\"physical_state\"",
    "\"node_type\"",
    "\"ctxn\"",
    "\"cqn\"",
    "\"mrn\"",
    "\"pdn\"",
    "\"cm-idn\"",
    "\"cntn\"",
    "\"srqn\"",
    "\"cm_id\"",
    "\"rx_write_requests\"",
    "\"qp\"",
    "\"sm_lid\"",
    "\"sent_pkts\"",
    "\"hw_sent_pkts\"",
    NULL,
};

static bool begins(const struct evidence_job *job, size_t i)
{
    return tool_json_begins(job, i, "\"ifname\"", keys);
}

/* Members that name what the object is about: the first one that is there. */
static const struct {
    const char *key, *type;
} ids[] = {
    {"cntn", "counter"}, {"lqpn", "qp"},  {"cqn", "cq"}, {"mrn", "mr"},
    {"cm-idn", "cm-id"}, {"srqn", "srq"}, {"pdn", "pd"}, {"ctxn", "ctx"},
};

static void set_subject(struct evidence_job *job, const json_t *object)
{
    const char *name = tool_json_text(object, "ifname");
    const json_t *port = json_object_get(object, "port");
    char id[32] = "";
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]) && id[0] == '\0'; i++) {
        const json_t *number = json_object_get(object, ids[i].key);
        if (json_is_integer(number) && json_integer_value(number) >= 0)
            snprintf(id, sizeof(id), " %s %lld", ids[i].type,
                     (long long)json_integer_value(number));
    }
    if (json_is_integer(port))
        job_subject(job, "port %.64s/%lld%s", name, (long long)json_integer_value(port), id);
    else if (json_is_string(port))
        job_subject(job, "port %.64s/%.8s%s", name, json_string_value(port), id);
    else
        job_subject(job, "rdma %.64s%s", name, id);
}

static void put_member(struct evidence_job *job, size_t line, const char *key, const json_t *value)
{
    char text[EVIDENCE_VALUE_MAX];
    if (json_is_string(value) && strcmp(key, "fw") == 0) {
        put_firmware(job, line, slice_of(json_string_value(value)));
    } else if (json_is_string(value)) {
        put_text(job, line, key, slice_of(json_string_value(value)));
    } else if (json_is_integer(value)) {
        tool_json_word(value, text, sizeof(text));
        (void)put_rdma_counter(job, line, slice_of(key), slice_of(text));
    } else if (json_is_array(value)) { /* the QPs of a counter, capabilities */
        if (tool_json_list(value, text, sizeof(text)))
            put_text(job, line, key, slice_of(text));
    } else {
        json_part_put(job, line, key, value, "");
    }
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *key;
    json_t *value;
    size_t line = part->first;
    if (tool_json_text(object, "ifname")[0] == '\0')
        return;
    set_subject(job, object);
    json_object_foreach((json_t *)object, key, value)
    {
        size_t at = json_part_line(part, key);
        if (strcmp(key, "ifindex") == 0 || strcmp(key, "ifname") == 0 || strcmp(key, "port") == 0)
            continue;
        if (strcmp(key, "state") == 0)
            line = at;
        put_member(job, at, key, value);
    }
    const char *state = tool_json_text(object, "state");
    const char *physical = tool_json_text(object, "physical_state");
    if (state[0] != '\0' && physical[0] != '\0')
        judge_port(job, line, slice_of(state), slice_of(physical));
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_rdma_json = {
    .kind = "rdma-tool", .tool = "rdma -j", .begins = begins, .read = read};
