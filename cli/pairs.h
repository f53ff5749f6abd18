#pragma once
/*
 * cli/pairs.h - the NAME=VALUE of --param, --query and --header, for a call.
 */

#include "cli/arguments.h"
#include "cli/operation.h"

/* The NAMEs; the call borrows them, so it must not outlive this. */
struct pairs {
    char *names[CALL_VALUES_MAX];
    size_t count;
};

/* Adds all that the command line gives. ERR_INVALID: one has no NAME=; ERR_LIMIT: too many. */
ERR_MUST_CHECK enum err_code pairs_add(struct pairs *pairs, struct call *call,
                                       const struct arguments *arguments, struct err *err);
void pairs_release(struct pairs *pairs);
