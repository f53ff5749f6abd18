#pragma once
/*
 * cli/pick.h - a request that chooses nodes: of a rollout, of a firmware campaign.
 */

#include <jansson.h>

#include "base/err.h"
#include "cli/arguments.h"
#include "cli/context.h"

/* The file of -f as it is; else an object of --all, --node, --selector and --message. */
enum err_code pick_body(struct context *context, const struct arguments *arguments, json_t **out,
                        struct err *err);
