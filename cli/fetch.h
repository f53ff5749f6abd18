#pragma once
/*
 * cli/fetch.h - things of a kind from the server, over all pages.
 */

#include "cli/arguments.h"
#include "cli/kind.h"

#define FETCH_ITEMS_MAX 1000000 /* items of one list that are held; more: said, and cut */

/*
 * All items of a kind that the options choose (--tenant, --node, --selector, --after, --limit), as
 * one array. Reasons of failures stand on the error stream already. *out is owned by the caller.
 */
enum exit_code fetch_list(struct context *context, const struct kind *kind,
                          const struct arguments *arguments, json_t **out);
/* The same of a list that stands below one thing: `param` is its name in the address, the
 * first word the thing. Takes the place of the last option where there are ARGUMENTS_MAX. */
enum exit_code fetch_list_below(struct context *context, const struct kind *kind, const char *param,
                                const struct arguments *arguments, json_t **out);
/* One thing by its name (NULL: the kind has only one). */
enum exit_code fetch_one(struct context *context, const struct kind *kind, const char *name,
                         const struct arguments *arguments, struct reply *out);

/* A call of a kind's operation with the path parameters that name and options give.
 * ERR_INVALID: one is missing, or this server's API has no such operation. */
ERR_MUST_CHECK enum err_code fetch_call(const struct kind *kind, const char *operation,
                                        const char *name, const struct arguments *arguments,
                                        struct call *out, struct err *err);
/* The rows of a kind whose document holds them: in a map (policies), each with its name, or as a
 * list of knobs (states), each with fetch_row_name(); and its parent's name. */
ERR_MUST_CHECK enum err_code fetch_rows(const struct kind *kind, const char *parent,
                                        const json_t *document, json_t *out, struct err *err);
/* A knob's kind, subject and id with blanks between, as a JSON string. NULL = out of memory. */
json_t *fetch_row_name(const json_t *knob);
