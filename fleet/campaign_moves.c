/*
 * fleet/campaign_moves.c - the states of campaigns and their devices with the moves that are
 * allowed, what must always hold, and the list of actions. A move that is not in the table is a bug
 * of ours.
 */
#include "fleet/campaign_private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(state) (1u << (state))

static const struct {
    const char *name;
    unsigned next;    /* allowed moves */
    unsigned devices; /* what its devices may be */
} states[CAMPAIGN_STATE_COUNT] = {
    [CAMPAIGN_DRAFT] = {"draft", BIT(CAMPAIGN_RUNNING) | BIT(CAMPAIGN_CANCELLING),
                        BIT(CAMPAIGN_DEVICE_WAITING) | BIT(CAMPAIGN_DEVICE_UNCHANGED) |
                            BIT(CAMPAIGN_DEVICE_CANCELLED)},
    [CAMPAIGN_RUNNING] = {"running",
                          BIT(CAMPAIGN_PAUSED) | BIT(CAMPAIGN_HALTED) | BIT(CAMPAIGN_CANCELLING) |
                              BIT(CAMPAIGN_DONE),
                          ANY_DEVICE},
    [CAMPAIGN_PAUSED] = {"paused",
                         BIT(CAMPAIGN_RUNNING) | BIT(CAMPAIGN_HALTED) | BIT(CAMPAIGN_CANCELLING),
                         ANY_DEVICE},
    [CAMPAIGN_HALTED] = {"halted", BIT(CAMPAIGN_RUNNING) | BIT(CAMPAIGN_CANCELLING), ANY_DEVICE},
    [CAMPAIGN_CANCELLING] = {"cancelling", BIT(CAMPAIGN_CANCELLED),
                             ANY_DEVICE & ~BIT(CAMPAIGN_DEVICE_WAITING)},
    [CAMPAIGN_DONE] = {"done", 0, ENDED},
    [CAMPAIGN_CANCELLED] = {"cancelled", 0, ENDED},
};

/* From each phase to any later one: reports may be lost on the way. */
#define FROM(first) (ENDED | (ACTIVE & ~(BIT(first) - 1)))
static const struct {
    const char *name;
    unsigned next;
} device_states[CAMPAIGN_DEVICE_STATE_COUNT] = {
    [CAMPAIGN_DEVICE_WAITING] = {"waiting", BIT(CAMPAIGN_DEVICE_OFFERED) |
                                                BIT(CAMPAIGN_DEVICE_UNCHANGED) |
                                                BIT(CAMPAIGN_DEVICE_CANCELLED)},
    [CAMPAIGN_DEVICE_OFFERED] = {"offered", FROM(CAMPAIGN_DEVICE_FETCHING)},
    [CAMPAIGN_DEVICE_FETCHING] = {"fetching", FROM(CAMPAIGN_DEVICE_CHECKING)},
    [CAMPAIGN_DEVICE_CHECKING] = {"checking", FROM(CAMPAIGN_DEVICE_DRAINING)},
    [CAMPAIGN_DEVICE_DRAINING] = {"draining", FROM(CAMPAIGN_DEVICE_FLASHING)},
    [CAMPAIGN_DEVICE_FLASHING] = {"flashing", FROM(CAMPAIGN_DEVICE_FLASHED)},
    [CAMPAIGN_DEVICE_FLASHED] = {"flashed", FROM(CAMPAIGN_DEVICE_ACTIVATING)},
    [CAMPAIGN_DEVICE_ACTIVATING] = {"activating", FROM(CAMPAIGN_DEVICE_VERIFYING)},
    [CAMPAIGN_DEVICE_VERIFYING] = {"verifying", ENDED},
    [CAMPAIGN_DEVICE_SUCCESS] = {"success", 0},
    [CAMPAIGN_DEVICE_UNCHANGED] = {"unchanged", 0},
    [CAMPAIGN_DEVICE_PENDING_RESET] = {"pending-reset", 0},
    [CAMPAIGN_DEVICE_FAILED] = {"failed", 0},
    [CAMPAIGN_DEVICE_ABORTED] = {"aborted", 0},
    [CAMPAIGN_DEVICE_CANCELLED] = {"cancelled", 0},
    /* It was only silent. */
    [CAMPAIGN_DEVICE_LOST] = {"lost", FROM(CAMPAIGN_DEVICE_FETCHING) & ~BIT(CAMPAIGN_DEVICE_LOST)},
};

const char *campaign_state_name(enum campaign_state state)
{
    return states[state].name;
}

bool campaign_state_from_name(const char *name, enum campaign_state *out)
{
    for (int i = 0; i < CAMPAIGN_STATE_COUNT; i++)
        if (strcmp(states[i].name, name) == 0) {
            *out = (enum campaign_state)i;
            return true;
        }
    return false;
}

const char *campaign_device_state_name(enum campaign_device_state state)
{
    return device_states[state].name;
}

bool campaign_device_state_from_name(const char *name, enum campaign_device_state *out)
{
    for (int i = 0; i < CAMPAIGN_DEVICE_STATE_COUNT; i++)
        if (strcmp(device_states[i].name, name) == 0) {
            *out = (enum campaign_device_state)i;
            return true;
        }
    return false;
}

bool campaign_is_over(enum campaign_state state)
{
    return state == CAMPAIGN_DONE || state == CAMPAIGN_CANCELLED;
}

bool campaign_device_is_active(enum campaign_device_state state)
{
    return (ACTIVE & BIT(state)) != 0;
}

bool campaign_may_move(enum campaign_state from, enum campaign_state to)
{
    return (states[from].next & BIT(to)) != 0;
}

bool campaign_device_may_move(enum campaign_device_state from, enum campaign_device_state to)
{
    return (device_states[from].next & BIT(to)) != 0;
}

void campaign_move(struct campaign *c, enum campaign_state to)
{
    assert(campaign_may_move(c->state, to));
    c->state = to;
}

void campaign_move_device(struct campaign *c, size_t index, enum campaign_device_state to)
{
    struct campaign_device *device = &c->devices[index];
    assert(campaign_device_may_move(device->state, to));
    device->state = to;
    device->percent = -1;
    device->changed = true;
    if (!campaign_device_is_active(to))
        device->deadline_ns = device->end_ns = 0;
}

/* What must hold ------------------------------------------------------------------------------ */

static enum err_code check_device(const struct campaign *c, size_t i, struct err *err)
{
    const struct campaign_device *d = &c->devices[i];
    bool active = campaign_device_is_active(d->state);
    if ((states[c->state].devices & BIT(d->state)) == 0)
        return err_set(err, ERR_CONFLICT, "%s %s is %s in a campaign that is %s", d->node,
                       d->device, campaign_device_state_name(d->state),
                       campaign_state_name(c->state));
    if (d->wave > c->wave && active)
        return err_set(err, ERR_CONFLICT, "%s %s is at work before its wave", d->node, d->device);
    if ((d->deadline_ns != 0) != active || (d->end_ns != 0) != active)
        return err_set(err, ERR_CONFLICT, "%s %s is at work without a deadline, or rests with one",
                       d->node, d->device);
    return ERR_OK;
}

static enum err_code check_order(const struct campaign *c, size_t i, struct err *err)
{
    const struct campaign_device *a = &c->devices[i - 1], *b = &c->devices[i];
    int order = strcmp(a->node, b->node);
    if (order > 0 || (order == 0 && strcmp(a->device, b->device) >= 0))
        return err_set(err, ERR_CONFLICT, "the devices are not in order");
    return ERR_OK;
}

enum err_code campaign_check(const struct campaign *c, struct err *err)
{
    const char *at_work = "";
    if (c->wave > c->wave_count)
        return err_set(err, ERR_CONFLICT, "there is no wave %u", c->wave);
    if (c->state == CAMPAIGN_HALTED && c->problem[0] == '\0')
        return err_set(err, ERR_CONFLICT, "it is halted for no reason");
    for (size_t i = 0; i < c->device_count; i++) {
        enum err_code code = check_device(c, i, err);
        if (code == ERR_OK && i > 0)
            code = check_order(c, i, err);
        if (code != ERR_OK)
            return code;
        if (!campaign_device_is_active(c->devices[i].state))
            continue;
        if (strcmp(at_work, c->devices[i].node) == 0)
            return err_set(err, ERR_CONFLICT, "two devices of node %s are at work", at_work);
        at_work = c->devices[i].node;
    }
    return ERR_OK;
}

/* Actions ------------------------------------------------------------------------------------- */

struct campaign_action *campaign_act(struct campaign_actions *actions,
                                     enum campaign_action_kind kind, size_t device)
{
    if (actions->count == actions->room) {
        size_t room = actions->room == 0 ? 16 : 2 * actions->room;
        struct campaign_action *more = realloc(actions->items, room * sizeof(*more));
        if (more == NULL) {
            actions->nomem = true;
            return NULL;
        }
        actions->items = more;
        actions->room = room;
    }
    struct campaign_action *action = &actions->items[actions->count++];
    *action = (struct campaign_action){.kind = kind, .device = device};
    return action;
}

void campaign_say(struct campaign_actions *actions, size_t device, const char *event,
                  const char *fmt, ...)
{
    struct campaign_action *action = campaign_act(actions, CAMPAIGN_EVENT, device);
    if (action == NULL)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(action->text, sizeof(action->text), fmt, ap);
    va_end(ap);
    action->event = event;
}

void campaign_actions_release(struct campaign_actions *actions)
{
    free(actions->items);
    *actions = (struct campaign_actions){0};
}
