/*
 * fleet/evidence/read_mlxlink.c - mlxlink: what a port and its module say, as text ("Key : value"
 * below titles) and as JSON (--json).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/json_part.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

static const char *const titles[] = {
    "Operational Info",        "Supported Info",   "Troubleshooting Info",
    "Tool Information",        "Module Info",      "Physical Counters and BER Info",
    "Histogram of FEC Errors", "EYE Opening Info", "PCIe Operational (Enabled) Info",
};

static bool is_title(struct slice line)
{
    for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++) {
        if (slice_is(line, titles[k]))
            return true;
    }
    return false;
}

struct link {
    char state[32], physical[48], opcode[16];
    size_t state_line, opcode_line;
};

static void set_subject(struct evidence_job *job)
{
    char device[64];
    if (job_command_option(job, "-d", device, sizeof(device)))
        job_subject(job, "port %s", device);
    else
        job_subject(job, "port");
}

/* Numbers that tell of a bad cable, and the advice of the firmware. */
static void judge_key(struct evidence_job *job, size_t i, struct slice key, struct slice value,
                      const struct link *link)
{
    struct number number = number_read(value);
    bool wrong = slice_is(key, "Effective Physical Errors") || slice_is(key, "Symbol Errors");
    if (wrong && number.is_unsigned && number.value > 0)
        put_finding(job, i, RULE_SYMBOL_ERRORS, "%.*s is %s", (int)key.len, key.at, number.text);
    /* 0: nothing wrong. 1023: no information. */
    if (slice_is(key, "Recommendation") && link->opcode[0] != '\0' &&
        strcmp(link->opcode, "0") != 0 && strcmp(link->opcode, "1023") != 0)
        put_finding(job, i, RULE_LINK_ADVICE, "status %s: %.*s", link->opcode, (int)value.len,
                    value.at);
}

static void put_key(struct evidence_job *job, size_t i, struct slice key, struct slice value,
                    struct link *link)
{
    char name[EVIDENCE_NAME_MAX];
    if (slice_is(key, "Link Down Counter")) {
        (void)put_rdma_counter(job, i, slice_of("link_downed"), value);
        return;
    }
    if (slice_is(key, "Firmware Version")) {
        put_firmware(job, i, value);
        return;
    }
    fact_name("", key, "", name);
    const char *plain = name[0] == '_' ? name + 1 : name;
    struct slice first, rest;
    if (slice_split(value, '[', &first, &rest) &&
        number_read(slice_trim(first)).kind != NUMBER_NONE)
        put_number(job, i, plain, slice_trim(first), ""); /* "78 [-10..80]" */
    else
        put_listed(job, i, plain, value, "");
    if (slice_is(key, "State")) {
        slice_copy(value, link->state, sizeof(link->state));
        link->state_line = i;
    } else if (slice_is(key, "Physical state")) {
        slice_copy(value, link->physical, sizeof(link->physical));
    } else if (slice_starts(key, "Status Opcode")) {
        slice_copy(value, link->opcode, sizeof(link->opcode));
    }
    judge_key(job, i, key, value, link);
}

/* "Polling" is a state here, "Disable" another one. */
static void judge_state(struct evidence_job *job, const struct link *link)
{
    struct slice state = slice_of(link->state), physical = slice_of(link->physical);
    if (state.len == 0)
        return;
    if (slice_is(state, "Polling"))
        physical = state;
    else if (slice_starts(state, "Disable"))
        physical = slice_of("Disabled");
    judge_port(job, link->state_line, state, physical);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    return is_title(job_line(job, i)) && slice_starts(job_line(job, i + 1), "-----");
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct link link = {.state_line = i};
    struct slice key, value;
    size_t next = i;
    set_subject(job);
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        bool rule = slice_starts(line, "-----");
        if (!rule && !is_title(line)) {
            if (!slice_split(line, ':', &key, &value) || key.len == 0)
                break;
            put_key(job, i, slice_trim(key), slice_trim(value), &link);
        }
        next = i + 1;
    }
    judge_state(job, &link);
    return next;
}

const struct evidence_reader reader_mlxlink = {
    .kind = "ethtool-link", .tool = "mlxlink", .begins = begins, .read = read};

static bool json_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"Operational Info\"", "\"Troubleshooting Info\"",
                                       "\"Physical Counters and BER Info\"", NULL};
    return json_part_begins(job, i, keys);
}

/* {"values": ["1", "2"], "mask": "0x1"}: the values. */
static void put_object(struct evidence_job *job, size_t line, const char *key, const json_t *object,
                       struct link *link)
{
    char text[EVIDENCE_VALUE_MAX];
    size_t len = 0, index;
    const json_t *item, *array = json_is_array(object) ? object : json_object_get(object, "values");
    text[0] = '\0';
    json_array_foreach(array, index, item)
    {
        const char *word = json_string_value(item);
        int n = word != NULL
                    ? snprintf(text + len, sizeof(text) - len, "%s%s", index > 0 ? "," : "", word)
                    : -1;
        if (n < 0 || (size_t)n >= sizeof(text) - len)
            return;
        len += (size_t)n;
    }
    if (len > 0)
        put_key(job, line, slice_of(key), slice_of(text), link);
}

static void read_sections(struct evidence_job *job, struct json_part *part, const json_t *output)
{
    struct link link = {.state_line = part->first};
    const char *title, *key;
    json_t *section, *value;
    json_object_foreach((json_t *)output, title, section)
    {
        (void)json_part_line(part, title);
        /* The advice stands before the status that says whether it counts. */
        const char *opcode = json_string_value(json_object_get(section, "Status Opcode"));
        if (opcode != NULL)
            snprintf(link.opcode, sizeof(link.opcode), "%s", opcode);
        json_object_foreach(section, key, value)
        {
            size_t line = json_part_line(part, key);
            if (json_is_string(value))
                put_key(job, line, slice_of(key), slice_of(json_string_value(value)), &link);
            else
                put_object(job, line, key, value, &link);
        }
    }
    judge_state(job, &link);
}

static size_t json_read(struct evidence_job *job, size_t i)
{
    struct json_part part;
    json_part_read(job, i, &part);
    const json_t *result = json_object_get(part.root, "result");
    const json_t *output = json_object_get(result, "output");
    set_subject(job);
    if (json_is_object(part.root))
        read_sections(job, &part, output != NULL ? output : part.root);
    json_part_release(&part);
    return part.next;
}

const struct evidence_reader reader_mlxlink_json = {
    .kind = "ethtool-link", .tool = "mlxlink --json", .begins = json_begins, .read = json_read};
