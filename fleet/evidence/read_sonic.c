/*
 * fleet/evidence/read_sonic.c - SONiC: config_db.json, whole or in part, and the tables that its
 * "show" commands print.
 *
 * config_db is an object of tables, whose names are capital letters, of objects whose members are
 * strings, numbers too.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/json_part.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"
#include "fleet/evidence/sonic_qos.h"

#define PEEK_LINES 3

static bool is_table_name(struct slice s)
{
    bool letter = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        letter = letter || (c >= 'A' && c <= 'Z');
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return letter && s.len >= 3;
}

/* The first member is a table: { "PORT": { */
static bool begins_config(const struct evidence_job *job, size_t i)
{
    static const char *const any[] = {"\"", NULL};
    struct slice line = job_line(job, i), name, rest;
    if (line.len == 0 || line.at[0] != '{' || !json_part_begins(job, i, any))
        return false;
    line = slice_trim((struct slice){.at = line.at + 1, .len = line.len - 1});
    for (size_t n = 1; line.len == 0 && n < PEEK_LINES; n++)
        line = job_line(job, i + n);
    if (!slice_skip(&line, "\"") || !slice_split(line, '"', &name, &rest) || !is_table_name(name))
        return false;
    rest = slice_trim(rest);
    return slice_skip(&rest, ":") && slice_starts(slice_trim(rest), "{");
}

/* What the keys of a table are. */
static const struct {
    const char *table, *type;
} types[] = {
    {"PORT", "switch-port"},
    {"PORT_QOS_MAP", "switch-port"},
    {"PFC_WD", "switch-port"},
    {"QUEUE", "switch-port"},
    {"BUFFER_PG", "switch-port"},
    {"BUFFER_QUEUE", "switch-port"},
    {"DSCP_TO_TC_MAP", "dscp-map"},
    {"DOT1P_TO_TC_MAP", "dot1p-map"},
    {"TC_TO_QUEUE_MAP", "tc-queue-map"},
    {"TC_TO_PRIORITY_GROUP_MAP", "tc-pg-map"},
    {"MAP_PFC_PRIORITY_TO_QUEUE", "pfc-queue-map"},
    {"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc-pg-map"},
    {"TC_TO_DSCP_MAP", "tc-dscp-map"},
    {"WRED_PROFILE", "wred"},
    {"SCHEDULER", "scheduler"},
    {"BUFFER_POOL", "buffer-pool"},
    {"BUFFER_PROFILE", "buffer-profile"},
    {"DEVICE_METADATA", "switch"},
};

/* "Ethernet4|3-4" of QUEUE is "switch-port Ethernet4 queue 3-4". */
static void set_subject(struct evidence_job *job, const char *table, const char *key)
{
    const char *type = NULL, *bar = strchr(key, '|');
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && type == NULL; i++)
        type = strcmp(table, types[i].table) == 0 ? types[i].type : NULL;
    const char *part = strcmp(table, "BUFFER_PG") == 0 ? "pg" : "queue";
    if (type == NULL)
        job_subject(job, "table %.60s %.100s", table, key);
    else if (bar != NULL && strcmp(type, "switch-port") == 0)
        job_subject(job, "%s %.*s %s %.40s", type, (int)(bar - key < 80 ? bar - key : 80), key,
                    part, bar + 1);
    else
        job_subject(job, "%s %.150s", type, key);
}

static void put_priorities(struct evidence_job *job, size_t line, const char *port,
                           const char *list)
{
    struct slice rest = slice_of(list), word;
    uint64_t priority;
    for (bool more = true; more;) {
        more = slice_split(rest, ',', &word, &rest);
        if (!more)
            word = rest;
        if (!slice_uint(slice_trim(word), &priority) || priority > 7)
            continue;
        job_subject(job, "switch-port %.80s prio %u", port, (unsigned)priority);
        put_text(job, line, "pfc", slice_of("true"));
    }
}

static void read_object(struct evidence_job *job, struct json_part *part, const char *table,
                        const char *key, const json_t *object)
{
    const char *name;
    json_t *value;
    bool cable = strcmp(table, "CABLE_LENGTH") == 0;
    json_object_foreach((json_t *)object, name, value)
    {
        size_t line = json_part_line(part, name);
        set_subject(job, table, key);
        if (cable && json_is_string(value)) {
            struct slice rest;
            struct number number = number_front(slice_of(json_string_value(value)), &rest);
            job_subject(job, "switch-port %.150s", name);
            if (number.kind != NUMBER_NONE && slice_is(rest, "m"))
                put_number(job, line, "cable_length", slice_of(number.text), "m");
            else
                put_unknown(job, line, "cable_length");
            continue;
        }
        if (strcmp(table, "DSCP_TO_TC_MAP") == 0) {
            job_subject(job, "dscp-map %.120s dscp %.8s", key, name);
            json_part_put(job, line, "tc", value, "");
            continue;
        }
        json_part_put(job, line, name, value, "");
        if (strcmp(name, "pfc_enable") == 0 && json_is_string(value))
            put_priorities(job, line, key, json_string_value(value));
    }
}

static size_t read_config(struct evidence_job *job, size_t i)
{
    struct json_part part;
    const char *table, *key;
    json_t *entries, *object;
    json_part_read(job, i, &part);
    json_object_foreach(part.root, table, entries)
    {
        (void)json_part_line(&part, table);
        json_object_foreach(entries, key, object)
        {
            (void)json_part_line(&part, key);
            read_object(job, &part, table, key, object);
        }
    }
    if (json_is_object(part.root))
        sonic_judge(job, part.first, part.root);
    json_part_release(&part);
    return part.next;
}

const struct evidence_reader reader_sonic_config = {
    .kind = "sonic-qos", .tool = "config_db", .begins = begins_config, .read = read_config};

/* show ecn, ecnconfig -l: "Profile: NAME", a rule, "key  value" rows, a rule. */

static bool is_rule(struct slice line)
{
    size_t dashes = 0;
    for (size_t i = 0; i < line.len; i++) {
        dashes += line.at[i] == '-';
        if (line.at[i] != '-' && line.at[i] != ' ' && line.at[i] != '\t')
            return false;
    }
    return dashes >= 3;
}

static bool begins_ecn(const struct evidence_job *job, size_t i)
{
    return (slice_starts(job_line(job, i), "Profile: ") ||
            slice_starts(job_line(job, i), "Pool: ")) &&
           is_rule(job_line(job, i + 1));
}

/* A profile of WRED has thresholds in colours; one of a buffer (show buffer configuration) none. */
static bool is_wred(const struct evidence_job *job, size_t i)
{
    for (i += 2; i < job->line_count && !job_is_blank(job, i) && !is_rule(job_line(job, i)); i++) {
        struct slice line = job_line(job, i);
        if (slice_starts(line, "ecn") || slice_starts(line, "wred_") ||
            slice_starts(line, "red_") || slice_starts(line, "green_") ||
            slice_starts(line, "yellow_"))
            return true;
    }
    return false;
}

struct profile {
    char ecn[32], min[32], max[32], probability[32];
    size_t line;
    bool open;
};

static void end_profile(struct evidence_job *job, struct profile *p)
{
    if (p->open && p->ecn[0] != '\0')
        sonic_judge_profile(job, p->line, p->ecn, p->min, p->max, p->probability);
    *p = (struct profile){.open = false};
}

static void read_profile_row(struct evidence_job *job, size_t i, struct profile *p)
{
    static const char *const names[] = {"ecn", "green_min_threshold", "green_max_threshold",
                                        "green_drop_probability"};
    char *const fields[] = {p->ecn, p->min, p->max, p->probability};
    struct slice rest = job_line(job, i), key = slice_word(&rest), value = slice_trim(rest);
    char name[EVIDENCE_NAME_MAX];
    slice_copy(key, name, sizeof(name));
    put_listed(job, i, name, value, slice_has(key, "threshold") ? "B" : "");
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (slice_is(key, names[k]))
            slice_copy(value, fields[k], sizeof(p->ecn));
    }
}

static size_t read_ecn(struct evidence_job *job, size_t i)
{
    struct profile p = {.open = false};
    struct slice words[3];
    size_t next = i;
    for (; i < job->line_count && !job_stops(job, i, &reader_sonic_ecn); i++) {
        struct slice line = job_line(job, i), name;
        if (line.len == 0)
            continue;
        if (slice_after(line, "Profile: ", &name)) {
            end_profile(job, &p);
            bool wred = is_wred(job, i);
            p = (struct profile){.open = wred, .line = i};
            job_subject(job, "%s %.*s", wred ? "wred" : "buffer-profile",
                        (int)(name.len < 150 ? name.len : 150), name.at);
        } else if (slice_after(line, "Pool: ", &name)) {
            end_profile(job, &p);
            job_subject(job, "buffer-pool %.*s", (int)(name.len < 150 ? name.len : 150), name.at);
        } else if (!is_rule(line)) {
            if (slice_words(line, words, 3) != 2)
                break;
            read_profile_row(job, i, &p);
        }
        next = i + 1;
    }
    end_profile(job, &p);
    return next;
}

const struct evidence_reader reader_sonic_ecn = {
    .kind = "sonic-qos", .tool = "show ecn", .begins = begins_ecn, .read = read_ecn};
