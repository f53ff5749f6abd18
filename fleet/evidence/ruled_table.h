#pragma once
/*
 * fleet/evidence/ruled_table.h - tables whose columns are told by a line of dashes ("-----  ---")
 * below the head, as switches print them. Private to fleet/evidence/.
 */

#include <stdbool.h>
#include <stddef.h>

#include "fleet/evidence/reader.h"

#define RULED_COLUMNS_MAX 24

struct ruled_table {
    uint32_t starts[RULED_COLUMNS_MAX]; /* columns on the screen */
    size_t count;
    size_t rule; /* its line; the head is the one before */
};

/* Line i is such a line of at least two columns. */
bool ruled_table_at(const struct evidence_job *job, size_t i, struct ruled_table *out);

/* What stands in a column of line i, trimmed; empty = nothing. */
struct slice ruled_cell(const struct evidence_job *job, const struct ruled_table *t, size_t i,
                        size_t column);
/* The head of a column as a name in small letters with '-' for blanks. */
void ruled_head(const struct evidence_job *job, const struct ruled_table *t, size_t column,
                char *out, size_t size);

/* "195.31 KB", "50%", "3,4": a number with its unit, or a text. */
void put_measure(struct evidence_job *job, size_t line, const char *name, struct slice value);

/* "Port trust mode" as "port_trust_mode". */
void key_name(struct slice key, char *out, size_t size);
