/*
 * fleet/evidence/sonic_qos.c - rules over the QoS tables of SONiC.
 */
#include "fleet/evidence/sonic_qos.h"

#include <stdio.h>
#include <string.h>

#include "fleet/evidence/rules_logs.h"

#define DSCP_COUNT 64
#define ROCE_DSCP  26 /* what NICs send RoCEv2 with where nobody sets another one */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* "[WRED_PROFILE|AZURE]" of old releases and "AZURE" of new ones. */
static void reference(const char *text, char *out, size_t size)
{
    struct slice s = slice_of(text != NULL ? text : ""), before, after;
    if (slice_skip(&s, "[") && slice_split(s, '|', &before, &after)) {
        s = after;
        if (slice_ends(s, "]"))
            s.len--;
    }
    slice_copy(s, out, size);
}

static bool has_priority(const char *list, uint64_t priority)
{
    struct slice rest = slice_of(list != NULL ? list : ""), word;
    uint64_t value;
    while (slice_split(rest, ',', &word, &rest)) {
        if (slice_uint(slice_trim(word), &value) && value == priority)
            return true;
    }
    return slice_uint(slice_trim(rest), &value) && value == priority;
}

static void judge_map(struct evidence_job *job, size_t line, const char *name, const json_t *map)
{
    char holes[160] = "";
    size_t count = 0, len = 0;
    for (int dscp = 0; dscp < DSCP_COUNT; dscp++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", dscp);
        if (json_object_get(map, key) != NULL)
            continue;
        count++;
        if (len < sizeof(holes) - 8)
            len += (size_t)snprintf(holes + len, sizeof(holes) - len, "%s%d", len > 0 ? "," : "",
                                    dscp);
    }
    job_subject(job, "dscp-map %s", name);
    if (count > 0)
        put_finding(job, line, RULE_DSCP_UNMAPPED, "%zu DSCPs are not mapped: %s%s", count, holes,
                    len >= sizeof(holes) - 8 ? "..." : "");
}

/* The class that RoCE's usual DSCP falls into on a port that has PFC. */
static void judge_dscp(struct evidence_job *job, size_t line, const json_t *root,
                       const json_t *port)
{
    char name[128], key[8];
    reference(text_of(port, "dscp_to_tc_map"), name, sizeof(name));
    const char *enabled = text_of(port, "pfc_enable");
    snprintf(key, sizeof(key), "%d", ROCE_DSCP);
    const json_t *map = json_object_get(json_object_get(root, "DSCP_TO_TC_MAP"), name);
    const char *class = text_of(map, key);
    uint64_t tc;
    if (enabled == NULL || class == NULL || !slice_uint(slice_of(class), &tc) ||
        has_priority(enabled, tc))
        return;
    job_subject(job, "dscp-map %s", name);
    put_finding(job, line, RULE_DSCP_LOSSY,
                "DSCP %d is in traffic class %s, PFC is on for %s: lossy", ROCE_DSCP, class,
                enabled);
}

static void judge_queues(struct evidence_job *job, size_t line, const json_t *root,
                         const char *port, const char *enabled)
{
    const json_t *queues = json_object_get(root, "QUEUE");
    for (uint64_t priority = 0; priority < 8; priority++) {
        char key[96], name[128];
        snprintf(key, sizeof(key), "%.80s|%u", port, (unsigned)priority);
        const json_t *queue = json_object_get(queues, key);
        if (queue == NULL || !has_priority(enabled, priority))
            continue;
        reference(text_of(queue, "wred_profile"), name, sizeof(name));
        const char *ecn =
            text_of(json_object_get(json_object_get(root, "WRED_PROFILE"), name), "ecn");
        if (name[0] != '\0' && (ecn == NULL || strcmp(ecn, "ecn_none") != 0))
            continue;
        job_subject(job, "switch-port %.80s queue %u", port, (unsigned)priority);
        put_finding(job, line, RULE_ECN_OFF, "%s",
                    name[0] == '\0' ? "the queue has no WRED profile" : "its profile has ecn_none");
    }
}

void sonic_judge_profile(struct evidence_job *job, size_t line, const char *ecn, const char *min,
                         const char *max, const char *probability)
{
    uint64_t low, high, percent;
    if (ecn == NULL || strcmp(ecn, "ecn_none") == 0)
        return;
    if (min != NULL && max != NULL && slice_uint(slice_of(min), &low) &&
        slice_uint(slice_of(max), &high) && low >= high)
        put_finding(job, line, RULE_ECN_THRESHOLD, "the minimum %s is not below the maximum %s",
                    min, max);
    if (probability != NULL && slice_uint(slice_of(probability), &percent) && percent == 0)
        put_finding(job, line, RULE_ECN_THRESHOLD, "the probability is 0");
}

void sonic_judge(struct evidence_job *job, size_t line, const json_t *root)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(root, "DSCP_TO_TC_MAP"), name, value)
        judge_map(job, line, name, value);
    json_object_foreach(json_object_get(root, "PORT_QOS_MAP"), name, value)
    {
        judge_dscp(job, line, root, value);
        judge_queues(job, line, root, name, text_of(value, "pfc_enable"));
    }
    json_object_foreach(json_object_get(root, "WRED_PROFILE"), name, value)
    {
        job_subject(job, "wred %s", name);
        sonic_judge_profile(job, line, text_of(value, "ecn"), text_of(value, "green_min_threshold"),
                            text_of(value, "green_max_threshold"),
                            text_of(value, "green_drop_probability"));
    }
}
