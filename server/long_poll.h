#pragma once
/*
 * server/long_poll.h - GET ...?known=TAG&wait=30s of what is published (publish.h) for a node: at
 * once when it is another than the known one, else when it becomes so or the wait is over.
 */

#include <stdbool.h>
#include <stdint.h>

#include "server/publish.h"
#include "server/route.h"
#include "server/waiters.h"

/* Answers when what is published is not the known one, or the wait is over; whether it did. */
typedef bool long_poll_fn(struct request *request, bool wait_over);

struct long_poll {
    const char *key; /* of publish.h and waiters.h; borrowed for the call */
    int64_t wait_max_ns;
    long_poll_fn *reply;
    waiter_fn *woken; /* answers in any case: when woken, what is published may be the known one */
};

/* A long_poll_fn's answer with what publish_get() gave: takes over the blob (NULL = nothing is
 * published), tag is its. 204 when the wait is over. */
bool long_poll_answer(struct request *request, struct blob *blob, const char *tag, bool wait_over);

/* Replies, now or later: the request is not to be used any more. */
void long_poll(struct request *request, const struct long_poll *poll);
