/*
 * server/api_nodes.c - nodes: what the operator says of them, and where they stand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/planner.h"
#include "server/selector.h"

struct node_write {
    struct write base;
    bool creating;
    int64_t created_us;            /* creating: when */
    struct world_node *entry;      /* creating: the new one; removing: NULL, then the old one */
    struct node_document document; /* the new one; after the swap the old one */
};

static void find(struct write *w)
{
    const struct world_node *node = world_node_get(w->world, w->node);
    w->current = node == NULL ? 0 : node->revision;
    memcpy(w->current_digest, node == NULL ? "" : node->digest,
           node == NULL ? 1 : sizeof(w->current_digest));
}

static enum err_code find_present(struct write *w, struct err *err)
{
    find(w);
    if (w->current == 0)
        return write_refuse(w, 404, "not-found", err, "there is no node '%s'", w->node);
    return ERR_OK;
}

static enum err_code read(struct write *w, const json_t *document, struct err *err)
{
    return node_document_read(document, w->node, &((struct node_write *)w)->document, &w->findings,
                              err);
}

static enum err_code load(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    (void)ro;
    enum err_code code = find_present(w, err);
    if (code != ERR_OK)
        return code;
    *out = json_loads(world_node_get(w->world, w->node)->document.text, 0, NULL);
    return *out == NULL ? err_nomem(err) : ERR_OK;
}

static enum err_code prepare_put(struct write *w, struct err *err)
{
    struct node_write *nw = (struct node_write *)w;
    find(w);
    w->unchanged = w->current != 0 && strcmp(w->digest, w->current_digest) == 0;
    nw->creating = w->current == 0;
    if (nw->creating && nw->entry == NULL) {
        nw->entry = calloc(1, sizeof(*nw->entry));
        if (nw->entry == NULL)
            return err_nomem(err);
        snprintf(nw->entry->name, sizeof(nw->entry->name), "%s", w->node);
        nw->entry->document = nw->document;
        nw->document = (struct node_document){0};
    } else if (!nw->creating &&
               nw->entry != NULL) { /* a dry run; somebody else made it meanwhile */
        nw->document = nw->entry->document;
        nw->entry->document = (struct node_document){0};
        world_node_free(nw->entry);
        nw->entry = NULL;
    }
    return ERR_OK;
}

static void swap_put(struct write *w)
{
    struct node_write *nw = (struct node_write *)w;
    if (nw->creating)
        world_swap_node(w->world, w->node, &nw->entry);
    else
        world_swap_document(w->world, w->node, &nw->document);
}

static void swap_delete(struct write *w)
{
    struct node_write *nw = (struct node_write *)w;
    world_swap_node(w->world, w->node, &nw->entry);
}

static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    struct world_node *node = world_node_get(w->world, w->node);
    if (node != NULL)
        fn(arg, node);
}

static enum err_code store_put(struct write *w, struct db_tx *tx, struct err *err)
{
    ((struct node_write *)w)->created_us = db_tx_now_us(tx);
    return node_put(tx, w->node, w->text, NULL, &w->revision, err);
}

static enum err_code store_delete(struct write *w, struct db_tx *tx, struct err *err)
{
    return node_delete(tx, w->node, err);
}

static enum err_code effects_put(struct write *w, struct err *err)
{
    (void)w; /* its row in server/status follows from the mark */
    (void)err;
    return ERR_OK;
}

static enum err_code effects_delete(struct write *w, struct err *err)
{
    char who[NAME_SIZE + 8];
    snprintf(who, sizeof(who), "node:%s", w->node);
    enum err_code code = effects_add(&w->effects, EFFECT_END, who, err);
    return code != ERR_OK ? code : effects_add(&w->effects, EFFECT_NODE_REMOVED, w->node, err);
}

static void settle_put(struct write *w)
{
    const struct node_write *nw = (const struct node_write *)w;
    struct world_node *node = world_node_get(w->world, w->node);
    node->revision = w->revision;
    if (nw->creating)
        node->created_us = nw->created_us;
    memcpy(node->digest, w->digest, sizeof(node->digest));
}

static void settle_delete(struct write *w)
{
    (void)w;
}

static void release(struct write *w)
{
    struct node_write *nw = (struct node_write *)w;
    world_node_free(nw->entry);
    node_document_release(&nw->document);
    write_release(w);
    free(nw);
}

static const struct write_kind node_put_kind = {
    .action = "node.put",
    .event = "node.changed",
    .refused = "node-refused",
    .audited = true,
    .body = true,
    .change = CHANGE_INVENTORY,
    .ruled = true,
    .read = read,
    .load = load,
    .prepare = prepare_put,
    .swap = swap_put,
    .each_node = each_node,
    .store = store_put,
    .effects = effects_put,
    .settle = settle_put,
    .release = release,
};

static const struct write_kind node_delete_kind = {
    .action = "node.delete",
    .event = "node.changed",
    .refused = "node-refused",
    .audited = true,
    .change = CHANGE_INVENTORY,
    .prepare = find_present,
    .swap = swap_delete,
    .store = store_delete,
    .effects = effects_delete,
    .settle = settle_delete,
    .release = release,
};

/* NULL when it has replied. */
static struct node_write *start(struct request *request, const struct write_kind *kind)
{
    const char *node = request_param(request, 0);
    if (!api_check_name(request, node, "node"))
        return NULL;
    struct node_write *nw = api_alloc(request, sizeof(*nw));
    if (nw == NULL)
        return NULL;
    struct write *w = &nw->base;
    if (!write_init(w, kind, request))
        return NULL;
    snprintf(w->node, sizeof(w->node), "%s", node);
    snprintf(w->subject, sizeof(w->subject), "node/%s", w->node);
    return nw;
}

void api_node_put(struct request *request)
{
    struct node_write *nw = start(request, &node_put_kind);
    if (nw != NULL)
        write_submit_body(&nw->base);
}

void api_node_patch(struct request *request)
{
    struct node_write *nw = start(request, &node_put_kind);
    if (nw != NULL)
        write_submit_patch(&nw->base);
}

void api_node_delete(struct request *request)
{
    struct node_write *nw = start(request, &node_delete_kind);
    if (nw != NULL)
        write_submit(&nw->base);
}

void api_node_get(struct request *request)
{
    struct app *app = request_app(request);
    int64_t revision = 0;
    char etag[32];
    json_t *item = status_get(app->status, request_param(request, 0),
                              app->clock->wall_us(app->clock), &revision);
    if (item == NULL) {
        request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no such node");
        return;
    }
    etag_format(revision, etag);
    request_reply_json(request, 200, item, etag, NULL);
}

/* ?selector= and ?sync=; false when it has replied. */
static bool read_filter(struct request *request, struct status_filter *out)
{
    const char *selector = request_query(request, "selector");
    const char *sync = request_query(request, "sync");
    struct err err = ERR_INIT;
    enum err_code code = ERR_OK;
    *out = (struct status_filter){.sync = NODE_SYNC_COUNT};
    if (selector != NULL)
        code = selector_parse(selector, &out->selector, &err);
    for (out->sync = 0; sync != NULL && out->sync < NODE_SYNC_COUNT; out->sync++)
        if (strcmp(node_sync_name(out->sync), sync) == 0)
            break;
    if (sync == NULL)
        out->sync = NODE_SYNC_COUNT;
    else if (out->sync == NODE_SYNC_COUNT)
        code = err_set(&err, ERR_INVALID,
                       "sync is one of idle, planning, in-sync, pending, failed, held, confirming");
    if (code != ERR_OK)
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL, "%s", err.text);
    return code == ERR_OK;
}

void api_nodes_list(struct request *request)
{
    struct app *app = request_app(request);
    struct status_filter filter;
    if (!read_filter(request, &filter))
        return;
    struct page *page = page_new(request, NULL);
    if (page == NULL)
        return;
    json_decref(page->items);
    page->items = status_list(app->status, page->after, page->size, &filter,
                              app->clock->wall_us(app->clock), page->last);
    page->more = page->last[0] != '\0';
    page_reply(page);
}

void api_node_plan(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    plan_key(request_param(request, 0), key);
    api_reply_published(request, key, "plan: no such node, or it is being compiled");
}
