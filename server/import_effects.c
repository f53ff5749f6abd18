/*
 * server/import_effects.c - the difference of two worlds, for HTTP threads; see import.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/import.h"
#include "server/pipeline.h"
#include "server/rollouts.h"

struct showing {
    const struct world *before, *after;
    struct db_ro *ro;
    struct effects *effects;
    char *body; /* owned: what was looked for */
};

static bool on_tenant(void *arg, const struct db_tenant *row)
{
    *(char **)arg = strdup(row->body);
    return false;
}

static bool on_placement(void *arg, const struct db_placement *row)
{
    *(char **)arg = strdup(row->body);
    return false;
}

static bool on_revision(void *arg, const struct db_revision *row)
{
    *(char **)arg = strdup(row->body);
    return false;
}

/* Takes text. */
static enum err_code publish(struct showing *s, const char *key, char *text, int64_t revision,
                             const char *digest, struct err *err)
{
    struct publish_entry *entry = NULL;
    char etag[32];
    if (text == NULL)
        return err_nomem(err);
    etag_format(revision, etag);
    struct blob *blob = blob_new(text, strlen(text), etag, "application/json");
    enum err_code code = publish_entry_new(key, blob, digest, &entry, err);
    return code != ERR_OK ? code : effects_publish(s->effects, entry, err);
}

static enum err_code show_document(struct showing *s, const char *doc, int64_t before,
                                   int64_t after, const char *digest, struct err *err)
{
    char *body = NULL;
    if (before == after)
        return ERR_OK;
    if (after == 0)
        return effects_add(s->effects, EFFECT_UNPUBLISH, doc, err);
    enum err_code code = revision_get(s->ro, doc, after, on_revision, &body, err);
    return code != ERR_OK ? code : publish(s, doc, body, after, digest, err);
}

static enum err_code show_tenant(struct showing *s, const struct world_tenant *now, struct err *err)
{
    const struct world_tenant *old = world_tenant_get(s->before, now->name);
    char key[PUBLISH_KEY_SIZE], *body = NULL;
    enum err_code code = ERR_OK;
    if (old == NULL || old->revision != now->revision) {
        snprintf(key, sizeof(key), "tenant/%s", now->name);
        code = tenant_get(s->ro, now->name, on_tenant, &body, err);
        if (code == ERR_OK)
            code = publish(s, key, body, now->revision, now->digest, err);
    }
    snprintf(key, sizeof(key), "tenant/%s/policy", now->name);
    return code != ERR_OK ? code
                          : show_document(s, key, old == NULL ? 0 : old->policy_revision,
                                          now->policy_revision, now->policy_digest, err);
}

static enum err_code show_placement(struct showing *s, const struct world_placement *now,
                                    struct err *err)
{
    const struct placement *value = now->value;
    const struct world_placement *old = world_placement_get(s->before, value->tenant, value->job);
    char key[PUBLISH_KEY_SIZE];
    OWN(str) char *body = NULL;
    if (old != NULL && old->revision == now->revision)
        return ERR_OK;
    enum err_code code = placement_get(s->ro, value->tenant, value->job, on_placement, &body, err);
    if (code != ERR_OK)
        return code;
    OWN(json) json_t *document = body == NULL ? NULL : json_loads(body, 0, NULL);
    if (document == NULL)
        return err_nomem(err);
    snprintf(key, sizeof(key), "tenant/%s/placement/%s", value->tenant, value->job);
    return publish(s, key, placement_item_text(value, now->revision, document), now->revision,
                   now->digest, err);
}

static enum err_code hide_tenants(struct showing *s, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < s->before->view.tenant_count && code == ERR_OK; i++) {
        const char *name = s->before->tenants[i]->name;
        char key[PUBLISH_KEY_SIZE];
        if (world_tenant_get(s->after, name) != NULL)
            continue;
        snprintf(key, sizeof(key), "tenant/%s/policy", name);
        code = effects_add(s->effects, EFFECT_UNPUBLISH, key, err);
        snprintf(key, sizeof(key), "tenant/%s", name);
        if (code == ERR_OK)
            code = effects_add(s->effects, EFFECT_UNPUBLISH, key, err);
        if (code == ERR_OK)
            code = effects_add(s->effects, EFFECT_END_TENANT, name, err);
    }
    return code;
}

static enum err_code hide_placements(struct showing *s, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < s->before->view.placement_count && code == ERR_OK; i++) {
        const struct placement *p = s->before->view_placements[i];
        char key[PUBLISH_KEY_SIZE];
        if (world_placement_get(s->after, p->tenant, p->job) != NULL)
            continue;
        snprintf(key, sizeof(key), "tenant/%s/placement/%s", p->tenant, p->job);
        code = effects_add(s->effects, EFFECT_UNPUBLISH, key, err);
    }
    return code;
}

static enum err_code hide_nodes(struct showing *s, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < s->before->view.node_count && code == ERR_OK; i++) {
        const char *name = s->before->nodes[i]->name;
        char who[NAME_SIZE + 8];
        if (world_node_get(s->after, name) != NULL)
            continue;
        snprintf(who, sizeof(who), "node:%s", name);
        code = effects_add(s->effects, EFFECT_END, who, err);
        if (code == ERR_OK)
            code = effects_add(s->effects, EFFECT_NODE_REMOVED, name, err);
    }
    return code;
}

enum err_code import_effects(const struct world *before, const struct world *after,
                             struct db_ro *ro, struct effects *effects, struct err *err)
{
    struct showing s = {.before = before, .after = after, .ro = ro, .effects = effects};
    enum err_code code = show_document(&s, "fabric", before->fabric_revision,
                                       after->fabric_revision, after->fabric_digest, err);
    if (code == ERR_OK)
        code = show_document(&s, ROLLOUT_POLICY_KEY, before->rollout_policy_revision,
                             after->rollout_policy_revision, after->rollout_policy_digest, err);
    for (size_t i = 0; i < after->view.tenant_count && code == ERR_OK; i++)
        code = show_tenant(&s, after->tenants[i], err);
    for (size_t i = 0; i < after->view.placement_count && code == ERR_OK; i++)
        code = show_placement(&s, after->placements[i], err);
    if (code == ERR_OK)
        code = hide_placements(&s, err);
    if (code == ERR_OK)
        code = hide_tenants(&s, err);
    return code != ERR_OK ? code : hide_nodes(&s, err);
}
