#pragma once
/*
 * tests/unit/fleet/rollout_test.h - one rollout that a test steps, and its time.
 */
#include "tests/unit/test.h"

#include "fleet/rollout_private.h"

static struct rollout *r;
static struct rollout_actions actions;
static int64_t now_ns;

static inline int teardown(void **state)
{
    (void)state;
    rollout_free(r);
    r = NULL;
    rollout_actions_release(&actions);
    return 0;
}

static inline void later(int64_t ns)
{
    now_ns += ns;
    rollout_step(r, now_ns, &actions);
}
