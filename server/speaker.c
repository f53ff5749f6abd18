/*
 * server/speaker.c - see speaker.h.
 */
#include "server/speaker.h"

#include <string.h>

#include "server/api.h"
#include "server/denials.h"

bool speaker_is_named(struct request *request, const char *named)
{
    const char *node = request_principal(request)->node;
    if (named == NULL || strcmp(named, node) == 0)
        return true;
    denial_call(request_app(request), request, 403, "wrong-node");
    request_reply_problem(request, 403, "wrong-node", NULL, NULL,
                          "this token is node '%s's; it cannot speak for '%.63s'", node, named);
    return false;
}

bool speaker_is_in_path(struct request *request)
{
    const char *node = request_principal(request)->node;
    const char *named = request_param(request, 0);
    if (strcmp(named, node) == 0)
        return true;
    denial_call(request_app(request), request, 403, "wrong-node");
    request_reply_problem(request, 403, "wrong-node", NULL, NULL,
                          "this is node '%s'; it cannot speak for '%.63s'", node, named);
    return false;
}
