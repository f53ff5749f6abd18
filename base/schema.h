#pragma once
/*
 * base/schema.h - JSON Schema draft 2020-12 over jansson and PCRE2.
 *
 * schema_compile() reads a schema once (all $ref resolved inside the document and its $defs/$id/
 * $anchor; no network); schema_validate() is thread-safe on a compiled schema and reports every
 * problem at once as findings of rule "schema" with the JSON Pointer of the instance.
 *
 * With `strict`, a keyword that the validator does not know is an error of the schema: our own
 * schemas are compiled strictly when the program is built (tests/lint).
 */

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"

struct schema; /* immutable after compile */

#define SCHEMA_DEPTH_MAX 128 /* of nested applications; deeper: ERR_LIMIT / a finding */

/* `document` is borrowed during the call only (a reference is kept). ERR_INVALID with the pointer
 * into the schema. */
ERR_MUST_CHECK enum err_code schema_compile(const json_t *document, bool strict,
                                            struct schema **out, struct err *err);
void schema_free(struct schema *schema);
OWN_DEFINE(schema, struct schema *, schema_free)

/* True when the instance is valid. findings may be NULL (fast yes/no). */
bool schema_validate(const struct schema *schema, const json_t *instance,
                     struct finding_list *findings);

/*
 * The product's own schemas, embedded at build time from schemas/NAME.json, compiled at first use
 * (thread-safe). NULL when the name is unknown; a schema that does not compile aborts (our bug,
 * found by the lint at build time).
 */
const struct schema *schema_get(const char *name);
