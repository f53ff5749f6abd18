#pragma once
/*
 * agent/marking.h - the marks of a plan followed through what the ports show now. Called by the
 * self-test and after each pass.
 */

#include "datapath/dp.h"
#include "fleet/chain.h"

/* chain_prove() over what the plan's ports show, whether or not the plan manages it. Blocks as
 * observe does. *out: malloc'ed. */
ERR_MUST_CHECK enum err_code marking_prove(struct dp *dp, const struct plan *plan,
                                           struct chain **out, size_t *out_count, struct err *err);
