#pragma once
/*
 * cli/rollout_view.h - a rollout as people read it: where it stands, its waves and gates, what to
 * do next. The JSON forms are left as the server gave them.
 */

#include <jansson.h>

#include "cli/context.h"
#include "cli/view.h"

/* Its state, then a table of its waves. */
enum exit_code rollout_print(struct context *context, const json_t *rollout);
/* What each wave would do, as the answer of a dry run says. */
enum exit_code rollout_print_preview(struct context *context, const json_t *preview);
/* What changes while it runs, as a row: for a watch. Out of memory is NULL. */
json_t *rollout_make_row(const json_t *rollout);
extern const struct view rollout_rows_view;
/* What an operator can do now, on the error stream; nothing when it goes on by itself. */
void rollout_print_next(struct context *context, const json_t *rollout);
