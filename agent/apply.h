#pragma once
/*
 * agent/apply.h - does the steps of a pass, in their order, and tells a receipt. Called by
 * reconcile; what was begun and failed is taken back by undo.h.
 */

#include <stdbool.h>
#include <stddef.h>

#include "datapath/dp.h"
#include "fleet/plan.h"
#include "fleet/receipt.h"

struct apply {
    struct dp *dp;                  /* borrowed */
    const struct plan_steps *steps; /* borrowed */
    struct receipt *receipt;        /* its step i is items[i]: done, problem */
    bool (*killed)(void *arg);      /* test hook, asked after each call; NULL = none */
    void *killed_arg;
};

/* Asks for every step, so that one receipt names all that the node cannot do. False: `first` is the
 * first reason, and nothing may be changed. */
bool apply_check(const struct apply *apply, struct err *first);

/*
 * Until the first step that fails: why is then in `failed` (else its code stays ERR_OK), and the
 * receipt names it. *out_begun: steps [0, *out_begun) may stand, the failed one and some behind it
 * included. False: the hook said that we are killed.
 */
bool apply_run(const struct apply *apply, size_t *out_begun, struct err *failed);
