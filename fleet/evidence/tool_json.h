#pragma once
/*
 * fleet/evidence/tool_json.h - what the readers of tools' JSON output share. Private to
 * fleet/evidence/.
 *
 * The same output as text has a reader of its own; the facts are the same, by subject, name and
 * value.
 */

#include <jansson.h>

#include "fleet/evidence/json_part.h"

/* A document begins at line i; one of `any` and, where `all` is not NULL, it too stands in its
 * first 2 KiB (with their quotes). */
bool tool_json_begins(const struct evidence_job *job, size_t i, const char *all,
                      const char *const *any);

/* Reads the document at line i: the function sees its object, or each object of its array. The
 * index of the line behind it. */
size_t tool_json_read(struct evidence_job *job, size_t i,
                      void (*object)(struct evidence_job *job, struct json_part *part,
                                     const json_t *object));

/* A text member; "" = there is none. Borrowed. */
const char *tool_json_text(const json_t *object, const char *key);

/* A number or a text as its text; "" for everything else. */
void tool_json_word(const json_t *value, char *out, size_t size);

/* "258,259": the numbers and texts of an array. False when it has others, or too many. */
bool tool_json_list(const json_t *array, char *out, size_t size);
