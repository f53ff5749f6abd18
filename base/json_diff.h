#pragma once
/*
 * base/json_diff.h - what is different between two documents: as a JSON Patch for machines and as
 * text for people. Pure.
 */

#include <jansson.h>

#include "base/err.h"

/* Elements of two arrays are matched by value when the product of their counts (after equal ends
 * were put aside) is at most this; longer ones are compared element by element. */
#define JSON_DIFF_CELLS_MAX (512 * 512)
/* Lines that may differ for the text to be the shortest one; with more, the lines between the equal
 * ends are shown as replaced. */
#define JSON_DIFF_EDITS_MAX 1000

/*
 * A JSON Patch with which json_patch_apply() makes `to` of `from`: objects by member, arrays by
 * element. Over JSON_PATCH_OPS_MAX operations it is one that replaces the whole. New reference;
 * NULL = no memory.
 */
json_t *json_diff(const json_t *from, const json_t *to);

/*
 * The canonical form with one value a line, as unified text with three lines of context; the names
 * stand in its head. "" when nothing differs. malloc'ed; NULL = no memory.
 */
char *json_diff_text(const json_t *from, const json_t *to, const char *from_name,
                     const char *to_name);
/* That form of one document. malloc'ed; NULL = no memory. */
char *json_pretty(const json_t *value);
