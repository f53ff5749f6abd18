/*
 * server/api_tenants.c - tenants and their quotas.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"

struct tenant_write {
    struct write base;
    bool creating;
    struct world_tenant *entry; /* creating: the new one; removing: NULL, then the old one */
    struct tenant_quota quota;
    /* removing: the placements that go with it */
    struct world_placement **placements;
    char (*jobs)[NAME_SIZE];
    size_t placement_count;
};

static void find(struct write *w)
{
    const struct world_tenant *tenant = world_tenant_get(w->world, w->tenant);
    w->current = tenant == NULL ? 0 : tenant->revision;
    memcpy(w->current_digest, tenant == NULL ? "" : tenant->digest,
           tenant == NULL ? 1 : sizeof(w->current_digest));
}

static enum err_code read(struct write *w, const json_t *document, struct err *err)
{
    return tenant_document_read(document, w->tenant, &((struct tenant_write *)w)->quota,
                                &w->findings, err);
}

static bool on_body(void *arg, const struct db_tenant *row)
{
    *(json_t **)arg = json_loads(row->body, 0, NULL);
    return false;
}

static enum err_code find_present(struct write *w, struct err *err)
{
    find(w);
    if (w->current == 0)
        return write_refuse(w, 404, "not-found", err, "there is no tenant '%s'", w->tenant);
    return ERR_OK;
}

static enum err_code load(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    enum err_code code = find_present(w, err);
    if (code == ERR_OK)
        code = tenant_get(ro, w->tenant, on_body, out, err);
    return code == ERR_OK && *out == NULL ? err_nomem(err) : code;
}

static enum err_code prepare_put(struct write *w, struct err *err)
{
    struct tenant_write *tw = (struct tenant_write *)w;
    find(w);
    w->unchanged = w->current != 0 && strcmp(w->digest, w->current_digest) == 0;
    tw->creating = w->current == 0;
    if (!tw->creating || tw->entry != NULL)
        return ERR_OK;
    tw->entry = calloc(1, sizeof(*tw->entry));
    if (tw->entry == NULL)
        return err_nomem(err);
    snprintf(tw->entry->name, sizeof(tw->entry->name), "%s", w->tenant);
    tw->entry->quota = tw->quota;
    return ERR_OK;
}

static void swap_put(struct write *w)
{
    struct tenant_write *tw = (struct tenant_write *)w;
    if (tw->creating)
        world_swap_tenant(w->world, w->tenant, &tw->entry);
    else
        world_swap_quota(w->world, w->tenant, &tw->quota);
}

static enum err_code store_put(struct write *w, struct db_tx *tx, struct err *err)
{
    return tenant_put(tx, w->tenant, w->text, &w->revision, err);
}

static enum err_code effects_put(struct write *w, struct err *err)
{
    return write_publish(w, w->subject, err);
}

static void settle_put(struct write *w)
{
    struct world_tenant *tenant = world_tenant_get(w->world, w->tenant);
    tenant->revision = w->revision;
    memcpy(tenant->digest, w->digest, sizeof(tenant->digest));
}

static void forget_placements(struct tenant_write *tw)
{
    for (size_t i = 0; i < tw->placement_count; i++)
        world_placement_free(tw->placements[i]);
    free(tw->placements);
    free(tw->jobs);
    tw->placements = NULL;
    tw->jobs = NULL;
    tw->placement_count = 0;
}

static enum err_code prepare_delete(struct write *w, struct err *err)
{
    struct tenant_write *tw = (struct tenant_write *)w;
    enum err_code code = find_present(w, err);
    if (code != ERR_OK)
        return code;
    forget_placements(tw);
    size_t count, first = world_placements_of(w->world, w->tenant, &count);
    if (count == 0)
        return ERR_OK;
    tw->placements = calloc(count, sizeof(struct world_placement *));
    tw->jobs = calloc(count, sizeof(*tw->jobs));
    if (tw->placements == NULL || tw->jobs == NULL)
        return err_nomem(err);
    tw->placement_count = count;
    for (size_t i = 0; i < count; i++)
        memcpy(tw->jobs[i], w->world->view_placements[first + i]->job, NAME_SIZE);
    return ERR_OK;
}

static void swap_delete(struct write *w)
{
    struct tenant_write *tw = (struct tenant_write *)w;
    world_swap_tenant(w->world, w->tenant, &tw->entry);
    for (size_t i = 0; i < tw->placement_count; i++)
        world_swap_placement(w->world, w->tenant, tw->jobs[i], &tw->placements[i]);
}

static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    world_each_of_tenant(w->world, w->tenant, fn, arg);
}

static enum err_code store_delete(struct write *w, struct db_tx *tx, struct err *err)
{
    return tenant_delete(tx, w->tenant, err);
}

static enum err_code effects_delete(struct write *w, struct err *err)
{
    struct tenant_write *tw = (struct tenant_write *)w;
    char key[PUBLISH_KEY_SIZE];
    enum err_code code = effects_add(&w->effects, EFFECT_UNPUBLISH, w->subject, err);
    snprintf(key, sizeof(key), "tenant/%s/policy", w->tenant);
    if (code == ERR_OK)
        code = effects_add(&w->effects, EFFECT_UNPUBLISH, key, err);
    for (size_t i = 0; i < tw->placement_count && code == ERR_OK; i++) {
        snprintf(key, sizeof(key), "tenant/%s/placement/%s", w->tenant, tw->jobs[i]);
        code = effects_add(&w->effects, EFFECT_UNPUBLISH, key, err);
    }
    if (code == ERR_OK)
        code = effects_add(&w->effects, EFFECT_END_TENANT, w->tenant, err);
    return code;
}

static void settle_delete(struct write *w)
{
    (void)w;
}

static void release(struct write *w)
{
    struct tenant_write *tw = (struct tenant_write *)w;
    world_tenant_free(tw->entry);
    forget_placements(tw);
    write_release(w);
    free(tw);
}

static const struct write_kind tenant_put_kind = {
    .action = "tenant.put",
    .event = "tenant.changed",
    .refused = "tenant-refused",
    .audited = true,
    .body = true,
    .change = CHANGE_TENANT,
    .ruled = true,
    .read = read,
    .load = load,
    .prepare = prepare_put,
    .swap = swap_put,
    .store = store_put,
    .effects = effects_put,
    .settle = settle_put,
    .release = release,
};

static const struct write_kind tenant_delete_kind = {
    .action = "tenant.delete",
    .event = "tenant.changed",
    .refused = "tenant-refused",
    .audited = true,
    .change = CHANGE_TENANT,
    .prepare = prepare_delete,
    .swap = swap_delete,
    .each_node = each_node,
    .store = store_delete,
    .effects = effects_delete,
    .settle = settle_delete,
    .release = release,
};

/* NULL when it has replied. */
static struct tenant_write *start(struct request *request, const struct write_kind *kind)
{
    const char *tenant = request_param(request, 0);
    if (!api_check_name(request, tenant, "tenant"))
        return NULL;
    struct tenant_write *tw = api_alloc(request, sizeof(*tw));
    if (tw == NULL)
        return NULL;
    struct write *w = &tw->base;
    if (!write_init(w, kind, request))
        return NULL;
    snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
    snprintf(w->subject, sizeof(w->subject), "tenant/%s", w->tenant);
    return tw;
}

void api_tenant_get(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    struct app *app = request_app(request);
    snprintf(key, sizeof(key), "tenant/%s", request_param(request, 0));
    struct blob *blob = publish_get(app->publish, key, NULL);
    if (blob == NULL)
        request_reply_no_tenant(request, request_param(request, 0));
    else
        request_reply_blob(request, 200, blob);
    blob_unref(blob);
}

void api_tenant_put(struct request *request)
{
    struct tenant_write *tw = start(request, &tenant_put_kind);
    if (tw != NULL)
        write_submit_body(&tw->base);
}

void api_tenant_patch(struct request *request)
{
    struct tenant_write *tw = start(request, &tenant_put_kind);
    if (tw != NULL)
        write_submit_patch(&tw->base);
}

void api_tenant_delete(struct request *request)
{
    struct tenant_write *tw = start(request, &tenant_delete_kind);
    if (tw != NULL)
        write_submit(&tw->base);
}

static bool on_tenant(void *arg, const struct db_tenant *row)
{
    struct page *page = arg;
    char etag[32];
    if (page->subject[0] != '\0' && strcmp(page->subject, row->name) != 0)
        return false;
    etag_format(row->revision, etag);
    json_t *item =
        json_pack("{ss, sI, ss, so}", "name", row->name, "revision", (json_int_t)row->revision,
                  "etag", etag, "tenant", json_loads(row->body, 0, NULL));
    return page_add(page, item, "%s", row->name);
}

static enum err_code read_tenants(struct db_ro *ro, struct page *page, struct err *err)
{
    /* A tenant's own caller gets the one row of its name: see key_before(). */
    if (page->subject[0] != '\0')
        key_before(page->subject, page->after);
    int limit = page->subject[0] != '\0' ? 1 : page_limit(page);
    return tenant_list(ro, page->after, limit, on_tenant, page, err);
}

void api_tenants_list(struct request *request)
{
    struct page *page = page_new(request, read_tenants);
    if (page == NULL)
        return;
    if (api_own_tenant(request) != NULL)
        snprintf(page->subject, sizeof(page->subject), "%s", api_own_tenant(request));
    page_submit(page);
}
