/*
 * server/api_diff.c - what is different between two revisions of a document: a JSON Patch and
 * text. Read and compared on a reader thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_diff.h"
#include "server/api.h"
#include "server/pipeline.h"

#define DIFF_TYPE "text/x-diff; charset=utf-8"

struct side {
    int64_t number; /* 0 = the current one */
    bool found;
    json_t *document; /* owned */
};

struct diff {
    struct app *app;
    struct request *request;
    char doc[PUBLISH_KEY_SIZE];
    struct side from, to;
    struct side *reading;
    int64_t since_us;
    bool as_text;
    json_t *patch; /* owned */
    char *text;    /* owned */
};

static void diff_free(struct diff *d)
{
    json_decref(d->from.document);
    json_decref(d->to.document);
    json_decref(d->patch);
    free(d->text);
    free(d);
}

static bool on_revision(void *arg, const struct db_revision *row)
{
    struct diff *d = arg;
    d->reading->found = row->created_us >= d->since_us;
    if (d->reading->found)
        d->reading->document = json_loads(row->body, 0, NULL);
    return false;
}

static enum err_code read_side(struct diff *d, struct db_ro *ro, struct side *side, struct err *err)
{
    enum err_code code = ERR_OK;
    d->reading = side;
    if (side->number == 0)
        code = document_current(ro, d->doc, &side->number, err);
    if (code == ERR_OK && side->number == 0)
        return err_set(err, ERR_NOT_FOUND, "%s has no current revision", d->doc);
    if (code == ERR_OK)
        code = revision_get(ro, d->doc, side->number, on_revision, d, err);
    if (code == ERR_OK && !side->found)
        return err_set(err, ERR_NOT_FOUND, "%s has no revision %lld", d->doc,
                       (long long)side->number);
    return code == ERR_OK && side->document == NULL ? err_nomem(err) : code;
}

static enum err_code read(struct db_ro *ro, void *arg, struct err *err)
{
    struct diff *d = arg;
    char from[PUBLISH_KEY_SIZE + 32], to[PUBLISH_KEY_SIZE + 32];
    enum err_code code = api_own_since(ro, d->request, &d->since_us, err);
    if (code == ERR_OK)
        code = read_side(d, ro, &d->from, err);
    if (code == ERR_OK)
        code = read_side(d, ro, &d->to, err);
    if (code != ERR_OK)
        return code;
    snprintf(from, sizeof(from), "%s revision %lld", d->doc, (long long)d->from.number);
    snprintf(to, sizeof(to), "%s revision %lld", d->doc, (long long)d->to.number);
    d->patch = json_diff(d->from.document, d->to.document);
    d->text = json_diff_text(d->from.document, d->to.document, from, to);
    return d->patch == NULL || d->text == NULL ? err_nomem(err) : ERR_OK;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct diff *d = arg;
    if (code != ERR_OK)
        request_reply_err(d->request, err);
    else if (d->as_text)
        request_reply_text(d->request, 200, DIFF_TYPE, d->text, strlen(d->text));
    else
        request_reply_json(d->request, 200,
                           json_pack("{sI, sI, sO, ss}", "from", (json_int_t)d->from.number, "to",
                                     (json_int_t)d->to.number, "patch", d->patch, "text", d->text),
                           NULL, NULL);
    diff_free(d);
}

/* "current" or a number; false when it is neither. */
static bool side_parse(const char *text, struct side *out)
{
    char *end;
    if (strcmp(text, "current") == 0)
        return true;
    out->number = strtoll(text, &end, 10);
    return text[0] >= '1' && text[0] <= '9' && *end == '\0' && strlen(text) <= 18;
}

static void start(struct request *request, const char *doc)
{
    static const char *const types[] = {"application/json", "text/x-diff", "text/plain", NULL};
    const char *from = request_query(request, "from"), *to = request_query(request, "to");
    struct err err = ERR_INIT;
    struct diff *d = api_alloc(request, sizeof(*d));
    if (d == NULL)
        return;
    d->app = request_app(request);
    d->request = request;
    d->as_text = request_accept(request, types) != 0;
    snprintf(d->doc, sizeof(d->doc), "%s", doc);
    if (from == NULL || !side_parse(from, &d->from) ||
        !side_parse(to == NULL ? "current" : to, &d->to)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "from and to are numbers of revisions, or 'current' (which to is "
                              "when it is left out)");
        diff_free(d);
        return;
    }
    if (db_read(d->app->db, read, done, d, &err) != ERR_OK)
        done(d, err.code, &err);
}

void api_fabric_diff(struct request *request)
{
    start(request, "fabric");
}

void api_policy_diff(struct request *request)
{
    char doc[PUBLISH_KEY_SIZE];
    snprintf(doc, sizeof(doc), "tenant/%s/policy", request_param(request, 0));
    start(request, doc);
}
