/*
 * fleet/evidence/read_ufm.c - UFM: telemetry, the report of its topology check (NDT), lists of its
 * REST API, all as JSON.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/counter.h"
#include "fleet/evidence/json_part.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

static const char *const keys[] = {"\"port_guid\"",
                                   "\"node_guid\"",
                                   "\"miss_wired\"",
                                   "\"missing_in_ufm\"",
                                   "\"missing_in_ndt\"",
                                   "\"system_guid\"",
                                   "\"source_guid\"",
                                   "\"sys_guid\"",
                                   "\"object_path\"",
                                   "\"logical_state\"",
                                   "\"membership\"",
                                   "\"related_object_path\"",
                                   NULL};

static bool begins(const struct evidence_job *job, size_t i)
{
    return json_part_begins(job, i, keys);
}

/* Suffixes of the telemetry's names: "_f" tells a float, "_u_X" the unit. */
static const char *const units[] = {"Gb",    "Gbps",  "Packets", "Errors", "Drops",
                                    "Ticks", "count", "Percent", "Bytes",  "C"};

static const char *split_unit(const char *key, char *name, size_t size)
{
    const char *mark = strstr(key, "_u_"), *unit = "";
    snprintf(name, size, "%s", key);
    if (mark == NULL)
        return unit;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(mark + 3, units[i]) == 0)
            unit = units[i];
    }
    size_t len = (size_t)(mark - key);
    if (len >= 2 && strncmp(mark - 2, "_f", 2) == 0)
        len -= 2;
    if (len < size)
        name[len] = '\0';
    return unit;
}

static void set_port(struct evidence_job *job, const json_t *record)
{
    static const char *const names[] = {"port_guid",           "node_guid", "object_name",
                                        "related_object_name", "guid",      "system_guid",
                                        "source_guid",         "name"};
    const char *guid = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && guid == NULL; i++)
        guid = json_string_value(json_object_get(record, names[i]));
    const json_t *port = json_object_get(record, "port_num");
    if (port == NULL)
        port = json_object_get(record, "Port_Number");
    if (port == NULL && json_object_get(record, "logical_state") != NULL)
        port = json_object_get(record, "number");
    if (guid != NULL && json_is_integer(port))
        job_subject(job, "port %.120s/%lld", guid, (long long)json_integer_value(port));
    else if (guid != NULL)
        job_subject(job, "fabric %.150s", guid);
    else
        job_subject(job, "fabric");
}

/* Whether an array of texts holds one. */
static bool holds(const json_t *array, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *item = json_string_value(json_array_get(array, i));
        if (item != NULL && strcasecmp(item, text) == 0)
            return true;
    }
    return false;
}

static struct slice text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return slice_of(text != NULL ? text : "");
}

/* A port of the list of ports: its state, its width, how many bits are wrong. */
static void judge_link(struct evidence_job *job, size_t line, const json_t *record)
{
    struct slice state = text_of(record, "logical_state"), width = text_of(record, "active_width");
    struct slice ber = text_of(record, "high_ber_severity");
    if (state.len == 0)
        return;
    judge_port(job, line, state, text_of(record, "physical_state"));
    if (slice_is(width, "1x") && slice_is(state, "Active") &&
        holds(json_object_get(record, "enabled_width"), "4x"))
        put_finding(job, line, RULE_IB_SLOW, "The link is 1x wide, 4x is enabled");
    if (ber.len > 0 && !slice_is_unknown(ber) && !slice_is_nocase(ber, "normal"))
        put_finding(job, line, RULE_UFM_LINK_ERRORS, "the bit error rate is high: %.*s",
                    (int)ber.len, ber.at);
}

/* Events and alarms name their object; systems and ports tell their worst alarm. */
static void judge_alarm(struct evidence_job *job, size_t line, const json_t *record)
{
    struct slice severity = text_of(record, "severity"), text = text_of(record, "description");
    if (severity.len == 0 || slice_is_nocase(severity, "Info") || slice_is_unknown(severity))
        return;
    if (text.len == 0) /* of UFM 6.16 and before */
        text = text_of(record, "reason");
    if (json_object_get(record, "object_name") == NULL &&
        json_object_get(record, "related_object_name") == NULL)
        put_finding(job, line, RULE_UFM_ALARM, "its severity is %.*s", (int)severity.len,
                    severity.at);
    else if (slice_has(text, "went down") || slice_is(text, "Link Downed") ||
             slice_is(text_of(record, "name"), "Link is Down"))
        put_finding(job, line, RULE_UFM_LINK_DOWN, "%.*s", (int)text.len, text.at);
    else
        put_finding(job, line, RULE_UFM_ALARM, "%.*s: %.*s", (int)severity.len, severity.at,
                    (int)text.len, text.at);
}

static void read_record(struct evidence_job *job, struct json_part *part, const json_t *record)
{
    const char *key;
    json_t *value;
    size_t line = part->first;
    set_port(job, record);
    json_object_foreach((json_t *)record, key, value)
    {
        char name[EVIDENCE_NAME_MAX];
        line = json_part_line(part, key);
        const char *unit = split_unit(key, name, sizeof(name));
        if (strcmp(name, "timestamp") == 0 && json_is_integer(value))
            unit = "us";
        if (strstr(name, "guid") != NULL && json_is_string(value))
            put_text(job, line, name, slice_of(json_string_value(value)));
        else if (strcmp(name, "source_id") == 0 && json_is_string(value))
            put_text(job, line, name, slice_of(json_string_value(value)));
        else
            json_part_put(job, line, name, value, unit);
        enum counter_class class = counter_class_in("ufm", name);
        if (class != COUNTER_PLAIN && json_is_integer(value) && json_integer_value(value) > 0)
            put_past(job, line,
                     class == COUNTER_UFM_DOWN ? RULE_UFM_LINK_DOWN : RULE_UFM_LINK_ERRORS,
                     "%s is %lld", name, (long long)json_integer_value(value));
    }
    judge_link(job, line, record);
    judge_alarm(job, line, record);
}

static void read_records(struct evidence_job *job, struct json_part *part, const json_t *array)
{
    size_t index;
    json_t *record;
    json_array_foreach((json_t *)array, index, record)
    {
        if (json_is_object(record))
            read_record(job, part, record);
    }
}

/* Both ends of "A - B" without regard to letter case: names of switches are written in both. */
static bool same_link(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

static void read_wiring(struct evidence_job *job, struct json_part *part, const json_t *array)
{
    size_t index;
    json_t *pair;
    job_subject(job, "report");
    put_uint(job, json_part_line(part, "miss_wired"), "miss_wired", json_array_size(array), "");
    json_array_foreach((json_t *)array, index, pair)
    {
        size_t line = json_part_line(part, "expected");
        const char *expected = json_string_value(json_object_get(pair, "expected"));
        const char *actual = json_string_value(json_object_get(pair, "actual"));
        if (expected == NULL || actual == NULL)
            continue;
        job_subject(job, "link %.180s", expected);
        put_text(job, line, "expected", slice_of(expected));
        put_text(job, json_part_line(part, "actual"), "actual", slice_of(actual));
        if (!same_link(expected, actual))
            put_finding(job, line, RULE_UFM_WIRING, "planned %s, found %s", expected, actual);
    }
}

static void read_missing(struct evidence_job *job, struct json_part *part, const char *name,
                         const json_t *array)
{
    size_t index, line = json_part_line(part, name);
    json_t *link;
    job_subject(job, "report");
    put_uint(job, line, name, json_array_size(array), "");
    job_subject(job, "report %s", name);
    json_array_foreach((json_t *)array, index, link)
    {
        const char *text = json_string_value(link);
        if (text == NULL)
            continue;
        size_t at = json_part_line(part, text);
        put_text(job, at, "link", slice_of(text));
        put_finding(job, at, RULE_UFM_MISSING, "%s: %s", name, text);
    }
}

static void read_report(struct evidence_job *job, struct json_part *part, const json_t *report)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)report, key, value)
    {
        if (!json_is_array(value))
            continue;
        if (strcmp(key, "miss_wired") == 0)
            read_wiring(job, part, value);
        else
            read_missing(job, part, key, value);
    }
}

/* "0x7fff": {"guids": [{"guid": "...", "membership": "full"}], "ip_over_ib": true} */
static void read_partition(struct evidence_job *job, struct json_part *part, const char *pkey,
                           const json_t *partition)
{
    const char *key;
    json_t *value;
    size_t line = json_part_line(part, pkey), index;
    job_subject(job, "pkey %.60s", pkey);
    json_object_foreach((json_t *)partition, key, value) json_part_put(job, line, key, value, "");
    const json_t *guids = json_object_get(partition, "guids");
    put_uint(job, line, "members", json_array_size(guids), "");
    json_array_foreach((json_t *)guids, index, value)
    {
        struct slice guid = text_of(value, "guid");
        job_subject(job, "pkey %.60s guid %.*s", pkey, (int)(guid.len < 80 ? guid.len : 80),
                    guid.at);
        put_text(job, json_part_line(part, "guid"), "membership", text_of(value, "membership"));
    }
}

static void read_root(struct evidence_job *job, struct json_part *part)
{
    const char *key;
    json_t *value;
    if (json_is_array(part->root)) {
        read_records(job, part, part->root);
        return;
    }
    if (json_object_get(part->root, "miss_wired") != NULL) {
        read_report(job, part, part->root);
        return;
    }
    json_t *first = json_object_iter_value(json_object_iter(part->root));
    if (json_object_get(first, "guids") != NULL) {
        json_object_foreach(part->root, key, value) read_partition(job, part, key, value);
        return;
    }
    if (json_object_get(part->root, "values") == NULL &&
        json_object_get(part->root, "report") == NULL) {
        read_record(job, part, part->root);
        return;
    }
    json_object_foreach(part->root, key, value)
    {
        if (json_is_array(value)) {
            read_records(job, part, value);
        } else if (json_is_object(value)) {
            read_report(job, part, value);
        } else {
            job_subject(job, "fabric");
            json_part_put(job, json_part_line(part, key), key, value, "");
        }
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct json_part part;
    json_part_read(job, i, &part);
    if (part.root != NULL)
        read_root(job, &part);
    json_part_release(&part);
    return part.next;
}

const struct evidence_reader reader_ufm = {
    .kind = "ufm", .tool = "UFM", .begins = begins, .read = read};
