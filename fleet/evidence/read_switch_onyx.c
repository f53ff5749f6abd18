/*
 * fleet/evidence/read_switch_onyx.c - Onyx: show roce.
 *
 * Rows "key : value", titles that end with a colon, and the table of traffic classes. Blank lines
 * end what a title stands over.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/ruled_table.h"
#include "fleet/evidence/rules_logs.h"

struct roce {
    char title[64];
    bool lossless, absolute, tlv, lldp_off, pfc_off;
    size_t pfc_line, lldp_line;
    uint64_t min, max;
};

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), key, value;
    return slice_split(line, ':', &key, &value) && slice_is(slice_trim(key), "RoCE mode");
}

/* "switch-priority 3: enabled" */
static bool read_priority(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    uint64_t priority;
    if (!slice_skip(&key, "switch-priority ") || !slice_uint(slice_trim(key), &priority) ||
        priority > 7)
        return false;
    job_subject(job, "switch prio %u", (unsigned)priority);
    put_text(job, i, "pfc", value);
    return true;
}

static void note(struct roce *r, size_t i, const char *name, struct slice value)
{
    if (strcmp(name, "roce_mode") == 0)
        r->lossless = slice_starts(value, "lossless") && !slice_has(value, "semi");
    if (strcmp(name, "pfc") == 0) {
        r->pfc_off = slice_is(value, "disabled");
        r->pfc_line = i;
    }
    if (strcmp(name, "lldp") == 0) {
        r->lldp_off = slice_is(value, "disabled");
        r->lldp_line = i;
    }
    if (strcmp(name, "application_tlv.protocol") == 0)
        r->tlv = true;
    if (strcmp(name, "port_congestion_control.mode") == 0)
        r->absolute = slice_has(value, "absolute");
    if (strcmp(name, "port_congestion_control.min") == 0)
        (void)slice_uint(value, &r->min);
    if (strcmp(name, "port_congestion_control.max") == 0)
        (void)slice_uint(value, &r->max);
}

static bool read_row(struct evidence_job *job, size_t i, struct roce *r)
{
    struct slice key, value;
    char name[EVIDENCE_NAME_MAX], own[64];
    if (!slice_split(job_line(job, i), ':', &key, &value))
        return false;
    key = slice_trim(key);
    value = slice_trim(value);
    const char *unit = slice_find(key, " (KB)"); /* "Min (KB): 150" */
    if (unit != NULL)
        key = slice_trim((struct slice){.at = key.at, .len = (size_t)(unit - key.at)});
    key_name(key, own, sizeof(own));
    if (value.len == 0) {
        snprintf(r->title, sizeof(r->title), "%.60s.", own);
        return true;
    }
    if (read_priority(job, i, key, value))
        return true;
    snprintf(name, sizeof(name), "%.47s%.48s", r->title, own);
    note(r, i, name, value);
    job_subject(job, "switch");
    bool threshold =
        (r->absolute || unit != NULL) && (strcmp(own, "min") == 0 || strcmp(own, "max") == 0);
    if (threshold)
        put_number(job, i, name, value, "KB");
    else
        put_measure(job, i, name, value);
    return true;
}

/* "3 3 RoCE WRR 50%" below "Switch-Priority TC Application ETS". */
static bool read_class(struct evidence_job *job, size_t i, const struct roce *r)
{
    struct slice rest = job_line(job, i);
    uint64_t priority, class;
    if (strcmp(r->title, "roce_used_tcs.") != 0)
        return false;
    if (slice_starts(rest, "-") || slice_starts(rest, "Switch-Priority"))
        return true;
    if (!slice_uint(slice_word(&rest), &priority) || priority > 7 ||
        !slice_uint(slice_word(&rest), &class))
        return false;
    job_subject(job, "switch prio %u", (unsigned)priority);
    put_uint(job, i, "traffic_class", class, "");
    put_text(job, i, "application", slice_word(&rest));
    put_text(job, i, "ets", slice_trim(rest));
    return true;
}

static void judge(struct evidence_job *job, const struct roce *r)
{
    job_subject(job, "switch");
    if (r->lossless && r->pfc_off)
        put_finding(job, r->pfc_line, RULE_PFC_OFF, "RoCE is lossless, PFC is disabled");
    if (r->tlv && r->lldp_off)
        put_finding(job, r->lldp_line, RULE_LLDP_OFF,
                    "an application TLV is configured, LLDP is disabled");
    if (r->max > 0 && r->min >= r->max)
        put_finding(job, r->pfc_line, RULE_ECN_THRESHOLD,
                    "the minimum %llu is not below the maximum %llu", (unsigned long long)r->min,
                    (unsigned long long)r->max);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct roce r = {.title = ""};
    size_t next = i;
    for (; i < job->line_count && !job_stops(job, i, &reader_switch_onyx); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0) {
            r.title[0] = '\0';
            continue;
        }
        if (read_class(job, i, &r) || read_row(job, i, &r))
            next = i + 1;
        else if (line.at[0] == '-' || strcmp(r.title, "roce_buffer_pools.") == 0)
            next = i + 1; /* a table of buffers; what it holds is not RoCE's setting */
        else
            break;
    }
    judge(job, &r);
    return next;
}

const struct evidence_reader reader_switch_onyx = {
    .kind = "switch-roce", .tool = "show roce", .begins = begins, .read = read};
