/*
 * fleet/evidence/read_lldp.c - who is at the other end: lldptool -t (all TLVs), lldpcli show
 * neighbors. Names begin with "neighbour"; what lldptool shows without -n is our own ("local").
 */
#include <stdio.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"

struct tlv {
    const char *title; /* lldptool's heading, lldpcli's key */
    const char *name;
    bool typed; /* "MAC: 00:..", "mac 00:..": the kind of id comes first */
    bool rows;  /* "Willing: yes" under the heading */
};

/* lldptool --------------------------------------------------------------------------------------
 */

static const struct tlv tlvs[] = {
    {"Chassis ID TLV", "chassis_id", true, false},
    {"Port ID TLV", "port_id", true, false},
    {"Time to Live TLV", "ttl", false, false},
    {"Port Description TLV", "port_description", false, false},
    {"System Name TLV", "system_name", false, false},
    {"System Description TLV", "system_description", false, false},
    {"Maximum Frame Size TLV", "max_frame_size", false, false},
    {"IEEE 8021QAZ ETS Configuration TLV", "ets", false, true},
    {"IEEE 8021QAZ ETS Recommendation TLV", "ets_recommended", false, true},
    {"IEEE 8021QAZ PFC TLV", "pfc", false, true},
    {"IEEE 8021QAZ APP TLV", "app", false, true},
    {"CEE DCBX TLV", "cee", false, true},
};

/* What the TLV of CEE (before 802.1Qaz) has in it. */
static const struct {
    const char *title, *group;
} cee_parts[] = {
    {"Control TLV:", "_control"},
    {"Priority Groups TLV:", "_pg"},
    {"Priority Flow Control TLV:", "_pfc"},
    {"Application TLV:", "_app"},
};

static bool is_title(struct slice line)
{
    return slice_ends(line, " TLV") && line.len > 4;
}

static bool tool_begins(const struct evidence_job *job, size_t i)
{
    return slice_is(job_line(job, i), "Chassis ID TLV");
}

static const struct tlv *tlv_of(struct slice line)
{
    for (size_t k = 0; k < sizeof(tlvs) / sizeof(tlvs[0]); k++) {
        if (slice_is(line, tlvs[k].title))
            return &tlvs[k];
    }
    return NULL;
}

/* "Priority: 3" under "App#0:" is app_0_priority. */
static void put_tlv_row(struct evidence_job *job, size_t i, const char *prefix, struct slice line,
                        char group[24])
{
    struct slice key, value, number;
    char name[EVIDENCE_NAME_MAX];
    if (slice_after(line, "App#", &number) && slice_ends(number, ":")) {
        number.len--;
        snprintf(group, 24, "_%.*s", (int)(number.len < 8 ? number.len : 8), number.at);
        return;
    }
    for (size_t k = 0; k < sizeof(cee_parts) / sizeof(cee_parts[0]); k++) {
        if (slice_is(line, cee_parts[k].title)) {
            snprintf(group, 24, "%s", cee_parts[k].group);
            return;
        }
    }
    if (group[0] != '\0' && slice_has(line, "nabled, ") && !slice_has(line, ":")) {
        snprintf(name, sizeof(name), "%.60s%s_state", prefix, group);
        put_text(job, i, name, line); /* "Enabled, Not Willing, No Error" */
        return;
    }
    if (!slice_split(line, ':', &key, &value) || slice_trim(value).len == 0)
        return;
    char full[64];
    snprintf(full, sizeof(full), "%s%s", prefix, group);
    fact_name(full, key, "", name);
    put_value(job, i, name, slice_trim(value), "");
}

static void put_tlv(struct evidence_job *job, size_t i, const char *side, const struct tlv *tlv,
                    char group[24])
{
    char prefix[48];
    struct slice kind, value = job_line(job, i);
    snprintf(prefix, sizeof(prefix), "%s_%s", side, tlv->name);
    if (tlv->rows) {
        put_tlv_row(job, i, prefix, value, group);
        return;
    }
    if (tlv->typed)
        (void)slice_split(value, ':', &kind, &value);
    value = slice_trim(value);
    if (tlv->typed || value.len == 0)
        put_text(job, i, prefix, value);
    else
        put_value(job, i, prefix, value, "");
}

static size_t tool_read(struct evidence_job *job, size_t i)
{
    static const char *const options[] = {"-i", NULL};
    char group[24] = "";
    const struct tlv *tlv = NULL;
    const char *side = job_command_has(job, " -n") ? "neighbour" : "local";
    if (job->command.len == 0)
        side = "lldp"; /* whose, nobody says */
    netdev_subject(job, options);
    for (bool first = true; first || !job_stops(job, i, NULL); i++, first = false) {
        struct slice line = job_line(job, i);
        if (slice_is(line, "End of LLDPDU TLV"))
            return i + 1;
        if (line.len == 0)
            break;
        if (is_title(line)) {
            tlv = tlv_of(line);
            group[0] = '\0';
        } else if (job->lines[i].indent == 0) {
            break;
        } else if (tlv != NULL) {
            put_tlv(job, i, side, tlv, group);
            if (!tlv->rows)
                tlv = NULL; /* one line is the value */
        }
    }
    return i;
}

const struct evidence_reader reader_lldptool = {
    .kind = "lldp",
    .tool = "lldptool",
    .begins = tool_begins,
    .read = tool_read,
};

/* lldpcli ---------------------------------------------------------------------------------------
 */

static const struct tlv keys[] = {
    {"ChassisID", "chassis_id", true, false},
    {"SysName", "system_name", false, false},
    {"SysDescr", "system_description", false, false},
    {"MgmtIP", "management_address", false, false},
    {"PortID", "port_id", true, false},
    {"PortDescr", "port_description", false, false},
    {"TTL", "ttl", false, false},
    {"MFS", "max_frame_size", false, false},
};

/* "Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:02" */
static bool interface_row(struct slice line, struct slice *netdev)
{
    struct slice rest;
    if (!slice_skip(&line, "Interface:") || !slice_has(line, ", via:"))
        return false;
    (void)slice_split(line, ',', netdev, &rest);
    *netdev = slice_trim(*netdev);
    return is_device_name(*netdev);
}

static bool cli_begins(const struct evidence_job *job, size_t i)
{
    struct slice netdev;
    return interface_row(job_line(job, i), &netdev);
}

static void put_key(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    char name[48];
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (!slice_is(key, keys[k].title))
            continue;
        snprintf(name, sizeof(name), "neighbour_%s", keys[k].name);
        if (keys[k].typed)
            (void)slice_word(&value);
        value = slice_trim(value);
        if (keys[k].typed || slice_starts(slice_of(keys[k].name), "system") || value.len == 0)
            put_text(job, i, name, value);
        else
            put_value(job, i, name, value, "");
    }
}

static size_t cli_read(struct evidence_job *job, size_t i)
{
    struct slice netdev = slice_of(""), key, value;
    (void)interface_row(job_line(job, i), &netdev);
    job_subject(job, "netdev %.*s", (int)netdev.len, netdev.at);
    for (i++; !job_stops(job, i, NULL); i++) {
        if (job_is_blank(job, i) || job->lines[i].indent == 0 ||
            !slice_split(job_line(job, i), ':', &key, &value))
            break;
        put_key(job, i, slice_trim(key), slice_trim(value));
    }
    return i;
}

const struct evidence_reader reader_lldpcli = {
    .kind = "lldp",
    .tool = "lldpcli",
    .begins = cli_begins,
    .read = cli_read,
};
