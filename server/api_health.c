/*
 * server/api_health.c - the health of the fleet and of one node, as the rules see it now.
 */
#include "server/api.h"
#include "server/health.h"

static void reply(struct request *request, json_t *answer)
{
    struct err err = ERR_INIT;
    if (answer != NULL) {
        request_reply_json(request, 200, answer, NULL, NULL);
        return;
    }
    err_nomem(&err);
    request_reply_err(request, &err);
}

void api_health_get(struct request *request)
{
    struct app *app = request_app(request);
    reply(request, health_desk_summary(app->health));
}

void api_node_health(struct request *request)
{
    struct app *app = request_app(request);
    const char *node = request_param(request, 0);
    if (!api_check_node(request, node))
        return;
    reply(request, health_desk_node(app->health, node));
}
