#pragma once
/*
 * cli/rollout_view.h - a rollout as people read it: where it stands, its waves and gates, what to
 * do next. The JSON forms are left as the server gave them.
 */

#include <jansson.h>

#include "cli/context.h"

/* Its state, then a table of its waves. */
enum exit_code rollout_print(struct context *context, const json_t *rollout);
/* What each wave would do, as the answer of a dry run says. */
enum exit_code rollout_print_preview(struct context *context, const json_t *preview);
/* One row of what changes while it runs: for a watch. */
enum exit_code rollout_print_row(struct context *context, const json_t *rollout);
/* Whether the rows of the two would be the same; for JSON, whether they are the same but for the
 * clocks that run down. `before` may be NULL. */
bool rollout_same_row(const json_t *before, const json_t *now);
/* What an operator can do now, on the error stream; nothing when it goes on by itself. */
void rollout_print_next(struct context *context, const json_t *rollout);
