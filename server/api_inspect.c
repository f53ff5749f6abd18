/*
 * server/api_inspect.c - what an operator's file says: read, answered, and not stored.
 */
#include "server/api.h"
#include "server/inspector.h"

void api_health_inspect(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    if (inspector_submit(app->inspector, request, &err) != ERR_OK)
        request_reply_err(request, &err);
}
