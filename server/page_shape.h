#pragma once
/*
 * server/page_shape.h - how the items of a list are shown: only some members (?fields=), or as a
 * table (text/csv). Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

#define PAGE_FIELDS_MAX  32
#define PAGE_FIELDS_SIZE 1024 /* of the whole text */
#define CSV_TYPE         "text/csv; charset=utf-8; header=present"

struct page_fields {
    size_t count; /* 0 = all */
    char text[PAGE_FIELDS_SIZE];
    const char *names[PAGE_FIELDS_MAX]; /* into text: "a" or "a.b" */
};

/* The comma list; each name must be a member by the contract (server/contract.h) of the item's
 * schema. ERR_INVALID, ERR_LIMIT. */
ERR_MUST_CHECK enum err_code page_fields_parse(const char *text, const json_t *contract,
                                               const json_t *schema, struct page_fields *out,
                                               struct err *err);
/* A new item with the named members that it has; NULL = no memory. */
json_t *page_fields_pick(const struct page_fields *fields, const json_t *item);

/*
 * RFC 4180 with a header row: a column for each field, or for each member (in the order of
 * `members`, then of their first appearance), objects flattened to "a.b", arrays as JSON. A text
 * that a spreadsheet would take for a formula gets a ' in front. malloc'ed; NULL = no memory.
 */
char *page_csv(const struct page_fields *fields, const json_t *members, const json_t *items);
