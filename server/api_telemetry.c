/*
 * server/api_telemetry.c - what nodes count: batches of a node in, histories and latest values out.
 * Batches and histories wait for the threads of db/series, not for the store's. Answers are written
 * as text: a history of many points as a tree would take ten times its memory. Nothing in them
 * needs escaping: names of nodes, devices and columns were looked at when they came.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/speaker.h"
#include "server/telemetry_query.h"

#define LATEST_MAX 10000 /* items of an answer */

/* In ------------------------------------------------------------------------------------------- */

static void on_stored(void *arg, enum err_code code, const struct series_receipt *receipt,
                      const struct err *err)
{
    struct request *request = arg;
    if (code != ERR_OK) {
        request_reply_err(request, err);
        return;
    }
    size_t stored = receipt->repeated ? 0 : receipt->samples - receipt->dropped;
    request_reply_json(request, 200,
                       json_pack("{sI, sI, sb}", "samples", (json_int_t)stored, "dropped",
                                 (json_int_t)receipt->dropped, "repeated", receipt->repeated),
                       NULL, NULL);
}

void api_telemetry_post(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *node = request_principal(request)->node;
    size_t len;
    const char *body = request_body(request, &len);
    if (!speaker_is_in_path(request))
        return;
    if (series_put(app->series, node, (const uint8_t *)body, len, on_stored, request, &err) !=
        ERR_OK)
        request_reply_err(request, &err);
}

/* Out ------------------------------------------------------------------------------------------ */

static void put_subject(FILE *out, const struct series_found *found)
{
    fprintf(out, "{\"node\":\"%s\",\"kind\":\"%s\",\"device\":\"%s\",\"number\":%u", found->node,
            telemetry_kind_name(found->kind), found->device, found->number);
    if (found->pid != 0)
        fprintf(out, ",\"pid\":%u", found->pid);
    if (found->label != 0)
        fprintf(out, ",\"label\":%u", found->label);
    fprintf(out, ",\"metric\":\"%s\",\"type\":\"%s\"", found->name->text,
            found->name->course == TELEMETRY_GAUGE ? "gauge" : "counter");
}

static void put_time(FILE *out, const char *key, int64_t time_us)
{
    char text[CLOCK_TEXT_MAX];
    clock_format(time_us, text);
    fprintf(out, "\"%s\":\"%s\"", key, text);
}

/* Only what is known: [seconds from the beginning, sum, smallest, largest, weight]. */
static void put_points(FILE *out, const struct series_found *found, int64_t step_us)
{
    const char *comma = "";
    fputs(",\"points\":[", out);
    for (size_t i = 0; i < found->count; i++) {
        const struct telemetry_sum *sum = &found->points[i];
        if (sum->weight == 0)
            continue;
        fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%u]", comma,
                (int64_t)i * step_us / 1000000, sum->sum, sum->min, sum->max, sum->weight);
        comma = ",";
    }
    fputs("]}", out);
}

static void put_history(FILE *out, const struct series_answer *answer)
{
    const struct series_query *query = answer->query;
    fputc('{', out);
    put_time(out, "from", query->from_us);
    fputc(',', out);
    put_time(out, "to", query->to_us);
    fprintf(out, ",\"step_s\":%" PRId64 ",\"tier\":\"%s\",\"series\":[", query->step_us / 1000000,
            series_tier_name(answer->tier));
    for (size_t i = 0; i < answer->count; i++) {
        fputs(i > 0 ? "," : "", out);
        put_subject(out, &answer->found[i]);
        put_points(out, &answer->found[i], query->step_us);
    }
    fputs("],\"gaps\":[", out);
    for (size_t i = 0; i < answer->gap_count; i++) {
        const struct series_gap *gap = &answer->gaps[i];
        fprintf(out, "%s{\"node\":\"%s\",\"reason\":\"%s\",", i > 0 ? "," : "", gap->node,
                telemetry_gap_name(gap->gap.reason));
        put_time(out, "from", gap->gap.from_us);
        fputc(',', out);
        put_time(out, "to", gap->gap.to_us);
        fputc('}', out);
    }
    fprintf(out, "],\"truncated\":%s,\"damaged\":%s}", answer->truncated ? "true" : "false",
            answer->damaged ? "true" : "false");
}

/* Takes the stream's text; what could not be written was for want of memory. */
static void reply_text(struct request *request, FILE *out, char **text, const size_t *len)
{
    struct err err = ERR_INIT;
    bool good = out != NULL && ferror(out) == 0;
    good = out != NULL && fclose(out) == 0 && good;
    if (good) {
        request_reply_text(request, 200, "application/json", *text, *len);
    } else {
        err_nomem(&err);
        request_reply_err(request, &err);
    }
    free(*text);
}

static void on_history(void *arg, enum err_code code, const struct series_answer *answer,
                       const struct err *err)
{
    struct telemetry_ask *ask = arg;
    char *text = NULL;
    size_t len = 0;
    if (code != ERR_OK) {
        request_reply_err(ask->request, err);
    } else {
        FILE *out = open_memstream(&text, &len);
        if (out != NULL)
            put_history(out, answer);
        reply_text(ask->request, out, &text, &len);
    }
    telemetry_ask_free(ask);
}

static void ask_history(struct telemetry_ask *ask)
{
    struct app *app = request_app(ask->request);
    struct err err = ERR_INIT;
    if (series_query(app->series, &ask->query, on_history, ask, &err) == ERR_OK)
        return;
    request_reply_err(ask->request, &err);
    telemetry_ask_free(ask);
}

struct latest {
    FILE *out;
    size_t count;
    bool truncated;
    int64_t since_us; /* of a tenant that had a name before it */
};

static bool on_latest(void *arg, const struct series_found *found)
{
    struct latest *latest = arg;
    if (found->last.time_us < latest->since_us)
        return true;
    if (latest->count == LATEST_MAX) {
        latest->truncated = true;
        return false;
    }
    fputs(latest->count++ > 0 ? "," : "", latest->out);
    put_subject(latest->out, found);
    fprintf(latest->out, ",\"value\":%" PRId64 ",", found->last.value);
    if (found->rate != TELEMETRY_ABSENT)
        fprintf(latest->out, "\"rate\":%" PRId64 ",", found->rate);
    put_time(latest->out, "time", found->last.time_us);
    fputc('}', latest->out);
    return true;
}

static void ask_latest(struct telemetry_ask *ask)
{
    struct app *app = request_app(ask->request);
    char *text = NULL;
    size_t len = 0;
    struct latest latest = {.out = open_memstream(&text, &len), .since_us = ask->query.from_us};
    if (latest.out != NULL) {
        fputs("{\"items\":[", latest.out);
        series_latest(app->series, &ask->query, on_latest, &latest);
        fprintf(latest.out, "],\"truncated\":%s}", latest.truncated ? "true" : "false");
    }
    reply_text(ask->request, latest.out, &text, &len);
    telemetry_ask_free(ask);
}

/* Whose rows, then the question itself --------------------------------------------------------- */

static void on_labels(void *arg, enum err_code code, const struct err *err)
{
    struct telemetry_ask *ask = arg;
    if (code == ERR_OK && !ask->too_many_labels) {
        if (ask->query.step_us != 0)
            ask_history(ask);
        else
            ask_latest(ask);
        return;
    }
    if (ask->no_job)
        request_reply_problem(ask->request, 404, "not-found", NULL, NULL,
                              "the job '%s' is not placed", ask->job);
    else if (ask->too_many_labels)
        request_reply_problem(
            ask->request, 422, "limit", NULL, NULL,
            "the tenant has more than %d jobs, or they are on more than %d nodes: "
            "name one",
            SERIES_LABELS_MAX, TELEMETRY_PLACES_MAX);
    else
        request_reply_err(ask->request, err);
    telemetry_ask_free(ask);
}

static void start(struct request *request, bool history)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    struct telemetry_ask *ask = api_alloc(request, sizeof(*ask));
    if (ask == NULL)
        return;
    ask->request = request;
    if (!telemetry_ask_read(ask, history)) {
        telemetry_ask_free(ask);
        return;
    }
    if (ask->tenant[0] == '\0') {
        on_labels(ask, ERR_OK, &err);
    } else if (db_read(app->db, telemetry_ask_labels, on_labels, ask, &err) != ERR_OK) {
        request_reply_err(request, &err);
        telemetry_ask_free(ask);
    }
}

void api_telemetry_get(struct request *request)
{
    start(request, true);
}

void api_telemetry_latest(struct request *request)
{
    start(request, false);
}
