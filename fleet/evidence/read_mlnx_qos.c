/*
 * fleet/evidence/read_mlnx_qos.c - mlnx_qos -i DEVICE, with and without its blank padding.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define ROCE_DSCP  26 /* what RoCE senders use unless told otherwise */
#define ROCE_PRIO  3
#define LISTED_MAX 64

enum trust { TRUST_UNKNOWN = 0, TRUST_PCP, TRUST_DSCP };

struct qos { /* what the judgement needs; -1 = not told */
    enum trust trust;
    size_t trust_line;
    int prio_of_dscp[64];
    int pfc[8];
    size_t pfc_line;
    char netdev[64]; /* with "netdev" */
};

static bool is_tc_row(struct slice line)
{
    return slice_starts(line, "tc: ") && slice_has(line, "tsa:");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "DCBX mode:") || slice_starts(line, "Priority trust state:") ||
           slice_is(line, "PFC configuration:") || slice_is(line, "dscp2prio mapping:") ||
           slice_starts(line, "Cable len:") || is_tc_row(line);
}

static void part(struct evidence_job *job, const struct qos *qos, const char *type,
                 struct slice index)
{
    job_subject(job, "%s %s %.*s", qos->netdev, type, (int)index.len, index.at);
}

/* "prio:3 dscp:31,30,29," */
static bool read_dscps(struct evidence_job *job, size_t i, struct slice line, struct qos *qos)
{
    struct slice prio, list, dscp;
    uint64_t p, d;
    if (!slice_skip(&line, "prio:") || !slice_after(line, "dscp:", &list))
        return false;
    prio = slice_word(&line);
    if (!slice_uint(prio, &p) || p > 7)
        return true;
    while (list.len > 0) {
        if (!slice_split(list, ',', &dscp, &list)) {
            dscp = list;
            list.len = 0;
        }
        dscp = slice_trim(dscp);
        if (!slice_uint(dscp, &d) || d > 63)
            continue;
        job_subject(job, "%s dscp %llu", qos->netdev, (unsigned long long)d);
        put_uint(job, i, "prio", p, "");
        qos->prio_of_dscp[d] = (int)p;
    }
    job_subject(job, "%s", qos->netdev);
    return true;
}

/* "enabled     1   0   1 ...": one value for each priority. */
static bool read_prios(struct evidence_job *job, size_t i, struct slice line, struct qos *qos)
{
    struct slice words[10];
    size_t n = slice_words(line, words, 10);
    bool enabled = n > 1 && slice_is(words[0], "enabled");
    if (n < 2 || n > 9 || (!enabled && !slice_is(words[0], "buffer")))
        return n > 1 && slice_is(words[0], "priority");
    for (size_t k = 1; k < n; k++) {
        uint64_t value;
        job_subject(job, "%s prio %zu", qos->netdev, k - 1);
        put_number(job, i, enabled ? "pfc" : "buffer", words[k], "");
        if (enabled && slice_uint(words[k], &value))
            qos->pfc[k - 1] = value != 0;
    }
    if (enabled)
        qos->pfc_line = i;
    job_subject(job, "%s", qos->netdev);
    return true;
}

/* "20352,0,0,0,0,0,0,0,max_buffer_size=2069280" */
static void read_buffers(struct evidence_job *job, size_t i, struct slice list,
                         const struct qos *qos)
{
    struct slice size;
    for (size_t k = 0; list.len > 0 && k < LISTED_MAX; k++) {
        if (!slice_split(list, ',', &size, &list)) {
            size = list;
            list.len = 0;
        }
        size = slice_trim(size);
        if (slice_skip(&size, "max_buffer_size=")) {
            job_subject(job, "%s", qos->netdev);
            put_number(job, i, "max_buffer_size", size, "bytes");
        } else if (slice_skip(&size, "total_size=")) {
            job_subject(job, "%s", qos->netdev);
            put_number(job, i, "total_buffer_size", size, "bytes");
        } else if (size.len > 0) {
            job_subject(job, "%s buffer %zu", qos->netdev, k);
            put_number(job, i, "size", size, "bytes");
        }
    }
    job_subject(job, "%s", qos->netdev);
}

/* "tc: 0 ratelimit: unlimited, tsa: ets, bw: 10%" */
static void read_tc(struct evidence_job *job, size_t i, struct slice line, const struct qos *qos)
{
    struct slice rest = line, value, after;
    (void)slice_skip(&rest, "tc:");
    part(job, qos, "tc", slice_word(&rest));
    if (slice_after(line, "ratelimit:", &rest)) {
        if (!slice_split(rest, ',', &value, &after))
            value = rest;
        struct slice unit;
        struct number number = number_front(value, &unit);
        if (number.kind != NUMBER_NONE && slice_is(unit, "Gbps"))
            put_number(job, i, "ratelimit", slice_of(number.text), "Gb/s");
        else if (number.kind != NUMBER_NONE && slice_is(unit, "Mbps"))
            put_number(job, i, "ratelimit", slice_of(number.text), "Mb/s");
        else
            put_value(job, i, "ratelimit", value, "");
    }
    if (slice_after(line, "tsa:", &rest)) {
        if (!slice_split(rest, ',', &value, &after))
            value = rest;
        put_value(job, i, "tsa", slice_trim(value), "");
    }
    if (slice_after(line, "bw:", &rest))
        put_number(job, i, "bw", rest, "%");
}

/* "priority:  1", below its tc. */
static bool read_tc_prio(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice value;
    if (!slice_starts(line, "priority:") || !slice_after(line, "priority:", &value))
        return false;
    for (struct slice word = slice_word(&value); word.len > 0; word = slice_word(&value)) {
        word.len -= word.at[word.len - 1] == ',' ? 1 : 0;
        if (slice_has(slice_of(job->subject), " tc "))
            put_number(job, i, "prio", word, "");
    }
    return true;
}

static bool read_key(struct evidence_job *job, size_t i, struct slice line, struct qos *qos)
{
    static const struct {
        const char *key, *name;
    } keys[] = {
        {"DCBX mode:", "dcbx_mode"},
        {"Priority trust state:", "trust"},
        {"Cable len:", "cable_length"},
        {"default priority:", "default_prio"},
    };
    struct slice value;
    if (slice_starts(line, "Receive buffer size") && slice_after(line, ":", &value)) {
        read_buffers(job, i, value, qos);
        return true;
    }
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (!slice_starts(line, keys[k].key) || !slice_after(line, ":", &value))
            continue;
        job_subject(job, "%s", qos->netdev);
        put_value(job, i, keys[k].name, value, k == 2 ? "m" : "");
        if (k == 1) {
            qos->trust = slice_is(value, "pcp")    ? TRUST_PCP
                         : slice_is(value, "dscp") ? TRUST_DSCP
                                                   : TRUST_UNKNOWN;
            qos->trust_line = i;
        }
        return true;
    }
    return slice_is(line, "PFC configuration:") || slice_is(line, "dscp2prio mapping:");
}

static void judge(struct evidence_job *job, const struct qos *qos)
{
    int prio = qos->trust == TRUST_DSCP  ? qos->prio_of_dscp[ROCE_DSCP]
               : qos->trust == TRUST_PCP ? ROCE_PRIO
                                         : -1;
    job_subject(job, "%s", qos->netdev);
    if (qos->trust == TRUST_PCP)
        put_finding(job, qos->trust_line, RULE_TRUST_NOT_DSCP,
                    "The port trusts VLAN priorities (pcp), so routed RoCE has none");
    if (prio >= 0 && qos->pfc[prio] == 0)
        put_finding(job, qos->pfc_line, RULE_ROCE_NO_PFC,
                    "RoCE (%s) travels on priority %d, which has no flow control",
                    qos->trust == TRUST_DSCP ? "DSCP 26" : "priority 3", prio);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct qos qos = {.trust = TRUST_UNKNOWN};
    char netdev[48];
    for (size_t k = 0; k < 64; k++)
        qos.prio_of_dscp[k] = -1;
    for (size_t k = 0; k < 8; k++)
        qos.pfc[k] = -1;
    if (job_command_option(job, "-i", netdev, sizeof(netdev)))
        snprintf(qos.netdev, sizeof(qos.netdev), "netdev %s", netdev);
    else
        snprintf(qos.netdev, sizeof(qos.netdev), "netdev");
    job_subject(job, "%s", qos.netdev);
    size_t first = i;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (i > first && slice_starts(line, "DCBX mode:"))
            break; /* of the next port */
        if (is_tc_row(line)) {
            read_tc(job, i, line, &qos);
            continue;
        }
        if (!read_tc_prio(job, i, line) && !read_key(job, i, line, &qos) &&
            !read_dscps(job, i, line, &qos) && !read_prios(job, i, line, &qos))
            break;
    }
    judge(job, &qos);
    return i;
}

const struct evidence_reader reader_mlnx_qos = {
    .kind = "mlnx_qos",
    .tool = "mlnx_qos",
    .begins = begins,
    .read = read,
};
