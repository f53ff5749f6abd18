/*
 * fleet/evidence/growth.c - whether what a counter counted is of now.
 *
 * One value of a counter tells that something was since the driver was loaded or the counter was
 * cleared. Two of one file tell whether it goes on; the packets of the same sample tell whether it
 * is much. The readers judge one value with put_past(); this changes their verdict where the file
 * says more.
 */
#include <stdlib.h>
#include <string.h>

#include "fleet/evidence/counter.h"
#include "fleet/evidence/reader.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

/* A frame in ten million: at a bit error rate of 1e-12, what IEEE 802.3 asks of a link, one of 9 KB
 * in 13 million is wrong. */
#define FCS_ONE_IN 10000000u
/* 10 ppm, as the rule retransmission-rate. */
#define LOSS_ONE_IN 100000u
#define GREW        " grew by "

static const struct {
    enum counter_class class;
    const char *rule, *other; /* NULL, or the rule that a reader may have taken instead */
    uint32_t one_in;          /* of so many packets is much; 0 = nothing follows from the packets */
} watched[] = {
    {COUNTER_FCS, RULE_FCS_ERRORS, NULL, FCS_ONE_IN},
    {COUNTER_SYMBOL, RULE_SYMBOL_ERRORS, NULL, 0},
    {COUNTER_RX_DISCARD, RULE_RX_DISCARDS, RULE_RX_DISCARDS_FEW, 0},
    {COUNTER_LINK_PAUSE, RULE_LINK_PAUSE, NULL, 0},
    {COUNTER_PRIO_PAUSE, RULE_PAUSE_GROWING, NULL, 0},
    {COUNTER_PRIO_DISCARD, RULE_RX_DISCARDS, RULE_LOSSLESS_DISCARD, 0},
    {COUNTER_IB_DISCARD, RULE_SEND_DISCARDS, NULL, 0},
    {COUNTER_RDMA_RETRY, RULE_RDMA_RETRIES, NULL, 0},
    {COUNTER_RDMA_LOSS, RULE_RDMA_LOSS, NULL, LOSS_ONE_IN},
    {COUNTER_STORM, RULE_PAUSE_STORM, NULL, 0},
    {COUNTER_PCI_ERROR, RULE_PCIE_SIGNAL, NULL, 0},
    {COUNTER_NVLINK, RULE_NVLINK_ERRORS, NULL, 0},
    {COUNTER_UFM_ERROR, RULE_UFM_LINK_ERRORS, NULL, 0},
    {COUNTER_UFM_DOWN, RULE_UFM_LINK_DOWN, NULL, 0},
};

/* One counter at one time. */
struct sample {
    const struct evidence_fact *fact;
    const char *kind; /* of the section */
    size_t owner;     /* bytes of the subject without "prio N" and "queue N" */
    uint64_t value;
    enum counter_class class;
    bool is_packets;
};

static size_t owner_of(const char *subject)
{
    static const char *const parts[] = {" prio ", " queue "};
    size_t len = strlen(subject);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *at = strstr(subject, parts[i]);
        if (at != NULL && (size_t)(at - subject) < len)
            len = (size_t)(at - subject);
    }
    return len;
}

/* Packets that a loss is one of: received ones of damaged frames, sent ones of what was lost. */
static bool are_packets(const char *name)
{
    static const char *const names[] = {"rx_packets", "port_xmit_packets", "sent_pkts",
                                        "tx_packets"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool sample_of(const struct evidence *e, const struct evidence_fact *fact,
                      struct sample *out)
{
    struct counter counter;
    const char *own = fact->raw[0] != '\0' ? fact->raw : fact->name;
    if (fact->type != EVIDENCE_INTEGER || fact->state != EVIDENCE_KNOWN ||
        fact->section >= e->section_count || !slice_uint(slice_of(fact->value), &out->value))
        return false;
    out->is_packets = are_packets(fact->name);
    out->kind = e->sections[fact->section].kind;
    bool listed = counter_find(slice_of(own), &counter);
    out->class = listed ? counter.class : counter_class_in(out->kind, own);
    if (!listed && !out->is_packets && out->class == COUNTER_PLAIN)
        return false;
    out->fact = fact;
    out->owner = owner_of(fact->subject);
    return true;
}

static int compare_owners(const struct sample *a, const struct sample *b)
{
    int order = strcmp(a->kind, b->kind);
    size_t len = a->owner < b->owner ? a->owner : b->owner;
    if (order == 0)
        order = strncmp(a->fact->subject, b->fact->subject, len);
    return order != 0 ? order : (a->owner > b->owner) - (a->owner < b->owner);
}

static int compare_counters(const struct sample *a, const struct sample *b)
{
    int order = compare_owners(a, b);
    if (order == 0)
        order = strcmp(a->fact->subject, b->fact->subject);
    if (order == 0)
        order = strcmp(a->fact->name, b->fact->name);
    return order != 0 ? order : strcmp(a->fact->raw, b->fact->raw);
}

static int compare_samples(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    int order = compare_counters(a, b);
    return order != 0 ? order : (a->fact > b->fact) - (a->fact < b->fact);
}

/*
 * The counters of one port are two samples when all of the first stand before all of the second,
 * and none fell: else a name stands twice in one sample, the counters were reset between, or the
 * second is of another node.
 */
static bool are_two(const struct sample *all, size_t count)
{
    uint32_t last_first = 0, first_second = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        bool again = i > 0 && compare_counters(&all[i - 1], &all[i]) == 0;
        bool third = again && i > 1 && compare_counters(&all[i - 2], &all[i]) == 0;
        if (again && all[i].value < all[i - 1].value)
            return false;
        if (!again && all[i].fact->line > last_first)
            last_first = all[i].fact->line;
        if (again && !third && all[i].fact->line < first_second)
            first_second = all[i].fact->line;
    }
    return first_second != UINT32_MAX && last_first < first_second;
}

/* The rule that judged the counter, or would; NULL = none. */
static const char *rule_of(const struct evidence_job *job, enum counter_class class,
                           uint32_t *one_in)
{
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        if (watched[i].class != class)
            continue;
        *one_in = watched[i].one_in;
        return watched[i].other != NULL &&
                       evidence_finding(job->out, watched[i].other, job->subject) != NULL
                   ? watched[i].other
                   : watched[i].rule;
    }
    return NULL;
}

/* The counter grew between its samples: all of the rule's severity. Else it is of the past. */
static void judge_growth(struct evidence_job *job, const struct sample *first,
                         const struct sample *last, bool grown)
{
    uint32_t one_in;
    const char *rule, *name = first->fact->raw[0] != '\0' ? first->fact->raw : first->fact->name;
    job_subject(job, "%s", first->fact->subject);
    rule = rule_of(job, first->class, &one_in);
    if (rule == NULL || (last->value > first->value) != grown)
        return;
    const struct finding *old = evidence_finding(job->out, rule, job->subject);
    bool more = old != NULL && strstr(old->message, GREW) != NULL; /* of another counter */
    if (grown)
        put_verdict(job, last->fact->line - 1, rule, evidence_rule_get(rule)->severity,
                    "%s%s%s" GREW "%llu, from %s to %s", more ? old->message : "", more ? "; " : "",
                    name, (unsigned long long)(last->value - first->value), first->fact->value,
                    last->fact->value);
    else if (old != NULL && strcmp(rule, RULE_LOSSLESS_DISCARD) != 0 &&
             job->out->proofs[old - job->out->findings.items].first_line == first->fact->line)
        put_verdict(job, last->fact->line - 1, rule, FINDING_INFO,
                    "%s is %s and did not grow between two samples", name, last->fact->value);
}

/* The most that one subject received and sent. */
struct packets {
    uint64_t received, sent;
};

static struct packets packets_of(const struct sample *all, size_t count)
{
    struct packets out = {.received = 0};
    for (size_t i = 0; i < count && strcmp(all[i].fact->subject, all->fact->subject) == 0; i++) {
        uint64_t *side = strcmp(all[i].fact->name, "rx_packets") == 0 ? &out.received : &out.sent;
        if (all[i].is_packets && all[i].value > *side)
            *side = all[i].value;
    }
    return out;
}

/* Of one sample: a loss that is much of its packets is not small, however old. */
static void judge_share(struct evidence_job *job, const struct sample *loss,
                        const struct packets *packets)
{
    uint32_t one_in = 0;
    uint64_t of = loss->class == COUNTER_FCS ? packets->received : packets->sent;
    job_subject(job, "%s", loss->fact->subject);
    const char *rule = rule_of(job, loss->class, &one_in);
    if (rule != NULL && one_in > 0 && loss->value > 0 && of > 0 && loss->value >= of / one_in)
        put_verdict(job, loss->fact->line - 1, rule, evidence_rule_get(rule)->severity,
                    "%s is %s of %llu packets", loss->fact->name, loss->fact->value,
                    (unsigned long long)of);
}

static void judge_once(struct evidence_job *job, const struct sample *all, size_t count)
{
    struct packets packets = {.received = 0};
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(all[i].fact->subject, all[i - 1].fact->subject) != 0)
            packets = packets_of(&all[i], count - i);
        judge_share(job, &all[i], &packets);
    }
}

/* All counters of one port of one kind of section. */
static void judge_owner(struct evidence_job *job, const struct sample *all, size_t count)
{
    if (!are_two(all, count)) {
        judge_once(job, all, count);
        return;
    }
    for (int pass = 0; pass < 2; pass++) { /* what grew has the last word */
        for (size_t i = 0, end; i < count; i = end) {
            for (end = i + 1; end < count && compare_counters(&all[i], &all[end]) == 0;)
                end++;
            if (end > i + 1)
                judge_growth(job, &all[i], &all[end - 1], pass == 1);
        }
    }
}

void job_growth(struct evidence_job *job)
{
    const struct evidence *e = job->out;
    size_t count = 0;
    struct sample *all = calloc(e->fact_count + 1, sizeof(*all));
    if (all == NULL) {
        job->nomem = true;
        return;
    }
    for (size_t i = 0; i < e->fact_count; i++)
        count += sample_of(e, &e->facts[i], &all[count]) ? 1 : 0;
    qsort(all, count, sizeof(*all), compare_samples);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && compare_owners(&all[i], &all[end]) == 0;)
            end++;
        judge_owner(job, &all[i], end - i);
    }
    free(all);
}
