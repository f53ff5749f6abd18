/*
 * server/api_fabric.c - the fabric profile.
 */
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/hardware.h"
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

/* The profile keeps its document, so it gets one of its own: jansson's counts do not order the end
 * of the request on one thread with the end of the profile on another. */
static enum err_code read(struct write *w, const json_t *document, struct err *err)
{
    OWN(json) json_t *copy = json_deep_copy(document);
    if (copy == NULL)
        return err_nomem(err);
    return fabric_from_json(copy, &((struct fabric_write *)w)->fabric, &w->findings, err);
}

static enum err_code load(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    w->current = w->world->fabric_revision;
    if (w->current == 0)
        return write_refuse(w, 404, "not-found", err,
                            "there is no fabric profile yet; an operator must PUT one");
    return write_revision_body(w, ro, w->current, out, err);
}

/* The profile's firmware minimums change what is found on nodes. */
static enum err_code store(struct write *w, struct db_tx *tx, struct err *err)
{
    enum err_code code = write_revision(w, tx, err);
    return code != ERR_OK ? code
                          : hardware_fabric_changed(w->app, tx, w->request,
                                                    ((struct fabric_write *)w)->fabric, err);
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
    .read = read,
    .load = load,
    .prepare = prepare,
    .swap = swap,
    .each_node = each_node,
    .store = store,
    .effects = effects,
    .settle = settle,
    .release = release,
};

/* NULL when it has replied. */
static struct write *start(struct request *request)
{
    struct fabric_write *fw = api_alloc(request, sizeof(*fw));
    if (fw == NULL)
        return NULL;
    if (!write_init(&fw->base, &fabric_put_kind, request))
        return NULL;
    strcpy(fw->base.subject, "fabric");
    return &fw->base;
}

void api_fabric_get(struct request *request)
{
    api_reply_published(request, "fabric", "fabric profile yet; an operator must PUT one");
}

void api_fabric_put(struct request *request)
{
    struct write *w = start(request);
    if (w != NULL)
        write_submit_body(w);
}

void api_fabric_validate(struct request *request)
{
    struct write *w = start(request);
    if (w == NULL)
        return;
    w->mode = WRITE_VALIDATE;
    write_submit_body(w);
}

void api_fabric_patch(struct request *request)
{
    struct write *w = start(request);
    if (w != NULL)
        write_submit_patch(w);
}

void api_fabric_rollback(struct request *request)
{
    struct write *w = start(request);
    if (w != NULL)
        write_submit_rollback(w);
}
