#pragma once
/*
 * fleet/evidence/json_part.h - a JSON document among the lines of a file. Private to
 * fleet/evidence/.
 *
 * Readers walk the members in the order of the document and ask json_part_line() for each: it finds
 * the next place of the key, so that facts have their lines.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "fleet/evidence/reader.h"

struct json_part {
    json_t *root;       /* NULL: not complete, or no JSON (a finding says so) */
    size_t first, next; /* lines: the first one and the one behind the last */
    const char *text, *cursor, *end;
    size_t offset; /* of the text in the file */
    char *copy;    /* of the text, where escape sequences had to go */
    const struct evidence_job *job;
};

/* A document begins at line i and one of `keys` (NULL-terminated, with their quotes) stands in its
 * first 2 KiB. */
bool json_part_begins(const struct evidence_job *job, size_t i, const char *const *keys);

/* Reads the document at line i. */
void json_part_read(struct evidence_job *job, size_t i, struct json_part *out);
void json_part_release(struct json_part *part);

/* Moves on to the next place of the key; the index of its line. Where it is not found, the line of
 * the place before. */
size_t json_part_line(struct json_part *part, const char *key);

/* Puts a value: numbers exactly, true and false as texts, null as unknown; objects and arrays are
 * left out. */
void json_part_put(struct evidence_job *job, size_t line, const char *name, const json_t *value,
                   const char *unit);

/* put_value(), but what has a comma is a list ("3,4"), never a number: documents have no decimal
 * commas. Neither is what begins with zeros or has an exponent ("0012345", "12E4567"): it names
 * something. */
void put_listed(struct evidence_job *job, size_t line, const char *name, struct slice value,
                const char *unit);
