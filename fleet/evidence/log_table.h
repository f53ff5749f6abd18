#pragma once
/*
 * fleet/evidence/log_table.h - the messages of kernel logs that tell something, as a table. Private
 * to fleet/evidence/.
 */

#include <stddef.h>

#define LOG_VALUES_MAX 6

/* A value in a message: the number (or, without one, the words up to a comma or a bracket) behind
 * `after`. */
struct log_value {
    const char *name, *after, *unit;
};

struct log_row {
    const char *text;  /* stands in the message */
    const char *also;  /* and this one; NULL = nothing more */
    const char *rule;  /* NULL = facts only */
    const char *event; /* a fact's name for the whole message; NULL = the rule's id, if any */
    struct log_value values[LOG_VALUES_MAX];
};

/* The first row that fits counts. */
extern const struct log_row log_rows[];
extern const size_t log_row_count;
