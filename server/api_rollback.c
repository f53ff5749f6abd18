/*
 * server/api_rollback.c - an old revision comes back as a new one, judged by today's rules; and
 * what documents with revisions share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/read.h"
#include "server/api.h"
#include "server/pipeline.h"

enum err_code write_revision(struct write *w, struct db_tx *tx, struct err *err)
{
    char actor[AUDIT_ACTOR_SIZE];
    principal_actor(request_principal(w->request), actor);
    const struct db_revision row = {.doc = w->subject,
                                    .body = w->text,
                                    .digest = w->digest,
                                    .author = actor,
                                    .message = w->message,
                                    .origin = w->origin};
    return document_put(tx, &row, &w->revision, err);
}

struct body {
    json_t *document; /* owned */
    int64_t since_us;
    bool hidden; /* of another tenant that had the name before */
};

static bool on_revision(void *arg, const struct db_revision *row)
{
    struct body *body = arg;
    body->hidden = row->created_us < body->since_us;
    if (!body->hidden)
        body->document = json_loads(row->body, 0, NULL);
    return false;
}

enum err_code write_revision_body(struct write *w, struct db_ro *ro, int64_t number, json_t **out,
                                  struct err *err)
{
    struct body body = {.document = NULL};
    enum err_code code = api_own_since(ro, w->request, &body.since_us, err);
    if (code == ERR_OK)
        code = revision_get(ro, w->subject, number, on_revision, &body, err);
    if (code != ERR_OK)
        return code;
    if (body.hidden)
        return err_set(err, ERR_NOT_FOUND, "%s has no revision %lld", w->subject,
                       (long long)number);
    if (body.document == NULL)
        return err_nomem(err);
    *out = body.document;
    return ERR_OK;
}

static enum err_code derive(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    enum err_code code = w->kind->prepare(w, err);
    if (code == ERR_OK)
        code = write_check_precondition(w, err);
    if (code != ERR_OK)
        return code;
    code = write_revision_body(w, ro, w->wanted, out, err);
    if (code != ERR_NOT_FOUND)
        return code;
    finding_addf(&w->findings, "revision", FINDING_ERROR, "/revision", "there is no revision %lld",
                 (long long)w->wanted);
    return write_refuse(w, 422, "no-such-revision", err,
                        "%s has no revision %lld; see its revisions", w->subject,
                        (long long)w->wanted);
}

static void read_wish(struct write *w)
{
    struct json_reader r;
    json_reader_init(&r, request_json(w->request), "", &w->findings);
    json_reader_int(&r, "revision", true, 1, INT64_MAX, &w->wanted);
    json_reader_string(&r, "message", false, 0, WRITE_TEXT_MAX, &w->message);
    json_reader_end(&r);
}

void write_submit_rollback(struct write *w)
{
    read_wish(w);
    w->derive = derive;
    snprintf(w->origin, sizeof(w->origin), "rollback:%lld", (long long)w->wanted);
    write_submit(w);
}
