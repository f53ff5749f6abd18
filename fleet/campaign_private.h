#pragma once
/*
 * fleet/campaign_private.h - what fleet/campaign*.c share among themselves and with their tests.
 */

#include "fleet/campaign.h"

/* Sets of device states. */
#define ACTIVE     ((1u << (CAMPAIGN_DEVICE_VERIFYING + 1)) - (1u << CAMPAIGN_DEVICE_OFFERED))
#define ANY_DEVICE ((1u << CAMPAIGN_DEVICE_STATE_COUNT) - 1)
#define ENDED      (ANY_DEVICE & ~ACTIVE & ~(1u << CAMPAIGN_DEVICE_WAITING))

/* Whether the table of moves has it. */
bool campaign_may_move(enum campaign_state from, enum campaign_state to);
bool campaign_device_may_move(enum campaign_device_state from, enum campaign_device_state to);
/* Asserts that it is allowed. */
void campaign_move(struct campaign *campaign, enum campaign_state to);
void campaign_move_device(struct campaign *campaign, size_t index, enum campaign_device_state to);

/* Appends; NULL without memory (then actions->nomem is set). */
struct campaign_action *campaign_act(struct campaign_actions *actions,
                                     enum campaign_action_kind kind, size_t device);
void campaign_say(struct campaign_actions *actions, size_t device, const char *event,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
