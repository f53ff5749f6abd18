/*
 * server/api_fabric.c - the fabric profile.
 */
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/pipeline.h"

struct fabric_write {
    struct write base;
    struct fabric *fabric; /* the new one; after the swap the old one */
};

static enum err_code prepare(struct write *w, struct err *err)
{
    (void)err;
    w->current = w->world->fabric_revision;
    memcpy(w->current_digest, w->world->fabric_digest, sizeof(w->current_digest));
    w->unchanged = w->current != 0 && strcmp(w->digest, w->current_digest) == 0;
    return ERR_OK;
}

static void swap(struct write *w)
{
    struct fabric_write *fw = (struct fabric_write *)w;
    world_swap_fabric(w->world, &fw->fabric);
}

static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    world_each_node(w->world, fn, arg);
}

static enum err_code store(struct write *w, struct db_tx *tx, struct err *err)
{
    const char *message = request_query(w->request, "message");
    const struct db_revision row = {.doc = w->subject,
                                    .body = w->text,
                                    .digest = w->digest,
                                    .author = request_principal(w->request)->name,
                                    .message = message == NULL ? "" : message,
                                    .origin = "upload"};
    return document_put(tx, &row, &w->revision, err);
}

static enum err_code effects(struct write *w, struct err *err)
{
    return write_publish(w, w->subject, err);
}

static void settle(struct write *w)
{
    w->world->fabric_revision = w->revision;
    memcpy(w->world->fabric_digest, w->digest, sizeof(w->digest));
}

static void release(struct write *w)
{
    struct fabric_write *fw = (struct fabric_write *)w;
    fabric_free(fw->fabric);
    write_release(w);
    free(fw);
}

static const struct write_kind fabric_put_kind = {
    .action = "fabric.put",
    .event = "fabric.changed",
    .refused = "fabric-refused",
    .audited = true,
    .body = true,
    .change = CHANGE_FABRIC,
    .ruled = true,
    .prepare = prepare,
    .swap = swap,
    .each_node = each_node,
    .store = store,
    .effects = effects,
    .settle = settle,
    .release = release,
};

/* The profile keeps its document, so it gets one of its own: jansson's counts do not order the end
 * of the request on one thread with the end of the profile on another. */
static enum err_code read_profile(struct fabric_write *fw, struct err *err)
{
    struct write *w = &fw->base;
    OWN(json) json_t *document = json_deep_copy(request_json(w->request));
    if (document == NULL)
        return err_nomem(err);
    return fabric_from_json(document, &fw->fabric, &w->findings, err);
}

static void submit(struct request *request, enum write_mode mode)
{
    struct err err = ERR_INIT;
    struct fabric_write *fw = calloc(1, sizeof(*fw));
    if (fw == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    struct write *w = &fw->base;
    if (!write_init(w, &fabric_put_kind, request))
        return;
    if (mode == WRITE_VALIDATE)
        w->mode = mode;
    strcpy(w->subject, "fabric");
    enum err_code code = read_profile(fw, &err);
    write_submit_document(w, request_json(request), code, &err);
}

void api_fabric_get(struct request *request)
{
    api_reply_published(request, "fabric", "fabric profile yet; an operator must PUT one");
}

void api_fabric_put(struct request *request)
{
    submit(request, WRITE_STORE);
}

void api_fabric_validate(struct request *request)
{
    submit(request, WRITE_VALIDATE);
}
