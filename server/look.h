#pragma once
/*
 * server/look.h - one numbered thing (a rollout, a campaign, a verification) for a GET: read on a
 * thread of the store, answered with its revision as ETag.
 */

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "server/http.h"

struct look {
    struct request *request;
    int64_t number;
    /* What the reading found: */
    int64_t revision;
    json_t *answer; /* owned */
};

/* NULL: it was replied that there is no memory. */
struct look *look_new(struct request *request, int64_t number);
/* After the reading, as its db_done_fn, or instead of it: replies and frees. */
void look_done(void *arg, enum err_code code, const struct err *err);
