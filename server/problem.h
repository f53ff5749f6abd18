#pragma once
/*
 * server/problem.h - the JSON of an error answer (RFC 9457), as a value.
 *
 *   {"type":"about:blank","title":"Unprocessable Content","status":422,"code":"rule-violation",
 *    "detail":"...","request_id":"...","errors":[{"rule":...,"severity":...,"message":...}]}
 */

#include <jansson.h>

#include "base/finding.h"

#define PROBLEM_CONTENT_TYPE "application/problem+json"
#define PROBLEM_DETAIL_MAX   1024

/* findings may be NULL or empty: no "errors". A cut list says "truncated": true. Owned by
 * the caller; NULL without memory. */
json_t *problem_to_json(int status, const char *title, const char *code, const char *detail,
                        const char *request_id, const struct finding_list *findings);
