#pragma once
/*
 * fleet/compile.h - revisions x placements x inventory -> one plan a node. Pure: same input, same
 * bytes.
 */

#include "fleet/plan.h"
#include "fleet/view.h"

/*
 * The plan has the peers of the node too (peer.h). A node without a profile or without inventory
 * gets an empty plan (nothing is touched). Things that the node's hardware cannot take are left out
 * of the plan and reported as findings of rule "knob-unsupported" (findings may be NULL).
 */
ERR_MUST_CHECK enum err_code compile_plan(const struct view *view, const struct view_node *node,
                                          int64_t generation, struct plan **out,
                                          struct finding_list *findings, struct err *err);
