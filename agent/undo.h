#pragma once
/*
 * agent/undo.h - takes steps back: reads what stands, undoes in reverse what is not at `from`,
 * reads back, and once more for what still is not.
 */

#include <stdbool.h>
#include <stddef.h>

#include "datapath/dp.h"
#include "fleet/plan.h"
#include "fleet/receipt.h"

#define UNDO_ROUNDS 2 /* a device that was busy for a moment gets a second chance */

struct undo {
    struct dp *dp;                  /* borrowed */
    const struct plan *view;        /* what to observe: covers all knobs of the steps */
    const struct plan_steps *steps; /* in the order in which they were applied */
    size_t count;                   /* undo items[0..count) */
    struct receipt *receipt;        /* its step i is items[i]: undone, problem; NULL = no receipt */
    bool (*killed)(void *arg);      /* test hook, asked after each step; NULL = none */
    void *killed_arg;
};

/*
 * ERR_OK: every knob of the steps shows its `from` again. Else the first reason: a knob whose undo
 * failed, or that could not be read back. Goes on after failures: as much as can be is taken back.
 */
ERR_MUST_CHECK enum err_code undo_run(const struct undo *undo, struct err *err);

/* A plan that names every knob of the steps, to observe them by. */
ERR_MUST_CHECK enum err_code undo_view(const char *node, const struct plan_steps *steps,
                                       struct plan **out, struct err *err);
