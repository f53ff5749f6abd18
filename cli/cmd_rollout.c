/*
 * cli/cmd_rollout.c - stellarctl rollout: waves of changes, begun, watched and steered.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/rollout_view.h"
#include "cli/steered.h"
#include "cli/view.h"

#define ONE "/v1/rollouts/{rollout}"

static const struct steered rollouts = {
    .what = "rollout",
    .kind = "rollouts",
    .list = "/v1/rollouts",
    .one = ONE,
    .view = &rollout_rows_view,
    .make_row = rollout_make_row,
    .also = "waves",
    .preview = rollout_print_preview,
    .next = rollout_print_next,
    .after_row = rollout_print_next,
    .ends = {{"done", EXIT_DONE}, {"failed", EXIT_REFUSED}, {"rolled-back", EXIT_REFUSED}},
};

enum exit_code cmd_rollout_start(struct context *context, const struct arguments *arguments)
{
    return steered_make(context, &rollouts, arguments, NULL, NULL);
}

enum exit_code cmd_rollout_list(struct context *context, const struct arguments *arguments)
{
    return steered_list(context, &rollouts, arguments);
}

enum exit_code cmd_rollout_show(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = steered_fetch(context, &rollouts, arguments, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    code = rollout_print(context, reply.json);
    rollout_print_next(context, reply.json);
    return code;
}

enum exit_code cmd_rollout_nodes(struct context *context, const struct arguments *arguments)
{
    static const struct kind kind = {
        .name = "rollout nodes",
        .list = "rollout_nodes",
        .view = {"node",
                 {COLUMN("NODE", "node"), COLUMN_NUMBER("WAVE", "wave"),
                  COLUMN_STATE("STATE", "state"), COLUMN("PROBLEM", "problem")}}};
    OWN(json) json_t *items = NULL;
    enum exit_code code = fetch_list_below(context, &kind, "rollout", arguments, &items);
    if (code != EXIT_DONE || context->print_request)
        return code;
    return view_show(context, &kind.view, items);
}

enum exit_code cmd_rollout_watch(struct context *context, const struct arguments *arguments)
{
    return steered_watch(context, &rollouts, arguments);
}

enum exit_code cmd_rollout_pause(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &rollouts, arguments, ONE ":pause");
}

enum exit_code cmd_rollout_resume(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &rollouts, arguments, ONE ":resume");
}

enum exit_code cmd_rollout_confirm(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &rollouts, arguments, ONE ":confirm");
}

enum exit_code cmd_rollout_rollback(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &rollouts, arguments, ONE ":rollback");
}
