#pragma once
/*
 * cli/view.h - items of a list as a table, JSON, lines of JSON, CSV or names.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"
#include "cli/context.h"

struct column {
    const char *title;
    const char *path; /* members of an item, "." between: "placement.nodes" */
    bool right;       /* numbers stand at the right */
    bool state;       /* good is green, waiting yellow, bad red */
    bool is_long;     /* cut where a terminal is too narrow, as the last one always is */
};

/* The kinds of columns that there are. */
#define COLUMN(title, path)                                                                        \
    {                                                                                              \
        title, path, false, false, false                                                           \
    }
#define COLUMN_NUMBER(title, path)                                                                 \
    {                                                                                              \
        title, path, true, false, false                                                            \
    }
#define COLUMN_STATE(title, path)                                                                  \
    {                                                                                              \
        title, path, false, true, false                                                            \
    }
#define COLUMN_LONG(title, path)                                                                   \
    {                                                                                              \
        title, path, false, false, true                                                            \
    }

#define VIEW_COLUMNS_MAX 16

struct view {
    const char *name;                        /* path of an item's name, for -o name; NULL = none */
    struct column columns[VIEW_COLUMNS_MAX]; /* a title NULL ends them */
};

size_t view_columns(const struct view *view);

/* The text of a cell, malloc'ed: a string as it is, lists with "," between, objects as k=v or JSON;
 * "" when it is not there. NULL = out of memory. */
char *view_cell(const json_t *item, const char *path);

/* Prints the array in the form that context->output asks for. */
ERR_MUST_CHECK enum err_code view_print(struct context *context, const struct view *view,
                                        const json_t *items, struct err *err);
/* One item: in JSON without the list around it. */
ERR_MUST_CHECK enum err_code view_print_one(struct context *context, const struct view *view,
                                            json_t *item, struct err *err);

/* The same for the end of a command: a failure was told. */
enum exit_code view_show(struct context *context, const struct view *view, const json_t *items);
/* A document as it is: over lines with -o json, else on one line. */
enum exit_code view_show_json(struct context *context, const json_t *document);

/* In table.c, through libsmartcols: aligned by the width of the characters. */
ERR_MUST_CHECK enum err_code table_print(struct context *context, const struct view *view,
                                         const json_t *items, struct err *err);
