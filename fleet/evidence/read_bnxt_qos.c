/*
 * fleet/evidence/read_bnxt_qos.c - Broadcom's niccli getqos (bnxtqos): the TLVs of ETS, PFC and APP
 * of a port.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define ROCE_DSCP 26 /* what NICs send RoCEv2 with where nobody sets another one */

struct qos {
    bool pfc[8];
    bool told;         /* there was a list of PFC */
    uint64_t priority; /* of the APP entry that is read */
    uint64_t sel;
    int roce; /* the priority of ROCE_DSCP; -1 = not mapped */
    size_t line;
};

static bool begins(const struct evidence_job *job, size_t i)
{
    return slice_is(job_line(job, i), "IEEE 8021QAZ ETS Configuration TLV:") ||
           slice_is(job_line(job, i), "IEEE 8021QAZ PFC TLV:");
}

/* "0:0 1:0 3:1", "0:ets 1:strict": the index and what it has. */
static void put_pairs(struct evidence_job *job, size_t i, struct slice list, const char *type,
                      const char *name)
{
    struct slice key, value;
    uint64_t index;
    for (struct slice word = slice_word(&list); word.len > 0; word = slice_word(&list)) {
        if (!slice_split(word, ':', &key, &value) || !slice_uint(key, &index) || index > 7)
            continue;
        job_subject(job, "netdev %s %u", type, (unsigned)index);
        put_value(job, i, name, value, "");
    }
}

static void put_shares(struct evidence_job *job, size_t i, struct slice list, const char *name)
{
    unsigned tc = 0;
    for (struct slice word = slice_word(&list); word.len > 0 && tc < 8; word = slice_word(&list)) {
        word.len -= slice_ends(word, "%") ? 1 : 0;
        job_subject(job, "netdev tc %u", tc++);
        put_number(job, i, name, word, "%");
    }
}

static void put_pfc(struct evidence_job *job, size_t i, struct slice list, struct qos *q)
{
    uint64_t prio;
    q->told = true;
    q->line = i;
    for (size_t k = 0; k < list.len; k++) { /* "3", "3,4", "3 4", "none" */
        if (slice_uint((struct slice){.at = list.at + k, .len = 1}, &prio) && prio < 8)
            q->pfc[prio] = true;
    }
    for (unsigned p = 0; p < 8; p++) {
        job_subject(job, "netdev prio %u", p);
        put_text(job, i, "prio-pfc", slice_of(q->pfc[p] ? "on" : "off"));
    }
}

static bool read_line(struct evidence_job *job, size_t i, struct slice line, struct qos *q)
{
    struct slice key, value;
    uint64_t number;
    if (!slice_split(line, ':', &key, &value))
        return false;
    key = slice_trim(key);
    value = slice_trim(value);
    if (slice_is(key, "PRIO_MAP"))
        put_pairs(job, i, value, "prio", "prio-tc");
    else if (slice_is(key, "TSA_MAP"))
        put_pairs(job, i, value, "tc", "tc-tsa");
    else if (slice_is(key, "TC Bandwidth"))
        put_shares(job, i, value, "tc-bw");
    else if (slice_is(key, "TC Rate Limit"))
        put_shares(job, i, value, "tc-rate-limit");
    else if (slice_is(key, "PFC enabled"))
        put_pfc(job, i, value, q);
    else if (slice_is(key, "Priority") && slice_uint(value, &number))
        q->priority = number;
    else if (slice_is(key, "Sel") && slice_uint(value, &number))
        q->sel = number;
    else if (slice_is(key, "DSCP") && slice_uint(value, &number) && number < 64) {
        job_subject(job, "netdev dscp %u", (unsigned)number);
        put_uint(job, i, "prio", q->priority, "");
        q->roce = number == ROCE_DSCP && q->priority < 8 ? (int)q->priority : q->roce;
    } else if (slice_is(key, "UDP or DCCP") || slice_is(key, "TCP or UDP") ||
               slice_is(key, "Ethertype") || slice_is(key, "UDP")) {
        job_subject(job, "netdev app %.*s", (int)(value.len < 20 ? value.len : 20), value.at);
        put_uint(job, i, "prio", q->priority, "");
    } else if (!slice_starts(key, "IEEE 8021QAZ") && !slice_starts(key, "APP#"))
        return false;
    return true;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct qos q = {.roce = -1, .line = i};
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len > 0 && !read_line(job, i, line, &q))
            break;
    }
    job_subject(job, "netdev");
    if (q.told && q.roce >= 0 && !q.pfc[q.roce])
        put_finding(job, q.line, RULE_ROCE_NO_PFC, "DSCP %d goes to priority %d, which has no PFC",
                    ROCE_DSCP, q.roce);
    return i;
}

const struct evidence_reader reader_bnxt_qos = {
    .kind = "dcb", .tool = "niccli getqos", .begins = begins, .read = read};
