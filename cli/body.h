#pragma once
/*
 * cli/body.h - calls with a small JSON body, for commands that are little more than one call.
 */

#include "cli/context.h"

/* The call of an operation by method and path template. ERR_UNSUPPORTED: the API has none. */
ERR_MUST_CHECK enum err_code body_call(const char *method, const char *path, struct call *out,
                                       struct err *err);
/* Makes the call with this body (NULL = none), which it takes over. As context_call(). */
enum exit_code body_send(struct context *context, struct call *call, json_t *body,
                         struct reply *out);
/* Prints the answer: JSON in the JSON forms, with -o csv a row under its members' names, with -o
 * name its id or name, else its members as "name: value" lines. */
enum exit_code body_show(struct context *context, const struct reply *reply);
