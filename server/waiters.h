#pragma once
/*
 * server/waiters.h - requests that wait for a key to change: agents for "node/N/plan", barriers
 * for "generation". A waiter is its request, its key and a number; nothing else is kept for it.
 *
 * A waiter is taken out exactly once, by whoever wakes it or by its deadline, and who takes it out
 * replies. Adding never loses a wake-up when the caller looks again after adding (see the users).
 */

#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "server/http.h"

struct waiters;

ERR_MUST_CHECK enum err_code waiters_new(struct waiters **out, struct err *err);
void waiters_free(struct waiters *waiters);
OWN_DEFINE(waiters, struct waiters *, waiters_free)

/* Any thread. Replies to a request that waited; `late` when its time is over or the server stops.
 */
typedef void waiter_fn(struct request *request, bool late);

/* After success the request belongs to the waiters. */
ERR_MUST_CHECK enum err_code waiters_add(struct waiters *waiters, const char *key,
                                         struct request *request, int64_t deadline_mono_ns,
                                         waiter_fn *fn, struct err *err);
/* Calls fn(request, false) for each waiter of the key. */
void waiters_wake(struct waiters *waiters, const char *key);
size_t waiters_count(struct waiters *waiters);
