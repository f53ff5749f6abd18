/*
 * cli/rollout_view.c - see rollout_view.h.
 */
#include "cli/rollout_view.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/steered.h"
#include "cli/view.h"

#define CELL_MAX 512

const struct view rollout_rows_view = {"id",
                                       {COLUMN("ID", "id"), COLUMN_STATE("STATE", "state"),
                                        COLUMN("WAVE", "wave"), COLUMN("NODES", "nodes"),
                                        COLUMN("PROBLEM", "problem")}};
static const struct view waves_view = {
    "wave",
    {COLUMN_NUMBER("WAVE", "wave"), COLUMN_STATE("STATE", "state"), COLUMN_NUMBER("NODES", "nodes"),
     COLUMN("RECEIPTS", "receipts"), COLUMN("FINDINGS", "findings"), COLUMN("PROBE", "probe"),
     COLUMN("TESTS", "verification"), COLUMN("WHY", "why"), COLUMN("NOT AS WANTED", "bad")}};
static const struct view preview_view = {
    "wave",
    {COLUMN_NUMBER("WAVE", "wave"), COLUMN_NUMBER("NODES", "nodes_total"),
     COLUMN_NUMBER("STEPS", "steps"), COLUMN("DISRUPTION", "disruption"),
     COLUMN("TENANTS", "tenants"), COLUMN("NAMES", "nodes")}};

static void append(char out[CELL_MAX], const char *between, const char *text)
{
    size_t len = strlen(out);
    snprintf(out + len, CELL_MAX - len, "%s%s", len > 0 ? between : "", text);
}

/* "1 applied, 2 waiting": states without nodes say nothing. */
static void count_nodes(const json_t *rollout, char out[CELL_MAX])
{
    const char *state;
    json_t *count;
    out[0] = '\0';
    json_object_foreach(json_object_get(rollout, "nodes"), state, count)
    {
        char one[100];
        snprintf(one, sizeof(one), "%lld %.60s", (long long)json_integer_value(count), state);
        if (json_integer_value(count) > 0)
            append(out, ", ", one);
    }
}

/* "2 of 3": the first wave that is not confirmed. */
static void open_wave(const json_t *rollout, char out[CELL_MAX])
{
    const json_t *waves = json_object_get(rollout, "waves");
    size_t count = json_array_size(waves), at = 0;
    while (at < count && strcmp(steered_text(json_array_get(waves, at), "state"), "confirmed") == 0)
        at++;
    out[0] = '\0';
    if (count > 0)
        snprintf(out, CELL_MAX, "%zu of %zu", at < count ? at + 1 : count, count);
}

json_t *rollout_make_row(const json_t *rollout)
{
    char nodes[CELL_MAX], wave[CELL_MAX];
    count_nodes(rollout, nodes);
    open_wave(rollout, wave);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", steered_text(rollout, "id"), "state",
                     steered_text(rollout, "state"), "wave", wave, "nodes", nodes, "problem",
                     steered_text(rollout, "problem"));
}

/* {"receipts": "ok 1/1", ..., "bad": "n1,n2"} of one wave. */
static json_t *make_wave(const json_t *wave)
{
    char bad[CELL_MAX] = "";
    size_t i, n;
    json_t *gate, *node;
    json_t *row = json_pack("{s:O, s:s, s:O}", "wave", json_object_get(wave, "wave"), "state",
                            steered_text(wave, "state"), "nodes", json_object_get(wave, "nodes"));
    json_array_foreach(json_object_get(wave, "gates"), i, gate)
    {
        char cell[CELL_MAX];
        snprintf(cell, sizeof(cell), "%.30s %lld/%lld", steered_text(gate, "state"),
                 (long long)json_integer_value(json_object_get(gate, "value")),
                 (long long)json_integer_value(json_object_get(gate, "wanted")));
        if (row != NULL)
            json_object_set_new(row, steered_text(gate, "name"), json_string(cell));
        if (row != NULL && steered_text(gate, "why")[0] != '\0')
            json_object_set_new(row, "why", json_string(steered_text(gate, "why")));
        json_array_foreach(json_object_get(gate, "nodes"), n, node)
        {
            const char *name = json_string_value(node);
            if (name != NULL && strstr(bad, name) == NULL)
                append(bad, ",", name);
        }
    }
    if (row != NULL)
        json_object_set_new(row, "bad", json_string(bad));
    return row;
}

static void print_head(struct context *context, const json_t *rollout)
{
    static const char *const labels[][2] = {{"message", "message"}, {"problem", "problem"}};
    char nodes[CELL_MAX];
    FILE *out = context->out;
    count_nodes(rollout, nodes);
    fputs("rollout ", out);
    print_text(out, steered_text(rollout, "id"));
    fputs(": ", out);
    print_text(out, steered_text(rollout, "state"));
    fprintf(out, "\n  nodes: ");
    print_text(out, nodes);
    fputc('\n', out);
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        const char *text = steered_text(rollout, labels[i][1]);
        if (text[0] == '\0')
            continue;
        fprintf(out, "  %s: ", labels[i][0]);
        print_text(out, text);
        fputc('\n', out);
    }
}

enum exit_code rollout_print(struct context *context, const json_t *rollout)
{
    OWN(json) json_t *items = json_array();
    size_t i;
    json_t *wave;
    if (context_is_json(context))
        return view_show_json(context, rollout);
    json_array_foreach(json_object_get(rollout, "waves"), i, wave)
        json_array_append_new(items, make_wave(wave));
    if (context->output == OUTPUT_TABLE)
        print_head(context, rollout);
    if (context->output == OUTPUT_TABLE && json_array_size(items) == 0)
        return EXIT_DONE;
    return view_show(context, &waves_view, items);
}

enum exit_code rollout_print_preview(struct context *context, const json_t *preview)
{
    if (context_is_json(context))
        return view_show_json(context, preview);
    return view_show(context, &preview_view, json_object_get(preview, "waves"));
}

void rollout_print_next(struct context *context, const json_t *rollout)
{
    static const struct {
        const char *state, *text, *command;
    } nexts[] = {
        {"preparing", "follow it", "watch"},
        {"confirming", "the wave has passed and waits for you", "confirm"},
        {"paused", "go on", "resume"},
        {"failed", "which nodes, and why", "nodes"},
    };
    const char *state = steered_text(rollout, "state");
    if (context->output != OUTPUT_TABLE)
        return;
    for (size_t i = 0; i < sizeof(nexts) / sizeof(nexts[0]); i++) {
        if (strcmp(nexts[i].state, state) != 0)
            continue;
        fprintf(context->err, "  %s: stellarctl rollout %s ", nexts[i].text, nexts[i].command);
        print_text(context->err, steered_text(rollout, "id"));
        const json_t *left = json_object_get(rollout, "confirm_remaining_s");
        if (json_is_integer(left) && strcmp(state, "confirming") == 0)
            fprintf(context->err, " (within %lld s, then its nodes go back)",
                    (long long)json_integer_value(left));
        fputc('\n', context->err);
    }
}
