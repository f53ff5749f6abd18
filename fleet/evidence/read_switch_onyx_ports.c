/*
 * fleet/evidence/read_switch_onyx_ports.c - Onyx: show interfaces ethernet PORT counters [priority
 * N], show dcb priority-flow-control.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

/* "Eth1/1", "Eth1/1:" */
static bool port_heading(struct slice line, struct slice *port)
{
    if (slice_ends(line, ":"))
        line.len--;
    *port = line;
    return slice_starts(line, "Eth") && line.len > 3 && line.len < 24 && line.at[3] >= '0' &&
           line.at[3] <= '9' && !slice_has(line, " ");
}

/* Counters --------------------------------------------------------------------------------------
 */

/* "Rx", "Tx:": the side; NULL = another line. */
static const char *side_of(struct slice line)
{
    if (slice_is(line, "Rx") || slice_is(line, "Rx:"))
        return "rx";
    return slice_is(line, "Tx") || slice_is(line, "Tx:") ? "tx" : NULL;
}

/* "120   pause packets" */
static bool counter_row(struct slice line, struct slice *value, struct slice *name)
{
    uint64_t number;
    *value = slice_word(&line);
    *name = slice_trim(line);
    char first = name->len > 0 ? name->at[0] : '0';
    return slice_uint(*value, &number) && first >= 'a' && first <= 'z';
}

static size_t next_text(const struct evidence_job *job, size_t i)
{
    for (i++; i < job->line_count && job_is_blank(job, i); i++)
        ;
    return i;
}

static bool counters_begin(const struct evidence_job *job, size_t i)
{
    struct slice port, value, name;
    if (port_heading(job_line(job, i), &port))
        i = next_text(job, i);
    return side_of(job_line(job, i)) != NULL &&
           counter_row(job_line(job, next_text(job, i)), &value, &name);
}

/* What the heading says, else the command: "show interfaces ethernet 1/1 counters priority 3". */
static void set_subject(struct evidence_job *job, size_t i)
{
    char id[32] = "", prio[8] = "";
    struct slice port;
    uint64_t number;
    if (port_heading(job_line(job, i), &port))
        slice_copy(port, id, sizeof(id));
    else if (job_command_option(job, "ethernet", prio, sizeof(prio)))
        snprintf(id, sizeof(id), "Eth%s", prio);
    bool by_prio = job_command_option(job, "priority", prio, sizeof(prio)) &&
                   slice_uint(slice_of(prio), &number) && number < 8;
    job_subject(job, "switch-port%s%s%s%s", id[0] != '\0' ? " " : "", id, by_prio ? " prio " : "",
                by_prio ? prio : "");
}

/* Of a section: what was dropped for want of buffers is judged by whether pause was used. */
struct seen {
    const char *side;
    bool paused;
    uint64_t dropped;
    size_t line;
};

static void put_row(struct evidence_job *job, size_t i, struct slice value, struct slice own,
                    struct seen *seen)
{
    static const struct {
        const char *own, *name, *rule;
    } names[] = {
        {"pause packets", "pause", NULL},
        {"fcs errors", "fcs_errors", RULE_FCS_ERRORS},
        {"symbol errors", "symbol_errors", RULE_SYMBOL_ERRORS},
        {"discard packets", "discards", NULL},
        {"buffer discard", "discards_buffer", NULL},
        {"shared buffer discard", "discards_shared_buffer", NULL},
    };
    char name[EVIDENCE_NAME_MAX];
    const char *rule = NULL;
    uint64_t number = 0;
    bool known = slice_uint(value, &number);
    fact_name(seen->side, own, "", name);
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (!slice_is(own, names[k].own))
            continue;
        snprintf(name, sizeof(name), "%s_%s", seen->side, names[k].name);
        rule = names[k].rule;
    }
    put_number(job, i, name, value, slice_is(own, "bytes") ? "bytes" : "");
    if (!known || number == 0)
        return;
    seen->paused = seen->paused || slice_is(own, "pause packets");
    if (slice_ends(own, "buffer discard") && number > seen->dropped) {
        seen->dropped = number;
        seen->line = i;
    }
    if (rule != NULL)
        put_past(job, i, rule, "%s is %llu", name, (unsigned long long)number);
}

static size_t counters_read(struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), value, name;
    struct seen seen = {.side = side_of(line)};
    size_t next = i + 1;
    set_subject(job, i);
    for (i++; !job_stops(job, i, &reader_switch_onyx_counters); i++) {
        line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (side_of(line) != NULL)
            seen.side = side_of(line);
        else if (seen.side != NULL && counter_row(line, &value, &name))
            put_row(job, i, value, name, &seen);
        else
            break;
        next = i + 1;
    }
    if (seen.dropped > 0)
        put_finding(job, seen.line, seen.paused ? RULE_SWITCH_DISCARD : RULE_RX_DISCARDS,
                    "%llu packets found no room in the buffers%s", (unsigned long long)seen.dropped,
                    seen.paused ? ", though pause was used" : "");
    return next;
}

const struct evidence_reader reader_switch_onyx_counters = {
    .kind = "switch-roce",
    .tool = "show interfaces counters",
    .begins = counters_begin,
    .read = counters_read,
};

/* Priority flow control -------------------------------------------------------------------------
 */

/* "Priority Enabled List   :3 4" */
static bool list_row(struct slice line, bool *enabled, struct slice *list)
{
    struct slice key;
    if (!slice_split(line, ':', &key, list))
        return false;
    key = slice_trim(key);
    *list = slice_trim(*list);
    *enabled = slice_is(key, "Priority Enabled List");
    return *enabled || slice_is(key, "Priority Disabled List");
}

static bool pfc_begins(const struct evidence_job *job, size_t i)
{
    bool enabled;
    struct slice list;
    return list_row(job_line(job, i), &enabled, &list);
}

static void put_list(struct evidence_job *job, size_t i, bool enabled, struct slice list)
{
    uint64_t prio;
    for (;;) {
        struct slice word = slice_word(&list);
        if (word.len == 0)
            return;
        if (!slice_uint(word, &prio) || prio > 7)
            continue;
        job_subject(job, "switch prio %u", (unsigned)prio);
        put_text(job, i, "pfc", slice_of(enabled ? "enabled" : "disabled"));
    }
}

/* "3   Y" below "TC  Lossless", "Eth1/1  On  Enabled" below "Interface  PFC admin  PFC oper". */
static bool table_row(struct evidence_job *job, size_t i)
{
    struct slice words[4], port;
    uint64_t class;
    size_t count = slice_words(job_line(job, i), words, 4);
    if (count == 2 && slice_uint(words[0], &class) && class < 8) {
        job_subject(job, "switch tc %u", (unsigned)class);
        put_text(job, i, "lossless", words[1]);
        return true;
    }
    if (count != 3 || !port_heading(words[0], &port))
        return false;
    job_subject(job, "switch-port %.*s", (int)port.len, port.at);
    put_text(job, i, "pfc_admin", words[1]);
    put_text(job, i, "pfc_oper", words[2]);
    if (slice_is_nocase(words[1], "On") && slice_is_nocase(words[2], "Disabled"))
        put_finding(job, i, RULE_PFC_OFF, "PFC is On and came to Disabled");
    return true;
}

static size_t pfc_read(struct evidence_job *job, size_t i)
{
    struct slice list;
    bool enabled;
    size_t next = i, first = i;
    for (; i == first || !job_stops(job, i, &reader_switch_onyx_pfc); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (list_row(line, &enabled, &list))
            put_list(job, i, enabled, list);
        else if (!table_row(job, i) && line.at[0] != '-' && !slice_starts(line, "TC ") &&
                 !slice_starts(line, "Interface"))
            break;
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_switch_onyx_pfc = {
    .kind = "switch-roce",
    .tool = "show dcb priority-flow-control",
    .begins = pfc_begins,
    .read = pfc_read,
};
