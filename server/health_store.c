/*
 * server/health_store.c - changes of health as incidents, with their roots and events. Writer
 * thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "fleet/incident.h"
#include "server/health_private.h"
#include "server/world.h"

#define EVENT_BODY_SIZE 512
#define NEAR_MAX        256 /* incidents of a node that may explain one another; more do not */
#define ELSEWHERE_MAX   256 /* incidents of a rule on other nodes that are looked at */
#define PEER_JOBS_MAX   64  /* jobs of a node that make others its peers */

/* One incident and those around it. */
struct filing {
    struct health_desk *desk;
    struct db_tx *tx;
    const struct health_change *change;
    struct db_incident row;
    char tenant[NAME_SIZE], job[NAME_SIZE], subject[HEALTH_SUBJECT_MAX];
    /* Of the search for roots: */
    struct incident_ref self;
    int64_t root;
    int64_t symptoms[NEAR_MAX];
    size_t symptom_count;
    const struct placement *jobs[PEER_JOBS_MAX]; /* on its node */
    size_t job_count;
};

/* Whose it is: by the label, where that job is placed. */
static void find_owner(struct filing *f)
{
    const struct health_subject *subject = &f->change->status.subject;
    const struct view *view = &f->desk->app->world->view;
    const struct view_node *node = view_node_get(view, f->change->node);
    for (size_t i = 0; subject->label != 0 && node != NULL && i < view->placement_count; i++) {
        const struct placement *placement = view->placements[i];
        if (placement->label != subject->label || !view_placed_on(placement, node))
            continue;
        text_copy(f->tenant, sizeof(f->tenant), placement->tenant);
        text_copy(f->job, sizeof(f->job), placement->job);
        return;
    }
}

static struct incident_ref ref_of(const struct db_incident *row)
{
    return (struct incident_ref){.id = row->id,
                                 .rule = row->rule,
                                 .node = row->node,
                                 .port = row->port,
                                 .opened_us = row->opened_us,
                                 .cleared_us = row->cleared_us};
}

static bool on_near(void *arg, const struct db_incident *row)
{
    struct filing *f = arg;
    const struct incident_ref other = ref_of(row);
    if (row->id == f->self.id)
        return true;
    if (f->root == 0 && incident_explains(&other, &f->self))
        f->root = row->root != 0 ? row->root : row->id;
    if (row->root == 0 && incident_explains(&f->self, &other) && f->symptom_count < NEAR_MAX)
        f->symptoms[f->symptom_count++] = row->id;
    return true;
}

static void find_jobs(struct filing *f)
{
    const struct view *view = &f->desk->app->world->view;
    const struct view_node *node = view_node_get(view, f->row.node);
    f->job_count = 0;
    for (size_t i = 0; node != NULL && i < view->placement_count; i++)
        if (f->job_count < PEER_JOBS_MAX && view_placed_on(view->placements[i], node))
            f->jobs[f->job_count++] = view->placements[i];
}

static bool shares_job(const struct filing *f, const char *name)
{
    const struct view_node *node = view_node_get(&f->desk->app->world->view, name);
    for (size_t i = 0; node != NULL && i < f->job_count; i++)
        if (view_placed_on(f->jobs[i], node))
            return true;
    return false;
}

/* Of another node: what explains this one, or is explained by it. What its own node explains stays
 * as it is. */
static bool on_peer(void *arg, const struct db_incident *row)
{
    struct filing *f = arg;
    const struct incident_ref other = ref_of(row);
    bool is_root = incident_explains_peer(&other, &f->self);
    bool is_symptom = row->root == 0 && incident_explains_peer(&f->self, &other);
    if ((!is_root && !is_symptom) || !shares_job(f, row->node))
        return true;
    if (is_root)
        f->root = row->root != 0 ? row->root : row->id;
    else if (f->symptom_count < NEAR_MAX)
        f->symptoms[f->symptom_count++] = row->id;
    return f->root == 0;
}

static enum err_code look_at_peers(struct filing *f, bool is_cause, struct err *err)
{
    const char *others[INCIDENT_PEER_RULES_MAX];
    size_t count = incident_peer_rules(f->self.rule, is_cause, others);
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < count && code == ERR_OK && f->job_count > 0 && f->root == 0; i++) {
        const struct incident_place place = {others[i], f->self.node,
                                             f->self.opened_us - INCIDENT_WINDOW_US};
        code = incident_elsewhere(db_tx_ro(f->tx), &place, ELSEWHERE_MAX, on_peer, f, err);
    }
    return code;
}

/* A new incident gets its root, and becomes that of what it explains. */
static enum err_code link_roots(struct filing *f, int64_t id, struct err *err)
{
    const char *rule = f->row.rule;
    int64_t now_us = db_tx_now_us(f->tx);
    if (!incident_is_cause(rule) && !incident_is_symptom(rule))
        return ERR_OK;
    f->self = (struct incident_ref){
        .id = id, .rule = rule, .node = f->row.node, .port = f->row.port, .opened_us = now_us};
    enum err_code code =
        incident_near(db_tx_ro(f->tx), f->row.node, now_us - INCIDENT_WINDOW_US, on_near, f, err);
    find_jobs(f);
    if (code == ERR_OK && f->root == 0)
        code = look_at_peers(f, false, err);
    if (code == ERR_OK && f->root == 0)
        code = look_at_peers(f, true, err);
    if (code == ERR_OK && f->root != 0 && f->root != id)
        code = incident_set_root(f->tx, id, f->root, err);
    int64_t root = f->root != 0 ? f->root : id;
    for (size_t i = 0; i < f->symptom_count && code == ERR_OK; i++)
        if (f->symptoms[i] != root)
            code = incident_set_root(f->tx, f->symptoms[i], root, err);
    return code;
}

static enum err_code tell(struct filing *f, const char *kind, int64_t id, struct err *err)
{
    int64_t event;
    OWN(json)
    json_t *body = json_pack("{sI, ss, ss, ss}", "incident", (json_int_t)id, "rule", f->row.rule,
                             "severity", f->row.severity, "node", f->row.node);
    if (body != NULL && f->root != 0)
        json_object_set_new(body, "root", json_integer(f->root));
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL)
        return err_nomem(err);
    const struct db_event happened = {.kind = kind, .subject = f->row.subject, .body = text};
    enum err_code code = event_add(f->tx, &happened, &event, err);
    free(text);
    return code;
}

static enum err_code file_raised(struct filing *f, struct err *err)
{
    const struct health_status *status = &f->change->status;
    OWN_FINDINGS struct finding_list findings;
    enum incident_news news;
    int64_t id = 0;
    finding_list_init(&findings);
    health_finding(f->change->node, status, &findings);
    if (findings.count == 0)
        return err_nomem(err);
    f->row.message = findings.items[0].message;
    f->row.observed = findings.items[0].observed;
    f->row.limit = findings.items[0].limit;
    f->row.hint = findings.items[0].hint;
    enum err_code code = incident_raise(f->tx, &f->row, &id, &news, err);
    if (code == ERR_LIMIT) {
        pthread_mutex_lock(&f->desk->lock);
        f->desk->refused++;
        pthread_mutex_unlock(&f->desk->lock);
        log_warning("health", "node=%s rule=%s: %s", f->change->node, f->row.rule, err->text);
        return ERR_OK;
    }
    if (code == ERR_OK && news == INCIDENT_OPENED)
        code = link_roots(f, id, err);
    if (code != ERR_OK || news == INCIDENT_SAME)
        return code;
    return tell(f, news == INCIDENT_OPENED ? "incident.opened" : "incident.changed", id, err);
}

static enum err_code file_cleared(struct filing *f, struct err *err)
{
    int64_t id;
    enum err_code code = incident_clear(f->tx, f->row.rule, f->row.subject, &id, err);
    return code != ERR_OK || id == 0 ? code : tell(f, "incident.cleared", id, err);
}

static enum err_code file_change(struct health_desk *desk, struct db_tx *tx,
                                 const struct health_change *change, struct err *err)
{
    const struct health_status *status = &change->status;
    struct filing f = {.desk = desk, .tx = tx, .change = change};
    int64_t count;
    if (status->rule == NULL)
        return incidents_clear_node(tx, change->node, &count, err);
    find_owner(&f);
    health_subject_text(change->node, &status->subject, f.subject);
    f.row = (struct db_incident){
        .rule = status->rule->id,
        .subject = f.subject,
        .node = change->node,
        .tenant = f.tenant,
        .job = f.job,
        .kind = status->subject.kind,
        .number = status->subject.number,
        .label = status->subject.label,
        .device = status->subject.device,
        .port = change->port,
        .severity = status->state == HEALTH_CRITICAL ? "critical" : "warning",
    };
    return status->state >= HEALTH_WARNING ? file_raised(&f, err) : file_cleared(&f, err);
}

enum err_code health_store(struct health_desk *desk, struct db_tx *tx,
                           const struct health_change *changes, size_t count, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < count && code == ERR_OK; i++)
        code = file_change(desk, tx, &changes[i], err);
    return code;
}
