/*
 * server/look.c - see look.h. Called by the handlers of what is numbered.
 */
#include "server/look.h"

#include <stdlib.h>

#include "base/own.h"
#include "server/api.h"

struct look *look_new(struct request *request, int64_t number)
{
    struct look *look = api_alloc(request, sizeof(*look));
    if (look != NULL)
        *look = (struct look){.request = request, .number = number};
    return look;
}

void look_done(void *arg, enum err_code code, const struct err *err)
{
    struct look *look = arg;
    char etag[32];
    etag_format(look->revision, etag);
    if (code != ERR_OK)
        request_reply_err(look->request, err);
    else
        request_reply_json(look->request, 200, GIVE(look->answer), etag, NULL);
    json_decref(look->answer);
    free(look);
}
