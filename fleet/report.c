/*
 * fleet/report.c - see report.h: the counting.
 */
#include "fleet/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/timestamp.h"
#include "base/text.h"
#include "fleet/read.h"

struct tally {
    char name[REPORT_TEXT_MAX]; /* of a node or a rule */
    size_t warnings, criticals;
};

struct tallies {
    struct tally *items; /* sorted by name */
    size_t count, room, max;
    bool truncated;
};

struct report {
    int64_t time_us, since_us;
    struct tallies nodes, rules;
    size_t by_grade[REPORT_CRITICAL + 1]; /* nodes */
    size_t node_count, warnings, criticals, explained, excepted;
    size_t new_count, cured_count, exception_count;
    json_t *fresh, *cured, *exceptions, *document; /* owned; fresh: the new ones */
    char tenant[NAME_SIZE];                        /* "" = the fleet's */
    json_t *jobs;                                  /* owned */
    size_t job_count;
    bool knows_too_little; /* of a job that has a guarantee */
};

const char *report_grade_name(enum report_grade grade)
{
    static const char *const names[] = {"unknown", "ok", "warning", "critical"};
    return names[grade];
}

enum err_code report_new(int64_t time_us, int64_t since_us, struct report **out, struct err *err)
{
    OWN(report) struct report *report = calloc(1, sizeof(*report));
    if (report == NULL)
        return err_nomem(err);
    report->time_us = time_us;
    report->since_us = since_us;
    report->nodes.max = REPORT_NODES_MAX;
    report->rules.max = REPORT_RULES_MAX;
    report->fresh = json_array();
    report->cured = json_array();
    report->exceptions = json_array();
    report->jobs = json_array();
    report->document = json_object();
    if (report->fresh == NULL || report->cured == NULL || report->exceptions == NULL ||
        report->jobs == NULL || report->document == NULL)
        return err_nomem(err);
    *out = GIVE(report);
    return ERR_OK;
}

void report_free(struct report *report)
{
    if (report == NULL)
        return;
    free(report->nodes.items);
    free(report->rules.items);
    json_decref(report->fresh);
    json_decref(report->cured);
    json_decref(report->exceptions);
    json_decref(report->jobs);
    json_decref(report->document);
    free(report);
}

/* Where the name is, or would be. */
static size_t place_of(const struct tallies *list, const char *name)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct tally *tally_get(const struct tallies *list, const char *name)
{
    size_t at = place_of(list, name);
    return at < list->count && strcmp(list->items[at].name, name) == 0 ? &list->items[at] : NULL;
}

static enum err_code tally_add(struct tallies *list, const char *name, bool is_critical,
                               struct err *err)
{
    char cut[REPORT_TEXT_MAX];
    text_copy(cut, sizeof(cut), name);
    size_t at = place_of(list, cut);
    bool is_there = at < list->count && strcmp(list->items[at].name, cut) == 0;
    if (!is_there && list->count == list->max) {
        list->truncated = true;
        return ERR_OK;
    }
    if (!is_there && list->count == list->room) {
        size_t room = list->room == 0 ? 64 : 2 * list->room;
        struct tally *items = realloc(list->items, room * sizeof(*items));
        if (items == NULL)
            return err_nomem(err);
        list->items = items;
        list->room = room;
    }
    if (!is_there) {
        memmove(&list->items[at + 1], &list->items[at],
                (list->count - at) * sizeof(list->items[0]));
        list->count++;
        list->items[at] = (struct tally){.warnings = 0};
        memcpy(list->items[at].name, cut, sizeof(cut));
    }
    list->items[at].criticals += is_critical;
    list->items[at].warnings += !is_critical;
    return ERR_OK;
}

static bool put_time(json_t *object, const char *key, int64_t time_us)
{
    char text[CLOCK_TEXT_MAX];
    if (time_us == 0)
        return true;
    clock_format(time_us, text);
    return json_object_set_new(object, key, json_string(text)) == 0;
}

static enum err_code list_finding(json_t *list, const struct report_finding *f, struct err *err)
{
    if (json_array_size(list) >= REPORT_LISTED_MAX)
        return ERR_OK;
    json_t *item = json_pack("{sI, ss, ss, ss, ss}", "id", (json_int_t)f->id, "rule", f->rule,
                             "subject", f->subject, "severity", f->severity, "message", f->message);
    bool whole = item != NULL && put_time(item, "opened", f->opened_us) &&
                 put_time(item, "cleared", f->cleared_us);
    if (whole && json_array_append(list, item) == 0) {
        json_decref(item);
        return ERR_OK;
    }
    json_decref(item);
    return err_nomem(err);
}

enum err_code report_add_finding(struct report *report, const struct report_finding *f,
                                 struct err *err)
{
    bool is_critical = strcmp(f->severity, "critical") == 0;
    enum err_code code = ERR_OK;
    if (f->cleared_us != 0) {
        if (report->since_us == 0 || f->cleared_us < report->since_us)
            return ERR_OK;
        report->cured_count++;
        return list_finding(report->cured, f, err);
    }
    if (f->is_excepted) {
        report->excepted++;
        return ERR_OK;
    }
    report->criticals += is_critical;
    report->warnings += !is_critical;
    report->explained += f->is_explained;
    if (report->since_us != 0 && f->opened_us >= report->since_us) {
        report->new_count++;
        code = list_finding(report->fresh, f, err);
    }
    if (code == ERR_OK && f->node[0] != '\0')
        code = tally_add(&report->nodes, f->node, is_critical, err);
    return code == ERR_OK ? tally_add(&report->rules, f->rule, is_critical, err) : code;
}

enum err_code report_add_exception(struct report *report, json_t *exception, struct err *err)
{
    report->exception_count++;
    if (json_array_size(report->exceptions) >= REPORT_LISTED_MAX) {
        json_decref(exception);
        return ERR_OK;
    }
    return json_array_append_new(report->exceptions, exception) == 0 ? ERR_OK : err_nomem(err);
}

enum err_code report_add_node(struct report *report, const char *node, bool is_fresh,
                              struct err *err)
{
    const struct tally *tally = tally_get(&report->nodes, node);
    enum report_grade grade = is_fresh ? REPORT_OK : REPORT_UNKNOWN;
    (void)err;
    if (tally != NULL)
        grade = tally->criticals > 0 ? REPORT_CRITICAL : REPORT_WARNING;
    report->by_grade[grade]++;
    report->node_count++;
    return ERR_OK;
}

/* A tenant ----------------------------------------------------------------------------------- */

void report_of_tenant(struct report *report, const char *tenant)
{
    text_copy(report->tenant, sizeof(report->tenant), tenant);
}

static bool put_count(json_t *object, const char *key, int64_t value)
{
    return write_member(object, key, json_integer(value));
}

static bool put_job(json_t *item, const struct report_job *job)
{
    return write_text(item, "job", job->job) && write_text(item, "asked", job->asked) &&
           (job->granted_bps == 0 || put_count(item, "granted_bps", job->granted_bps)) &&
           (job->limit_bps == 0 || put_count(item, "limit_bps", job->limit_bps)) &&
           put_count(item, "ports", job->ports) &&
           put_count(item, "known_ports", job->known_ports) &&
           write_text(item, "worst", job->worst) &&
           (job->known_minutes == 0 || (put_count(item, "known_minutes", job->known_minutes) &&
                                        put_count(item, "below_minutes", job->below_minutes) &&
                                        put_count(item, "mean_bps", job->mean_bps) &&
                                        put_count(item, "peak_bps", job->peak_bps)));
}

enum err_code report_add_job(struct report *report, const struct report_job *job, struct err *err)
{
    report->job_count++;
    report->knows_too_little |= job->asked[0] != '\0' && job->known_ports < job->ports;
    if (json_array_size(report->jobs) >= REPORT_LISTED_MAX)
        return ERR_OK;
    OWN(json) json_t *item = json_object();
    bool whole = put_job(item, job) && json_array_append(report->jobs, item) == 0;
    return whole ? ERR_OK : err_nomem(err);
}

enum err_code report_set(struct report *report, const char *key, json_t *value, struct err *err)
{
    return json_object_set_new(report->document, key, value) == 0 ? ERR_OK : err_nomem(err);
}

/* The document -------------------------------------------------------------------------------- */

/* More criticals first, then more warnings, then by name. */
static int compare_worst(const void *one, const void *other)
{
    const struct tally *a = one, *b = other;
    if (a->criticals != b->criticals)
        return a->criticals > b->criticals ? -1 : 1;
    if (a->warnings != b->warnings)
        return a->warnings > b->warnings ? -1 : 1;
    return strcmp(a->name, b->name);
}

static json_t *worst_of(struct tallies *list, const char *key, size_t max)
{
    OWN(json) json_t *array = json_array();
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(list->items[0]), compare_worst);
    for (size_t i = 0; i < list->count && i < max; i++) {
        const struct tally *t = &list->items[i];
        if (json_array_append_new(array, json_pack("{ss, sI, sI}", key, t->name, "critical",
                                                   (json_int_t)t->criticals, "warning",
                                                   (json_int_t)t->warnings)) != 0)
            return NULL;
    }
    return GIVE(array);
}

/* The fleet is as well as its worst node; nodes, and jobs, of which nothing is known are no
 * proof. */
static enum report_grade grade_of(const struct report *r)
{
    if (r->by_grade[REPORT_CRITICAL] > 0 || r->criticals > 0)
        return REPORT_CRITICAL;
    if (r->by_grade[REPORT_WARNING] > 0 || r->warnings > 0)
        return REPORT_WARNING;
    if (r->tenant[0] != '\0')
        return r->job_count == 0 || r->knows_too_little ? REPORT_UNKNOWN : REPORT_OK;
    return r->by_grade[REPORT_UNKNOWN] > 0 || r->node_count == 0 ? REPORT_UNKNOWN : REPORT_OK;
}

static bool put_fleet(struct report *r, json_t *d)
{
    json_t *nodes = json_pack("{sI, sI, sI, sI, sI}", "total", (json_int_t)r->node_count, "ok",
                              (json_int_t)r->by_grade[REPORT_OK], "warning",
                              (json_int_t)r->by_grade[REPORT_WARNING], "critical",
                              (json_int_t)r->by_grade[REPORT_CRITICAL], "unknown",
                              (json_int_t)r->by_grade[REPORT_UNKNOWN]);
    json_t *worst = worst_of(&r->nodes, "node", REPORT_OUTLIERS_MAX);
    bool whole = json_object_set_new(d, "nodes", nodes) == 0;
    whole = json_object_set_new(d, "outliers", worst) == 0 && whole;
    return json_object_set(d, "exceptions", r->exceptions) == 0 && whole;
}

static bool put_findings(struct report *r, json_t *d)
{
    json_t *findings = json_pack("{sI, sI, sI, sI}", "critical", (json_int_t)r->criticals,
                                 "warning", (json_int_t)r->warnings, "new",
                                 (json_int_t)r->new_count, "cured", (json_int_t)r->cured_count);
    json_t *rules = worst_of(&r->rules, "rule", REPORT_RULES_MAX);
    bool whole = findings != NULL;
    if (whole && r->tenant[0] == '\0')
        whole = put_count(findings, "explained", (int64_t)r->explained) &&
                put_count(findings, "excepted", (int64_t)r->excepted);
    whole = json_object_set_new(d, "findings", findings) == 0 && whole;
    whole = json_object_set_new(d, "rules", rules) == 0 && whole;
    whole = json_object_set(d, "new", r->fresh) == 0 && whole;
    return json_object_set(d, "cured", r->cured) == 0 && whole;
}

json_t *report_to_json(struct report *r)
{
    json_t *d = r->document;
    bool truncated = r->nodes.truncated || r->rules.truncated || r->new_count > REPORT_LISTED_MAX ||
                     r->cured_count > REPORT_LISTED_MAX || r->exception_count > REPORT_LISTED_MAX ||
                     r->job_count > REPORT_LISTED_MAX;
    const char *kind = r->tenant[0] == '\0' ? "fleet" : "tenant";
    bool whole = put_count(d, "version", 1) && write_text(d, "kind", kind) &&
                 write_text(d, "source", r->tenant) && put_time(d, "time", r->time_us) &&
                 put_time(d, "since", r->since_us) &&
                 write_text(d, "grade", report_grade_name(grade_of(r)));
    whole = whole &&
            (r->tenant[0] == '\0' ? put_fleet(r, d) : json_object_set(d, "jobs", r->jobs) == 0);
    whole = whole && put_findings(r, d);
    whole = (!truncated || json_object_set_new(d, "truncated", json_true()) == 0) && whole;
    return whole ? json_incref(d) : NULL;
}
