/*
 * fleet/rollout_moves.c - the states of rollouts and their nodes with the moves that are allowed,
 * and the list of actions. A move that is not in the table is a bug of ours.
 */
#include "fleet/rollout_private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(state) (1u << (state))

static const struct {
    const char *name;
    unsigned next; /* allowed moves */
} states[ROLLOUT_STATE_COUNT] = {
    [ROLLOUT_PREPARING] = {"preparing",
                           BIT(ROLLOUT_RUNNING) | BIT(ROLLOUT_DONE) | BIT(ROLLOUT_ROLLED_BACK)},
    [ROLLOUT_RUNNING] = {"running", BIT(ROLLOUT_PAUSED) | BIT(ROLLOUT_CONFIRMING) |
                                        BIT(ROLLOUT_RETURNING) | BIT(ROLLOUT_ROLLING_BACK) |
                                        BIT(ROLLOUT_DONE)},
    [ROLLOUT_PAUSED] = {"paused",
                        BIT(ROLLOUT_RUNNING) | BIT(ROLLOUT_RETURNING) | BIT(ROLLOUT_ROLLING_BACK)},
    [ROLLOUT_CONFIRMING] = {"confirming", BIT(ROLLOUT_RUNNING) | BIT(ROLLOUT_RETURNING) |
                                              BIT(ROLLOUT_ROLLING_BACK)},
    [ROLLOUT_RETURNING] = {"returning", BIT(ROLLOUT_FAILED) | BIT(ROLLOUT_ROLLING_BACK)},
    [ROLLOUT_ROLLING_BACK] = {"rolling-back", BIT(ROLLOUT_ROLLED_BACK)},
    [ROLLOUT_DONE] = {"done", BIT(ROLLOUT_ROLLING_BACK)},
    [ROLLOUT_FAILED] = {"failed", BIT(ROLLOUT_ROLLING_BACK)},
    [ROLLOUT_ROLLED_BACK] = {"rolled-back", 0},
};

static const struct {
    const char *name;
    unsigned next;
} node_states[ROLLOUT_NODE_STATE_COUNT] = {
    [ROLLOUT_NODE_WAITING] = {"waiting", BIT(ROLLOUT_NODE_OFFERED)},
    [ROLLOUT_NODE_OFFERED] = {"offered", BIT(ROLLOUT_NODE_APPLIED) | BIT(ROLLOUT_NODE_FAILED) |
                                             BIT(ROLLOUT_NODE_EXPIRED) | BIT(ROLLOUT_NODE_ABSENT) |
                                             BIT(ROLLOUT_NODE_RETURNING)},
    [ROLLOUT_NODE_APPLIED] = {"applied", BIT(ROLLOUT_NODE_CONFIRMED) | BIT(ROLLOUT_NODE_FAILED) |
                                             BIT(ROLLOUT_NODE_EXPIRED) |
                                             BIT(ROLLOUT_NODE_RETURNING)},
    [ROLLOUT_NODE_CONFIRMED] = {"confirmed", BIT(ROLLOUT_NODE_RETURNING)},
    [ROLLOUT_NODE_FAILED] = {"failed", BIT(ROLLOUT_NODE_RETURNING)},
    [ROLLOUT_NODE_EXPIRED] = {"expired", BIT(ROLLOUT_NODE_RETURNING)},
    [ROLLOUT_NODE_RETURNING] = {"returning", BIT(ROLLOUT_NODE_RETURNED) | BIT(ROLLOUT_NODE_ABSENT)},
    [ROLLOUT_NODE_RETURNED] = {"returned", BIT(ROLLOUT_NODE_RETURNING)},
    [ROLLOUT_NODE_ABSENT] = {"absent", BIT(ROLLOUT_NODE_APPLIED) | BIT(ROLLOUT_NODE_CONFIRMED) |
                                           BIT(ROLLOUT_NODE_FAILED) | BIT(ROLLOUT_NODE_EXPIRED) |
                                           BIT(ROLLOUT_NODE_RETURNING) |
                                           BIT(ROLLOUT_NODE_RETURNED)},
};

const char *rollout_state_name(enum rollout_state state)
{
    return states[state].name;
}

bool rollout_state_from_name(const char *name, enum rollout_state *out)
{
    for (int i = 0; i < ROLLOUT_STATE_COUNT; i++)
        if (strcmp(states[i].name, name) == 0) {
            *out = (enum rollout_state)i;
            return true;
        }
    return false;
}

const char *rollout_node_state_name(enum rollout_node_state state)
{
    return node_states[state].name;
}

bool rollout_node_state_from_name(const char *name, enum rollout_node_state *out)
{
    for (int i = 0; i < ROLLOUT_NODE_STATE_COUNT; i++)
        if (strcmp(node_states[i].name, name) == 0) {
            *out = (enum rollout_node_state)i;
            return true;
        }
    return false;
}

bool rollout_is_over(enum rollout_state state)
{
    return state == ROLLOUT_DONE || state == ROLLOUT_FAILED || state == ROLLOUT_ROLLED_BACK;
}

bool rollout_may_move(enum rollout_state from, enum rollout_state to)
{
    return (states[from].next & BIT(to)) != 0;
}

bool rollout_node_may_move(enum rollout_node_state from, enum rollout_node_state to)
{
    return (node_states[from].next & BIT(to)) != 0;
}

void rollout_move(struct rollout *r, enum rollout_state to)
{
    assert(rollout_may_move(r->state, to));
    r->state = to;
}

void rollout_move_node(struct rollout *r, size_t index, enum rollout_node_state to)
{
    struct rollout_node *node = &r->nodes[index];
    assert(rollout_node_may_move(node->state, to));
    node->state = to;
    node->changed = true;
}

struct rollout_action *rollout_act(struct rollout_actions *actions, enum rollout_action_kind kind,
                                   size_t node)
{
    if (actions->count == actions->room) {
        size_t room = actions->room == 0 ? 64 : 2 * actions->room;
        struct rollout_action *more = realloc(actions->items, room * sizeof(*more));
        if (more == NULL) {
            actions->nomem = true;
            return NULL;
        }
        actions->items = more;
        actions->room = room;
    }
    struct rollout_action *action = &actions->items[actions->count++];
    *action = (struct rollout_action){.kind = kind, .node = node};
    return action;
}

void rollout_say(struct rollout_actions *actions, const char *event, const char *fmt, ...)
{
    struct rollout_action *action = rollout_act(actions, ROLLOUT_EVENT, SIZE_MAX);
    if (action == NULL)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(action->text, sizeof(action->text), fmt, ap);
    va_end(ap);
    action->event = event;
}

void rollout_actions_release(struct rollout_actions *actions)
{
    free(actions->items);
    *actions = (struct rollout_actions){0};
}
