/*
 * server/api_system.c - alive, ready, the interface's own description, the rules.
 */
#include "fleet/rules.h"
#include "server/api.h"

static void reply_health(struct request *request, const char *status)
{
    request_reply_json(request, 200,
                       json_pack("{ss, ss}", "status", status, "version", STELLAR_VERSION), NULL,
                       NULL);
}

void api_healthz(struct request *request)
{
    reply_health(request, "ok");
}

void api_readyz(struct request *request)
{
    if (request_cancelled(request))
        request_reply_problem(request, 503, "stopping", NULL, NULL, "the server is stopping");
    else
        reply_health(request, "ready");
}

void api_openapi(struct request *request)
{
    struct app *app = request_app(request);
    request_reply_blob(request, 200, app->openapi);
}

void api_rules_list(struct request *request)
{
    json_t *items = json_array();
    for (size_t i = 0; rules[i] != NULL; i++)
        json_array_append_new(items, json_pack("{ss, ss, ss}", "id", rules[i]->id, "text",
                                               rules[i]->text, "reason", rules[i]->reason));
    request_reply_json(request, 200, json_pack("{so}", "items", items), NULL, NULL);
}
