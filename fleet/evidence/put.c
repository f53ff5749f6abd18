/*
 * fleet/evidence/put.c - what readers write: facts and findings.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/evidence/counter.h"
#include "fleet/evidence/reader.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/store.h"

void job_subject(struct evidence_job *job, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(job->subject, sizeof(job->subject), fmt, args);
    va_end(args);
    text_clean(job->subject, "");
}

static const char *keep(struct evidence_job *job, const char *text)
{
    const char *kept = store_text(job->out->store, text, strlen(text));
    job->nomem = job->nomem || kept == NULL;
    return kept != NULL ? kept : "";
}

static const char *keep_clean(struct evidence_job *job, const char *name)
{
    char clean[EVIDENCE_NAME_MAX];
    text_copy(clean, sizeof(clean), name);
    text_clean(clean, "");
    return keep(job, clean);
}

/* Rows of one subject follow each other: its text is stored once. */
static const char *keep_subject(struct evidence_job *job)
{
    const struct evidence *e = job->out;
    if (e->fact_count > 0 && strcmp(e->facts[e->fact_count - 1].subject, job->subject) == 0)
        return e->facts[e->fact_count - 1].subject;
    return keep(job, job->subject);
}

static struct evidence_fact *add_fact(struct evidence_job *job, size_t line, const char *name)
{
    struct evidence *e = job->out;
    if (e->fact_count >= EVIDENCE_FACTS_MAX) {
        e->truncated = true;
        return NULL;
    }
    if (e->fact_count == e->fact_room) {
        size_t room = e->fact_room == 0 ? 64 : e->fact_room * 2;
        struct evidence_fact *facts = realloc(e->facts, room * sizeof(*facts));
        if (facts == NULL) {
            job->nomem = true;
            return NULL;
        }
        e->facts = facts;
        e->fact_room = room;
    }
    struct evidence_fact fact = {
        .subject = keep_subject(job),
        .name = keep_clean(job, name),
        .raw = "",
        .value = "",
        .unit = "",
        .line = (uint32_t)line + 1,
        .section = (uint32_t)(e->section_count > 0 ? e->section_count - 1 : 0),
    };
    e->facts[e->fact_count] = fact;
    return &e->facts[e->fact_count++];
}

static void put_digits(struct evidence_job *job, size_t line, const char *name,
                       const struct number *number, const char *unit)
{
    struct evidence_fact *fact = add_fact(job, line, name);
    if (fact == NULL)
        return;
    fact->type = number->kind == NUMBER_INTEGER ? EVIDENCE_INTEGER : EVIDENCE_DECIMAL;
    fact->value = keep(job, number->text);
    fact->unit = unit;
}

void put_unknown(struct evidence_job *job, size_t line, const char *name)
{
    struct evidence_fact *fact = add_fact(job, line, name);
    if (fact != NULL)
        fact->state = EVIDENCE_UNKNOWN;
}

void put_text(struct evidence_job *job, size_t line, const char *name, struct slice value)
{
    char text[EVIDENCE_VALUE_MAX];
    slice_copy(value, text, sizeof(text));
    text_clean(text, "\t");
    struct evidence_fact *fact = add_fact(job, line, name);
    if (fact != NULL)
        fact->value = keep(job, text);
}

void put_number(struct evidence_job *job, size_t line, const char *name, struct slice value,
                const char *unit)
{
    struct number number = number_read(value);
    if (number.kind == NUMBER_NONE)
        put_unknown(job, line, name);
    else
        put_digits(job, line, name, &number, unit);
}

void put_value(struct evidence_job *job, size_t line, const char *name, struct slice value,
               const char *unit)
{
    struct number number = number_read(value);
    if (number.kind != NUMBER_NONE)
        put_digits(job, line, name, &number, unit);
    else if (slice_is_unknown(value))
        put_unknown(job, line, name);
    else
        put_text(job, line, name, value);
}

void put_uint(struct evidence_job *job, size_t line, const char *name, uint64_t value,
              const char *unit)
{
    struct number number = {.kind = NUMBER_INTEGER, .is_unsigned = true, .value = value};
    snprintf(number.text, sizeof(number.text), "%" PRIu64, value);
    put_digits(job, line, name, &number, unit);
}

/* "netdev eth0" and prio 3 is "netdev eth0 prio 3" for one fact. */
static void deepen(struct evidence_job *job, const struct counter *counter)
{
    size_t len = strlen(job->subject);
    if (counter->prio >= 0)
        snprintf(job->subject + len, sizeof(job->subject) - len, " prio %d", counter->prio);
    else if (counter->queue >= 0)
        snprintf(job->subject + len, sizeof(job->subject) - len, " queue %d", counter->queue);
}

bool put_counter(struct evidence_job *job, size_t line, struct slice name, struct slice value,
                 uint64_t *out)
{
    struct counter counter;
    char own[EVIDENCE_NAME_MAX], subject[EVIDENCE_SUBJECT_MAX];
    bool listed = counter_find(name, &counter);
    slice_copy(name, own, sizeof(own));
    memcpy(subject, job->subject, sizeof(subject));
    deepen(job, &counter);
    size_t before = job->out->fact_count;
    struct number number = number_read(value);
    const char *name_put = listed ? counter.name : own;
    if (listed && number.kind != NUMBER_NONE && !number.is_unsigned) /* no count is below 0 */
        put_unknown(job, line, name_put);
    else
        put_number(job, line, name_put, value, counter.unit);
    memcpy(job->subject, subject, sizeof(subject));
    struct evidence_fact *fact = job->out->fact_count > before ? &job->out->facts[before] : NULL;
    if (fact != NULL && listed && strcmp(own, counter.name) != 0)
        fact->raw = keep_clean(job, own);
    /* All ones is what a device reads that does not answer. */
    unsigned width = counter.width > 0 ? counter.width : 64;
    bool full = number.is_unsigned &&
                (number.value == UINT64_MAX >> (64 - width) || number.value == UINT64_MAX);
    if (full && fact != NULL)
        fact->state = EVIDENCE_SATURATED;
    if (full || !number.is_unsigned)
        return false;
    if (out != NULL)
        *out = number.value;
    return true;
}

static struct evidence_proof *find_proof(struct evidence *e, const char *rule, const char *subject)
{
    for (size_t i = 0; i < e->findings.count; i++) {
        const struct finding *f = &e->findings.items[i];
        if (strcmp(f->rule, rule) == 0 && strcmp(f->subject, subject) == 0)
            return &e->proofs[i];
    }
    return NULL;
}

static void add_finding(struct evidence_job *job, size_t line, const struct evidence_rule *about,
                        enum finding_severity severity, char *message)
{
    struct evidence *e = job->out;
    const char *subject = job->subject[0] != '\0' ? job->subject : "file";
    struct evidence_proof *proof = find_proof(e, about->id, subject);
    if (proof != NULL) {
        struct finding *same = &e->findings.items[proof - e->proofs];
        same->severity = severity > same->severity ? severity : same->severity;
        proof->count++;
        proof->last_line = (uint32_t)line + 1;
        return;
    }
    text_clean(message, "");
    size_t index = e->findings.count; /* the casts are safe: finding_add() only reads */
    finding_add(&e->findings, &(struct finding){.rule = about->id,
                                                .severity = severity,
                                                .subject = (char *)subject,
                                                .message = message,
                                                .hint = (char *)about->hint});
    if (e->findings.count > index)
        e->proofs[index] = (struct evidence_proof){
            .count = 1, .first_line = (uint32_t)line + 1, .last_line = (uint32_t)line + 1};
    e->truncated = e->truncated || e->findings.truncated;
    job->nomem = job->nomem || e->findings.nomem;
}

void put_finding(struct evidence_job *job, size_t line, const char *rule, const char *fmt, ...)
{
    const struct evidence_rule *about = evidence_rule_get(rule);
    char message[EVIDENCE_VALUE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    add_finding(job, line, about, about->severity, message);
}

void put_past(struct evidence_job *job, size_t line, const char *rule, const char *fmt, ...)
{
    const struct evidence_rule *about = evidence_rule_get(rule);
    char message[EVIDENCE_VALUE_MAX];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof(message))
        snprintf(message + n, sizeof(message) - (size_t)n,
                 " since it was reset, nobody knows when: take a second sample");
    add_finding(job, line, about,
                about->severity > FINDING_INFO ? about->severity - 1 : FINDING_INFO, message);
}

void put_verdict(struct evidence_job *job, size_t line, const char *rule,
                 enum finding_severity severity, const char *fmt, ...)
{
    const struct evidence_rule *about = evidence_rule_get(rule);
    char message[EVIDENCE_VALUE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    struct evidence_proof *proof = find_proof(job->out, rule, job->subject);
    if (proof == NULL) {
        add_finding(job, line, about, severity, message);
        return;
    }
    struct finding *finding = &job->out->findings.items[proof - job->out->proofs];
    text_clean(message, "");
    char *copy = strdup(message);
    job->nomem = job->nomem || copy == NULL;
    if (copy == NULL)
        return;
    free(finding->message);
    finding->message = copy;
    finding->severity = severity;
    proof->last_line = line + 1 > proof->last_line ? (uint32_t)line + 1 : proof->last_line;
}
