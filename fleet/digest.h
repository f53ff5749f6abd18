#pragma once
/*
 * fleet/digest.h - the digest of a plan, knob by knob: SHA-256 over the canonical JSON of
 *   {"knobs":[{"flags":F,"id":"","kind":"dcb.pfc","subject":"...","want":...},...],"node":"n1"}
 * with F = 1 (strict) + 2 (observe only). Private to fleet/plan.c and fleet/state.c.
 */

#include "fleet/plan.h"

struct digest {
    char *text;
    size_t len, room;
    bool nomem;
};

void digest_init(struct digest *digest);
int digest_flags(const struct plan_knob *knob);
/* want == NULL: the knob is absent, digested as null. */
void digest_knob(struct digest *digest, const struct knob_kind *kind, const char *subject,
                 const char *id, int flags, const json_t *want);
/* Frees what was collected in any case. */
ERR_MUST_CHECK enum err_code digest_finish(struct digest *digest, const char *node,
                                           char out[DIGEST_TEXT_MAX], struct err *err);
