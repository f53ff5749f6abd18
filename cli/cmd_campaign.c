/*
 * cli/cmd_campaign.c - stellarctl campaign: a firmware image brought to devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/steered.h"
#include "cli/view.h"

#define ONE      "/v1/firmware/campaigns/{campaign}"
#define CELL_MAX 512

/* Shown --------------------------------------------------------------------------------------- */

/* "1 flashing, 2 waiting": states without devices say nothing. */
static void count_devices(const json_t *campaign, char out[CELL_MAX])
{
    const char *state;
    json_t *count;
    out[0] = '\0';
    json_object_foreach(json_object_get(campaign, "devices"), state, count)
    {
        size_t len = strlen(out);
        if (json_integer_value(count) > 0)
            snprintf(out + len, CELL_MAX - len, "%s%lld %.60s", len > 0 ? ", " : "",
                     (long long)json_integer_value(count), state);
    }
}

static json_t *make_row(const json_t *campaign)
{
    char devices[CELL_MAX];
    count_devices(campaign, devices);
    return json_pack("{s:s, s:s, s:s, s:s}", "id", steered_text(campaign, "id"), "state",
                     steered_text(campaign, "state"), "devices", devices, "problem",
                     steered_text(campaign, "problem"));
}

static const struct view rows_view = {"id",
                                      {COLUMN("ID", "id"), COLUMN_STATE("STATE", "state"),
                                       COLUMN("DEVICES", "devices"), COLUMN("PROBLEM", "problem")}};

/* What an operator can do now. */
static void print_next(struct context *context, const json_t *campaign)
{
    static const struct {
        const char *state, *text, *command;
    } nexts[] = {
        {"draft", "begin", "start"},
        {"running", "follow it", "watch"},
        {"paused", "go on", "resume"},
        {"halted", "see which devices, then resume or cancel", "devices"},
    };
    for (size_t i = 0; context->output == OUTPUT_TABLE && i < sizeof(nexts) / sizeof(nexts[0]);
         i++) {
        if (strcmp(nexts[i].state, steered_text(campaign, "state")) != 0)
            continue;
        fprintf(context->err, "  %s: stellarctl campaign %s ", nexts[i].text, nexts[i].command);
        print_text(context->err, steered_text(campaign, "id"));
        fputc('\n', context->err);
    }
}

static enum exit_code print_waves(struct context *context, const json_t *campaign)
{
    static const struct view view = {"wave",
                                     {COLUMN_NUMBER("WAVE", "wave"), COLUMN_STATE("STATE", "state"),
                                      COLUMN_NUMBER("DEVICES", "devices"),
                                      COLUMN_NUMBER("ENDED", "ended")}};
    if (context_is_json(context))
        return view_show_json(context, campaign);
    enum exit_code code = context->output == OUTPUT_TABLE
                              ? steered_row(context, campaign, &rows_view, make_row)
                              : EXIT_DONE;
    if (context->output == OUTPUT_TABLE &&
        strcmp(steered_text(campaign, "window"), "closed") == 0) {
        fputs("  its next window opens ", context->out);
        print_text(context->out, steered_text(campaign, "window_opens"));
        fputc('\n', context->out);
    }
    return code != EXIT_DONE ? code : view_show(context, &view, json_object_get(campaign, "waves"));
}

static enum exit_code print_preview(struct context *context, const json_t *preview)
{
    static const struct view taken = {
        "device",
        {COLUMN("NODE", "node"), COLUMN("DEVICE", "device"), COLUMN("BOARD", "psid"),
         COLUMN("RUNS", "from"), COLUMN_NUMBER("WAVE", "wave"), COLUMN_STATE("STATE", "state")}};
    static const struct view left_out = {"device",
                                         {COLUMN("LEFT OUT", "node"), COLUMN("DEVICE", "device"),
                                          COLUMN("BOARD", "psid"), COLUMN("RUNS", "from"),
                                          COLUMN("WHY", "text")}};
    static const struct view jobs = {"job",
                                     {COLUMN("JOB THERE", "job"), COLUMN("TENANT", "tenant")}};
    const json_t *excluded = json_object_get(preview, "excluded");
    const json_t *there = json_object_get(preview, "jobs");
    if (context_is_json(context))
        return view_show_json(context, preview);
    enum exit_code code = view_show(context, &taken, json_object_get(preview, "devices"));
    if (code == EXIT_DONE && json_array_size(excluded) > 0 && context->output == OUTPUT_TABLE)
        code = view_show(context, &left_out, excluded);
    if (code == EXIT_DONE && json_array_size(there) > 0 && context->output == OUTPUT_TABLE)
        code = view_show(context, &jobs, there);
    return code;
}

static const struct steered campaigns = {
    .what = "campaign",
    .kind = "campaigns",
    .list = "/v1/firmware/campaigns",
    .one = ONE,
    .view = &rows_view,
    .make_row = make_row,
    .preview = print_preview,
    .next = print_next,
    .at_end = print_next,
    .ends = {{"done", EXIT_DONE}, {"halted", EXIT_REFUSED}, {"cancelled", EXIT_REFUSED}},
};

/* Calls --------------------------------------------------------------------------------------- */

enum exit_code cmd_campaign_create(struct context *context, const struct arguments *arguments)
{
    json_t *image = arguments->word_count > 0 ? json_string(arguments->words[0]) : NULL;
    return steered_make(context, &campaigns, arguments, "image", image);
}

enum exit_code cmd_campaign_list(struct context *context, const struct arguments *arguments)
{
    return steered_list(context, &campaigns, arguments);
}

enum exit_code cmd_campaign_show(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = steered_fetch(context, &campaigns, arguments, &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    code = print_waves(context, reply.json);
    print_next(context, reply.json);
    return code;
}

enum exit_code cmd_campaign_devices(struct context *context, const struct arguments *arguments)
{
    static const struct kind kind = {
        .name = "campaign devices",
        .list = "campaign_devices",
        .view = {"task",
                 {COLUMN("NODE", "node"), COLUMN("DEVICE", "device"), COLUMN_NUMBER("WAVE", "wave"),
                  COLUMN_STATE("STATE", "state"), COLUMN_NUMBER("%", "percent"),
                  COLUMN("FROM", "from"), COLUMN("RUNS", "running"),
                  COLUMN("PROBLEM", "problem")}}};
    OWN(json) json_t *items = NULL;
    enum exit_code code = fetch_list_below(context, &kind, "campaign", arguments, &items);
    if (code != EXIT_DONE || context->print_request)
        return code;
    return view_show(context, &kind.view, items);
}

enum exit_code cmd_campaign_watch(struct context *context, const struct arguments *arguments)
{
    return steered_watch(context, &campaigns, arguments);
}

enum exit_code cmd_campaign_start(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &campaigns, arguments, ONE ":start");
}

enum exit_code cmd_campaign_pause(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &campaigns, arguments, ONE ":pause");
}

enum exit_code cmd_campaign_resume(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &campaigns, arguments, ONE ":resume");
}

enum exit_code cmd_campaign_cancel(struct context *context, const struct arguments *arguments)
{
    return steered_steer(context, &campaigns, arguments, ONE ":cancel");
}
