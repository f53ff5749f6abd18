/*
 * fleet/campaign.c - see campaign.h.
 *
 *   draft --start--> running  wave after wave: offer the task to each device of the wave,
 *     |              |  ^  ^  one of a node and max_unavailable nodes at a time, in a window
 *     |         pause|  |  |
 *     |              v  |  +-- resume -- halted <-- a device failed, was lost, aborted
 *     |            paused                  |        (from running and paused)
 *     |              |                     |
 *     +--- cancel ---+------- cancel ------+          all waves have ended
 *     v                                             running -----------> done
 *   cancelling: devices before `flashing` are asked to stop, the others go on to their end
 *     |
 *     v
 *   cancelled
 */
#include "fleet/campaign_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fleet/version.h"

#define PROGRESS_STEP  10 /* per cent: an event each */
#define TASK_DEADLINES 2  /* of a task: until the flash begins, and from there to its end */
#define BRIEF_SIZE                                                                                 \
    101 /* of what a node says, within another text: never cut by printf, which                    \
           would leave a piece of a character */

/* Halting ------------------------------------------------------------------------------------- */

static void halt(struct campaign *c, size_t index, struct campaign_actions *actions)
{
    const struct campaign_device *device = &c->devices[index];
    char brief[BRIEF_SIZE];
    if (c->state != CAMPAIGN_RUNNING && c->state != CAMPAIGN_PAUSED)
        return;
    text_copy(brief, sizeof(brief),
              device->problem[0] != '\0' ? device->problem : "no reason was given");
    snprintf(c->problem, sizeof(c->problem), "%s %.32s %s: %s", device->node, device->device,
             campaign_device_state_name(device->state), brief);
    campaign_move(c, CAMPAIGN_HALTED);
    campaign_say(actions, SIZE_MAX, "firmware.halted", "%.240s", c->problem);
}

static bool halts(const struct campaign *c, enum campaign_device_state state)
{
    return state == CAMPAIGN_DEVICE_FAILED || state == CAMPAIGN_DEVICE_LOST ||
           (state == CAMPAIGN_DEVICE_ABORTED && c->settings.halt_on_aborted);
}

/* A device came to its end. */
static void end_device(struct campaign *c, size_t index, enum campaign_device_state to,
                       const char *problem, struct campaign_actions *actions)
{
    struct campaign_device *device = &c->devices[index];
    bool had_task = device->state != CAMPAIGN_DEVICE_WAITING;
    char brief[BRIEF_SIZE];
    text_copy(brief, sizeof(brief), problem);
    text_copy(device->problem, sizeof(device->problem), problem);
    campaign_move_device(c, index, to);
    /* One that is lost keeps a task that says "stop": it may come back. */
    device->cancel = to == CAMPAIGN_DEVICE_LOST;
    if (had_task)
        campaign_act(actions, device->cancel ? CAMPAIGN_TASK : CAMPAIGN_TASK_END, index);
    campaign_say(actions, index, "firmware.device", "%s %.64s: %s%s%s", device->node,
                 device->device, campaign_device_state_name(to), brief[0] != '\0' ? ": " : "",
                 brief);
    if (halts(c, to))
        halt(c, index, actions);
}

/* Starting ------------------------------------------------------------------------------------ */

/* What the phases may take beside the deadline for getting on. */
static int64_t phase_end(const struct campaign *c, enum campaign_device_state state, int64_t now_ns)
{
    int64_t drain_ns = state == CAMPAIGN_DEVICE_DRAINING ? c->settings.drain_timeout_ns : 0;
    return now_ns + drain_ns + c->settings.phase_deadline_ns;
}

static void offer(struct campaign *c, size_t index, int64_t now_ns,
                  struct campaign_actions *actions)
{
    struct campaign_device *device = &c->devices[index];
    campaign_move_device(c, index, CAMPAIGN_DEVICE_OFFERED);
    device->deadline_ns = phase_end(c, CAMPAIGN_DEVICE_OFFERED, now_ns);
    device->end_ns =
        now_ns + TASK_DEADLINES * c->settings.deadline_ns + c->settings.phase_deadline_ns;
    campaign_act(actions, CAMPAIGN_TASK, index);
    campaign_say(actions, index, "firmware.device", "%s %.64s: offered", device->node,
                 device->device);
}

static bool runs_target(const struct campaign *c, const char *version)
{
    int order;
    return version_order(version, c->image.version, &order) && order == 0;
}

static size_t count_at_work(const struct campaign *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->device_count; i++)
        count += campaign_device_is_active(c->devices[i].state);
    return count;
}

/* Devices of one node stand together. */
static bool node_has(const struct campaign *c, size_t index, unsigned set)
{
    const char *node = c->devices[index].node;
    size_t first = index;
    while (first > 0 && strcmp(c->devices[first - 1].node, node) == 0)
        first--;
    for (size_t i = first; i < c->device_count && strcmp(c->devices[i].node, node) == 0; i++)
        if (set & (1u << c->devices[i].state))
            return true;
    return false;
}

static bool is_busy(const struct campaign_now *now, const char *node)
{
    return now->is_busy != NULL && now->is_busy(now->arg, node);
}

/* A device that waits for nothing but its turn. */
static bool may_start(const struct campaign *c, size_t index, const struct campaign_now *now)
{
    const struct campaign_device *device = &c->devices[index];
    return device->state == CAMPAIGN_DEVICE_WAITING && device->wave == c->wave &&
           !node_has(c, index, ACTIVE) && !is_busy(now, device->node);
}

static bool wave_has_ended(const struct campaign *c)
{
    for (size_t i = 0; i < c->device_count; i++)
        if (c->devices[i].wave == c->wave && (ENDED & (1u << c->devices[i].state)) == 0)
            return false;
    return true;
}

static bool starts(const struct campaign *c, const struct campaign_now *now)
{
    return c->state == CAMPAIGN_RUNNING && c->wave < c->wave_count &&
           campaign_window_is_open(&c->settings, now->wall_us);
}

/* What it runs may have become another version since the campaign was made. */
static void start_device(struct campaign *c, size_t index, int64_t now_ns,
                         struct campaign_actions *actions)
{
    struct campaign_device *device = &c->devices[index];
    int order;
    if (!version_order(device->running, c->image.version, &order))
        end_device(c, index, CAMPAIGN_DEVICE_CANCELLED, "what it runs is unknown by now", actions);
    else if (order == 0)
        end_device(c, index, CAMPAIGN_DEVICE_UNCHANGED, "", actions);
    else if (order > 0 && !c->settings.allow_downgrade)
        end_device(c, index, CAMPAIGN_DEVICE_CANCELLED, "it runs a newer version by now", actions);
    else if (node_has(c, index, 1u << CAMPAIGN_DEVICE_LOST))
        end_device(c, index, CAMPAIGN_DEVICE_CANCELLED,
                   "its node was lost while another device was at work", actions);
    else
        offer(c, index, now_ns, actions);
}

/* Steps --------------------------------------------------------------------------------------- */

static bool is_late(const struct campaign_device *device, int64_t now_ns)
{
    return campaign_device_is_active(device->state) &&
           (now_ns >= device->deadline_ns || now_ns >= device->end_ns);
}

static void lose_late(struct campaign *c, int64_t now_ns, struct campaign_actions *actions)
{
    for (size_t i = 0; i < c->device_count; i++) {
        char why[CAMPAIGN_PROBLEM_SIZE];
        if (!is_late(&c->devices[i], now_ns))
            continue;
        snprintf(why, sizeof(why),
                 "its node said nothing new in time; last heard: %s. What the device runs is "
                 "unknown",
                 campaign_device_state_name(c->devices[i].state));
        end_device(c, i, CAMPAIGN_DEVICE_LOST, why, actions);
    }
}

/* True when another wave may follow at once. */
static bool step_wave(struct campaign *c, const struct campaign_now *now,
                      struct campaign_actions *actions)
{
    size_t at_work = count_at_work(c);
    for (size_t i = 0; i < c->device_count && starts(c, now); i++) {
        if (at_work >= (size_t)c->settings.max_unavailable)
            break;
        if (!may_start(c, i, now))
            continue;
        start_device(c, i, now->mono_ns, actions);
        at_work += campaign_device_is_active(c->devices[i].state);
    }
    if (c->state != CAMPAIGN_RUNNING || c->wave == c->wave_count || !wave_has_ended(c))
        return false;
    c->wave++;
    campaign_say(actions, SIZE_MAX, "firmware.wave", "wave %u of %u has ended", c->wave,
                 c->wave_count);
    return true;
}

static bool all_have_ended(const struct campaign *c)
{
    for (size_t i = 0; i < c->device_count; i++)
        if ((ENDED & (1u << c->devices[i].state)) == 0)
            return false;
    return true;
}

void campaign_step(struct campaign *c, const struct campaign_now *now,
                   struct campaign_actions *actions)
{
    lose_late(c, now->mono_ns, actions);
    while (c->state == CAMPAIGN_RUNNING && step_wave(c, now, actions))
        ;
    if (c->state == CAMPAIGN_RUNNING && c->wave == c->wave_count && all_have_ended(c)) {
        campaign_move(c, CAMPAIGN_DONE);
        campaign_say(actions, SIZE_MAX, "firmware.done", "all %u waves have ended", c->wave_count);
    }
    if (c->state == CAMPAIGN_CANCELLING && all_have_ended(c)) {
        campaign_move(c, CAMPAIGN_CANCELLED);
        campaign_say(actions, SIZE_MAX, "firmware.cancelled", "no device is at work any more");
    }
    assert(campaign_check(c, NULL) == ERR_OK);
}

bool campaign_is_due(const struct campaign *c, const struct campaign_now *now)
{
    for (size_t i = 0; i < c->device_count; i++)
        if (is_late(&c->devices[i], now->mono_ns))
            return true;
    bool room = starts(c, now) && count_at_work(c) < (size_t)c->settings.max_unavailable;
    for (size_t i = 0; i < c->device_count && room; i++)
        if (may_start(c, i, now))
            return true;
    return false;
}

/* Reports ------------------------------------------------------------------------------------- */

static enum campaign_device_state state_of(const struct flash_report *report)
{
    enum campaign_device_state state = CAMPAIGN_DEVICE_STATE_COUNT;
    const char *name = report->outcome != FLASH_OPEN ? flash_outcome_name(report->outcome)
                                                     : flash_phase_name(report->phase);
    if (!campaign_device_state_from_name(name, &state))
        return CAMPAIGN_DEVICE_STATE_COUNT; /* "done" without an outcome */
    return state;
}

static void keep_versions(struct campaign_device *device, const struct flash_report *report)
{
    if (report->running[0] != '\0')
        text_copy(device->running, sizeof(device->running), report->running);
    if (report->stored[0] != '\0')
        text_copy(device->stored, sizeof(device->stored), report->stored);
    device->at_us = report->at_us;
    device->changed = true;
}

/* Within a phase the node's clock goes on, and only a figure that moves is progress. */
static bool go_on(struct campaign *c, size_t index, const struct flash_report *report,
                  const struct campaign_now *now, struct campaign_actions *actions)
{
    struct campaign_device *device = &c->devices[index];
    if (report->at_us <= device->at_us)
        return false;
    if (report->percent >= 0 && report->percent != device->percent) {
        if (report->percent / PROGRESS_STEP != device->percent / PROGRESS_STEP)
            campaign_say(actions, index, "firmware.progress", "%s %.64s: %s %d %%", device->node,
                         device->device, campaign_device_state_name(device->state),
                         report->percent);
        device->percent = report->percent;
        device->deadline_ns = phase_end(c, device->state, now->mono_ns);
    }
    keep_versions(device, report);
    return true;
}

static void enter_phase(struct campaign *c, size_t index, const struct flash_report *report,
                        const struct campaign_now *now)
{
    struct campaign_device *device = &c->devices[index];
    bool was_lost = device->state == CAMPAIGN_DEVICE_LOST;
    campaign_move_device(c, index, state_of(report));
    device->deadline_ns = phase_end(c, device->state, now->mono_ns);
    if (was_lost)
        device->end_ns = now->mono_ns + c->settings.deadline_ns + c->settings.phase_deadline_ns;
    device->percent = report->percent;
    device->problem[0] = '\0';
    keep_versions(device, report);
}

static void enter_end(struct campaign *c, size_t index, const struct flash_report *report,
                      struct campaign_actions *actions)
{
    struct campaign_device *device = &c->devices[index];
    enum campaign_device_state to = state_of(report);
    char why[CAMPAIGN_PROBLEM_SIZE];
    text_copy(why, sizeof(why), report->problem);
    keep_versions(device, report);
    if (to == CAMPAIGN_DEVICE_SUCCESS && !runs_target(c, report->running)) {
        to = CAMPAIGN_DEVICE_FAILED;
        snprintf(why, sizeof(why), "its node calls it a success, and it runs %s",
                 report->running[0] != '\0' ? report->running : "an unknown version");
    } else if (to == CAMPAIGN_DEVICE_PENDING_RESET && !runs_target(c, report->stored)) {
        to = CAMPAIGN_DEVICE_FAILED;
        snprintf(why, sizeof(why),
                 "its node says that a reset is all that is missing, and it "
                 "has stored %s",
                 report->stored[0] != '\0' ? report->stored : "an unknown version");
    } else if (to == CAMPAIGN_DEVICE_CANCELLED && !device->cancel) {
        to = CAMPAIGN_DEVICE_ABORTED;
        text_copy(why, sizeof(why), "its node cancelled it, and nobody had asked for that");
    } else if (why[0] == '\0' && halts(c, to)) {
        snprintf(why, sizeof(why), "in phase %s; no reason was given",
                 flash_phase_name(report->phase));
    }
    end_device(c, index, to, why, actions);
}

bool campaign_report(struct campaign *c, size_t index, const struct flash_report *report,
                     const struct campaign_now *now, struct campaign_actions *actions)
{
    struct campaign_device *device = &c->devices[index];
    enum campaign_device_state to = state_of(report);
    if (to == CAMPAIGN_DEVICE_STATE_COUNT)
        return false;
    if (to == device->state && campaign_device_is_active(to))
        return go_on(c, index, report, now, actions);
    if (!campaign_device_may_move(device->state, to) || device->state == CAMPAIGN_DEVICE_WAITING)
        return false;
    if (!campaign_device_is_active(to)) {
        enter_end(c, index, report, actions);
        return true;
    }
    if (campaign_is_over(c->state))
        return false; /* a lost one: how it ends is still worth knowing */
    enter_phase(c, index, report, now);
    campaign_say(actions, index, "firmware.device", "%s %.64s: %s", device->node, device->device,
                 campaign_device_state_name(to));
    return true;
}

void campaign_gone(struct campaign *c, size_t index, struct campaign_actions *actions)
{
    enum campaign_device_state state = c->devices[index].state;
    if (state == CAMPAIGN_DEVICE_WAITING)
        end_device(c, index, CAMPAIGN_DEVICE_CANCELLED, "it is no longer in the fleet", actions);
    else if (campaign_device_is_active(state))
        end_device(c, index, CAMPAIGN_DEVICE_LOST, "it left the fleet while it was at work",
                   actions);
}

void campaign_heard(struct campaign *c, size_t index, const char *running)
{
    struct campaign_device *device = &c->devices[index];
    if (device->state != CAMPAIGN_DEVICE_WAITING || strcmp(device->running, running) == 0)
        return;
    text_copy(device->running, sizeof(device->running), running);
    text_copy(device->from, sizeof(device->from), running);
    device->changed = true;
}

/* Verbs --------------------------------------------------------------------------------------- */

static void begin(struct campaign *c, struct campaign_actions *actions)
{
    campaign_say(actions, SIZE_MAX, "firmware.started", "%zu devices in %u waves to %s %s",
                 c->device_count, c->wave_count, c->image.component, c->image.version);
}

static void pause_(struct campaign *c, struct campaign_actions *actions)
{
    (void)c;
    campaign_say(actions, SIZE_MAX, "firmware.paused", "no device starts until it is resumed");
}

static void resume(struct campaign *c, struct campaign_actions *actions)
{
    c->problem[0] = '\0';
    campaign_say(actions, SIZE_MAX, "firmware.resumed", "it goes on");
}

static void cancel(struct campaign *c, struct campaign_actions *actions)
{
    for (size_t i = 0; i < c->device_count; i++) {
        struct campaign_device *device = &c->devices[i];
        if (device->state == CAMPAIGN_DEVICE_WAITING) {
            campaign_move_device(c, i, CAMPAIGN_DEVICE_CANCELLED);
        } else if (campaign_device_is_active(device->state) &&
                   device->state < CAMPAIGN_DEVICE_FLASHING) {
            device->cancel = device->changed = true;
            campaign_act(actions, CAMPAIGN_TASK, i);
        }
    }
    campaign_say(actions, SIZE_MAX, "firmware.cancelling",
                 "devices that are being flashed go on to their end");
}

static const struct {
    unsigned from; /* states that it can be said in */
    enum campaign_state to;
    const char *done; /* "it cannot be ..." */
    void (*act)(struct campaign *campaign, struct campaign_actions *actions);
} verbs[] = {
    [CAMPAIGN_START] = {1u << CAMPAIGN_DRAFT, CAMPAIGN_RUNNING, "started", begin},
    [CAMPAIGN_PAUSE] = {1u << CAMPAIGN_RUNNING, CAMPAIGN_PAUSED, "paused", pause_},
    [CAMPAIGN_RESUME] = {1u << CAMPAIGN_PAUSED | 1u << CAMPAIGN_HALTED, CAMPAIGN_RUNNING, "resumed",
                         resume},
    [CAMPAIGN_CANCEL] = {1u << CAMPAIGN_DRAFT | 1u << CAMPAIGN_RUNNING | 1u << CAMPAIGN_PAUSED |
                             1u << CAMPAIGN_HALTED,
                         CAMPAIGN_CANCELLING, "cancelled", cancel},
};

enum err_code campaign_command(struct campaign *c, enum campaign_verb verb,
                               struct campaign_actions *actions, bool *out_unchanged,
                               struct err *err)
{
    bool cancelled = verb == CAMPAIGN_CANCEL && c->state == CAMPAIGN_CANCELLED;
    *out_unchanged = c->state == verbs[verb].to || cancelled;
    if (*out_unchanged)
        return ERR_OK;
    if ((verbs[verb].from & (1u << c->state)) == 0)
        return err_set(err, ERR_CONFLICT, "campaign c-%lld is %s: it cannot be %s now",
                       (long long)c->number, campaign_state_name(c->state), verbs[verb].done);
    campaign_move(c, verbs[verb].to);
    verbs[verb].act(c, actions);
    return ERR_OK;
}
