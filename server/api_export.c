/*
 * server/api_export.c - the whole desired state as one document; see archive.h.
 */
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/archive.h"

struct export
{
    struct app *app;
    struct request *request;
    json_t *answer; /* owned */
};

static enum err_code read(struct db_ro *ro, void *arg, struct err *err)
{
    struct export *export = arg;
    OWN(json) json_t *content = NULL;
    char digest[DIGEST_TEXT_MAX];
    enum err_code code = archive_read(ro, &content, err);
    if (code == ERR_OK)
        code = json_digest(content, digest, err);
    if (code != ERR_OK)
        return code;
    export->answer =
        json_pack("{ss, si, ss, ss, sO}", "format", ARCHIVE_FORMAT, "version", ARCHIVE_VERSION,
                  "stellar", STELLAR_VERSION, "digest", digest, "content", content);
    if (export->answer == NULL)
        return err_nomem(err);
    api_set_time(export->answer, "created", export->app->clock->wall_us(export->app->clock));
    return ERR_OK;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct export *export = arg;
    if (code != ERR_OK) {
        request_reply_err(export->request, err);
    } else {
        request_set_header(export->request, "Content-Disposition",
                           "attachment; filename=\"stellar-export.json\"");
        request_reply_json(export->request, 200, GIVE(export->answer), NULL, NULL);
    }
    json_decref(export->answer);
    free(export);
}

void api_export(struct request *request)
{
    struct err err = ERR_INIT;
    struct export *export = api_alloc(request, sizeof(*export));
    if (export == NULL)
        return;
    export->app = request_app(request);
    export->request = request;
    if (db_read(export->app->db, read, done, export, &err) != ERR_OK)
        done(export, err.code, &err);
}
