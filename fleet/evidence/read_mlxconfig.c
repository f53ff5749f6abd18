/*
 * fleet/evidence/read_mlxconfig.c - mlxconfig/mstconfig query: "NAME  value", values as True(1).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define VALUES_MAX    3 /* -e: default, current, next boot */
#define HEADLINES_MAX 4

static bool is_name(struct slice s)
{
    bool underscore = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool digit = c >= '0' && c <= '9';
        underscore = underscore || c == '_';
        if (!(c >= 'A' && c <= 'Z') && !digit && c != '_' && c != '[' && c != ']' && c != '.')
            return false;
    }
    return underscore && s.len >= 5 && s.at[0] >= 'A' && s.at[0] <= 'Z';
}

/* "True(1)" -> 1 and "True"; "255" -> 255. */
static bool is_value(struct slice s)
{
    struct slice word, code;
    uint64_t number;
    if (slice_split(s, '(', &word, &code) && slice_ends(code, ")")) {
        code.len--;
        return slice_uint(code, &number) || slice_hex(code, &number);
    }
    return number_read(s).kind != NUMBER_NONE || slice_is_unknown(s) ||
           slice_is(s, "Array[0..7]") || slice_starts(s, "Array[") || slice_is(s, "True") ||
           slice_is(s, "False");
}

static size_t row(struct slice line, struct slice *name, struct slice values[VALUES_MAX])
{
    struct slice words[VALUES_MAX + 3];
    size_t n = slice_words(line, words, VALUES_MAX + 3), at = 0;
    if (n > VALUES_MAX + 2)
        return 0;
    if (n > 0 && (slice_is(words[0], "*") || slice_is(words[0], "RO")))
        at = 1; /* changed, read-only */
    if (n < at + 2 || !is_name(words[at]))
        return 0;
    *name = words[at++];
    size_t count = n - at;
    if (count > VALUES_MAX) /* of a row without a mark */
        return 0;
    for (size_t k = 0; k < count; k++) {
        values[k] = words[at + k];
        if (!is_value(values[k]) && count > 1)
            return 0;
    }
    return count;
}

static bool is_known(struct slice name)
{
    static const char *const starts[] = {
        "ROCE_",
        "RPG_",
        "DCE_TCP_",
        "CNP_",
        "CLAMP_TGT_",
        "INITIAL_ALPHA_",
        "MIN_TIME_BETWEEN_",
        "RATE_TO_SET_",
        "RATE_REDUCE_",
        "LLDP_NB_",
        "DCBX_",
        "SRIOV_EN",
        "NUM_OF_VFS",
        "LINK_TYPE_",
        "PCI_WR_ORDERING",
        "NUM_OF_VL_",
        "NUM_OF_TC_",
        "NUM_OF_PFC",
        "LOSSLESS_",
        "ADVANCED_PCI_",
        "KEEP_ETH_LINK_",
        "CQE_COMPRESSION",
        "ATS_ENABLED",
        "UCTX_EN",
        "PF_BAR2_",
        "DUP_MAC_",
        "VL15_BUFFER_SIZE",
        "MEMIC_",
        "TX_SCHEDULER_",
        "FLEX_PARSER_",
        "REAL_TIME_CLOCK_",
    };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (slice_starts(name, starts[i]))
            return true;
    }
    return false;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), name, values[VALUES_MAX];
    if (row(line, &name, values) > 0)
        return is_known(name);
    if (slice_starts(line, "Configurations:"))
        return true;
    if (slice_starts(line, "Device type:")) /* flint and mlxfwmanager write a large T */
        return true;
    for (size_t k = i + 1; slice_starts(line, "Device #") && k <= i + HEADLINES_MAX; k++) {
        if (slice_starts(job_line(job, k), "Device type:"))
            return true;
    }
    return false;
}

static void put_setting(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    struct slice word, code;
    uint64_t number;
    if (slice_split(value, '(', &word, &code) && slice_ends(code, ")")) {
        code.len--;
        if (slice_uint(code, &number))
            put_number(job, i, name, code, "");
        else if (slice_hex(code, &number))
            put_uint(job, i, name, number, "");
        else
            put_text(job, i, name, value);
    } else {
        put_value(job, i, name, value, "");
    }
}

/* "ROCE_CC_PRIO_MASK_P1" is of port 1. */
static void set_port(struct evidence_job *job, struct slice name)
{
    if (name.len > 3 && name.at[name.len - 3] == '_' && name.at[name.len - 2] == 'P' &&
        name.at[name.len - 1] >= '1' && name.at[name.len - 1] <= '9')
        job_subject(job, "firmware port %c", name.at[name.len - 1]);
    else
        job_subject(job, "firmware");
}

static void put_row(struct evidence_job *job, size_t i, struct slice name,
                    const struct slice *values, size_t count)
{
    static const char *const extra[] = {" default", " current"};
    char text[EVIDENCE_NAME_MAX];
    set_port(job, name);
    slice_copy(name, text, sizeof(text) - 16);
    put_setting(job, i, text, values[count - 1]); /* of the next boot */
    size_t len = strlen(text);
    for (size_t k = 0; k + 1 < count; k++) {
        snprintf(text + len, sizeof(text) - len, "%s", extra[count == 2 ? 1 : k]);
        put_setting(job, i, text, values[k]);
    }
}

static bool read_headline(struct evidence_job *job, size_t i, struct slice line)
{
    static const struct {
        const char *key, *name;
    } keys[] = {
        {"Device type:", "device_type"},
        {"Name:", "part_number"},
        {"Description:", "description"},
        {"Device:", "device_name"},
        {"PCI device:", "device_name"},
        {"Configurations:", NULL},
        {"Device #", NULL},
        {"---", NULL},
    };
    struct slice value;
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (!slice_starts(line, keys[k].key))
            continue;
        job_subject(job, "firmware");
        if (keys[k].name != NULL && slice_after(line, keys[k].key, &value) && value.len > 0)
            put_text(job, i, keys[k].name, value);
        return true;
    }
    return false;
}

/* What a "set" said: "Applying... Done!", "-I- Please reboot ...", "-E- The Device doesn't support
 * FOO parameter". */
static bool read_result(struct evidence_job *job, size_t i, struct slice line)
{
    job_subject(job, "firmware");
    if (slice_starts(line, "-E-")) {
        put_finding(job, i, RULE_TOOL_FAILED, "%.*s", (int)(line.len < 200 ? line.len : 200),
                    line.at);
        put_text(job, i, "result", slice_of("failed"));
        return true;
    }
    if (slice_starts(line, "-I- Please reboot")) {
        put_text(job, i, "result", slice_of("pending-reset"));
        return true;
    }
    return slice_starts(line, "Apply new Configuration") || slice_starts(line, "Applying...") ||
           slice_starts(line, "The '*' shows parameters");
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice name, values[VALUES_MAX];
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        size_t count = row(line, &name, values);
        if (count > 0)
            put_row(job, i, name, values, count);
        else if (job_is_prompt(job, i, NULL) ||
                 (!read_headline(job, i, line) && !read_result(job, i, line)))
            break;
    }
    return i;
}

const struct evidence_reader reader_mlxconfig = {
    .kind = "dcqcn",
    .tool = "mlxconfig",
    .begins = begins,
    .read = read,
};

/* mlxreg --get: "Field Name | Data", a line of '=', "roce_adp_retrans_en | 0x00000001". */
static bool register_begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), before, after;
    return slice_starts(line, "Field Name") && slice_split(line, '|', &before, &after) &&
           slice_starts(slice_trim(after), "Data");
}

static size_t register_read(struct evidence_job *job, size_t i)
{
    char name[EVIDENCE_NAME_MAX];
    struct slice key, value;
    if (!job_command_option(job, "--reg_name", name, sizeof(name)))
        job_subject(job, "firmware register");
    else
        job_subject(job, "firmware register %s", name);
    for (i++; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "===="))
            continue;
        if (!slice_split(line, '|', &key, &value))
            break;
        slice_copy(slice_trim(key), name, sizeof(name));
        put_value(job, i, name, slice_trim(value), "");
    }
    return i;
}

const struct evidence_reader reader_mlxreg = {
    .kind = "dcqcn",
    .tool = "mlxreg",
    .begins = register_begins,
    .read = register_read,
};
