#pragma once
/*
 * server/rollout_preview.h - POST /v1/rollouts?dry_run=true: what each wave would do, in slices on
 * the writer thread.
 */

#include "server/http.h"

/* The request's document was read. Replies. */
void rollout_preview_start(struct request *request);
