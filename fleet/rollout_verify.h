#pragma once
/*
 * fleet/rollout_verify.h - a verification (fleet/verification.h) as the last gate of a wave: what a
 * rollout's "verify" may say, which nodes are tested, and what the verdict means for the wave.
 * Pure: the server orders the verification and tells its end.
 */

#include "fleet/rollout.h"
#include "fleet/verify.h"

/*
 * Member "verify" of r over what `settings` holds; the times of `settings` are read before. An
 * empty list of kinds = no verification. Problems become findings of the reader.
 */
void rollout_verify_read(struct json_reader *r, struct rollout_settings *settings);

/* The other gates of the open wave have passed, and its verification is to be ordered. */
bool rollout_verify_is_due(const struct rollout *rollout);
/*
 * The request of that verification (schemas/verification.json): the wave's nodes that applied their
 * plans, those that "with" names, and where that is one alone, the first confirmed node of the
 * waves before. NULL = no memory.
 */
json_t *rollout_verify_request(const struct rollout *rollout);
/* It was ordered, as v-NUMBER. */
void rollout_verify_ordered(struct rollout *rollout, int64_t number,
                            struct rollout_actions *actions);
/* Whether v-`verify_number` is of a wave that does not wait for it any more. */
bool rollout_verify_is_in_vain(const struct rollout *rollout);
/* It cannot be ordered: for now (a node is in another one), or it never can. */
void rollout_verify_held(struct rollout *rollout, const char *why);
void rollout_verify_refused(struct rollout *rollout, const char *why);
/* It is over. why: of the first test that has this verdict; "" = none. */
void rollout_verify_ended(struct rollout *rollout, enum verify_verdict verdict, const char *why);
