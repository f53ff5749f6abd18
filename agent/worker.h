#pragma once
/*
 * agent/worker.h - one job at a time on a thread of its own, for what blocks for minutes: a
 * download, a device that writes its flash. Its end comes back to the loop.
 *
 * A job is memory of its own that the worker owns from worker_start() until `done` has it, or, when
 * the worker was freed before it ended, until the thread frees it: nothing else of the program is
 * touched then.
 */

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"

#define WORKER_GRACE_MS 500

struct worker;

struct worker_job {
    void (*run)(struct worker_job *job);             /* on the thread */
    void (*done)(void *arg, struct worker_job *job); /* on the loop; it owns the job from here on */
    void (*free)(struct worker_job *job);            /* any thread */
};

ERR_MUST_CHECK enum err_code worker_new(struct loop *loop, struct worker **out, struct err *err);
/* A job that does not end within WORKER_GRACE_MS is given up. Its done is not called, ended or not.
 * Free the worker before its loop. */
void worker_free(struct worker *worker);
OWN_DEFINE(worker, struct worker *, worker_free)

/* Takes over the job, also on failure. ERR_CONFLICT: another one has not come back. */
ERR_MUST_CHECK enum err_code worker_start(struct worker *worker, struct worker_job *job, void *arg,
                                          struct err *err);
bool worker_is_busy(const struct worker *worker);
