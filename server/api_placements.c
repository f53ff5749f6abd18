/*
 * server/api_placements.c - where jobs run, and their labels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"

struct placement_write {
    struct write base;
    struct world_placement *entry; /* the new one, NULL = removal; after the swap the old one */
};

static enum err_code find(struct write *w, struct err *err)
{
    const struct world_placement *now = world_placement_get(w->world, w->tenant, w->job);
    if (world_tenant_get(w->world, w->tenant) == NULL)
        return write_refuse(w, 404, "not-found", err, "there is no tenant '%s'", w->tenant);
    w->current = now == NULL ? 0 : now->revision;
    memcpy(w->current_digest, now == NULL ? "" : now->digest,
           now == NULL ? 1 : sizeof(w->current_digest));
    return ERR_OK;
}

/* What a new job would get if it never had one: good enough for a look at its plan. */
static uint32_t likely_label(const struct world *world)
{
    uint32_t highest = 0;
    for (size_t i = 0; i < world->view.placement_count; i++)
        if (world->view_placements[i]->label > highest)
            highest = world->view_placements[i]->label;
    return highest < DB_LABEL_MAX ? highest + 1 : DB_LABEL_MAX;
}

static enum err_code prepare_put(struct write *w, struct err *err)
{
    struct placement_write *pw = (struct placement_write *)w;
    enum err_code code = find(w, err);
    if (code != ERR_OK)
        return code;
    w->unchanged = w->current != 0 && strcmp(w->digest, w->current_digest) == 0;
    const struct world_placement *now = world_placement_get(w->world, w->tenant, w->job);
    if (now != NULL)
        pw->entry->value->label = now->value->label;
    else if (w->mode != WRITE_STORE)
        pw->entry->value->label = likely_label(w->world);
    return ERR_OK;
}

static enum err_code find_present(struct write *w, struct err *err)
{
    enum err_code code = find(w, err);
    if (code == ERR_OK && w->current == 0)
        return write_refuse(w, 404, "not-found", err, "job '%s' of tenant '%s' is not placed",
                            w->job, w->tenant);
    return code;
}

static enum err_code read(struct write *w, const json_t *document, struct err *err)
{
    struct placement_write *pw = (struct placement_write *)w;
    pw->entry = calloc(1, sizeof(*pw->entry));
    if (pw->entry == NULL)
        return err_nomem(err);
    return placement_from_json(document, w->tenant, w->job, 0, &pw->entry->value, &w->findings,
                               err);
}

static bool on_body(void *arg, const struct db_placement *row)
{
    *(json_t **)arg = json_loads(row->body, 0, NULL);
    return false;
}

static enum err_code load(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    enum err_code code = find_present(w, err);
    if (code == ERR_OK)
        code = placement_get(ro, w->tenant, w->job, on_body, out, err);
    return code == ERR_OK && *out == NULL ? err_nomem(err) : code;
}

static void swap(struct write *w)
{
    struct placement_write *pw = (struct placement_write *)w;
    world_swap_placement(w->world, w->tenant, w->job, &pw->entry);
}

static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    const struct world_placement *now = world_placement_get(w->world, w->tenant, w->job);
    if (now != NULL)
        world_each_placed(w->world, now->value, fn, arg);
}

static enum err_code set_label(json_t *answer, uint32_t label, struct err *err)
{
    if (label != 0 && json_object_set_new(answer, "label", json_integer(label)) != 0)
        return err_nomem(err);
    return ERR_OK;
}

static enum err_code describe(struct write *w, json_t *answer, struct err *err)
{
    return set_label(answer, world_placement_get(w->world, w->tenant, w->job)->value->label, err);
}

static enum err_code store_put(struct write *w, struct db_tx *tx, struct err *err)
{
    struct placement *value = ((struct placement_write *)w)->entry->value;
    enum err_code code = label_get(tx, w->tenant, w->job, &value->label, err);
    if (code == ERR_OK)
        code = placement_put(tx, w->tenant, w->job, value->label, w->text, &w->revision, err);
    if (code == ERR_OK)
        code = set_label(w->answer, value->label, err);
    return code;
}

static enum err_code store_delete(struct write *w, struct db_tx *tx, struct err *err)
{
    return placement_delete(tx, w->tenant, w->job, err);
}

static void item_key(const struct write *w, char out[PUBLISH_KEY_SIZE])
{
    snprintf(out, PUBLISH_KEY_SIZE, "tenant/%s/placement/%s", w->tenant, w->job);
}

static enum err_code effects_put(struct write *w, struct err *err)
{
    char key[PUBLISH_KEY_SIZE], etag[32];
    struct publish_entry *entry = NULL;
    const struct placement *value = ((struct placement_write *)w)->entry->value;
    OWN(json) json_t *document = json_loads(w->text, 0, NULL);
    char *text = document == NULL ? NULL : placement_item_text(value, w->revision, document);
    if (text == NULL)
        return err_nomem(err);
    etag_format(w->revision, etag);
    item_key(w, key);
    struct blob *blob = blob_new(text, strlen(text), etag, "application/json");
    enum err_code code = publish_entry_new(key, blob, w->digest, &entry, err);
    return code != ERR_OK ? code : effects_publish(&w->effects, entry, err);
}

static enum err_code effects_delete(struct write *w, struct err *err)
{
    char key[PUBLISH_KEY_SIZE];
    item_key(w, key);
    return effects_add(&w->effects, EFFECT_UNPUBLISH, key, err);
}

static void settle_put(struct write *w)
{
    struct world_placement *now = world_placement_get(w->world, w->tenant, w->job);
    now->revision = w->revision;
    memcpy(now->digest, w->digest, sizeof(now->digest));
}

static void settle_delete(struct write *w)
{
    (void)w;
}

static void release(struct write *w)
{
    world_placement_free(((struct placement_write *)w)->entry);
    write_release(w);
    free(w);
}

static const struct write_kind placement_put_kind = {
    .action = "placement.put",
    .event = "placement.changed",
    .refused = "placement-refused",
    .audited = true,
    .body = true,
    .change = CHANGE_PLACEMENT,
    .ruled = true,
    .read = read,
    .load = load,
    .prepare = prepare_put,
    .swap = swap,
    .each_node = each_node,
    .describe = describe,
    .store = store_put,
    .effects = effects_put,
    .settle = settle_put,
    .release = release,
};

static const struct write_kind placement_delete_kind = {
    .action = "placement.delete",
    .event = "placement.changed",
    .refused = "placement-refused",
    .audited = true,
    .change = CHANGE_PLACEMENT,
    .prepare = find_present,
    .swap = swap,
    .each_node = each_node,
    .store = store_delete,
    .effects = effects_delete,
    .settle = settle_delete,
    .release = release,
};

/* NULL when it has replied. */
static struct placement_write *start(struct request *request, const struct write_kind *kind)
{
    const char *tenant = request_param(request, 0), *job = request_param(request, 1);
    if (!api_check_name(request, tenant, "tenant") || !api_check_name(request, job, "job"))
        return NULL;
    struct placement_write *pw = api_alloc(request, sizeof(*pw));
    if (pw == NULL)
        return NULL;
    struct write *w = &pw->base;
    if (!write_init(w, kind, request))
        return NULL;
    snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
    snprintf(w->job, sizeof(w->job), "%s", job);
    snprintf(w->subject, sizeof(w->subject), "tenant/%s/job/%s", w->tenant, w->job);
    return pw;
}

void api_placement_get(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    snprintf(key, sizeof(key), "tenant/%s/placement/%s", request_param(request, 0),
             request_param(request, 1));
    api_reply_published(request, key, "placement of this job");
}

void api_placement_put(struct request *request)
{
    struct placement_write *pw = start(request, &placement_put_kind);
    if (pw != NULL)
        write_submit_body(&pw->base);
}

void api_placement_patch(struct request *request)
{
    struct placement_write *pw = start(request, &placement_put_kind);
    if (pw != NULL)
        write_submit_patch(&pw->base);
}

void api_placement_delete(struct request *request)
{
    struct placement_write *pw = start(request, &placement_delete_kind);
    if (pw != NULL)
        write_submit(&pw->base);
}

static bool on_placement(void *arg, const struct db_placement *row)
{
    struct page *page = arg;
    char etag[32];
    etag_format(row->revision, etag);
    json_t *item = json_pack("{ss, ss, sI, sI, ss, so}", "tenant", row->tenant, "job", row->job,
                             "label", (json_int_t)row->label, "revision", (json_int_t)row->revision,
                             "etag", etag, "placement", json_loads(row->body, 0, NULL));
    return page_add(page, item, "%s", row->job);
}

static enum err_code read_placements(struct db_ro *ro, struct page *page, struct err *err)
{
    return placement_list(ro, page->subject, page->subject, page->after, page_limit(page),
                          on_placement, page, err);
}

void api_placements_list(struct request *request)
{
    struct page *page = page_new(request, read_placements);
    if (page == NULL)
        return;
    snprintf(page->subject, sizeof(page->subject), "%s", request_param(request, 0));
    page_submit(page);
}
