/*
 * fleet/evidence/read_tc_json.c - tc -j [-s] qdisc show, tc -j [-s] class show. Rates are bytes per
 * second here, where the text has bits; times are in microseconds, without a unit.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/tc_rows.h"
#include "fleet/evidence/tool_json.h"

static const char *const keys[] = {"\"kind\"", "\"class\"", NULL};

static bool begins(const struct evidence_job *job, size_t i)
{
    return tool_json_begins(job, i, "\"handle\"", keys);
}

static const struct {
    const char *key, *name, *unit;
} counts[] = {
    {"bytes", "sent_bytes", "bytes"}, {"packets", "sent_packets", ""},
    {"drops", "dropped", ""},         {"overlimits", "overlimits", ""},
    {"requeues", "requeues", ""},     {"backlog", "backlog_bytes", "b"},
    {"qlen", "backlog_packets", "p"}, {"rate", "rate", "bytes/s"},
    {"ceil", "ceil", "bytes/s"},
};

static void put_plain(struct evidence_job *job, size_t line, const char *key, const json_t *value)
{
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (strcmp(key, counts[i].key) == 0) {
            json_part_put(job, line, counts[i].name, value, counts[i].unit);
            return;
        }
    }
    json_part_put(job, line, key, value, "");
}

/* priomap and map: the class of each priority. */
static void put_map(struct evidence_job *job, size_t line, bool classes, const json_t *array)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    memcpy(subject, job->subject, sizeof(subject));
    for (size_t i = 0; i < json_array_size(array) && i < TC_BANDS_MAX; i++) {
        job_subject(job, "%.150s prio %zu", subject, i);
        json_part_put(job, line, classes ? "tc" : "band", json_array_get(array, i), "");
    }
    memcpy(job->subject, subject, sizeof(subject));
}

static bool small(const json_t *value, uint64_t *out)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
        return false;
    *out = (uint64_t)number;
    return true;
}

static void put_ets(struct evidence_job *job, size_t line, const json_t *options)
{
    const json_t *quanta = json_object_get(options, "quanta");
    struct tc_ets ets = {.bands = 0};
    char texts[TC_BANDS_MAX][24];
    if (!small(json_object_get(options, "bands"), &ets.bands) || ets.bands > TC_BANDS_MAX)
        return;
    (void)small(json_object_get(options, "strict"), &ets.strict);
    for (; ets.count < json_array_size(quanta) && ets.count < TC_BANDS_MAX; ets.count++) {
        size_t k = ets.count;
        if (!small(json_array_get(quanta, k), &ets.quanta[k]))
            return;
        snprintf(texts[k], sizeof(texts[k]), "%llu", (unsigned long long)ets.quanta[k]);
        ets.texts[k] = slice_of(texts[k]);
    }
    tc_put_ets(job, line, &ets);
}

static void put_options(struct evidence_job *job, struct json_part *part, const json_t *options,
                        const char *kind)
{
    const char *key;
    json_t *value;
    size_t line = part->first;
    bool classes = strcmp(kind, "mqprio") == 0 || strcmp(kind, "taprio") == 0;
    json_object_foreach((json_t *)options, key, value)
    {
        line = json_part_line(part, key);
        if (json_is_array(value) && (strcmp(key, "priomap") == 0 || strcmp(key, "map") == 0))
            put_map(job, line, classes, value);
        else
            put_plain(job, line, key, value);
    }
    if (strcmp(kind, "ets") == 0)
        put_ets(job, line, options);
}

/* "netdev eth0 qdisc 1:", "netdev eth0 class 1:10", as the text has it. */
static void set_subject(struct evidence_job *job, const json_t *object, bool class)
{
    const char *parent = tool_json_text(object, "parent");
    char netdev[64];
    snprintf(netdev, sizeof(netdev), "%s", tool_json_text(object, "dev"));
    if (netdev[0] == '\0')
        (void)job_netdev(job, "dev", netdev, sizeof(netdev));
    bool root = json_is_true(json_object_get(object, "root"));
    job_subject(job, "netdev%s%s %s %.24s%s%.24s", netdev[0] != '\0' ? " " : "", netdev,
                class ? "class" : "qdisc", tool_json_text(object, "handle"),
                !root && !class && parent[0] != '\0' ? " parent " : "",
                !root && !class ? parent : "");
}

/* Drops of the root are all drops: those of its children are among them. */
static void judge(struct evidence_job *job, size_t line, const json_t *object, const char *netdev)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    json_int_t drops = json_integer_value(json_object_get(object, "drops"));
    json_int_t sent = json_integer_value(json_object_get(object, "packets"));
    json_int_t limit = json_integer_value(json_object_get(object, "flows_plimit"));
    bool root = json_is_true(json_object_get(object, "root"));
    memcpy(subject, job->subject, sizeof(subject));
    job_subject(job, "netdev%s%s", netdev[0] != '\0' ? " " : "", netdev);
    if (root && drops > 0 && sent / QDISC_DROPS_FEW > drops)
        put_past(job, line, RULE_QDISC_DROPS, "%lld of %lld packets were dropped in %s",
                 (long long)drops, (long long)sent, subject);
    else if (root && drops > 0)
        put_finding(job, line, RULE_QDISC_DROPS, "%lld packets were dropped in %s",
                    (long long)drops, subject);
    if (limit > 0)
        put_finding(job, line, RULE_FLOW_LIMIT,
                    "Flows met their own queue limit, %lld packets in %s", (long long)limit,
                    subject);
    memcpy(job->subject, subject, sizeof(subject));
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *key, *kind = tool_json_text(object, "kind");
    json_t *value;
    size_t line = part->first;
    bool class = kind[0] == '\0';
    if (class)
        kind = tool_json_text(object, "class");
    if (kind[0] == '\0' || tool_json_text(object, "handle")[0] == '\0')
        return;
    set_subject(job, object, class);
    json_object_foreach((json_t *)object, key, value)
    {
        line = json_part_line(part, key);
        if (strcmp(key, "kind") == 0 || strcmp(key, "class") == 0)
            put_text(job, line, "kind", slice_of(kind));
        else if (strcmp(key, "parent") == 0 && json_is_string(value))
            put_text(job, line, "parent", slice_of(json_string_value(value)));
        else if (strcmp(key, "options") == 0 && json_is_object(value))
            put_options(job, part, value, kind);
        else if (!json_is_boolean(value) && strcmp(key, "dev") != 0 && strcmp(key, "handle") != 0)
            put_plain(job, line, key, value);
    }
    judge(job, line, object, tool_json_text(object, "dev"));
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_tc_json = {
    .kind = "tc", .tool = "tc -j", .begins = begins, .read = read};
