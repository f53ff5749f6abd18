/*
 * agent/hear.c - what comes from the server: plans, tests, and that it has what it was told. Called
 * by agent.c; the link calls back.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/agent_private.h"
#include "base/log.h"

static void watch(const struct agent *agent, enum agent_event event)
{
    if (agent->watch != NULL)
        agent->watch(agent->watch_arg, event);
}

void agent_tell_known(const struct agent *agent)
{
    char tag[PLAN_TAG_SIZE];
    reconcile_known(agent->reconcile, tag);
    if (agent->link != NULL)
        agent->link->ops->known(agent->link, tag);
}

/* Nothing to do about it: it was dealt with, or its trial expired. */
static bool is_known(const struct agent *agent, const struct plan *plan)
{
    const struct reconcile *r = agent->reconcile;
    const struct plan *known = reconcile_latest(r);
    char tag[PLAN_TAG_SIZE], known_tag[PLAN_TAG_SIZE];
    plan_tag(plan, tag);
    reconcile_known(r, known_tag);
    if (strcmp(tag, known_tag) != 0)
        return false;
    if (known == NULL && (reconcile_has_expired(r) || reconcile_left_ns(r) >= 0))
        return true; /* the same trial neither runs twice nor longer */
    if (known == NULL)
        known = reconcile_standing(r);
    return known->generation == plan->generation;
}

/* It is followed: a server that was restored from a backup counts anew from there, and who could
 * play back an old plan would have the server's key. */
static void mind_generation(const struct agent *agent, const struct plan *plan)
{
    const struct plan *stands = reconcile_standing(agent->reconcile);
    if (stands != NULL && plan->generation < stands->generation)
        log_warning("agent",
                    "node %s: the server went back from generation %" PRId64 " to %" PRId64
                    ": a rollout was taken back, or its store was restored",
                    agent->node, stands->generation, plan->generation);
}

static bool on_plan(void *arg, const char *body, size_t len)
{
    struct agent *agent = arg;
    OWN(plan) struct plan *plan = NULL;
    struct err err = ERR_INIT;
    agent->stats.plans++;
    watch(agent, AGENT_PLAN_RECEIVED);
    if (agent_read_plan(agent, body, len, &plan, &err)) {
        agent_tell_refused(agent, body, len, &err);
        return false;
    }
    bool approves = plan->approved[0] != '\0';
    agent_reboot_approve(agent, plan->approved);
    if (is_known(agent, plan))
        return false;
    log_info("agent", "node %s: plan received: generation %" PRId64 ", %zu knobs", agent->node,
             plan->generation, plan->knob_count);
    mind_generation(agent, plan);
    agent->refused[0] = '\0';
    reconcile_order(agent->reconcile, plan->attempt);
    reconcile_take(agent->reconcile, GIVE(plan));
    agent_run_latest(agent, false);
    agent_tell_known(agent);
    if (approves)
        agent_reboot_look(agent);
    return true;
}

static bool on_verify(void *arg, const char *body, size_t len)
{
    struct agent *agent = arg;
    return verifier_take(agent->verifier, body, len);
}

static void on_link_event(void *arg, enum link_event event)
{
    struct agent *agent = arg;
    struct err err = ERR_INIT;
    switch (event) {
    case LINK_INVENTORY_DONE:
        watch(agent, AGENT_INVENTORY_DONE);
        break;
    case LINK_WAITING:
        watch(agent, AGENT_WAITING);
        break;
    case LINK_STATE_DONE:
    case LINK_CHAINS_DONE:
        break;
    case LINK_FLASH_DONE:
        flash_reported(agent->flash);
        break;
    case LINK_VERIFY_DONE:
        break;
    case LINK_TELEMETRY_DONE:
        agent_telemetry_done(agent);
        break;
    case LINK_RECEIPT_DONE:
        agent->stats.receipts_done++;
        if (outbox_drop_first(&agent->outbox, &err))
            log_error("agent", "node %s: %s", agent->node, err.text);
        if (outbox_first(&agent->outbox) != NULL)
            agent->link->ops->receipt(agent->link, outbox_first(&agent->outbox));
        else
            agent_trial_receipted(agent);
        watch(agent, AGENT_RECEIPT_DONE);
        break;
    }
}

void agent_hear(struct agent *agent)
{
    const struct link_events events = {.arg = agent,
                                       .plan = on_plan,
                                       .flash = agent_on_flash,
                                       .verify = on_verify,
                                       .event = on_link_event,
                                       .store = agent_on_store};
    agent->link->ops->start(agent->link, &events);
}
