/*
 * cli/cmd_campaign.c - stellarctl campaign: a firmware image brought to devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/pick.h"
#include "cli/view.h"
#include "cli/watch.h"
#include "cli/write.h"

#define LIST     "/v1/firmware/campaigns"
#define ONE      "/v1/firmware/campaigns/{campaign}"
#define CELL_MAX 512

/* States in which nothing more happens by itself. */
static const struct {
    const char *state;
    enum exit_code code;
} ends[] = {{"done", EXIT_DONE}, {"halted", EXIT_REFUSED}, {"cancelled", EXIT_REFUSED}};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

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
    return json_pack("{s:s, s:s, s:s, s:s}", "id", text_of(campaign, "id"), "state",
                     text_of(campaign, "state"), "devices", devices, "problem",
                     text_of(campaign, "problem"));
}

static enum exit_code print_row(struct context *context, const json_t *campaign)
{
    static const struct view view = {"id",
                                     {{"ID", "id", false, false},
                                      {"STATE", "state", false, true},
                                      {"DEVICES", "devices", false, false},
                                      {"PROBLEM", "problem", false, false}}};
    if (context_is_json(context))
        return view_show_json(context, campaign);
    OWN(json) json_t *row = make_row(campaign);
    OWN(json) json_t *items = json_pack("[O]", row);
    return view_show(context, &view, items);
}

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
        if (strcmp(nexts[i].state, text_of(campaign, "state")) != 0)
            continue;
        fprintf(context->err, "  %s: stellarctl campaign %s ", nexts[i].text, nexts[i].command);
        print_text(context->err, text_of(campaign, "id"));
        fputc('\n', context->err);
    }
}

static enum exit_code print_waves(struct context *context, const json_t *campaign)
{
    static const struct view view = {"wave",
                                     {{"WAVE", "wave", true, false},
                                      {"STATE", "state", false, true},
                                      {"DEVICES", "devices", true, false},
                                      {"ENDED", "ended", true, false}}};
    if (context_is_json(context))
        return view_show_json(context, campaign);
    enum exit_code code =
        context->output == OUTPUT_TABLE ? print_row(context, campaign) : EXIT_DONE;
    if (context->output == OUTPUT_TABLE && strcmp(text_of(campaign, "window"), "closed") == 0) {
        fputs("  its next window opens ", context->out);
        print_text(context->out, text_of(campaign, "window_opens"));
        fputc('\n', context->out);
    }
    return code != EXIT_DONE ? code : view_show(context, &view, json_object_get(campaign, "waves"));
}

static enum exit_code print_preview(struct context *context, const json_t *preview)
{
    static const struct view taken = {"device",
                                      {{"NODE", "node", false, false},
                                       {"DEVICE", "device", false, false},
                                       {"BOARD", "psid", false, false},
                                       {"RUNS", "from", false, false},
                                       {"WAVE", "wave", true, false},
                                       {"STATE", "state", false, true}}};
    static const struct view left_out = {"device",
                                         {{"LEFT OUT", "node", false, false},
                                          {"DEVICE", "device", false, false},
                                          {"BOARD", "psid", false, false},
                                          {"RUNS", "from", false, false},
                                          {"WHY", "text", false, false}}};
    static const struct view jobs = {
        "job", {{"JOB THERE", "job", false, false}, {"TENANT", "tenant", false, false}}};
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

/* Calls --------------------------------------------------------------------------------------- */

/* "campaign c-7: running", and what can be done next. */
static void report(struct context *context, const struct reply *reply)
{
    const char *id = text_of(reply->json, "id");
    if (context->output == OUTPUT_TABLE) {
        fputs("campaign ", context->out);
        print_text(context->out, id);
        fputs(": ", context->out);
        print_text(context->out, text_of(reply->json, "state"));
        fputc('\n', context->out);
    } else {
        write_report(context, id, "done", reply);
    }
    print_next(context, reply->json);
}

enum exit_code cmd_campaign_create(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    json_t *body = NULL;
    enum err_code code = body_call("POST", LIST, &call, &err);
    if (code == ERR_OK)
        code = pick_body(context, arguments, &body, &err);
    if (code != ERR_OK)
        return context_fail(context, &err);
    if (arguments->word_count > 0)
        json_object_set_new(body, "image", json_string(arguments->words[0]));
    if (arguments_has(arguments, OPTION_DRY_RUN))
        call_add(&call, OPERATION_QUERY, "dry_run", "true");
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code done = body_send(context, &call, body, &reply);
    if (done != EXIT_DONE || reply.printed)
        return done;
    if (json_is_true(json_object_get(reply.json, "dry_run")))
        return print_preview(context, reply.json);
    report(context, &reply);
    return EXIT_DONE;
}

enum exit_code cmd_campaign_list(struct context *context, const struct arguments *arguments)
{
    struct arguments words = *arguments;
    words.words[0] = "campaigns";
    words.word_count = 1;
    return cmd_get(context, &words);
}

static enum exit_code fetch_campaign(struct context *context, const char *id, struct reply *out)
{
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("GET", ONE, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "campaign", id);
    return context_call(context, &call, out);
}

enum exit_code cmd_campaign_show(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = fetch_campaign(context, arguments->words[0], &reply);
    if (code != EXIT_DONE || reply.printed)
        return code;
    code = print_waves(context, reply.json);
    print_next(context, reply.json);
    return code;
}

enum exit_code cmd_campaign_devices(struct context *context, const struct arguments *arguments)
{
    static const struct kind kind = {.name = "campaign devices",
                                     .list = "campaign_devices",
                                     .view = {"task",
                                              {{"NODE", "node", false, false},
                                               {"DEVICE", "device", false, false},
                                               {"WAVE", "wave", true, false},
                                               {"STATE", "state", false, true},
                                               {"%", "percent", true, false},
                                               {"FROM", "from", false, false},
                                               {"RUNS", "running", false, false},
                                               {"PROBLEM", "problem", false, false}}}};
    OWN(json) json_t *items = NULL;
    enum exit_code code = fetch_list_below(context, &kind, "campaign", arguments, &items);
    if (code != EXIT_DONE || context->print_request)
        return code;
    return view_show(context, &kind.view, items);
}

/* One row for each change. */
static void show_step(struct context *context, const json_t *campaign)
{
    print_row(context, campaign);
    context->headings = false;
    fflush(context->out);
}

static bool same_row(const json_t *before, const json_t *now)
{
    if (before == NULL)
        return false;
    OWN(json) json_t *old = make_row(before);
    OWN(json) json_t *new = make_row(now);
    return json_equal(old, new);
}

enum exit_code cmd_campaign_watch(struct context *context, const struct arguments *arguments)
{
    OWN(json) json_t *before = NULL;
    struct err err = ERR_INIT;
    int64_t interval_s = WATCH_INTERVAL_DEFAULT_S;
    int failures = 0;
    if (arguments_seconds(arguments, OPTION_INTERVAL, &interval_s, &err) != ERR_OK)
        return context_fail(context, &err);
    for (;;) {
        OWN_REPLY struct reply reply = {.printed = false};
        enum exit_code code = fetch_campaign(context, arguments->words[0], &reply);
        failures = code == EXIT_DONE ? 0 : failures + 1;
        if (reply.printed ||
            (code != EXIT_DONE && (code != EXIT_UNREACHABLE || failures == WATCH_FAILURES_MAX)))
            return code;
        if (code == EXIT_DONE && !same_row(before, reply.json)) {
            show_step(context, reply.json);
            json_decref(before);
            before = json_incref(reply.json);
        }
        for (size_t i = 0; code == EXIT_DONE && i < sizeof(ends) / sizeof(ends[0]); i++)
            if (strcmp(ends[i].state, text_of(reply.json, "state")) == 0) {
                print_next(context, reply.json);
                return ends[i].code;
            }
        watch_sleep(interval_s);
    }
}

static enum exit_code steer(struct context *context, const struct arguments *arguments,
                            const char *path)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", path, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "campaign", arguments->words[0]);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code code = context_call(context, &call, &reply);
    if (code == EXIT_DONE && !reply.printed)
        report(context, &reply);
    return code;
}

enum exit_code cmd_campaign_start(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":start");
}

enum exit_code cmd_campaign_pause(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":pause");
}

enum exit_code cmd_campaign_resume(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":resume");
}

enum exit_code cmd_campaign_cancel(struct context *context, const struct arguments *arguments)
{
    return steer(context, arguments, ONE ":cancel");
}
