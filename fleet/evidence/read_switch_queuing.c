/*
 * fleet/evidence/read_switch_queuing.c - queues of a port: NX-OS (show queuing interface) and EOS
 * (show qos interfaces).
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

#define WORDS_MAX 16
#define CELLS_MAX 8

/* NX-OS: tables of '|' for each QoS group, "name   number" lines, PFC by class of service. */

struct nxos {
    char port[48], group[16];
};

static bool is_start(struct slice line)
{
    return slice_starts(line, "Egress Queuing for ") || slice_starts(line, "Ingress Queuing for ");
}

static bool nxos_begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return is_start(line) || (slice_starts(line, "|") && slice_has(line, " QOS GROUP ")) ||
           (slice_starts(line, "TxPPP:") && slice_has(line, "RxPPP:"));
}

static void port_subject(struct evidence_job *job, const struct nxos *n)
{
    if (n->port[0] != '\0')
        job_subject(job, "switch-port %s", n->port);
    else
        job_subject(job, "switch-port");
}

/* "|  Tx Pkts |  12|  34|", "| Tx Pkts |  50| Dropped Pkts |  6|": a name, then its numbers
 * (unicast, multicast). */
static void read_cells(struct evidence_job *job, size_t i, struct slice line, struct nxos *n)
{
    char name[EVIDENCE_NAME_MAX] = "", fact[EVIDENCE_NAME_MAX];
    struct slice cell, rest = line, group;
    size_t place = 0;
    if (slice_after(line, " QOS GROUP ", &group)) {
        slice_copy(slice_word(&group), n->group, sizeof(n->group));
        return;
    }
    (void)slice_skip(&rest, "|");
    port_subject(job, n);
    char subject[EVIDENCE_SUBJECT_MAX];
    snprintf(subject, sizeof(subject), "%.100s group %s", job->subject, n->group);
    job_subject(job, "%s", subject);
    while (slice_split(rest, '|', &cell, &rest)) {
        cell = slice_trim(cell);
        struct number number = number_read(cell);
        if (number.kind == NUMBER_NONE && !slice_is_unknown(cell)) {
            fact_name("", cell, "", name);
            place = 0;
            continue;
        }
        if (name[0] == '\0' || cell.len == 0 || place > 2)
            continue;
        const char *plain = name[0] == '_' ? name + 1 : name;
        snprintf(fact, sizeof(fact), "%.80s%s", plain,
                 place == 0   ? ""
                 : place == 1 ? ".multicast"
                              : ".third");
        put_number(job, i, fact, cell, "");
        if (number.is_unsigned && number.value > 0 && strstr(plain, "drop") != NULL &&
            strstr(plain, "pkts") != NULL)
            put_finding(job, i, RULE_SWITCH_DISCARD, "%s is %s", fact, number.text);
        place++;
    }
}

/* "3  3  3  Active  7  Active  8", "5  5  Inactive  150  Inactive  0": with or without a priority
 * group. */
static bool read_cos(struct evidence_job *job, size_t i, struct slice line, const struct nxos *n)
{
    struct slice w[WORDS_MAX];
    uint64_t cos;
    size_t count = slice_words(line, w, WORDS_MAX);
    if ((count != 6 && count != 7) || !slice_uint(w[0], &cos) || cos > 7)
        return false;
    size_t tx = count - 4;
    bool states = slice_ends(w[tx], "ctive") && slice_ends(w[tx + 2], "ctive");
    if (!states)
        return false;
    port_subject(job, n);
    char subject[EVIDENCE_SUBJECT_MAX];
    snprintf(subject, sizeof(subject), "%.100s prio %u", job->subject, (unsigned)cos);
    job_subject(job, "%s", subject);
    put_value(job, i, "qos_group", w[1], "");
    put_text(job, i, "tx_pause_state", w[tx]);
    put_number(job, i, "tx_pause", w[tx + 1], "");
    put_text(job, i, "rx_pause_state", w[tx + 2]);
    put_number(job, i, "rx_pause", w[tx + 3], "");
    return true;
}

/* "TxPPP:   11,   RxPPP:   12", "Ingress MMU Drop Pkts      10" */
static void read_total(struct evidence_job *job, size_t i, struct slice line, const struct nxos *n)
{
    struct slice rest, behind;
    port_subject(job, n);
    if (slice_after(line, "TxPPP:", &rest)) {
        struct slice tx, rx = rest;
        if (slice_split(rest, ',', &tx, &behind) && slice_after(behind, "RxPPP:", &rx)) {
            put_number(job, i, "tx_pause", slice_trim(tx), "");
            put_number(job, i, "rx_pause", slice_word(&rx), "");
        }
        return;
    }
    const char *blank = line.len > 0 ? memrchr(line.at, ' ', line.len) : NULL;
    if (blank == NULL)
        return;
    struct slice value = {.at = blank + 1, .len = (size_t)(line.at + line.len - blank) - 1};
    struct slice key = slice_trim((struct slice){.at = line.at, .len = (size_t)(blank - line.at)});
    struct number number = number_read(value);
    if (number.kind == NUMBER_NONE || !slice_has(key, "Drop"))
        return;
    char name[EVIDENCE_NAME_MAX];
    fact_name("", key, "", name);
    const char *plain = name[0] == '_' ? name + 1 : name;
    put_number(job, i, plain, value, "");
    if (slice_has(key, "Ingress") && slice_has(key, "Pkts") && number.is_unsigned &&
        number.value > 0)
        put_finding(job, i, RULE_SWITCH_DISCARD, "%s is %s", plain, number.text);
}

static size_t nxos_read(struct evidence_job *job, size_t i)
{
    struct nxos n = {.port = ""};
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i), rest;
        if (line.len == 0 || slice_starts(line, "---") || slice_starts(line, "+--"))
            continue;
        if (is_start(line)) {
            (void)slice_after(line, " for ", &rest);
            slice_copy(slice_word(&rest), n.port, sizeof(n.port));
        } else if (slice_starts(line, "|")) {
            read_cells(job, i, line, &n);
        } else if (!read_cos(job, i, line, &n)) {
            if (job_stops(job, i, &reader_switch_queuing))
                break;
            read_total(job, i, line, &n);
        }
    }
    return i;
}

const struct evidence_reader reader_switch_queuing = {
    .kind = "switch-roce", .tool = "show queuing", .begins = nxos_begins, .read = nxos_read};

/* EOS: "Ethernet1:", "Trust Mode: DSCP", a row for each transmit queue. */

static bool eos_begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return (slice_starts(line, "Trust Mode:") ||
            slice_starts(job_line(job, i + 1), "Trust Mode:")) &&
           (slice_starts(line, "Trust") || slice_ends(line, ":"));
}

/* "3   50 / 50 ( % )   - / -  ( - )   RR / RR   E" */
static bool eos_row(struct evidence_job *job, size_t i, struct slice line, const char *port)
{
    struct slice w[24];
    uint64_t queue;
    size_t n = slice_words(line, w, 24);
    if (n < 8 || n > 24 || !slice_uint(w[0], &queue) || queue > 15)
        return false;
    struct slice ecn = w[n - 1];
    bool told = ecn.len == 1 && strchr("DELW", ecn.at[0]) != NULL;
    size_t end = told ? n - 1 : n;
    if (end < 4 || !slice_is(w[end - 2], "/"))
        return false;
    job_subject(job, "switch-port%s%s queue %u", port[0] != '\0' ? " " : "", port, (unsigned)queue);
    put_value(job, i, "bandwidth_percent", w[1], "%");
    put_text(job, i, "scheduling", w[end - 3]);
    if (told)
        put_text(job, i, "ecn",
                 slice_of(ecn.at[0] == 'E'   ? "on"
                          : ecn.at[0] == 'D' ? "off"
                          : ecn.at[0] == 'W' ? "wred"
                                             : "length"));
    return true;
}

static size_t eos_read(struct evidence_job *job, size_t i)
{
    char port[48] = "";
    size_t next = i;
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i), key, value;
        if (line.len == 0 || slice_starts(line, "---"))
            continue;
        if (eos_row(job, i, line, port) || slice_starts(line, "Tx ") ||
            slice_starts(line, "Queue ")) {
            next = i + 1;
            continue;
        }
        if (!slice_split(line, ':', &key, &value))
            break;
        value = slice_trim(value);
        if (value.len == 0) {
            slice_copy(key, port, sizeof(port));
        } else {
            char name[EVIDENCE_NAME_MAX];
            fact_name("", slice_trim(key), "", name);
            job_subject(job, "switch-port%s%s", port[0] != '\0' ? " " : "", port);
            put_value(job, i, name[0] == '_' ? name + 1 : name, value, "");
            if (slice_is(slice_trim(key), "Trust Mode") && !slice_is_nocase(value, "DSCP"))
                put_finding(job, i, RULE_TRUST_NOT_DSCP, "the port trusts %.*s", (int)value.len,
                            value.at);
        }
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_eos_qos = {
    .kind = "switch-roce", .tool = "show qos interfaces", .begins = eos_begins, .read = eos_read};
