#pragma once
/*
 * cli/state_rows.h - what a node is (`get states NODE`) as rows, a knob each, beside what its plan
 * wants.
 */

#include "cli/fetch.h"

/*
 * Gives each row of fetch_rows() the member "in_sync": "yes", "no", or "watched" for another value
 * than wanted of a knob that the plan only watches. It stays out where nothing is wanted, and of
 * all rows when the plan that the node has now is not the one by which it was observed. Asks the
 * server for the plan; reasons of failures stand on the error stream already.
 */
enum exit_code state_rows_judge(struct context *context, const char *node, const json_t *state,
                                json_t *rows);
