#pragma once
/*
 * cli/steered.h - what goes on by itself on the server once it was begun, and is looked at and
 * steered meanwhile: rollouts, firmware campaigns, verifications. What is the same of their
 * commands.
 */

#include <jansson.h>

#include "cli/arguments.h"
#include "cli/context.h"
#include "cli/view.h"

struct steered {
    const char *what;       /* for people, and the parameter of the address: "rollout" */
    const char *kind;       /* of `get`: "rollouts" */
    const char *list, *one; /* path templates */
    /* Its row while it goes on. A watch shows it when it, or the member `also`, is another one. */
    const struct view *view;
    json_t *(*make_row)(const json_t *thing);                                 /* NULL: no memory */
    const char *also;                                                         /* NULL = none */
    enum exit_code (*preview)(struct context *context, const json_t *answer); /* of a dry run */
    /* What can be done now, on the error stream, in tables alone. */
    void (*next)(struct context *context, const json_t *thing);
    /* A watch: what follows each row, and the last one; NULL = nothing. */
    void (*after_row)(struct context *context, const json_t *thing);
    void (*at_end)(struct context *context, const json_t *thing);
    /* Whether nothing more happens by itself, and how it went: in these states... */
    struct steered_end {
        const char *state; /* NULL behind the last */
        enum exit_code code;
    } ends[4];
    /* ...but with this, NULL = not, EXIT_DONE only where it is true. */
    bool (*went_well)(const json_t *thing);
};

/* A member's text; "" = it has none. */
const char *steered_text(const json_t *thing, const char *key);

/* One row; in the JSON forms the thing itself. */
enum exit_code steered_row(struct context *context, const json_t *thing, const struct view *view,
                           json_t *(*make_row)(const json_t *thing));
/* Its list, as `get` prints it. */
enum exit_code steered_list(struct context *context, const struct steered *steered,
                            const struct arguments *arguments);
/* The one that the first word names. Failures were said. */
enum exit_code steered_fetch(struct context *context, const struct steered *steered,
                             const struct arguments *arguments, struct reply *out);
/* Makes one of what the options choose (cli/pick.h), with `value` as `member` of the body unless it
 * is NULL (taken over), --dry-run and --reason; says what came of it. */
enum exit_code steered_make(struct context *context, const struct steered *steered,
                            const struct arguments *arguments, const char *member, json_t *value);
/* A row whenever it changes, until it is over, or the server is away for WATCH_FAILURES_MAX tries.
 */
enum exit_code steered_watch(struct context *context, const struct steered *steered,
                             const struct arguments *arguments);
/* A verb of its own: `path` is a template ("/v1/rollouts/{rollout}:pause"). */
enum exit_code steered_steer(struct context *context, const struct steered *steered,
                             const struct arguments *arguments, const char *path);
