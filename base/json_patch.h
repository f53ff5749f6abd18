#pragma once
/*
 * base/json_patch.h - a document changed by a patch: JSON Patch (RFC 6902) and JSON Merge Patch
 * (RFC 7386). Pure; inputs are borrowed, and the result shares nothing with them, so that it may
 * live on another thread.
 *
 * ERR_INVALID: the patch is none, or does not fit the document (a path that is not there, a failed
 * test); err->pointer points into the patch ("/2" = its third operation). ERR_LIMIT: more than a
 * maximum below, or a result nested deeper than JSON_DEPTH_MAX. All or nothing: on failure *out is
 * untouched.
 */

#include <jansson.h>

#include "base/err.h"
#include "base/json.h"

#define JSON_PATCH_OPS_MAX 1000 /* of one JSON Patch */
/* Weight of the document and of everything that operations add to it, removals not counted: "copy"
 * of a document into itself would double it with each operation. */
#define JSON_PATCH_WEIGHT_MAX (8 * 1024 * 1024)

ERR_MUST_CHECK enum err_code json_patch_apply(const json_t *document, const json_t *patch,
                                              json_t **out, struct err *err);
ERR_MUST_CHECK enum err_code json_merge_apply(const json_t *document, const json_t *patch,
                                              json_t **out, struct err *err);
/* The value that an RFC 6901 pointer names, borrowed; NULL = there is none. */
const json_t *json_pointer_get(const json_t *document, const char *pointer);
