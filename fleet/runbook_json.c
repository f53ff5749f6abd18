/*
 * fleet/runbook_json.c - runbooks and what they found as JSON; see runbook.h.
 */
#include "fleet/runbook.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "" is left out; false = no memory. */
static bool put_text(json_t *object, const char *key, const char *text)
{
    return text == NULL || text[0] == '\0' ||
           json_object_set_new(object, key, json_string(text)) == 0;
}

static const char *state_name(enum clue_state state)
{
    static const char *const names[] = {"known", "unknown", "at-least"};
    return names[state];
}

static bool put_limit(json_t *object, const struct runbook_test *test)
{
    static const char *const words[] = {"at most ", "at least ", "at most +-"};
    char text[64];
    if (test == NULL || test->compare >= RUNBOOK_IS)
        return true;
    snprintf(text, sizeof(text), "%s%" PRId64, words[test->compare], test->limit);
    return put_text(object, "limit", text);
}

static json_t *evidence_of(const struct clue *clue, const struct runbook_test *test)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !put_text(object, "source", clue->source) ||
        !put_text(object, "subject", clue->subject) || !put_text(object, "name", clue->name) ||
        !put_text(object, "state", state_name(clue->state)) ||
        !put_text(object, "observed", clue->text) || !put_text(object, "unit", clue->unit) ||
        !put_limit(object, test))
        return NULL;
    if (clue->line > 0 && json_object_set_new(object, "line", json_integer(clue->line)) != 0)
        return NULL;
    if (clue->kind == CLUE_COUNTED && json_object_set_new(object, "counted", json_true()) != 0)
        return NULL;
    if ((clue->kind == CLUE_FINDING || clue->kind == CLUE_STATUS) &&
        !put_text(object, "severity", finding_severity_name(clue->severity)))
        return NULL;
    return GIVE(object);
}

static json_t *result_of(const struct runbook_result *r)
{
    const struct runbook_step *step = r->step;
    OWN(json) json_t *list = json_array();
    for (size_t i = 0; i < r->evidence_count; i++)
        if (json_array_append_new(list, evidence_of(r->evidence[i], r->tests[i])) != 0)
            return NULL;
    OWN(json)
    json_t *object =
        json_pack("{ss, ss, ss, ss, sO}", "step", step->id, "check", step->check, "verdict",
                  runbook_verdict_name(r->verdict), "why", r->why, "evidence", list);
    if (object == NULL)
        return NULL;
    if (r->more > 0 && json_object_set_new(object, "more", json_integer((json_int_t)r->more)) != 0)
        return NULL;
    if (r->verdict == RUNBOOK_FAULT && !put_text(object, "action", step->action))
        return NULL;
    if (r->verdict == RUNBOOK_UNKNOWN && !put_text(object, "needs", step->needs))
        return NULL;
    return GIVE(object);
}

static json_t *likely_of(const struct runbook_run *run)
{
    OWN(json) json_t *list = json_array();
    for (size_t i = 0; i < run->likely_count; i++) {
        const struct runbook_result *r = &run->results[run->likely[i]];
        json_t *item = json_pack("{ss, ss, ss, ss, ss}", "step", r->step->id, "strength",
                                 r->is_strong ? "strong" : "weak", "why", r->why, "effect",
                                 r->step->effect, "action", r->step->action);
        if (item != NULL && !put_text(item, "explained_by", r->cause)) {
            json_decref(item);
            return NULL;
        }
        if (json_array_append_new(list, item) != 0)
            return NULL;
    }
    return GIVE(list);
}

/* What the others are: `key` = what is said of them. */
static json_t *others_of(const struct runbook_run *run, bool open)
{
    OWN(json) json_t *list = json_array();
    for (size_t i = 0; i < run->count; i++) {
        const struct runbook_result *r = &run->results[i];
        if (r->verdict == RUNBOOK_FAULT || (r->verdict == RUNBOOK_UNKNOWN) != open)
            continue;
        json_t *item = json_pack("{ss, ss, ss}", "step", r->step->id, "verdict",
                                 runbook_verdict_name(r->verdict), "why", r->why);
        if (item != NULL && open && !put_text(item, "needs", r->step->needs)) {
            json_decref(item);
            return NULL;
        }
        if (json_array_append_new(list, item) != 0)
            return NULL;
    }
    return GIVE(list);
}

json_t *runbook_run_to_json(const struct runbook_run *run)
{
    OWN(json) json_t *likely = likely_of(run);
    OWN(json) json_t *excluded = others_of(run, false);
    OWN(json) json_t *open = others_of(run, true);
    OWN(json) json_t *steps = json_array();
    for (size_t i = 0; i < run->count; i++)
        if (json_array_append_new(steps, result_of(&run->results[i])) != 0)
            return NULL;
    return json_pack("{ss, sO, sO, sO, sO}", "verdict", runbook_verdict_name(run->verdict),
                     "likely", likely, "excluded", excluded, "open", open, "steps", steps);
}

static json_t *step_of(const struct runbook_step *step)
{
    OWN(json) json_t *looks_at = json_array();
    OWN(json) json_t *ids = json_array();
    for (size_t i = 0; i < RUNBOOK_RULES_MAX && step->rules[i] != NULL; i++)
        if (json_array_append_new(ids, json_string(step->rules[i])) != 0)
            return NULL;
    for (size_t i = 0; i < RUNBOOK_TESTS_MAX && step->tests[i].name != NULL; i++)
        if (json_array_append_new(looks_at, json_string(step->tests[i].name)) != 0)
            return NULL;
    return json_pack("{ss, ss, ss, ss, ss, ss, sO, sO}", "step", step->id, "check", step->check,
                     "effect", step->effect, "action", step->action, "needs", step->needs,
                     "link_layer", step->layer == RUNBOOK_INFINIBAND ? "InfiniBand" : "any",
                     "rules", ids, "looks_at", looks_at);
}

json_t *runbook_to_json(const struct runbook *runbook)
{
    OWN(json) json_t *steps = json_array();
    for (size_t i = 0; runbook->steps[i] != NULL; i++)
        if (json_array_append_new(steps, step_of(runbook->steps[i])) != 0)
            return NULL;
    return json_pack("{ss, ss, sO}", "name", runbook->name, "symptom", runbook->symptom, "steps",
                     steps);
}
