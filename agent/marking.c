/*
 * agent/marking.c - see marking.h.
 */
#include "agent/marking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_private.h"
#include "base/json.h"
#include "base/log.h"
#include "fleet/chain_report.h"

static bool has_subject(const struct plan *view, const char *kind, const char *subject)
{
    for (size_t i = 0; i < view->knob_count; i++)
        if (strcmp(view->knobs[i].kind->name, kind) == 0 &&
            strcmp(view->knobs[i].subject, subject) == 0)
            return true;
    return false;
}

static enum err_code add_port(struct plan *view, const char *subject, struct err *err)
{
    enum err_code code = ERR_OK;
    if (has_subject(view, chain_kinds[0], subject))
        return ERR_OK;
    for (const char *const *name = chain_kinds; code == ERR_OK && *name != NULL; name++) {
        struct plan_knob knob = {.kind = knob_kind_get(*name), .want = json_null()};
        snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
        if (!knob.kind->is_set) /* of those, all are seen */
            code = plan_add(view, &knob, err);
    }
    return code;
}

/* Ports of the plan, each once. */
static enum err_code make_view(const struct plan *plan, struct plan **out, struct err *err)
{
    OWN(plan) struct plan *view = NULL;
    enum err_code code = plan_new(plan->node, plan->generation, &view, err);
    const char *last = "host";
    for (size_t i = 0; code == ERR_OK && i < plan->knob_count; i++) {
        const char *subject = plan->knobs[i].subject;
        if (strcmp(subject, "host") != 0 && strcmp(subject, last) != 0)
            code = add_port(view, subject, err);
        last = subject;
    }
    if (code == ERR_OK)
        code = plan_seal(view, err);
    if (code == ERR_OK)
        *out = GIVE(view);
    return code;
}

enum err_code marking_prove(struct dp *dp, const struct plan *plan, struct chain **out,
                            size_t *out_count, struct err *err)
{
    OWN(plan) struct plan *view = NULL;
    OWN_STATE struct state state;
    state_init(&state);
    enum err_code code = make_view(plan, &view, err);
    if (code == ERR_OK)
        code = dp_observe(dp, view, &state, err);
    return code == ERR_OK ? chain_prove(plan, &state, out, out_count, err) : code;
}

/* Whether any knob of the plan gives a mark, or says what one means: else there is nothing to
 * follow. */
static bool has_marks(const struct plan *plan)
{
    for (size_t i = 0; i < plan->knob_count; i++)
        for (const char *const *name = chain_kinds; *name != NULL; name++)
            if (strcmp(plan->knobs[i].kind->name, *name) == 0)
                return true;
    return false;
}

void agent_tell_chains(struct agent *agent)
{
    const struct plan *plan = reconcile_standing(agent->reconcile);
    struct chain *chains = NULL;
    size_t count = 0;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    if (plan == NULL || !agent->started || agent->held || agent->link->ops->chains == NULL)
        return;
    if (has_marks(plan) && marking_prove(agent->dp, plan, &chains, &count, &err)) {
        log_debug("agent", "node %s: marks cannot be followed: %s", agent->node, err.text);
        return;
    }
    OWN(json) json_t *report = chain_report_to_json(plan, chains, count);
    OWN(str) char *text = report == NULL ? NULL : json_canonical(report, NULL);
    free(chains);
    if (text == NULL)
        return; /* no memory now: the next check tells */
    bytes_digest(text, strlen(text), digest);
    if (strcmp(digest, agent->chains) == 0)
        return;
    memcpy(agent->chains, digest, sizeof(digest));
    agent->link->ops->chains(agent->link, report);
}
