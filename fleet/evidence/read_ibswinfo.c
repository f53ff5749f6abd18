/*
 * fleet/evidence/read_ibswinfo.c - ibswinfo: "key | value" of an unmanaged InfiniBand switch.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

static bool row(struct slice line, struct slice *key, struct slice *value)
{
    if (!slice_split(line, '|', key, value))
        return false;
    *key = slice_trim(*key);
    *value = slice_trim(*value);
    return key->len > 0;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {
        "part number",     "serial number", "product name", "firmware version", "uptime (d-h:m:s)",
        "temperature (C)", "fan status",    "PSID",         "PSU0 status",
    };
    struct slice key, value, line = job_line(job, i);
    for (size_t k = 0; row(line, &key, &value) && k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (slice_is(key, keys[k]))
            return true;
    }
    return slice_starts(line, "====") && row(job_line(job, i + 3), &key, &value) &&
           slice_is(key, "part number");
}

/* "temperature (C)" is temperature in C, a number; other blanks become '_'. "" = a text. */
static const char *set_name(struct slice key, char out[EVIDENCE_NAME_MAX])
{
    static const struct {
        const char *text, *unit;
    } units[] = {{" (C)", "C"}, {" (W)", "W"}, {" (rpm)", "rpm"}, {" (d-h:m:s)", ""}};
    const char *unit = "";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (slice_ends(key, units[i].text)) {
            key.len -= strlen(units[i].text);
            unit = units[i].unit;
        }
    }
    slice_copy(key, out, EVIDENCE_NAME_MAX);
    for (char *c = out; *c != '\0'; c++) {
        if (*c == ' ')
            *c = '_';
    }
    return unit;
}

static bool is_rule_line(struct slice line)
{
    return slice_starts(line, "----") || slice_starts(line, "====");
}

/* PSU rows are set in below "PSU0 status". */
static void set_part(struct evidence_job *job, uint32_t indent, struct slice key)
{
    struct slice rest = key;
    if (slice_skip(&rest, "PSU")) {
        struct slice number = slice_word(&rest);
        job_subject(job, "switch psu %.*s", (int)number.len, number.at);
    } else if (indent == 0) {
        job_subject(job, "switch");
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    char name[EVIDENCE_NAME_MAX];
    struct slice key, value;
    uint32_t base = 0;
    bool started = false;
    job_subject(job, "switch");
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || is_rule_line(line))
            continue;
        if (!row(line, &key, &value)) {
            if (started)
                break;
            put_text(job, i, "model", line);
            continue;
        }
        if (!started)
            base = job->lines[i].indent; /* a copy may be set in as a whole */
        started = true;
        uint32_t indent = job->lines[i].indent > base ? job->lines[i].indent - base : 0;
        if (strncmp(job->subject, "switch psu", 10) != 0 || indent == 0)
            set_part(job, indent, key);
        const char *unit = set_name(key, name);
        if (slice_is(key, "firmware version"))
            put_firmware(job, i, value);
        else if (slice_is_unknown(value))
            put_unknown(job, i, name);
        else if (slice_is(key, "GUID"))
            put_text(job, i, name, value);
        else if (unit[0] != '\0')
            put_number(job, i, name, value, unit);
        else
            put_value(job, i, name, value, unit);
        bool status = slice_ends(key, "status") || slice_is(key, "DC power");
        if (status && value.len > 0 && !slice_is_nocase(value, "OK") && !slice_is_unknown(value))
            put_finding(job, i, RULE_SWITCH_ALARM, "%.*s: %.*s", (int)key.len, key.at,
                        (int)value.len, value.at);
    }
    return i;
}

const struct evidence_reader reader_ibswinfo = {
    .kind = "opensm",
    .tool = "ibswinfo",
    .begins = begins,
    .read = read,
};
