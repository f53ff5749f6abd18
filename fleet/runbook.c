/*
 * fleet/runbook.c - see runbook.h: each step against the clues, then the order of what is faulty.
 */
#include "fleet/runbook.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_MESSAGE_BYTES 64 /* larger ones show bandwidth, not base latency */

const char *runbook_verdict_name(enum runbook_verdict verdict)
{
    static const char *const names[] = {"ok", "fault", "unknown", "not-applicable"};
    return names[verdict];
}

const struct runbook *runbook_find(const char *name)
{
    for (size_t i = 0; i < runbook_count; i++)
        if (strcmp(runbooks[i]->name, name) == 0)
            return runbooks[i];
    return NULL;
}

static bool is_listed(const char *const *list, size_t max, const char *id)
{
    for (size_t i = 0; i < max && list[i] != NULL; i++)
        if (strcmp(list[i], id) == 0)
            return true;
    return false;
}

static bool has_rule(const struct runbook_step *step, const char *id)
{
    return is_listed(step->rules, RUNBOOK_RULES_MAX, id);
}

static bool has_doubt(const struct runbook_step *step, const char *id)
{
    return is_listed(step->doubts, RUNBOOK_DOUBTS_MAX, id);
}

/* tool NULL = whichever. */
static bool is_latency(const char *tool, const char *name)
{
    for (size_t i = 0; i < runbook_latency_count; i++)
        if (strcmp(runbook_latencies[i].name, name) == 0 &&
            (tool == NULL || strcmp(runbook_latencies[i].tool, tool) == 0))
            return true;
    return false;
}

static bool step_wants(const struct runbook_step *step, const char *name)
{
    if (has_rule(step, name) || has_doubt(step, name))
        return true;
    for (size_t i = 0; i < RUNBOOK_TESTS_MAX && step->tests[i].name != NULL; i++)
        if (strcmp(step->tests[i].name, name) == 0)
            return true;
    return step->special == RUNBOOK_BASE_LATENCY &&
           (is_latency(NULL, name) || strcmp(name, "device") == 0);
}

bool runbook_wants(const void *arg, const char *name)
{
    const struct runbook *runbook = arg;
    if (strcmp(name, "link_layer") == 0)
        return true;
    for (size_t i = 0; runbook->steps[i] != NULL; i++)
        if (step_wants(runbook->steps[i], name))
            return true;
    return false;
}

/* One step ------------------------------------------------------------------------------------ */

enum sight {
    SIGHT_NONE = 0, /* the step does not look at it */
    SIGHT_GOOD,
    SIGHT_BAD,
    SIGHT_UNKNOWN,
};

struct judging {
    const struct clues *clues;
    struct runbook_result *result;
    size_t good, bad, unknown;
    const struct clue *first_unknown, *first_good;
    const struct runbook_test *first_good_test;
    bool seen[INVENTORY_PORTS_MAX]; /* of the ports, a number is known */
};

/* `text` is one of the words of `list`, which has '|' between them. */
static bool is_among(const char *text, const char *list)
{
    size_t len = strlen(text);
    for (const char *at = list; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, text, len) == 0 && (at[len] == '\0' || at[len] == '|'))
            return true;
    }
    return false;
}

static int64_t limit_milli(const struct runbook_test *test)
{
    return test->limit * 1000; /* of the table: small */
}

static enum sight judge_number(const struct runbook_test *test, const struct clue *clue)
{
    int64_t limit = limit_milli(test);
    bool bad = test->compare == RUNBOOK_ABOVE   ? clue->high > limit
               : test->compare == RUNBOOK_BELOW ? clue->low < limit
                                                : clue->high > limit || clue->low < -limit;
    if (clue->state == CLUE_UNKNOWN)
        return SIGHT_UNKNOWN;
    /* A counter at its end says no more than that it got there. */
    if (clue->state == CLUE_AT_LEAST && (!bad || test->compare == RUNBOOK_BELOW))
        return SIGHT_UNKNOWN;
    return bad ? SIGHT_BAD : SIGHT_GOOD;
}

static enum sight judge_text(const struct runbook_test *test, const struct clue *clue)
{
    if (test->compare == RUNBOOK_READ)
        return SIGHT_GOOD;
    if (clue->state == CLUE_UNKNOWN)
        return SIGHT_UNKNOWN;
    return is_among(clue->text, test->text) == (test->compare == RUNBOOK_IS) ? SIGHT_BAD
                                                                             : SIGHT_GOOD;
}

/* Of a rule that nothing was told for nothing follows: another number of the step may tell. */
static enum sight judge_status(const struct clue *clue)
{
    if (clue->state == CLUE_UNKNOWN)
        return SIGHT_NONE;
    return clue->severity == FINDING_INFO ? SIGHT_GOOD : SIGHT_BAD;
}

static enum sight judge_finding(const struct clue *clue)
{
    if (clue->state == CLUE_UNKNOWN || clue->severity == FINDING_INFO)
        return SIGHT_UNKNOWN;
    return SIGHT_BAD;
}

static enum sight judge_clue(const struct runbook_step *step, const struct clue *clue,
                             const struct runbook_test **out_test)
{
    *out_test = NULL;
    if (clue->kind == CLUE_STATUS)
        return has_rule(step, clue->name) ? judge_status(clue) : SIGHT_NONE;
    if (clue->kind == CLUE_FINDING && has_doubt(step, clue->name))
        return SIGHT_UNKNOWN;
    if (clue->kind == CLUE_FINDING)
        return has_rule(step, clue->name) ? judge_finding(clue) : SIGHT_NONE;
    for (size_t i = 0; i < RUNBOOK_TESTS_MAX && step->tests[i].name != NULL; i++) {
        const struct runbook_test *test = &step->tests[i];
        bool texts = test->compare >= RUNBOOK_IS;
        unsigned kinds = texts ? CLUE_TEXT | CLUE_FILE : test->kinds;
        if ((clue->kind & kinds) == 0 || strcmp(test->name, clue->name) != 0)
            continue;
        *out_test = test;
        return texts ? judge_text(test, clue) : judge_number(test, clue);
    }
    return SIGHT_NONE;
}

/* Faulty ones go to the front. */
static void show(struct judging *j, const struct clue *clue, const struct runbook_test *test,
                 bool is_bad)
{
    struct runbook_result *r = j->result;
    size_t at = is_bad ? j->bad - 1 : r->evidence_count;
    if (at >= RUNBOOK_EVIDENCE_MAX || (!is_bad && r->evidence_count == RUNBOOK_EVIDENCE_MAX)) {
        r->more++;
        return;
    }
    if (r->evidence_count == RUNBOOK_EVIDENCE_MAX)
        r->more++;
    else
        r->evidence_count++;
    for (size_t i = r->evidence_count - 1; i > at; i--) {
        r->evidence[i] = r->evidence[i - 1];
        r->tests[i] = r->tests[i - 1];
    }
    r->evidence[at] = clue;
    r->tests[at] = test;
}

static void see_ports(struct judging *j, const struct clue *clue)
{
    for (size_t i = 0; i < j->clues->port_count; i++)
        if (!j->seen[i])
            j->seen[i] = clue_is_about(clue, &j->clues->ports[i]);
}

/* What is so now, or is an error whenever it was. */
static bool is_strong(const struct clue *clue)
{
    if (clue->kind == CLUE_FINDING)
        return clue->severity >= FINDING_ERROR || strcmp(clue->source, CLUE_FROM_RULES) == 0;
    return clue->kind != CLUE_FILE;
}

static void take(struct judging *j, const struct clue *clue, const struct runbook_test *test,
                 enum sight sight)
{
    if (sight == SIGHT_NONE)
        return;
    if (sight == SIGHT_BAD) {
        j->bad++;
        j->result->is_strong |= is_strong(clue);
    } else if (sight == SIGHT_GOOD) {
        j->first_good = j->good++ == 0 ? clue : j->first_good;
        j->first_good_test = j->good == 1 ? test : j->first_good_test;
    } else {
        j->first_unknown = j->unknown++ == 0 ? clue : j->first_unknown;
    }
    if (sight != SIGHT_UNKNOWN && clue->kind != CLUE_FINDING && j->result->step->each_port)
        see_ports(j, clue);
    show(j, clue, test, sight == SIGHT_BAD);
}

/* Base latency -------------------------------------------------------------------------------- */

static bool is_software_name(const char *device)
{
    return strncmp(device, "rxe", 3) == 0 || strncmp(device, "siw", 3) == 0;
}

/* By the device that the same file names, else by the node's ports. ibping needs InfiniBand, which
 * no software device has. */
static enum runbook_class class_of(const struct clues *clues, const struct clue *clue)
{
    size_t software = 0;
    for (size_t i = 0; i < clues->count; i++) {
        const struct clue *other = &clues->items[i];
        if (strcmp(other->name, "device") == 0 && strcmp(other->source, clue->source) == 0 &&
            strcmp(other->tool, clue->tool) == 0 && other->state == CLUE_KNOWN)
            return is_software_name(other->text) ? RUNBOOK_CLASS_SOFTWARE : RUNBOOK_CLASS_HARDWARE;
    }
    if (strcmp(clue->tool, "ibping") == 0)
        return RUNBOOK_CLASS_HARDWARE;
    for (size_t i = 0; i < clues->port_count; i++)
        software += clues->ports[i].is_software;
    if (clues->port_count == 0 || (software > 0 && software < clues->port_count))
        return RUNBOOK_CLASS_UNKNOWN;
    return software > 0 ? RUNBOOK_CLASS_SOFTWARE : RUNBOOK_CLASS_HARDWARE;
}

static const struct runbook_latency *latency_of(const struct clue *clue, enum runbook_class class)
{
    for (size_t i = 0; i < runbook_latency_count; i++) {
        const struct runbook_latency *row = &runbook_latencies[i];
        if (row->class == class && strcmp(row->tool, clue->tool) == 0 &&
            strcmp(row->name, clue->name) == 0)
            return row;
    }
    return NULL;
}

/* "run 65536" is no small message; a subject without a size is one. */
static bool is_small(const struct clue *clue)
{
    int64_t size;
    return strncmp(clue->subject, "run ", 4) != 0 || !clue_milli(clue->subject + 4, &size) ||
           size <= SMALL_MESSAGE_BYTES * 1000;
}

struct latency_count {
    size_t hardware, software, unclassed;
};

static void judge_latency(struct judging *j, const struct clue *clue, struct latency_count *count)
{
    if (clue->kind != CLUE_FILE || !is_latency(clue->tool, clue->name) || !is_small(clue))
        return;
    enum runbook_class class = class_of(j->clues, clue);
    const struct runbook_latency *row = latency_of(clue, class);
    if (row != NULL && row->limit_us == 0) {
        count->software++;
        show(j, clue, NULL, false);
        return;
    }
    if (row == NULL) {
        count->unclassed++;
        take(j, clue, NULL, SIGHT_UNKNOWN);
        return;
    }
    count->hardware++;
    int64_t unit = strcmp(clue->unit, "ms") == 0 ? 1 : 1000; /* of a thousandth, in us */
    bool known = clue->state == CLUE_KNOWN;
    bool bad = known && clue->high > row->limit_us * unit;
    take(j, clue, NULL, !known ? SIGHT_UNKNOWN : bad ? SIGHT_BAD : SIGHT_GOOD);
    if (bad && j->bad == 1)
        snprintf(j->result->why, sizeof(j->result->why),
                 "%s: %s %s%s on a hardware device; at most %" PRId64 " us is healthy for %s",
                 clue->subject, clue->name, clue->text, clue->unit, row->limit_us, clue->tool);
}

/* Verdict ------------------------------------------------------------------------------------- */

static bool layer_fits(const struct clues *clues, struct judging *j)
{
    const struct runbook_step *step = j->result->step;
    bool infiniband = false, ethernet = false;
    if (step->layer == RUNBOOK_ANY_LAYER)
        return true;
    for (size_t i = 0; i < clues->count; i++) {
        const struct clue *clue = &clues->items[i];
        if (strcmp(clue->name, "link_layer") != 0 || clue->state != CLUE_KNOWN)
            continue;
        infiniband =
            infiniband || strcmp(clue->text, "InfiniBand") == 0 || strcmp(clue->text, "IB") == 0;
        ethernet =
            ethernet || strcmp(clue->text, "Ethernet") == 0 || strcmp(clue->text, "RoCE") == 0;
    }
    if (infiniband)
        return true;
    j->result->verdict = ethernet ? RUNBOOK_NOT_APPLICABLE : RUNBOOK_UNKNOWN;
    snprintf(j->result->why, sizeof(j->result->why), "%s",
             ethernet ? "every link layer that is known is Ethernet, which has none of this"
                      : "nobody told the link layer of a port; this is for InfiniBand alone");
    return false;
}

/* Of a port that nothing is known of; NULL = all are known. */
static const struct clue_port *unseen_port(const struct judging *j)
{
    for (size_t i = 0; i < j->clues->port_count && j->result->step->each_port; i++)
        if (!j->seen[i])
            return &j->clues->ports[i];
    return NULL;
}

static void say_fault(struct judging *j)
{
    struct runbook_result *r = j->result;
    const struct clue *clue = r->evidence[0];
    const struct runbook_test *test = r->tests[0];
    char limit[32] = "";
    r->verdict = RUNBOOK_FAULT;
    if (r->why[0] != '\0')
        return;
    if (clue->kind == CLUE_FINDING || clue->kind == CLUE_STATUS) {
        snprintf(r->why, sizeof(r->why), "%s: %s%s%s", clue->name, clue->subject,
                 clue->text[0] != '\0' ? ": " : "", clue->text);
        return;
    }
    if (test != NULL && test->compare < RUNBOOK_IS)
        snprintf(limit, sizeof(limit), "; the limit is %" PRId64, test->limit);
    snprintf(r->why, sizeof(r->why), "%s: %s %s %s%s%s%s", clue->subject, clue->name,
             clue->kind == CLUE_COUNTED ? "grew by" : "is", clue->text,
             clue->unit[0] != '\0' ? " " : "", clue->unit, limit);
}

static void say_unknown(struct judging *j, const struct clue_port *port)
{
    struct runbook_result *r = j->result;
    const struct clue *clue = j->first_unknown;
    r->verdict = RUNBOOK_UNKNOWN;
    if (clue != NULL)
        snprintf(r->why, sizeof(r->why), "%s: %s is not known%s%s", clue->subject, clue->name,
                 clue->text[0] != '\0' ? ": " : "", clue->text);
    else if (port != NULL && j->good > 0)
        snprintf(r->why, sizeof(r->why), "nothing of this is known of port %s (%s)", port->id,
                 port->ifname);
    else if (j->clues->truncated && j->good > 0)
        snprintf(r->why, sizeof(r->why), "there is more than could be read");
    else
        snprintf(r->why, sizeof(r->why), "nothing that tells of it is known");
}

static void say_ok(struct judging *j)
{
    struct runbook_result *r = j->result;
    const struct clue *clue = j->first_good;
    r->verdict = RUNBOOK_OK;
    if (j->first_good_test != NULL && j->first_good_test->compare == RUNBOOK_READ)
        snprintf(r->why, sizeof(r->why), "%s (%s) was read, and says nothing of this kind",
                 clue->source, clue->text);
    else
        snprintf(r->why, sizeof(r->why), "%zu %s within %s limits, such as %s: %s %s%s%s", j->good,
                 j->good == 1 ? "value is" : "values are", j->good == 1 ? "its" : "their",
                 clue->subject, clue->name, clue->text, clue->unit[0] != '\0' ? " " : "",
                 clue->unit);
}

static void judge_step(const struct runbook_step *step, const struct clues *clues,
                       struct runbook_result *result)
{
    struct judging j = {.clues = clues, .result = result};
    struct latency_count latency = {.hardware = 0};
    memset(result, 0, sizeof(*result));
    result->step = step;
    if (!layer_fits(clues, &j))
        return;
    for (size_t i = 0; i < clues->count; i++) {
        const struct clue *clue = &clues->items[i];
        const struct runbook_test *test;
        if (step->special == RUNBOOK_BASE_LATENCY)
            judge_latency(&j, clue, &latency);
        else
            take(&j, clue, test, judge_clue(step, clue, &test));
    }
    const struct clue_port *port = unseen_port(&j);
    if (j.bad > 0) {
        say_fault(&j);
    } else if (latency.software > 0 && latency.hardware + latency.unclassed == 0) {
        result->verdict = RUNBOOK_NOT_APPLICABLE;
        snprintf(result->why, sizeof(result->why), "software device, threshold not applicable");
    } else if (j.good == 0 || j.unknown > 0 || port != NULL || clues->truncated) {
        say_unknown(&j, port);
    } else {
        say_ok(&j);
    }
}

/* The order of faults ------------------------------------------------------------------------- */

static bool explains(const struct runbook_step *cause, const struct runbook_step *effect)
{
    return is_listed(cause->explains, RUNBOOK_STEPS_MAX, effect->id);
}

/* Causes before what they explain, what is so now before what a file once counted, then as the
 * runbook has them. */
static bool comes_before(const struct runbook_result *a, const struct runbook_result *b)
{
    if ((a->cause == NULL) != (b->cause == NULL))
        return a->cause == NULL;
    return a->is_strong && !b->is_strong;
}

static void find_cause(struct runbook_run *run, struct runbook_result *effect)
{
    for (size_t i = 0; i < run->count && effect->cause == NULL; i++) {
        const struct runbook_result *cause = &run->results[i];
        if (cause->verdict == RUNBOOK_FAULT && cause != effect &&
            cause->is_strong >= effect->is_strong && explains(cause->step, effect->step))
            effect->cause = cause->step->id;
    }
}

static void order_faults(struct runbook_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->results[i].verdict != RUNBOOK_FAULT)
            continue;
        find_cause(run, &run->results[i]);
        size_t at = run->likely_count++;
        run->likely[at] = i;
    }
    for (size_t i = 1; i < run->likely_count; i++) {
        size_t one = run->likely[i], at = i;
        for (; at > 0 && comes_before(&run->results[one], &run->results[run->likely[at - 1]]); at--)
            run->likely[at] = run->likely[at - 1];
        run->likely[at] = one;
    }
}

void runbook_run(const struct runbook *runbook, const struct clues *clues, struct runbook_run *out)
{
    memset(out, 0, sizeof(*out));
    out->runbook = runbook;
    bool unknown = false;
    for (size_t i = 0; runbook->steps[i] != NULL && i < RUNBOOK_STEPS_MAX; i++) {
        judge_step(runbook->steps[i], clues, &out->results[i]);
        unknown = unknown || out->results[i].verdict == RUNBOOK_UNKNOWN;
        out->count++;
    }
    order_faults(out);
    out->verdict = out->likely_count > 0 ? RUNBOOK_FAULT : unknown ? RUNBOOK_UNKNOWN : RUNBOOK_OK;
}
