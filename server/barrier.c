/*
 * server/barrier.c - GET /v1/generations/G: has every targeted node applied what its plan says?
 * Waits are answered by the commit that brings the last receipt (planner.c wakes them).
 */
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/planner.h"

#define BARRIER_WAIT_NS     (30 * NS_PER_S)
#define BARRIER_WAIT_MAX_NS (100 * NS_PER_S)

/* Of the path, or the current one; -1 = there is no such generation. */
static int64_t parse_generation(struct request *request)
{
    struct app *app = request_app(request);
    const char *text = request_param(request, 0);
    struct fleet_status fleet;
    char *end;
    status_fleet(app->status, &fleet);
    if (strcmp(text, "current") == 0)
        return fleet.generation;
    long long number = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number > fleet.generation)
        return -1;
    return number;
}

static void reply(struct request *request)
{
    struct app *app = request_app(request);
    bool applied;
    json_t *answer = status_barrier(app->status, parse_generation(request), &applied);
    if (answer == NULL) {
        struct err err = ERR_INIT;
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    request_reply_json(request, 200, answer, NULL, NULL);
}

static void on_reached(struct request *request, bool late)
{
    (void)late; /* the answer says how far it is */
    reply(request);
}

void api_generation_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *wait = request_query(request, "wait");
    int64_t generation = parse_generation(request), wait_ns;
    if (generation < 0) {
        request_reply_problem(request, 404, "not-found", NULL, NULL,
                              "there is no such generation yet; ask for \"current\"");
        return;
    }
    if (wait != NULL && strcmp(wait, "applied") != 0) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "wait takes \"applied\"");
        return;
    }
    if (request_duration(request, "timeout", BARRIER_WAIT_NS, BARRIER_WAIT_MAX_NS, &wait_ns,
                         &err) != ERR_OK) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL, "%s", err.text);
        return;
    }
    if (wait == NULL || wait_ns == 0 || status_is_applied(app->status, generation)) {
        reply(request);
        return;
    }
    enum err_code code = waiters_add(app->waiters, BARRIER_KEY, request,
                                     app->clock->mono_ns(app->clock) + wait_ns, on_reached, &err);
    if (code != ERR_OK)
        request_reply_err(request, &err);
    else if (status_is_applied(app->status,
                               generation)) /* reached between the look and the entry */
        waiters_wake(app->waiters, BARRIER_KEY);
}
