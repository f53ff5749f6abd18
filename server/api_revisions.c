/*
 * server/api_revisions.c - the history of the fabric profile and of policies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"

static json_t *revision_to_json(const struct db_revision *row)
{
    json_t *item = json_pack("{sI, ss, ss, ss}", "number", (json_int_t)row->number, "digest",
                             row->digest, "author", row->author, "origin", row->origin);
    if (item == NULL)
        return NULL;
    api_set_text(item, "message", row->message);
    api_set_time(item, "created", row->created_us);
    return item;
}

static bool on_revision(void *arg, const struct db_revision *row)
{
    struct page *page = arg;
    char etag[32];
    if (row->created_us < page->since_us)
        return false;
    etag_format(row->number, etag);
    json_t *item = revision_to_json(row);
    if (item != NULL)
        json_object_set_new(item, "etag", json_string(etag));
    return page_add(page, item, "%lld", (long long)row->number);
}

static enum err_code read_revisions(struct db_ro *ro, struct page *page, struct err *err)
{
    enum err_code code = api_own_since(ro, page->request, &page->since_us, err);
    if (code != ERR_OK)
        return code;
    return revision_list(ro, page->subject, page->after_number, page_limit(page), on_revision, page,
                         err);
}

static void list(struct request *request, const char *doc)
{
    struct page *page = page_new(request, read_revisions);
    if (page == NULL)
        return;
    snprintf(page->subject, sizeof(page->subject), "%s", doc);
    page_submit(page);
}

struct one {
    struct request *request;
    char doc[PUBLISH_KEY_SIZE];
    int64_t number, since_us;
    bool found;
    json_t *answer;
};

static bool on_one(void *arg, const struct db_revision *row)
{
    struct one *one = arg;
    one->found = row->created_us >= one->since_us;
    if (!one->found)
        return false;
    one->answer = revision_to_json(row);
    if (one->answer != NULL)
        json_object_set_new(one->answer, "document", json_loads(row->body, 0, NULL));
    return false;
}

static enum err_code read_one(struct db_ro *ro, void *arg, struct err *err)
{
    struct one *one = arg;
    enum err_code code = api_own_since(ro, one->request, &one->since_us, err);
    if (code == ERR_OK)
        code = revision_get(ro, one->doc, one->number, on_one, one, err);
    if (code == ERR_OK && !one->found)
        return err_set(err, ERR_NOT_FOUND, "revision %lld is another tenant's",
                       (long long)one->number);
    return code == ERR_OK && one->answer == NULL ? err_nomem(err) : code;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct one *one = arg;
    if (code == ERR_NOT_FOUND)
        request_reply_problem(one->request, 404, "not-found", NULL, NULL,
                              "there is no such revision");
    else if (code != ERR_OK)
        request_reply_err(one->request, err);
    else
        request_reply_json(one->request, 200, GIVE(one->answer), NULL, NULL);
    json_decref(one->answer);
    free(one);
}

static void get(struct request *request, const char *doc, const char *number)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    char *end;
    struct one *one = api_alloc(request, sizeof(*one));
    if (one == NULL)
        return;
    one->request = request;
    one->number = strtoll(number, &end, 10);
    snprintf(one->doc, sizeof(one->doc), "%s", doc);
    enum err_code code = ERR_NOT_FOUND;
    if (*end == '\0' && one->number > 0)
        code = db_read(app->db, read_one, done, one, &err);
    if (code != ERR_OK)
        done(one, code, &err);
}

void api_fabric_revisions(struct request *request)
{
    list(request, "fabric");
}

void api_fabric_revision(struct request *request)
{
    get(request, "fabric", request_param(request, 0));
}

void api_policy_revisions(struct request *request)
{
    char doc[PUBLISH_KEY_SIZE];
    snprintf(doc, sizeof(doc), "tenant/%s/policy", request_param(request, 0));
    list(request, doc);
}

void api_policy_revision(struct request *request)
{
    char doc[PUBLISH_KEY_SIZE];
    snprintf(doc, sizeof(doc), "tenant/%s/policy", request_param(request, 0));
    get(request, doc, request_param(request, 1));
}
