/*
 * agent/agent.c - see agent.h: when to reconcile, and what to tell. Reconciling itself is
 * reconcile.c, the way to the server a link.
 */
#include "agent/agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/agent_private.h"
#include "agent/backoff.h"
#include "agent/budget.h"
#include "agent/probe.h"
#include "agent/report.h"
#include "base/file.h"
#include "base/log.h"

static int64_t now_ns(const struct agent *agent)
{
    return agent->clock->mono_ns(agent->clock);
}

void agent_check_soon(struct agent *agent)
{
    if (!agent->debouncing)
        loop_timer_set(agent->debounce, AGENT_DEBOUNCE_NS);
    agent->debouncing = true;
}

/* Before the pass that looks at it. */
static int64_t take_event(struct agent *agent)
{
    int64_t event_ns = agent->event_ns;
    agent->event_ns = 0;
    return event_ns;
}

static void tell_found(const struct outcome *outcome, int64_t event_ns)
{
    struct receipt *receipt = outcome->receipt;
    if (receipt->result != RECEIPT_DRIFT || outcome->found_ns == 0)
        return;
    receipt->found = event_ns != 0 ? RECEIPT_FOUND_EVENT : RECEIPT_FOUND_CHECK;
    if (event_ns != 0)
        receipt->found_ms = (outcome->found_ns - event_ns) / NS_PER_MS;
}

/* Passes --------------------------------------------------------------------------------------- */

static enum err_code one_pass(struct agent *agent, enum reconcile_cause cause, bool retried,
                              bool *out_failed, struct err *err)
{
    OWN_OUTCOME struct outcome outcome = {0};
    struct probe probe = {0};
    if (cause == RECONCILE_PLAN && reconcile_latest(agent->reconcile) != NULL)
        probe_begin(&probe, agent->dp, reconcile_latest(agent->reconcile));
    int64_t event_ns = take_event(agent);
    enum err_code code = reconcile_run(agent->reconcile, cause, &outcome, err);
    *out_failed = code != ERR_OK || outcome.transient;
    agent->transient = outcome.transient;
    if (code != ERR_OK)
        return code;
    if (cause == RECONCILE_PLAN)
        agent->retry_latest = outcome.transient;
    if (outcome.again)
        agent_check_soon(agent);
    if (outcome.receipt == NULL)
        return ERR_OK;
    tell_found(&outcome, event_ns);
    if (agent->reboot_worker != NULL)
        reboot_note(&agent->reboot, outcome.receipt);
    if (cause != RECONCILE_RETURN)
        agent_gap_look(agent, &outcome);
    enum receipt_result result = outcome.receipt->result;
    if (agent->held && result == RECEIPT_UNCHANGED)
        return ERR_OK; /* a device was left out: what was seen is not the whole */
    *out_failed = *out_failed || result == RECEIPT_STUCK || result == RECEIPT_ROLLED_BACK ||
                  result == RECEIPT_REFUSED || result == RECEIPT_QUARANTINED;
    if (cause == RECONCILE_PLAN && (result == RECEIPT_APPLIED || result == RECEIPT_UNCHANGED))
        probe_end(&probe, reconcile_standing(agent->reconcile), outcome.receipt);
    if (outcome.repaired)
        agent_count_fight(agent, outcome.receipt);
    agent_tell(agent, &outcome, retried);
    if (!*out_failed)
        return ERR_OK;
    return err_set(err, ERR_UNAVAILABLE, "generation %" PRId64 " %s: %s",
                   outcome.receipt->generation, receipt_result_name(result),
                   outcome.receipt->problem);
}

/* What a crash or a stuck plan left, then a pass over the plan that stands, or back from its trial.
 */
static enum err_code good_pass(struct agent *agent, enum reconcile_cause cause, bool *out_failed,
                               struct err *err)
{
    OWN_OUTCOME struct outcome left = {0};
    bool failed = false;
    agent->held = agent_is_held(agent);
    if (agent->held) { /* a journal or a trial that is over touches every device: later */
        if (cause != RECONCILE_CHECK || reconcile_standing(agent->reconcile) == NULL)
            return ERR_OK;
        return one_pass(agent, cause, true, out_failed, err);
    }
    enum err_code code = reconcile_recover(agent->reconcile, &left, err);
    *out_failed = code != ERR_OK;
    if (code != ERR_OK)
        return code;
    if (left.receipt != NULL) {
        code = err_set(err, ERR_UNAVAILABLE, "%s", left.receipt->problem);
        agent_tell(agent, &left, true);
    }
    *out_failed = code != ERR_OK;
    bool retried = cause == RECONCILE_CHECK;
    if (reconcile_left_ns(agent->reconcile) == 0)
        cause = RECONCILE_RETURN;
    if (reconcile_standing(agent->reconcile) != NULL)
        code = one_pass(agent, cause, retried, &failed, err);
    *out_failed = *out_failed || failed;
    return code;
}

static void log_failure(const struct agent *agent, enum err_code code, const struct err *err)
{
    /* A receipt was logged when it was told; what is left are our own errors. */
    if (code == ERR_NOMEM)
        log_error("agent", "node %s: %s", agent->node, err->text);
}

void agent_check(struct agent *agent, enum reconcile_cause cause)
{
    bool failed = false;
    struct err err = ERR_INIT;
    agent->stats.checks++;
    log_failure(agent, good_pass(agent, cause, &failed, &err), &err);
    agent->failures = failed ? agent->failures + 1 : 0;
    agent_tell_chains(agent);
    agent_trial_watch(agent);
}

bool agent_in_sync(struct agent *agent, char why[ERR_TEXT_MAX])
{
    bool failed = false;
    struct err err = ERR_INIT;
    enum err_code code = good_pass(agent, RECONCILE_CHECK, &failed, &err);
    failed = failed || code != ERR_OK;
    if (failed)
        snprintf(why, ERR_TEXT_MAX, "policy: %.480s", err.text);
    return !failed;
}

void agent_run_latest(struct agent *agent, bool retried)
{
    bool failed = false;
    struct err err = ERR_INIT;
    if (agent_is_held(agent)) { /* a plan is applied whole or not at all */
        agent->retry_latest = true;
        return;
    }
    log_failure(agent, one_pass(agent, RECONCILE_PLAN, retried, &failed, &err), &err);
    if (!failed)
        agent->paused_until_ns = 0; /* another plan: another chance */
    agent_tell_chains(agent);
    agent_trial_watch(agent);
}

/* Triggers ------------------------------------------------------------------------------------- */

static bool is_paused(const struct agent *agent)
{
    return agent->paused_until_ns != 0 && now_ns(agent) < agent->paused_until_ns;
}

static void on_debounce(void *arg)
{
    struct agent *agent = arg;
    agent->debouncing = false;
    if (agent->retry_latest && !agent_is_held(agent))
        agent_run_latest(agent, true);
    if (!is_paused(agent))
        agent_check(agent, RECONCILE_CHECK);
}

static void on_event(void *arg, uint32_t events)
{
    struct agent *agent = arg;
    (void)events;
    bool changed = false;
    struct err err = ERR_INIT;
    if (dp_drain(agent->dp, &changed, &err)) {
        /* A descriptor that cannot be emptied would wake the loop for ever. */
        log_warning("agent", "node %s: kernel events are lost until the next check: %s",
                    agent->node, err.text);
        loop_fd_del(agent->events);
        agent->events = NULL;
        changed = true;
    }
    if (changed && agent->event_ns == 0)
        agent->event_ns = now_ns(agent);
    if (changed) {
        agent_gap_event(agent);
        agent_check_soon(agent);
    }
    if (dp_inventory_stale(agent->dp))
        agent_inventory_soon(agent);
}

static void watch_events(struct agent *agent)
{
    int fd = dp_event_fd(agent->dp);
    struct err err = ERR_INIT;
    if (agent->events != NULL || fd < 0)
        return;
    if (loop_fd_add(agent->loop, fd, EPOLLIN, on_event, agent, &agent->events, &err))
        log_warning("agent", "node %s: no kernel events, only timed checks: %s", agent->node,
                    err.text);
}

static void arm_tick(struct agent *agent)
{
    int64_t delay_ns = agent->check_ns;
    int64_t most_ns = agent->transient ? AGENT_RETRY_CHECKS * agent->check_ns : AGENT_RETRY_MAX_NS;
    for (unsigned i = 0; i < agent->failures && delay_ns < most_ns; i++)
        delay_ns *= 2;
    if (delay_ns > most_ns)
        delay_ns = most_ns;
    loop_timer_set(agent->tick, jitter(delay_ns, AGENT_CHECK_JITTER, jitter_random()));
}

static void on_tick(void *arg)
{
    struct agent *agent = arg;
    watch_events(agent);
    agent_tell_inventory(agent);
    if (agent->retry_latest)
        agent_run_latest(agent, true);
    if (!is_paused(agent))
        agent_check_timed(agent);
    if (agent->failures == 0 && now_ns(agent) - agent->started_ns >= BUDGET_HOLD_NS)
        reconcile_held(agent->reconcile);
    agent_reboot_look(agent);
    agent_tell_known(agent);
    arm_tick(agent);
}

/* Life ----------------------------------------------------------------------------------------- */

static enum err_code agent_init(struct agent *agent, const struct agent_config *config,
                                struct err *err)
{
    int n = snprintf(agent->state_dir, sizeof(agent->state_dir), "%s", config->state_dir);
    if (n < 0 || (size_t)n >= sizeof(agent->state_dir))
        return err_set(err, ERR_LIMIT, "the state folder's path is too long");
    if (name_check(config->node, "node", err))
        return err->code;
    snprintf(agent->node, sizeof(agent->node), "%s", config->node);
    struct reconcile_config reconcile = {
        .node = agent->node,
        .state_dir = agent->state_dir,
        .boot_id = config->boot_id,
        .dp = agent->dp,
        .clock = config->clock,
        .killed = config->killed,
        .killed_arg = config->killed_arg,
    };
    enum err_code code = file_mkdirs(agent->state_dir, 0700, err);
    if (code == ERR_OK)
        code = reconcile_new(&reconcile, &agent->reconcile, err);
    if (code == ERR_OK) {
        agent->gap.booted = reconcile_rebooted(agent->reconcile);
        agent->started_ns = now_ns(agent);
    }
    if (code == ERR_OK)
        code = outbox_init(&agent->outbox, agent->state_dir, agent->node, config->clock, err);
    if (code == ERR_OK)
        code = agent_flash_init(agent, err);
    if (code == ERR_OK)
        code = agent_reboot_init(agent, config, err);
    if (code == ERR_OK && config->verify != NULL && agent->link != NULL)
        code = verifier_new(agent->loop, agent->link, agent->node, config->verify, &agent->verifier,
                            err);
    if (code == ERR_OK)
        code = loop_timer_new(agent->loop, on_debounce, agent, &agent->debounce, err);
    if (code == ERR_OK)
        code = loop_timer_new(agent->loop, on_tick, agent, &agent->tick, err);
    if (code == ERR_OK)
        code = loop_timer_new(agent->loop, agent_trial_look, agent, &agent->trial, err);
    if (code == ERR_OK)
        code = loop_timer_new(agent->loop, agent_inventory_look, agent, &agent->look, err);
    return code;
}

enum err_code agent_new(struct loop *loop, const struct agent_config *config, struct dp *dp,
                        struct link *link, struct agent **out, struct err *err)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    if (agent == NULL) {
        if (link != NULL)
            link->ops->free(link);
        flasher_free(config->flasher);
        counters_free(config->counters);
        return err_nomem(err);
    }
    agent->flasher = config->flasher;
    agent->counters = config->counters;
    agent->telemetry_ns = config->telemetry_ns;
    agent->telemetry_samples = config->telemetry_samples;
    agent->telemetry_stays = config->telemetry_stays;
    agent->exporter = config->exporter;
    agent->loop = loop;
    agent->dp = dp;
    agent->link = link;
    agent->clock = config->clock;
    agent->check_ns = config->check_ns != 0 ? config->check_ns : AGENT_CHECK_NS;
    agent->look_ns = config->look_ns != 0 ? config->look_ns : AGENT_LOOK_NS;
    agent->watch = config->watch;
    agent->watch_arg = config->watch_arg;
    struct err why = ERR_INIT;
    if (agent_init(agent, config, &why)) {
        agent_free(agent);
        if (err != NULL)
            *err = why;
        return why.code;
    }
    *out = agent;
    return ERR_OK;
}

void agent_free(struct agent *agent)
{
    if (agent == NULL)
        return;
    agent_telemetry_stop(agent);
    worker_free(agent->reboot_worker);
    verifier_free(agent->verifier);
    flash_free(agent->flash);
    flasher_free(agent->flasher);
    if (agent->link != NULL)
        agent->link->ops->free(agent->link);
    loop_fd_del(agent->events);
    loop_timer_free(agent->tick);
    loop_timer_free(agent->debounce);
    loop_timer_free(agent->trial);
    loop_timer_free(agent->look);
    if (agent->reconcile != NULL)
        reconcile_save_left(agent->reconcile, true);
    reconcile_free(agent->reconcile);
    outbox_release(&agent->outbox);
    json_decref(agent->owed_state);
    free(agent);
}

enum err_code agent_once(struct agent *agent, struct err *err)
{
    bool failed = false;
    struct err why = ERR_INIT;
    if (reconcile_standing(agent->reconcile) == NULL)
        log_info("agent", "node %s: there is no last good plan yet", agent->node);
    enum err_code code = good_pass(agent, RECONCILE_START, &failed, &why);
    if (code != ERR_OK && err != NULL)
        *err = why;
    return code;
}

void agent_start(struct agent *agent)
{
    agent_check(agent, RECONCILE_START);
    if (agent->link != NULL) {
        agent_hear(agent);
        agent->started = true;
        agent_tell_inventory(agent);
        agent_tell_owed_state(agent);
        agent_tell_chains(agent);
        if (outbox_first(&agent->outbox) != NULL)
            agent->link->ops->receipt(agent->link, outbox_first(&agent->outbox));
    }
    agent_tell_known(agent);
    if (agent->flash != NULL)
        flash_start(agent->flash);
    if (agent->verifier != NULL)
        verifier_start(agent->verifier);
    agent_telemetry_start(agent);
    watch_events(agent);
    agent_reboot_look(agent);
    arm_tick(agent);
}

void agent_reload(struct agent *agent)
{
    reconcile_begin_anew(agent->reconcile);
    agent->failures = 0;
    agent->paused_until_ns = 0;
    agent->refused[0] = agent->inventory[0] = agent->chains[0] = '\0';
    agent->told = (struct told){0};
    agent->shown[0] = '\0';
    agent_tell_inventory(agent);
    bool had_latest = reconcile_latest(agent->reconcile) != NULL;
    if (had_latest)
        agent_run_latest(agent, false);
    /* What just became good was just asserted. */
    if (!had_latest || reconcile_latest(agent->reconcile) != NULL)
        agent_check(agent, RECONCILE_START);
    agent_tell_known(agent);
    agent_reboot_look(agent);
    arm_tick(agent);
}

const struct agent_stats *agent_stats(const struct agent *agent)
{
    return &agent->stats;
}
