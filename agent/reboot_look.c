/*
 * agent/reboot_look.c - the agent and reboots of its node (reboot.h): when what waits is looked at,
 * who still uses RDMA, and the command, or the reload of drivers, one device after the other; that
 * device is left alone so long. What blocks runs on a thread of its own. Called by agent.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_private.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/inventory.h"
#include "fleet/read.h"

enum job_kind { JOB_USERS, JOB_REBOOT, JOB_RELOAD };

struct job {
    struct worker_job base;
    struct agent_reboot how;
    struct reboot_wait wait;
    enum job_kind kind;
    struct reboot_reload reloads[REBOOT_RELOADS_MAX]; /* those of the wait that are left */
    size_t reload_count;
    int users;
    char gone[PORT_ID_SIZE]; /* a device of them that is not there any more; "" = none */
    enum err_code code;
    struct err err;
};

/* Of the node, or of the devices that are reloaded. */
static enum err_code ask(struct job *job)
{
    enum err_code code = ERR_OK;
    if (!reboot_is_reload(&job->wait))
        return job->how.users(job->how.arg, NULL, &job->users, &job->err);
    for (size_t i = 0; i < job->reload_count && code == ERR_OK; i++) {
        int count = 0;
        code = job->how.users(job->how.arg, job->reloads[i].device, &count, &job->err);
        job->users += count;
        if (code == ERR_NOT_FOUND)
            text_copy(job->gone, sizeof(job->gone), job->reloads[i].device);
    }
    return code;
}

static void job_run(struct worker_job *base)
{
    struct job *job = (struct job *)base;
    if (job->kind == JOB_USERS)
        job->code = ask(job);
    else if (job->kind == JOB_REBOOT)
        job->code = job->how.reboot(job->how.arg, &job->err);
    else
        job->code = job->how.reload(job->how.arg, job->reloads[0].device, &job->err);
}

static void job_free(struct worker_job *base)
{
    free(base);
}

/* Once for each reason and for all that waits; the server hears it with the inventory. */
static void say(struct agent *agent, const struct reboot_wait *wait, const char *why)
{
    char text[ERR_TEXT_MAX];
    snprintf(text, sizeof(text), "settings that wait for a %s: %zu, the first is %.160s; %.200s",
             reboot_is_reload(wait) ? "reload" : "reboot", wait->count, wait->first, why);
    if (strcmp(text, agent->reboot_said) == 0 &&
        strcmp(wait->digest, agent->reboot_wait.digest) == 0) /* what is approved is what is told */
        return;
    snprintf(agent->reboot_said, sizeof(agent->reboot_said), "%s", text);
    agent->reboot_wait = *wait;
    snprintf(agent->reboot_why, sizeof(agent->reboot_why), "%s", why);
    agent_inventory_soon(agent);
    log_warning("agent", "node %s: %s", agent->node, text);
}

static void start(struct agent *agent, const struct job *like);

/* The first device; the others when that one is through. */
static void reload(struct agent *agent, const struct job *like)
{
    text_copy(agent->reloading, sizeof(agent->reloading), like->reloads[0].device);
    agent->held = agent_is_held(agent);
    log_warning("agent", "node %s: the driver of %s is reloaded now", agent->node,
                agent->reloading);
    start(agent, like);
}

static enum err_code look(struct agent *agent, struct reboot_wait *out, struct err *err);

/* Who was asked about is still what waits, and may be begun: plans, orders and tasks that came
 * while the kernel was asked count. */
static bool is_still_due(struct agent *agent, const struct reboot_wait *asked)
{
    struct reboot_wait now;
    char why[ERR_TEXT_MAX];
    return agent_reboot_is_free(agent) && look(agent, &now, NULL) == ERR_OK &&
           strcmp(now.digest, asked->digest) == 0 && reboot_is_due(&agent->reboot, &now, why);
}

static void goes_down(struct agent *agent)
{
    int64_t left_ns = reboot_down_ns(&agent->reboot);
    if (left_ns > 0)
        agent->down_until_ns = agent->clock->mono_ns(agent->clock) + left_ns;
}

static void stays_up(struct agent *agent)
{
    agent->down_until_ns = 0;
    reboot_stays_up(&agent->reboot);
}

static void on_users(struct agent *agent, const struct job *job)
{
    char why[ERR_TEXT_MAX];
    struct err err = ERR_INIT;
    if (job->gone[0] != '\0') {
        reboot_gone(&agent->reboot, job->gone);
        agent_reboot_look(agent);
    } else if (job->code != ERR_OK) {
        snprintf(why, sizeof(why), "who uses RDMA cannot be asked: %.300s", job->err.text);
        say(agent, &job->wait, why);
    } else if (job->users > 0) {
        say(agent, &job->wait, "programs have queue pairs; it is not done under them");
    } else if (!is_still_due(agent, &job->wait)) {
        return; /* something came in between: the next look tells */
    } else if (reboot_begin(&agent->reboot, &job->wait, &err) != ERR_OK) {
        say(agent, &job->wait, err.text);
    } else if (reboot_is_reload(&job->wait)) {
        struct job next = *job;
        next.kind = JOB_RELOAD;
        reload(agent, &next);
    } else {
        struct job next = *job;
        next.kind = JOB_REBOOT;
        say(agent, &job->wait, "the node is rebooted now");
        goes_down(agent);
        start(agent, &next);
    }
}

/* Let go first: what the reload took is brought back by the check, whether it went well or not. */
static void let_go(struct agent *agent)
{
    agent->reloading[0] = '\0';
    agent->held = agent_is_held(agent);
    agent_check_soon(agent);
}

static void on_reloaded(struct agent *agent, struct job *job)
{
    let_go(agent);
    reboot_reloaded(&agent->reboot, job->code == ERR_OK ? NULL : &job->err);
    if (job->code != ERR_OK) {
        log_error("agent", "node %s: the driver of %s was not reloaded: %s", agent->node,
                  job->reloads[0].device, job->err.text);
        say(agent, &job->wait, agent->reboot.failed);
        return;
    }
    log_info("agent", "node %s: the driver of %s was reloaded", agent->node,
             job->reloads[0].device);
    memmove(job->reloads, job->reloads + 1, --job->reload_count * sizeof(job->reloads[0]));
    if (job->reload_count > 0)
        reload(agent, job);
    else
        agent_reboot_look(agent);
}

static void not_rebooted(struct agent *agent, const struct err *why)
{
    stays_up(agent);
    log_error("agent", "node %s: it was not rebooted: %s", agent->node, why->text);
}

static void on_done(void *arg, struct worker_job *base)
{
    struct agent *agent = arg;
    struct job *job = (struct job *)base;
    if (job->kind == JOB_USERS)
        on_users(agent, job);
    else if (job->kind == JOB_RELOAD)
        on_reloaded(agent, job);
    else if (job->code != ERR_OK)
        not_rebooted(agent, &job->err);
    free(job);
}

static void start(struct agent *agent, const struct job *like)
{
    struct err err = ERR_INIT;
    struct job *job = calloc(1, sizeof(*job));
    enum err_code code = job == NULL ? err_nomem(&err) : ERR_OK;
    if (code == ERR_OK) {
        *job = *like;
        job->base = (struct worker_job){.run = job_run, .done = on_done, .free = job_free};
        job->how = agent->reboot_how;
        job->err = (struct err)ERR_INIT;
        code = worker_start(agent->reboot_worker, &job->base, agent, &err);
    }
    if (code == ERR_OK)
        return;
    log_error("agent", "node %s: a reboot cannot be looked after: %s", agent->node, err.text);
    if (like->kind == JOB_RELOAD)
        let_go(agent);
    if (like->kind == JOB_REBOOT)
        stays_up(agent);
}

static void start_asking(struct agent *agent, const struct reboot_wait *wait)
{
    struct job job = {.wait = *wait, .kind = JOB_USERS};
    job.reload_count = agent->reboot.reload_count;
    memcpy(job.reloads, agent->reboot.reloads, sizeof(job.reloads));
    start(agent, &job);
}

/* Only what can wait is looked at. */
static enum err_code look(struct agent *agent, struct reboot_wait *out, struct err *err)
{
    const struct plan *plan = reconcile_standing(agent->reconcile);
    OWN(plan) struct plan *part = NULL;
    OWN_STATE struct state state;
    state_init(&state);
    enum err_code code = plan_new(plan->node, plan->generation, &part, err);
    for (size_t i = 0; i < plan->knob_count && code == ERR_OK; i++)
        if (strcmp(plan->knobs[i].kind->name, REBOOT_KNOB) == 0)
            code = plan_add_copy(part, &plan->knobs[i], err);
    if (code == ERR_OK)
        code = plan_seal(part, err);
    if (code == ERR_OK && part->knob_count > 0)
        code = dp_observe(agent->dp, part, &state, err);
    return code != ERR_OK ? code : reboot_waits(&agent->reboot, part, &state, out, err);
}

static bool is_going_down(const struct agent *agent)
{
    return agent->clock->mono_ns(agent->clock) < agent->down_until_ns;
}

/* The node is what a final plan wants, no firmware is under way, and it does not go down yet. */
bool agent_reboot_is_free(const struct agent *agent)
{
    return !is_going_down(agent) && reconcile_standing(agent->reconcile) != NULL &&
           reconcile_latest(agent->reconcile) == NULL && reconcile_left_ns(agent->reconcile) < 0 &&
           agent->failures == 0 && !agent->held &&
           (agent->flash == NULL || !flash_is_busy(agent->flash));
}

void agent_reboot_look(struct agent *agent)
{
    struct reboot_wait wait;
    struct err err = ERR_INIT;
    char why[ERR_TEXT_MAX];
    if (agent->reboot_worker == NULL || worker_is_busy(agent->reboot_worker) ||
        !agent_reboot_is_free(agent))
        return;
    reboot_mind_clock(&agent->reboot);
    if (look(agent, &wait, &err) != ERR_OK) {
        log_warning("agent", "node %s: what waits for a reboot is not known: %s", agent->node,
                    err.text);
        return;
    }
    if (reboot_is_due(&agent->reboot, &wait, why))
        start_asking(agent, &wait);
    else if (wait.count > 0)
        say(agent, &wait, why);
    else if (agent->reboot_wait.count > 0) {
        agent->reboot_wait = (struct reboot_wait){.count = 0};
        agent->reboot_said[0] = '\0';
        agent_inventory_soon(agent);
    }
}

bool agent_reboot_is_busy(const struct agent *agent, char why[ERR_TEXT_MAX])
{
    bool down = is_going_down(agent);
    if (agent->reloading[0] != '\0')
        snprintf(why, ERR_TEXT_MAX, "the driver of %s is reloaded", agent->reloading);
    else if (down)
        snprintf(why, ERR_TEXT_MAX, "the node is rebooted");
    return down || agent->reloading[0] != '\0';
}

void agent_reboot_approve(struct agent *agent, const char *digest)
{
    struct err err = ERR_INIT;
    if (agent->reboot_worker == NULL || agent->reboot.rules.mode != REBOOT_ASK) {
        if (digest[0] != '\0')
            log_warning("agent",
                        "node %s: a reboot was approved, and is not begun: option --reboot "
                        "is not ask",
                        agent->node);
        return;
    }
    if (strcmp(digest, agent->reboot.tried) == 0)
        digest = ""; /* offered again after it was begun */
    if (strcmp(digest, agent->reboot.approved) == 0)
        return;
    if (digest[0] == '\0')
        log_info("agent", "node %s: the approval of a reboot was taken back", agent->node);
    if (reboot_approve(&agent->reboot, digest, &err))
        log_error("agent", "node %s: the approval of a reboot cannot be kept: %s", agent->node,
                  err.text);
}

enum err_code agent_reboot_tell(const struct agent *agent, json_t *inventory, struct err *err)
{
    const struct reboot_wait *wait = &agent->reboot_wait;
    struct inventory_reboot told = {.approved = reboot_is_approved(&agent->reboot, wait),
                                    .begun = reboot_was_begun(&agent->reboot, wait)};
    if (wait->count == 0)
        return ERR_OK;
    told.count = wait->count > INT32_MAX ? INT32_MAX : (int)wait->count;
    text_copy(told.digest, sizeof(told.digest), wait->digest);
    text_copy(told.first, sizeof(told.first), wait->first);
    text_copy(told.why, sizeof(told.why), agent->reboot_why);
    return write_member(inventory, "reboot", inventory_reboot_to_json(&told)) ? ERR_OK
                                                                              : err_nomem(err);
}

enum err_code agent_reboot_init(struct agent *agent, const struct agent_config *config,
                                struct err *err)
{
    if (config->reboot == NULL || config->reboot->rules.mode == REBOOT_NEVER)
        return ERR_OK;
    agent->reboot_how = *config->reboot;
    snprintf(agent->boot, sizeof(agent->boot), "%s", config->boot_id);
    agent->reboot = (struct reboot){.node = agent->node,
                                    .state_dir = agent->state_dir,
                                    .boot = agent->boot,
                                    .clock = agent->clock,
                                    .rules = config->reboot->rules};
    enum err_code code = reboot_load(&agent->reboot, err);
    if (code != ERR_OK)
        return code;
    goes_down(agent);
    if (is_going_down(agent))
        log_info("agent", "node %s: its reboot was begun already", agent->node);
    return worker_new(agent->loop, &agent->reboot_worker, err);
}
