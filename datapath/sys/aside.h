#pragma once
/*
 * datapath/sys/aside.h - reads that may never come back (a sysfs attribute of a wedged device, an
 * i2c bus, a vendor's library), each on a thread of its own with a deadline.
 *
 * What is stuck is known by its key: the same key is refused until its thread is back, others are
 * not touched by it. Belongs to one thread.
 */

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"

#define ASIDE_STUCK_MAX   64 /* threads that are out at one time */
#define ASIDE_KEY_SIZE    96
#define ASIDE_DEADLINE_MS 5000 /* as DP_DEADLINE_MS: a first look loads libraries */

struct aside;

ERR_MUST_CHECK enum err_code aside_new(struct aside **out, struct err *err);
/* Threads that are still out keep what they need and go when they come back. */
void aside_free(struct aside *aside);
OWN_DEFINE(aside, struct aside *, aside_free)

/* Readable when one that was given up has come back. */
int aside_fd(const struct aside *aside);
/* Empties it; whether one has. Never waits. */
bool aside_drain(struct aside *aside);

struct aside_job {
    void (*run)(void *arg);     /* on the other thread; must touch nothing but arg */
    void (*release)(void *arg); /* frees arg, on either thread */
    void *arg;
};

/*
 * ERR_OK: run() has returned and arg is the caller's again. On failure arg is gone: released here,
 * or by the thread when it comes back. ERR_UNAVAILABLE: not back within wait_ms, or an earlier one
 * of the key still is not; ERR_LIMIT: ASIDE_STUCK_MAX are out.
 */
ERR_MUST_CHECK enum err_code aside_run(struct aside *aside, const char *key,
                                       const struct aside_job *job, int wait_ms, struct err *err);
