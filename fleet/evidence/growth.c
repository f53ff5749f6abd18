/*
 * fleet/evidence/growth.c - counters that a file shows twice, of two samples one after another.
 *
 * One value of a pause counter says that there was pause since the driver was loaded; only two say
 * whether it goes on.
 */
#include <string.h>

#include "fleet/evidence/reader.h"
#include "fleet/evidence/rules.h"

#define WATCHED_MAX 512 /* different counters; more are not compared */

static bool is_watched(const struct evidence_fact *fact)
{
    return fact->type == EVIDENCE_INTEGER && fact->state == EVIDENCE_KNOWN &&
           strstr(fact->subject, " prio ") != NULL &&
           (strcmp(fact->name, "rx_pause") == 0 || strcmp(fact->name, "tx_pause") == 0);
}

static void compare(struct evidence_job *job, const struct evidence_fact *before,
                    const struct evidence_fact *after)
{
    uint64_t from, to;
    if (!slice_uint(slice_of(before->value), &from) || !slice_uint(slice_of(after->value), &to) ||
        to <= from) /* less: it was reset, and nobody knows by how much it grew since */
        return;
    job_subject(job, "%s", after->subject);
    put_finding(job, after->line - 1, RULE_PAUSE_GROWING, "%s grew by %llu, from %s to %s",
                after->name, (unsigned long long)(to - from), before->value, after->value);
}

void job_growth(struct evidence_job *job)
{
    const struct evidence_fact *watched[WATCHED_MAX];
    const struct evidence *e = job->out;
    size_t count = 0;
    for (size_t i = 0; i < e->fact_count; i++) {
        const struct evidence_fact *fact = &e->facts[i];
        if (!is_watched(fact))
            continue;
        size_t k = 0;
        while (k < count && (strcmp(watched[k]->name, fact->name) != 0 ||
                             strcmp(watched[k]->subject, fact->subject) != 0))
            k++;
        if (k < count)
            compare(job, watched[k], fact);
        if (k < WATCHED_MAX)
            watched[k] = fact;
        count += k == count && k < WATCHED_MAX ? 1 : 0;
    }
}
