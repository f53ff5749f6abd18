#pragma once
/*
 * server/rollout_pick.h - a request for a rollout against the world: which nodes it takes, with
 * which settings, in which waves. On the writer thread.
 */

#include "server/app.h"

struct rollout_pick {
    struct rollout_settings settings; /* the policy's with the request's over them */
    char (*names)[NAME_SIZE]; /* owned, sorted; nodes that hold, or may hold, a newer plan */
    size_t count;
    /* Why not: status and code of a problem, its text in err. */
    int status;
    const char *code;
};
void rollout_pick_release(struct rollout_pick *pick);
/* document was read (rollout_request_from_json). On ERR_CONFLICT status and code are set. */
ERR_MUST_CHECK enum err_code rollout_pick_make(struct rollout_pick *pick, const struct world *world,
                                               const json_t *document, struct err *err);
/* malloc'ed array of the names, for functions that take pointers. NULL = no memory. */
const char **rollout_pick_pointers(const struct rollout_pick *pick);
