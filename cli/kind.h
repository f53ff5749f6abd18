#pragma once
/*
 * cli/kind.h - the kinds of things that `get`, `delete` and `apply` know: which operations read and
 * write them, and what a table shows of them.
 */

#include "cli/view.h"

#define KIND_ORDERS 8 /* `order` is below it */

struct kind {
    const char *name;   /* as people say it: "nodes" */
    const char *single; /* "node" */
    /* Operation ids; NULL = it cannot be done. */
    const char *list, *get, *put, *remove;
    const char *key;    /* path parameter of get, put and remove that is the thing's name */
    const char *parent; /* path parameter that --tenant or --node gives; NULL = it has no parent */
    /* Without the parent: this one is listed, or (walk) all tenants' are. */
    const char *list_alone, *get_alone;
    bool walk;
    const char *below; /* path parameter of list that the name is of: the things of this one */
    const char *rows;  /* the member of a document whose members are the rows: "qos_policy" */
    bool judged;       /* the rows are a node's knobs: state_rows_judge() */
    const char *bare;  /* `get` answers the bare document: the member that lists have it in */
    /* Where the document stands in what `get` answers: */
    const char *member; /* in this member ("placement"), */
    const char *schema; /* or among others: the members that this schema names ("node") */
    int order;          /* of writing several: what others need comes first */
    struct view view;   /* without columns it is shown as JSON */
    /* A table of one thing is followed by one of this member's items; NULL = there is none. */
    const char *items;
    const struct view *items_view;
};

extern const struct kind kinds[];
extern const size_t kind_count;

/* By plural or singular name; NULL = there is none. */
const struct kind *kind_find(const char *name);
/* As kind_find(); ERR_INVALID with a close name or all names. */
ERR_MUST_CHECK enum err_code kind_need(const char *name, const struct kind **out, struct err *err);
