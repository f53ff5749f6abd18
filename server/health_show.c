/*
 * server/health_show.c - the health of nodes as answers: grades, counts, findings; what of it is
 * excluded.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/incident.h"
#include "server/api.h"
#include "server/health_private.h"

/* Exclusions ----------------------------------------------------------------------------------- */

void health_desk_exclude(struct health_desk *desk, const struct db_exclusion *row)
{
    pthread_mutex_lock(&desk->lock);
    struct health_exclusion *all =
        realloc(desk->exclusions, (desk->exclusion_count + 1) * sizeof(*all));
    struct health_exclusion one = {.id = row->id,
                                   .expires_us = row->expires_us,
                                   .rule = strdup(row->rule),
                                   .subject = strdup(row->subject)};
    if (all != NULL)
        desk->exclusions = all;
    if (all != NULL && one.rule != NULL && one.subject != NULL) {
        desk->exclusions[desk->exclusion_count++] = one;
    } else {
        free(one.rule);
        free(one.subject);
        log_error("health", "out of memory: exclusion %lld holds after the next start alone",
                  (long long)row->id);
    }
    pthread_mutex_unlock(&desk->lock);
}

void health_desk_include(struct health_desk *desk, int64_t id)
{
    pthread_mutex_lock(&desk->lock);
    for (size_t i = desk->exclusion_count; i-- > 0;) {
        struct health_exclusion *one = &desk->exclusions[i];
        if (one->id != id)
            continue;
        free(one->rule);
        free(one->subject);
        *one = desk->exclusions[--desk->exclusion_count];
    }
    pthread_mutex_unlock(&desk->lock);
}

int64_t health_exclusion_of(const struct health_desk *desk, const char *rule, const char *subject,
                            int64_t now_us)
{
    for (size_t i = 0; i < desk->exclusion_count; i++) {
        const struct health_exclusion *one = &desk->exclusions[i];
        if (one->expires_us > now_us && incident_is_covered(one->rule, one->subject, rule, subject))
            return one->id;
    }
    return 0;
}

int64_t health_desk_excluded(struct health_desk *desk, const char *rule, const char *subject)
{
    struct clock *clock = desk->app->clock;
    pthread_mutex_lock(&desk->lock);
    int64_t id = health_exclusion_of(desk, rule, subject, clock->wall_us(clock));
    pthread_mutex_unlock(&desk->lock);
    return id;
}

/* Grades --------------------------------------------------------------------------------------- */

struct grading {
    const struct health_desk *desk;
    const struct health_node *node;
    int64_t now_us;
    size_t raised[HEALTH_STATE_COUNT], excluded;
    size_t *by_rule; /* nodes; of the summary; NULL = not counted */
    enum health_state *worst;
    const struct health_node **last; /* that was counted of a rule */
};

static bool on_raised(void *arg, const struct health_status *status)
{
    struct grading *g = arg;
    char subject[HEALTH_SUBJECT_MAX];
    health_subject_text(g->node->name, &status->subject, subject);
    if (health_exclusion_of(g->desk, status->rule->id, subject, g->now_us) != 0) {
        g->excluded++;
        return true;
    }
    g->raised[status->state]++;
    if (g->by_rule == NULL)
        return true;
    /* Rows of one id count as one rule. */
    size_t at = (size_t)(health_rule_find(status->rule->id) - health_rules);
    g->by_rule[at] += g->last[at] != g->node;
    g->last[at] = g->node;
    if (status->state > g->worst[at])
        g->worst[at] = status->state;
    return true;
}

static enum health_state grade(struct grading *g)
{
    g->raised[HEALTH_WARNING] = g->raised[HEALTH_CRITICAL] = g->excluded = 0;
    health_each_raised(g->node->health, on_raised, g);
    if (g->raised[HEALTH_CRITICAL] > 0)
        return HEALTH_CRITICAL;
    if (g->raised[HEALTH_WARNING] > 0)
        return HEALTH_WARNING;
    bool is_fresh = g->node->batch_us != 0 && g->now_us - g->node->batch_us <= HEALTH_FRESH_US;
    return is_fresh ? HEALTH_OK : HEALTH_UNKNOWN;
}

/* Under the lock. */
static void count_fleet(struct health_desk *desk, struct grading *g, struct health_fleet *out)
{
    struct clock *clock = desk->app->clock;
    *out = (struct health_fleet){
        .lost = desk->lost, .refused = desk->refused, .pending = desk->pending_count};
    g->desk = desk;
    g->now_us = clock->wall_us(clock);
    for (size_t i = 0; i < desk->node_count; i++) {
        g->node = desk->nodes[i];
        out->grades[grade(g)]++;
        out->raised[HEALTH_WARNING] += g->raised[HEALTH_WARNING];
        out->raised[HEALTH_CRITICAL] += g->raised[HEALTH_CRITICAL];
        out->excluded += g->excluded;
    }
}

void health_desk_fleet(struct health_desk *desk, struct health_fleet *out)
{
    struct grading g = {.by_rule = NULL};
    pthread_mutex_lock(&desk->lock);
    count_fleet(desk, &g, out);
    pthread_mutex_unlock(&desk->lock);
}

static json_t *states_to_json(const size_t counts[HEALTH_STATE_COUNT], enum health_state from)
{
    json_t *object = json_object();
    for (int i = (int)from; object != NULL && i < HEALTH_STATE_COUNT; i++)
        json_object_set_new(object, health_state_name((enum health_state)i),
                            json_integer((json_int_t)counts[i]));
    return object;
}

json_t *health_desk_summary(struct health_desk *desk)
{
    size_t *by_rule = calloc(health_rule_count, sizeof(*by_rule));
    enum health_state *worst = calloc(health_rule_count, sizeof(*worst));
    const struct health_node **last = calloc(health_rule_count, sizeof(*last));
    struct grading g = {.by_rule = by_rule, .worst = worst, .last = last};
    struct health_fleet fleet;
    json_t *answer = NULL, *raised = json_array();
    if (by_rule != NULL && worst != NULL && last != NULL) {
        pthread_mutex_lock(&desk->lock);
        count_fleet(desk, &g, &fleet);
        pthread_mutex_unlock(&desk->lock);
        for (size_t i = 0; i < health_rule_count; i++)
            if (by_rule[i] > 0)
                json_array_append_new(raised, json_pack("{ss, sI, ss}", "rule", health_rules[i].id,
                                                        "nodes", (json_int_t)by_rule[i], "severity",
                                                        health_state_name(worst[i])));
        json_t *findings = states_to_json(fleet.raised, HEALTH_WARNING);
        if (findings != NULL)
            json_object_set_new(findings, "excluded", json_integer((json_int_t)fleet.excluded));
        answer = json_pack("{so, so, sO}", "grades", states_to_json(fleet.grades, HEALTH_UNKNOWN),
                           "findings", findings, "rules", raised);
    }
    json_decref(raised);
    free(by_rule);
    free(worst);
    free(last);
    return answer;
}

/* One node ------------------------------------------------------------------------------------- */

struct showing {
    struct health_desk *desk;
    const struct health_node *node;
    int64_t now_us;
    json_t *findings, *unknown;      /* borrowed */
    const struct health_rule *shown; /* of `unknown` */
    bool known;                      /* the rule that is looked at is known on some subject */
    const struct health_rule *rule;
};

static void show_raised(struct showing *s, const struct health_status *status)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    health_finding(s->node->name, status, &findings);
    if (findings.count == 0)
        return;
    json_t *item = finding_to_json(&findings.items[0]);
    int64_t excluded =
        health_exclusion_of(s->desk, status->rule->id, findings.items[0].subject, s->now_us);
    if (item != NULL && excluded != 0)
        json_object_set_new(item, "exclusion", json_integer(excluded));
    if (item != NULL)
        api_set_time(item, "since", status->since_us);
    json_array_append_new(s->findings, item);
}

/* Of each id: on no subject is it known. */
static void end_rule(struct showing *s)
{
    if (s->rule != NULL && !s->known)
        json_array_append_new(s->unknown, json_string(s->rule->id));
    s->known = false;
}

static bool on_status(void *arg, const struct health_status *status)
{
    struct showing *s = arg;
    if (s->rule == NULL || strcmp(s->rule->id, status->rule->id) != 0) {
        end_rule(s);
        s->rule = status->rule;
    }
    s->known |= status->state != HEALTH_UNKNOWN;
    if (status->state >= HEALTH_WARNING && json_array_size(s->findings) < FINDING_LIST_MAX)
        show_raised(s, status);
    return true;
}

/* Under the lock. */
static json_t *show_node(struct health_desk *desk, const struct health_node *node)
{
    struct clock *clock = desk->app->clock;
    struct grading g = {.desk = desk, .node = node, .now_us = clock->wall_us(clock)};
    struct health_counts counts;
    enum health_state is = grade(&g);
    health_count(node->health, &counts);
    json_t *checks = states_to_json(counts.states, HEALTH_UNKNOWN);
    json_t *answer = json_pack(
        "{ss, ss, so, sI, s[], s[], sb}", "node", node->name, "grade", health_state_name(is),
        "checks", checks, "excluded", (json_int_t)g.excluded, "findings", "unknown", "truncated",
        counts.truncated ||
            g.raised[HEALTH_WARNING] + g.raised[HEALTH_CRITICAL] + g.excluded > FINDING_LIST_MAX);
    if (answer == NULL)
        return NULL;
    struct showing s = {.desk = desk,
                        .node = node,
                        .now_us = g.now_us,
                        .findings = json_object_get(answer, "findings"),
                        .unknown = json_object_get(answer, "unknown")};
    health_each(node->health, on_status, &s);
    end_rule(&s);
    api_set_time(answer, "telemetry", node->batch_us);
    return answer;
}

json_t *health_desk_node(struct health_desk *desk, const char *name)
{
    pthread_mutex_lock(&desk->lock);
    const struct health_node *node = health_node_get(desk, name);
    json_t *answer = node == NULL ? NULL : show_node(desk, node);
    pthread_mutex_unlock(&desk->lock);
    return answer;
}

void health_desk_each(struct health_desk *desk, const char *name, health_status_fn *fn, void *arg)
{
    pthread_mutex_lock(&desk->lock);
    const struct health_node *node = health_node_find(desk, name);
    if (node != NULL)
        health_each(node->health, fn, arg);
    pthread_mutex_unlock(&desk->lock);
}

struct kept_walk {
    const char *node;
    health_desk_kept_fn *fn;
    void *arg;
};

static void on_kept(void *arg, const struct health_kept *kept)
{
    const struct kept_walk *walk = arg;
    walk->fn(walk->arg, walk->node, kept);
}

void health_desk_each_kept(struct health_desk *desk, health_desk_kept_fn *fn, void *arg)
{
    struct kept_walk walk = {.fn = fn, .arg = arg};
    pthread_mutex_lock(&desk->lock);
    for (size_t i = 0; i < desk->node_count; i++) {
        walk.node = desk->nodes[i]->name;
        health_each_kept(desk->nodes[i]->health, on_kept, &walk);
    }
    pthread_mutex_unlock(&desk->lock);
}
