#pragma once
/*
 * fleet/rollout_private.h - what fleet/rollout*.c share among themselves and with their tests.
 */

#include "fleet/rollout.h"

/* Whether the table of moves has it. */
bool rollout_may_move(enum rollout_state from, enum rollout_state to);
bool rollout_node_may_move(enum rollout_node_state from, enum rollout_node_state to);
/* Asserts that it is allowed. */
void rollout_move(struct rollout *rollout, enum rollout_state to);
void rollout_move_node(struct rollout *rollout, size_t index, enum rollout_node_state to);

/* Appends; NULL without memory (then actions->nomem is set). */
struct rollout_action *rollout_act(struct rollout_actions *actions, enum rollout_action_kind kind,
                                   size_t node);
void rollout_say(struct rollout_actions *actions, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
