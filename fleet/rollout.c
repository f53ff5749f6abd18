/*
 * fleet/rollout.c - see rollout.h.
 *
 *                 plans compiled            wave after wave:
 *   preparing ------------------> running   open: offer the target to each node of the wave
 *       |                          ^  |  ^  gates: receipts, findings, probe
 *       | (nothing to do)    resume|  |  |  soak: gates must hold for a while
 *       v                          |  |  |  confirm: target final, next wave
 *      done <----------------------+--+  |
 *       |        last wave         |  |  | confirmed
 *       |                     pause|  |  +------------- confirming
 *       |                          v  |  manual, passed -->|
 *       |                       paused   (ends its wave)   |
 *       |                          |                       |
 *       |      a gate fails, a deadline passes, too many nodes fail or are absent
 *       |                          +-----> returning <-----+   the wave's nodes go back;
 *       |                                      |               confirmed waves stay
 *       |                                      v
 *       |  rollback (operator, any state)   failed
 *       +------------> rolling-back <----------+
 *                           |
 *                           v
 *                      rolled-back
 */
#include "fleet/rollout_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Waves --------------------------------------------------------------------------------------- */

static void open_wave(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    size_t count = 0;
    for (size_t i = 0; i < r->node_count; i++) {
        if (r->nodes[i].wave != r->wave)
            continue;
        rollout_move_node(r, i, ROLLOUT_NODE_OFFERED);
        r->nodes[i].heard_ns = now_ns;
        rollout_act(actions, ROLLOUT_OFFER, i);
        count++;
    }
    r->wave_open = true;
    r->passed = false;
    r->verify_number = 0;
    r->verify_state = ROLLOUT_GATE_PENDING;
    r->verify_why[0] = '\0';
    r->gates_ns = now_ns + r->settings.wave_deadline_ns;
    r->confirm_ns = r->soak_ns = 0;
    rollout_say(actions, "rollout.wave", "wave %u of %u: %zu nodes", r->wave + 1, r->wave_count,
                count);
}

static void close_times(struct rollout *r)
{
    r->wave_open = r->passed = false;
    r->gates_ns = r->confirm_ns = r->soak_ns = r->return_ns = 0;
}

/* The wave's target becomes final, also for its nodes that are away; one that failed keeps, as
 * final, what it had. */
static void confirm_wave(struct rollout *r, struct rollout_actions *actions)
{
    size_t count = 0;
    for (size_t i = 0; i < r->node_count; i++) {
        if (r->nodes[i].wave != r->wave)
            continue;
        if (r->nodes[i].state == ROLLOUT_NODE_FAILED || r->nodes[i].state == ROLLOUT_NODE_EXPIRED) {
            rollout_act(actions, ROLLOUT_RETURN, i);
            continue;
        }
        rollout_act(actions, ROLLOUT_CONFIRM, i);
        if (r->nodes[i].state == ROLLOUT_NODE_APPLIED) {
            rollout_move_node(r, i, ROLLOUT_NODE_CONFIRMED);
            count++;
        }
    }
    rollout_say(actions, "rollout.confirmed", "wave %u of %u: %zu nodes", r->wave + 1,
                r->wave_count, count);
    close_times(r);
    r->wave++;
}

/* Takes a node back. One that stands on `before` as far as it said gets no other plan and so sends
 * no receipt; if it is applying the target just now, that receipt makes it returning again. */
static void take_back(struct rollout *r, size_t index, struct rollout_actions *actions)
{
    enum rollout_node_state state = r->nodes[index].state;
    rollout_act(actions, ROLLOUT_RETURN, index);
    if (state == ROLLOUT_NODE_RETURNING || state == ROLLOUT_NODE_RETURNED ||
        state == ROLLOUT_NODE_ABSENT)
        return;
    rollout_move_node(r, index, ROLLOUT_NODE_RETURNING);
    if (r->nodes[index].stands)
        rollout_move_node(r, index, ROLLOUT_NODE_RETURNED);
}

/* What failed, or was taken back, does not begin again by itself. */
static void refuse_waiting(struct rollout *r, struct rollout_actions *actions)
{
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i].state == ROLLOUT_NODE_WAITING)
            rollout_act(actions, ROLLOUT_REFUSE, i);
}

static void fail_wave(struct rollout *r, int64_t now_ns, const char *why,
                      struct rollout_actions *actions)
{
    size_t count = 0;
    text_copy(r->problem, sizeof(r->problem), why);
    rollout_say(actions, "rollout.gate", "wave %u failed: %.200s", r->wave + 1, why);
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i].wave == r->wave) {
            take_back(r, i, actions);
            count++;
        }
    close_times(r);
    rollout_move(r, ROLLOUT_RETURNING);
    r->return_ns = now_ns + r->settings.wave_deadline_ns;
    rollout_say(actions, "rollout.returning", "%zu nodes go back to their last good plan", count);
    refuse_waiting(r, actions);
}

/* Steps: each returns true when another one may follow at once. -------------------------------- */

static void mark_absent(struct rollout *r, int64_t now_ns)
{
    bool late = r->gates_ns != 0 && now_ns >= r->gates_ns;
    for (size_t i = 0; i < r->node_count; i++) {
        struct rollout_node *node = &r->nodes[i];
        if (node->wave != r->wave || node->state != ROLLOUT_NODE_OFFERED ||
            !(late || now_ns - node->heard_ns >= ROLLOUT_ABSENT_NS))
            continue;
        rollout_move_node(r, i, ROLLOUT_NODE_ABSENT);
        text_copy(node->problem, sizeof(node->problem), "said nothing of its plan in time");
    }
}

static bool pass_wave(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    if (r->soak_ns == 0) {
        r->soak_ns = now_ns + r->settings.soak_ns;
        rollout_say(actions, "rollout.gate", "wave %u of %u: the gates have passed", r->wave + 1,
                    r->wave_count);
    }
    if (now_ns < r->soak_ns)
        return false;
    r->passed = true;
    if (!r->settings.manual) {
        confirm_wave(r, actions);
        return true;
    }
    if (r->state == ROLLOUT_RUNNING) {
        rollout_move(r, ROLLOUT_CONFIRMING);
        rollout_say(actions, "rollout.confirming", "wave %u of %u waits for a confirmation",
                    r->wave + 1, r->wave_count);
    }
    return false;
}

static bool step_wave(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    char why[ROLLOUT_TEXT_SIZE];
    mark_absent(r, now_ns);
    if (r->confirm_ns != 0 && now_ns >= r->confirm_ns) {
        fail_wave(r, now_ns, "it was not confirmed within the nodes' timer", actions);
        return true;
    }
    enum rollout_gate_state verdict = rollout_judge(r, why);
    if (verdict == ROLLOUT_GATE_PENDING && r->soak_ns == 0 && now_ns >= r->gates_ns) {
        verdict = ROLLOUT_GATE_FAILED;
        snprintf(why, sizeof(why), "the gates did not pass before the wave's deadline%s%.180s",
                 r->verify_why[0] == '\0' ? "" : "; verification: ", r->verify_why);
    }
    if (verdict == ROLLOUT_GATE_FAILED) {
        fail_wave(r, now_ns, why, actions);
        return true;
    }
    return verdict == ROLLOUT_GATE_OK && pass_wave(r, now_ns, actions);
}

static bool step_running(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    if (r->wave_open)
        return step_wave(r, now_ns, actions);
    if (r->state == ROLLOUT_PAUSED)
        return false;
    if (r->wave < r->wave_count && r->node_count > 0) {
        open_wave(r, now_ns, actions);
        return true;
    }
    rollout_move(r, ROLLOUT_DONE);
    rollout_say(actions, "rollout.done", "all %u waves are confirmed", r->wave_count);
    return false;
}

static bool step_back(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    bool late = now_ns >= r->return_ns, left = false;
    for (size_t i = 0; i < r->node_count; i++) {
        if (r->nodes[i].state != ROLLOUT_NODE_RETURNING)
            continue;
        if (late)
            rollout_move_node(r, i, ROLLOUT_NODE_ABSENT);
        else
            left = true;
    }
    if (left)
        return false;
    close_times(r);
    bool failed = r->state == ROLLOUT_RETURNING;
    rollout_move(r, failed ? ROLLOUT_FAILED : ROLLOUT_ROLLED_BACK);
    rollout_say(actions, "rollout.returned", "the nodes stand on their last good plans");
    if (failed)
        rollout_say(actions, "rollout.failed", "%.200s", r->problem);
    else
        rollout_say(actions, "rollout.rolled-back", "all of it was taken back");
    return false;
}

static bool step_none(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    (void)r;
    (void)now_ns;
    (void)actions;
    return false;
}

void rollout_step(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    static bool (*const steps[ROLLOUT_STATE_COUNT])(struct rollout *, int64_t,
                                                    struct rollout_actions *) = {
        [ROLLOUT_PREPARING] = step_none,   [ROLLOUT_RUNNING] = step_running,
        [ROLLOUT_PAUSED] = step_running,   [ROLLOUT_CONFIRMING] = step_running,
        [ROLLOUT_RETURNING] = step_back,   [ROLLOUT_ROLLING_BACK] = step_back,
        [ROLLOUT_DONE] = step_none,        [ROLLOUT_FAILED] = step_none,
        [ROLLOUT_ROLLED_BACK] = step_none,
    };
    while (steps[r->state](r, now_ns, actions))
        ;
    assert(rollout_check(r, NULL) == ERR_OK);
}

int64_t rollout_due_ns(const struct rollout *r)
{
    int64_t due = INT64_MAX;
    const int64_t times[] = {r->soak_ns != 0 ? 0 : r->gates_ns, r->confirm_ns,
                             r->passed ? 0 : r->soak_ns, r->return_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (times[i] != 0 && times[i] < due)
            due = times[i];
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i].state == ROLLOUT_NODE_OFFERED &&
            r->nodes[i].heard_ns + ROLLOUT_ABSENT_NS < due)
            due = r->nodes[i].heard_ns + ROLLOUT_ABSENT_NS;
    return due;
}

/* Events -------------------------------------------------------------------------------------- */

void rollout_start(struct rollout *r, uint32_t wave_count, struct rollout_actions *actions)
{
    r->wave_count = wave_count;
    r->unavailable_max = rollout_settings_unavailable(&r->settings, r->node_count);
    if (r->node_count == 0) {
        rollout_move(r, ROLLOUT_DONE);
        rollout_say(actions, "rollout.done", "no node had anything to roll out");
        return;
    }
    rollout_move(r, ROLLOUT_RUNNING);
    rollout_say(actions, "rollout.started", "%zu nodes in %u waves", r->node_count, wave_count);
}

static void note_problem(struct rollout_node *node, const char *text)
{
    text_copy(node->problem, sizeof(node->problem), text);
    node->changed = true;
}

static void receipt_of_target(struct rollout *r, size_t index, const struct rollout_report *report,
                              int64_t now_ns)
{
    struct rollout_node *node = &r->nodes[index];
    bool equal = strcmp(report->observed, node->target) == 0;
    node->heard_ns = now_ns;
    if (report->expired) {
        if (!report->mine)
            return;
        rollout_move_node(r, index, ROLLOUT_NODE_EXPIRED);
        note_problem(node, "its own timer took it back to its last good plan");
    } else if (!report->good || !equal) {
        rollout_move_node(r, index, ROLLOUT_NODE_FAILED);
        note_problem(node, report->problem[0] != '\0' ? report->problem
                                                      : "what it observes is not its plan");
    } else if (report->mine || node->state == ROLLOUT_NODE_APPLIED) {
        if (node->state != ROLLOUT_NODE_APPLIED) {
            rollout_move_node(r, index, ROLLOUT_NODE_APPLIED);
            node->heard = false;
        }
        node->probe_failed = !report->probes_ok;
        note_problem(node, report->problem);
        if (report->drift)
            rollout_finding(r, index, "drift was found and repaired");
        if (r->confirm_ns == 0)
            r->confirm_ns = now_ns + r->settings.confirm_timeout_ns;
    }
}

static void receipt_while_back(struct rollout *r, size_t index, const struct rollout_report *report)
{
    struct rollout_node *node = &r->nodes[index];
    if (rollout_is_over(r->state))
        return; /* what it says now is about the final plan that it was given */
    bool before = strcmp(report->digest, node->before) == 0 && report->good &&
                  strcmp(report->observed, node->before) == 0;
    bool target = strcmp(report->observed, node->target) == 0;
    if (before && node->state != ROLLOUT_NODE_RETURNED)
        rollout_move_node(r, index, ROLLOUT_NODE_RETURNED);
    else if (target && node->state == ROLLOUT_NODE_RETURNED)
        rollout_move_node(r, index,
                          ROLLOUT_NODE_RETURNING); /* it was applying when it was taken back */
    else if (!before && !target && node->state == ROLLOUT_NODE_RETURNING)
        note_problem(node, report->problem);
}

/* The wave that failed, or all of it. */
static bool goes_back(const struct rollout *r, const struct rollout_node *node)
{
    bool wave = r->state == ROLLOUT_RETURNING || r->state == ROLLOUT_FAILED;
    bool all = r->state == ROLLOUT_ROLLING_BACK || r->state == ROLLOUT_ROLLED_BACK;
    return all || (wave && node->wave == r->wave);
}

void rollout_receipt(struct rollout *r, size_t index, const struct rollout_report *report,
                     int64_t now_ns)
{
    struct rollout_node *node = &r->nodes[index];
    bool of_target = strcmp(report->digest, node->target) == 0;
    node->stands = strcmp(report->observed, node->before) == 0;
    switch (node->state) {
    case ROLLOUT_NODE_OFFERED:
    case ROLLOUT_NODE_APPLIED:
        if (of_target)
            receipt_of_target(r, index, report, now_ns);
        break;
    case ROLLOUT_NODE_ABSENT:
        if (goes_back(r, node))
            receipt_while_back(r, index, report);
        else if (of_target && r->wave_open && node->wave == r->wave)
            receipt_of_target(r, index, report, now_ns);
        else if (of_target && report->good && strcmp(report->observed, node->target) == 0)
            rollout_move_node(r, index, ROLLOUT_NODE_CONFIRMED); /* back, and on the final plan */
        break;
    case ROLLOUT_NODE_RETURNING:
    case ROLLOUT_NODE_RETURNED:
        receipt_while_back(r, index, report);
        break;
    case ROLLOUT_NODE_WAITING:
    case ROLLOUT_NODE_CONFIRMED:
    case ROLLOUT_NODE_FAILED:
    case ROLLOUT_NODE_EXPIRED:
    case ROLLOUT_NODE_STATE_COUNT:
        break;
    }
}

bool rollout_heard(struct rollout *r, size_t index, int64_t now_ns)
{
    struct rollout_node *node = &r->nodes[index];
    node->heard_ns = now_ns;
    if (node->heard || node->state != ROLLOUT_NODE_APPLIED)
        return false;
    node->heard = node->changed = true;
    return true;
}

bool rollout_finding(struct rollout *r, size_t index, const char *text)
{
    struct rollout_node *node = &r->nodes[index];
    if (node->finding || node->state != ROLLOUT_NODE_APPLIED)
        return false;
    node->finding = true;
    note_problem(node, text);
    return true;
}

void rollout_gone(struct rollout *r, size_t index)
{
    r->node_count--;
    memmove(&r->nodes[index], &r->nodes[index + 1],
            (r->node_count - index) * sizeof(struct rollout_node));
}

/* Verbs --------------------------------------------------------------------------------------- */

static void roll_back(struct rollout *r, int64_t now_ns, struct rollout_actions *actions)
{
    refuse_waiting(r, actions);
    if (r->state == ROLLOUT_PREPARING) {
        rollout_move(r, ROLLOUT_ROLLED_BACK);
        rollout_say(actions, "rollout.rolled-back", "nothing had begun");
        return;
    }
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i].state != ROLLOUT_NODE_WAITING)
            take_back(r, i, actions);
    close_times(r);
    rollout_move(r, ROLLOUT_ROLLING_BACK);
    r->return_ns = now_ns + r->settings.wave_deadline_ns;
    rollout_say(actions, "rollout.rolling-back", "all nodes go back to the plans they had");
}

static enum err_code not_now(const struct rollout *r, const char *verb, struct err *err)
{
    return err_set(err, ERR_CONFLICT, "rollout r-%lld is %s: it cannot be %s now",
                   (long long)r->number, rollout_state_name(r->state), verb);
}

static enum err_code pause_(struct rollout *r, struct rollout_actions *actions, bool *unchanged,
                            struct err *err)
{
    *unchanged = r->state == ROLLOUT_PAUSED;
    if (*unchanged)
        return ERR_OK;
    if (r->state != ROLLOUT_RUNNING)
        return not_now(r, "paused", err);
    rollout_move(r, ROLLOUT_PAUSED);
    rollout_say(actions, "rollout.paused", "no wave begins until it is resumed");
    return ERR_OK;
}

static enum err_code resume(struct rollout *r, struct rollout_actions *actions, bool *unchanged,
                            struct err *err)
{
    *unchanged = r->state == ROLLOUT_RUNNING;
    if (*unchanged)
        return ERR_OK;
    if (r->state != ROLLOUT_PAUSED)
        return not_now(r, "resumed", err);
    rollout_move(r, ROLLOUT_RUNNING);
    rollout_say(actions, "rollout.resumed", "it goes on");
    return ERR_OK;
}

static enum err_code confirm(struct rollout *r, int64_t now_ns, struct rollout_actions *actions,
                             struct err *err)
{
    char why[ROLLOUT_TEXT_SIZE];
    bool open = (r->state == ROLLOUT_CONFIRMING || r->state == ROLLOUT_PAUSED) && r->passed;
    if (!open)
        return not_now(r, "confirmed", err);
    if (rollout_judge(r, why) != ROLLOUT_GATE_OK || (r->confirm_ns != 0 && now_ns >= r->confirm_ns))
        return err_set(err, ERR_CONFLICT,
                       "rollout r-%lld cannot be confirmed: its gates do not hold any more",
                       (long long)r->number);
    confirm_wave(r, actions);
    if (r->state == ROLLOUT_CONFIRMING)
        rollout_move(r, ROLLOUT_RUNNING);
    return ERR_OK;
}

enum err_code rollout_command(struct rollout *r, enum rollout_verb verb, int64_t now_ns,
                              struct rollout_actions *actions, bool *out_unchanged, struct err *err)
{
    enum err_code code = ERR_OK;
    *out_unchanged = false;
    switch (verb) {
    case ROLLOUT_PAUSE:
        code = pause_(r, actions, out_unchanged, err);
        break;
    case ROLLOUT_RESUME:
        code = resume(r, actions, out_unchanged, err);
        break;
    case ROLLOUT_CONFIRM_WAVE:
        code = confirm(r, now_ns, actions, err);
        break;
    case ROLLOUT_ROLLBACK:
        *out_unchanged = r->state == ROLLOUT_ROLLING_BACK || r->state == ROLLOUT_ROLLED_BACK;
        if (!*out_unchanged)
            roll_back(r, now_ns, actions);
        break;
    }
    if (code == ERR_OK && !*out_unchanged)
        rollout_step(r, now_ns, actions);
    return code;
}
