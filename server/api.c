/*
 * server/api.c - see the end of api.h.
 */
#include "server/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "db/tables.h"
#include "fleet/name.h"

void *api_alloc(struct request *request, size_t size)
{
    struct err err = ERR_INIT;
    void *memory = calloc(1, size);
    if (memory != NULL)
        return memory;
    err_nomem(&err);
    request_reply_err(request, &err);
    return NULL;
}

void api_reply_published(struct request *request, const char *key, const char *what)
{
    struct app *app = request_app(request);
    struct blob *blob = publish_get(app->publish, key, NULL);
    if (blob == NULL)
        request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no %s", what);
    else
        request_reply_blob(request, 200, blob);
    blob_unref(blob);
}

bool api_check_name(struct request *request, const char *name, const char *what)
{
    struct err err = ERR_INIT;
    if (name_check(name, what, &err) == ERR_OK)
        return true;
    request_reply_problem(request, 422, "invalid-name", NULL, NULL, "%s", err.text);
    return false;
}

bool api_check_node(struct request *request, const char *node)
{
    struct app *app = request_app(request);
    if (status_has(app->status, node))
        return true;
    request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no such node");
    return false;
}

void api_set_time(json_t *object, const char *key, int64_t wall_us)
{
    char text[CLOCK_TEXT_MAX];
    if (wall_us == 0)
        return;
    clock_format(wall_us, text);
    json_object_set_new(object, key, json_string(text));
}

void api_set_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_object_set_new(object, key, json_string(text));
}

void api_reply_later(struct request *request, int64_t wait_s, const char *what)
{
    char seconds[24];
    snprintf(seconds, sizeof(seconds), "%lld", (long long)wait_s);
    request_set_header(request, "Retry-After", seconds);
    request_reply_problem(request, 429, "too-many-attempts", NULL, NULL,
                          "too many wrong %s; try again in %s s", what, seconds);
}

const char *api_own_tenant(const struct request *request)
{
    const struct principal *who = request_principal(request);
    return who->role == ROLE_TENANT_ADMIN || who->role == ROLE_TENANT_USER ? who->tenant : NULL;
}

enum err_code api_own_since(struct db_ro *ro, const struct request *request, int64_t *out_us,
                            struct err *err)
{
    const char *tenant = api_own_tenant(request);
    *out_us = 0;
    return tenant == NULL ? ERR_OK : tenant_created(ro, tenant, out_us, err);
}
