/*
 * fleet/evidence/read_switch_ports.c - PFC of all ports: NX-OS (show interface
 * priority-flow-control), EOS (show priority-flow-control and its counters), SONiC (show pfc
 * priority, show queue counters: tables with a line of dashes).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/json_part.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/ruled_table.h"
#include "fleet/evidence/rules_logs.h"

#define WORDS_MAX 16

enum form { FORM_NONE = 0, FORM_NXOS, FORM_EOS, FORM_EOS_STATUS, FORM_EOS_COUNTERS };

static enum form form_of(struct slice line)
{
    struct slice words[WORDS_MAX];
    size_t count = slice_words(line, words, WORDS_MAX);
    if (count < 3 || !slice_is(words[0], "Port"))
        return FORM_NONE;
    if (slice_has(line, "RxPPP") && slice_has(line, "TxPPP"))
        return FORM_NXOS;
    if (slice_is(words[1], "Enabled") && slice_is(words[2], "Priorities"))
        return FORM_EOS;
    if (slice_is(words[1], "Status") && slice_is(words[2], "Priorities"))
        return FORM_EOS_STATUS;
    if (slice_is(words[1], "RxPfc") && slice_is(words[2], "TxPfc"))
        return FORM_EOS_COUNTERS;
    return FORM_NONE;
}

static bool is_port(struct slice word)
{
    static const char *const prefixes[] = {"Ethernet-BP", "Ethernet", "Eth", "Et",
                                           "swp",         "Po",       "Ma"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t len = strlen(prefixes[i]);
        if (slice_starts(word, prefixes[i]) && word.len > len && word.at[len] >= '0' &&
            word.at[len] <= '9')
            return true;
    }
    return false;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    return form_of(job_line(job, i)) != FORM_NONE;
}

/* "Ethernet1/2  On   On  (8)  12  0": mode, what it came to, the bitmap in hex, frames. */
static void read_nxos(struct evidence_job *job, size_t i, const struct slice *words, size_t count)
{
    uint64_t bitmap;
    put_text(job, i, "pfc_mode", words[1]);
    struct slice oper = words[2], map = words[3];
    const char *glued = slice_find(oper, "(");
    if (glued != NULL) { /* "On(8)" */
        map = (struct slice){.at = glued, .len = (size_t)(oper.at + oper.len - glued)};
        oper.len = (size_t)(glued - oper.at);
    }
    put_text(job, i, "pfc_oper", oper);
    if (slice_skip(&map, "(") && slice_ends(map, ")")) {
        map.len--;
        map = slice_trim(map);
        if (slice_hex(map, &bitmap))
            put_uint(job, i, "pfc_bitmap", bitmap, "");
        else
            put_unknown(job, i, "pfc_bitmap");
    }
    put_number(job, i, "rx_pause", words[count - 2], "");
    put_number(job, i, "tx_pause", words[count - 1], "");
    if (slice_is(words[1], "On") && slice_is(oper, "Off"))
        put_finding(job, i, RULE_PFC_OFF, "PFC is On and came to Off");
}

/* "Et1/1  Yes  3,4  Yes  note"; the priorities may be missing. */
static void read_eos(struct evidence_job *job, size_t i, const struct slice *words, size_t count)
{
    size_t at = 2;
    put_text(job, i, "pfc_enabled", words[1]);
    if (!slice_is(words[2], "Yes") && !slice_is(words[2], "No")) {
        put_text(job, i, "pfc_priorities", words[2]);
        at = 3;
    }
    if (at < count) {
        put_text(job, i, "pfc_active", words[at]);
        if (slice_is(words[1], "Yes") && slice_is(words[at], "No"))
            put_finding(job, i, RULE_PFC_OFF, "PFC is enabled and not active");
    }
}

/* "Et1/1  E A W  3 4  drop": enabled or disabled, active, watched, and the priorities. */
static void read_eos_status(struct evidence_job *job, size_t i, const struct slice *words,
                            size_t count)
{
    char list[24] = "";
    uint64_t prio;
    size_t at = 1, len = 0;
    bool enabled = slice_is(words[1], "E"), active = false, watched = false;
    if (!enabled && !slice_is(words[1], "D"))
        return;
    for (at = 2; at < count && words[at].len == 1 && strchr("AW-", words[at].at[0]) != NULL; at++) {
        active = active || slice_is(words[at], "A");
        watched = watched || slice_is(words[at], "W");
    }
    for (; at < count && slice_uint(words[at], &prio) && prio < 8 && len + 3 < sizeof(list); at++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%u", len > 0 ? "," : "",
                                (unsigned)prio);
    put_text(job, i, "pfc_enabled", slice_of(enabled ? "Yes" : "No"));
    put_text(job, i, "pfc_active", slice_of(active ? "Yes" : "No"));
    put_text(job, i, "pfc_watchdog", slice_of(watched ? "Yes" : "No"));
    if (len > 0)
        put_text(job, i, "pfc_priorities", slice_of(list));
    if (enabled && !active)
        put_finding(job, i, RULE_PFC_OFF, "PFC is enabled and not active");
}

/* NX-OS has many kinds of ports ("Vethernet7", "ii1/1/1", "Br-Ethernet1/17/1"). */
static bool is_nxos_row(const struct slice *words, size_t count)
{
    bool digit = false;
    for (size_t i = 0; i < words[0].len; i++)
        digit = digit || (words[0].at[i] >= '0' && words[0].at[i] <= '9');
    return digit && count >= 5 &&
           (slice_is(words[1], "On") || slice_is(words[1], "Off") || slice_is(words[1], "Auto"));
}

static bool read_port(struct evidence_job *job, size_t i, enum form form)
{
    struct slice words[WORDS_MAX], line = job_line(job, i);
    size_t count = slice_words(line, words, WORDS_MAX);
    if (count > WORDS_MAX)
        count = WORDS_MAX;
    if (count < 3 || (form == FORM_NXOS ? !is_nxos_row(words, count) : !is_port(words[0])))
        return false;
    job_subject(job, "switch-port %.*s", (int)(words[0].len < 100 ? words[0].len : 100),
                words[0].at);
    if (form == FORM_NXOS && count >= 5) {
        read_nxos(job, i, words, count);
    } else if (form == FORM_EOS) {
        read_eos(job, i, words, count);
    } else if (form == FORM_EOS_STATUS) {
        read_eos_status(job, i, words, count);
    } else if (form == FORM_EOS_COUNTERS) {
        put_number(job, i, "rx_pause", words[1], "");
        put_number(job, i, "tx_pause", words[2], "");
    }
    return true;
}

static size_t read(struct evidence_job *job, size_t i)
{
    enum form form = FORM_NONE;
    size_t next = i;
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (form_of(line) != FORM_NONE)
            form = form_of(line);
        else if (form == FORM_EOS_STATUS && slice_has(line, "Config/Oper"))
            ; /* the head's second line */
        else if (line.at[0] != '-' && line.at[0] != '=' && !read_port(job, i, form))
            break;
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_switch_ports = {
    .kind = "switch-roce", .tool = "PFC of ports", .begins = begins, .read = read};

/* SONiC: a line of dashes under the head, rows of "EthernetN". */

static bool begins_sonic(const struct evidence_job *job, size_t i)
{
    struct ruled_table t;
    struct slice row = job_line(job, i + 2), word = slice_word(&row);
    struct slice head = job_line(job, i);
    if (slice_starts(head, "Port Rx") || slice_starts(head, "Port Tx"))
        return false; /* show pfc counters are counters */
    bool known = slice_starts(head, "Interface") || slice_starts(head, "Port") ||
                 slice_starts(head, "PORT") || slice_starts(head, "IFACE");
    return known && ruled_table_at(job, i + 1, &t) && slice_starts(word, "Ethernet") &&
           is_port(word);
}

static void read_sonic_row(struct evidence_job *job, size_t i, const struct ruled_table *t)
{
    char name[EVIDENCE_NAME_MAX];
    struct slice port = ruled_cell(job, t, i, 0), cell = ruled_cell(job, t, i, 1);
    uint64_t queue;
    size_t first = 1;
    struct slice tag = cell;
    job_subject(job, "switch-port %.*s", (int)(port.len < 100 ? port.len : 100), port.at);
    if ((slice_skip(&tag, "UC") || slice_skip(&tag, "MC")) && slice_uint(tag, &queue)) {
        job_subject(job, "switch-port %.*s queue %.*s", (int)(port.len < 100 ? port.len : 100),
                    port.at, (int)cell.len, cell.at);
        first = 2;
    }
    tag = cell; /* "PFC3" of show pfc counters --history */
    if (slice_skip(&tag, "PFC") && slice_uint(tag, &queue) && queue < 8) {
        job_subject(job, "switch-port %.*s prio %u", (int)(port.len < 100 ? port.len : 100),
                    port.at, (unsigned)queue);
        first = 2;
    }
    for (size_t c = first; c < t->count; c++) {
        struct slice value = ruled_cell(job, t, i, c);
        ruled_head(job, t, c, name, sizeof(name));
        if (name[0] == '\0' || value.len == 0)
            continue;
        if (strstr(name, "priorities") != NULL && !slice_is_unknown(value))
            put_text(job, i, name, value);
        else
            put_value(job, i, name, value, "");
        struct number number = number_read(value);
        bool lossless = slice_is(cell, "UC3") || slice_is(cell, "UC4");
        if (strcmp(name, "drop/pkts") == 0 && lossless && number.is_unsigned && number.value > 0)
            put_finding(job, i, RULE_SWITCH_DISCARD, "the queue dropped %s packets", number.text);
    }
}

static size_t read_sonic(struct evidence_job *job, size_t i)
{
    struct ruled_table t;
    (void)ruled_table_at(job, i + 1, &t);
    for (i += 2; i < job->line_count && !job_stops(job, i, NULL); i++) {
        struct slice port = ruled_cell(job, &t, i, 0);
        if (job_is_blank(job, i)) /* between the ports of some tables */
            continue;
        if (!is_port(port))
            break;
        read_sonic_row(job, i, &t);
    }
    return i;
}

const struct evidence_reader reader_sonic_table = {
    .kind = "sonic-qos", .tool = "show", .begins = begins_sonic, .read = read_sonic};
