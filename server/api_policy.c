/*
 * server/api_policy.c - a tenant's QoS policy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/pipeline.h"

struct policy_write {
    struct write base;
    struct policy *policy; /* the new one, NULL = removal; after the swap the old one */
};

/* The handlers look in the published map first, so that a caller who names a tenant that is not
 * there costs no write; this is the answer when it went away in between. */
static enum err_code find(struct write *w, struct err *err)
{
    const struct world_tenant *tenant = world_tenant_get(w->world, w->tenant);
    if (tenant == NULL)
        return write_refuse(w, 404, "not-found", err, "there is no tenant '%s'", w->tenant);
    w->current = tenant->policy_revision;
    memcpy(w->current_digest, tenant->policy_digest, sizeof(w->current_digest));
    w->unchanged = w->current != 0 && strcmp(w->digest, w->current_digest) == 0;
    return ERR_OK;
}

static enum err_code find_present(struct write *w, struct err *err)
{
    enum err_code code = find(w, err);
    if (code == ERR_OK && w->current == 0)
        return write_refuse(w, 404, "not-found", err, "tenant '%s' has no policy", w->tenant);
    return code;
}

static void swap(struct write *w)
{
    struct policy_write *pw = (struct policy_write *)w;
    world_swap_policy(w->world, w->tenant, &pw->policy);
}

static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    world_each_of_tenant(w->world, w->tenant, fn, arg);
}

static enum err_code describe(struct write *w, json_t *answer, struct err *err)
{
    if (w->mode == WRITE_STORE && w->current != 0) {
        w->enforcement = enforcement_text(&w->world->view, w->tenant);
        return w->enforcement == NULL ? err_nomem(err) : ERR_OK;
    }
    json_t *enforcement = enforcement_of_policy(&w->world->view, w->tenant);
    if (enforcement == NULL || json_object_set_new(answer, "enforcement", enforcement) != 0)
        return err_nomem(err);
    return ERR_OK;
}

static enum err_code read(struct write *w, const json_t *document, struct err *err)
{
    return policy_from_json(document, &((struct policy_write *)w)->policy, &w->findings, err);
}

static enum err_code load(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    enum err_code code = find_present(w, err);
    return code != ERR_OK ? code : write_revision_body(w, ro, w->current, out, err);
}

static enum err_code store_delete(struct write *w, struct db_tx *tx, struct err *err)
{
    return document_delete(tx, w->subject, err);
}

static enum err_code effects_put(struct write *w, struct err *err)
{
    return write_publish(w, w->subject, err);
}

static enum err_code effects_delete(struct write *w, struct err *err)
{
    return effects_add(&w->effects, EFFECT_UNPUBLISH, w->subject, err);
}

static void settle(struct write *w)
{
    struct world_tenant *tenant = world_tenant_get(w->world, w->tenant);
    tenant->policy_revision = w->revision;
    memcpy(tenant->policy_digest, w->digest, sizeof(w->digest));
}

static void release(struct write *w)
{
    struct policy_write *pw = (struct policy_write *)w;
    policy_free(pw->policy);
    write_release(w);
    free(pw);
}

static const struct write_kind policy_put_kind = {
    .action = "policy.put",
    .event = "policy.changed",
    .refused = "policy-refused",
    .audited = true,
    .body = true,
    .change = CHANGE_POLICY,
    .ruled = true,
    .read = read,
    .load = load,
    .prepare = find,
    .swap = swap,
    .each_node = each_node,
    .describe = describe,
    .store = write_revision,
    .effects = effects_put,
    .settle = settle,
    .release = release,
};

static const struct write_kind policy_delete_kind = {
    .action = "policy.delete",
    .event = "policy.changed",
    .refused = "policy-refused",
    .audited = true,
    .change = CHANGE_POLICY,
    .prepare = find_present,
    .swap = swap,
    .each_node = each_node,
    .store = store_delete,
    .effects = effects_delete,
    .settle = settle,
    .release = release,
};

/* NULL when it has replied. */
static struct policy_write *start(struct request *request, const struct write_kind *kind)
{
    struct app *app = request_app(request);
    const char *tenant = request_param(request, 0);
    char key[PUBLISH_KEY_SIZE];
    snprintf(key, sizeof(key), "tenant/%s", tenant);
    struct blob *known = publish_get(app->publish, key, NULL);
    if (known == NULL) {
        request_reply_no_tenant(request, tenant);
        return NULL;
    }
    blob_unref(known);
    struct policy_write *pw = api_alloc(request, sizeof(*pw));
    if (pw == NULL)
        return NULL;
    struct write *w = &pw->base;
    if (!write_init(w, kind, request))
        return NULL;
    snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
    snprintf(w->subject, sizeof(w->subject), "tenant/%s/policy", w->tenant);
    return pw;
}

void api_policy_get(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    snprintf(key, sizeof(key), "tenant/%s/policy", request_param(request, 0));
    api_reply_published(request, key, "policy of this tenant");
}

void api_policy_put(struct request *request)
{
    struct policy_write *pw = start(request, &policy_put_kind);
    if (pw != NULL)
        write_submit_body(&pw->base);
}

void api_policy_validate(struct request *request)
{
    struct policy_write *pw = start(request, &policy_put_kind);
    if (pw == NULL)
        return;
    pw->base.mode = WRITE_VALIDATE;
    write_submit_body(&pw->base);
}

void api_policy_delete(struct request *request)
{
    struct policy_write *pw = start(request, &policy_delete_kind);
    if (pw != NULL)
        write_submit(&pw->base);
}

void api_policy_patch(struct request *request)
{
    struct policy_write *pw = start(request, &policy_put_kind);
    if (pw != NULL)
        write_submit_patch(&pw->base);
}

void api_policy_rollback(struct request *request)
{
    struct policy_write *pw = start(request, &policy_put_kind);
    if (pw != NULL)
        write_submit_rollback(&pw->base);
}
