/*
 * server/api_rollout_policy.c - how changes reach nodes: at once, or staged.
 */
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/pipeline.h"
#include "server/rollouts.h"

struct policy_write {
    struct write base;
    struct rollout_policy policy; /* the new one; after the swap the old one */
    bool begins, ends;            /* staging */
    struct releases releases;
};

static enum err_code prepare(struct write *w, struct err *err)
{
    struct policy_write *pw = (struct policy_write *)w;
    const struct world *world = w->world;
    w->current = world->rollout_policy_revision;
    memcpy(w->current_digest, world->rollout_policy_digest, sizeof(w->current_digest));
    w->unchanged = w->current != 0 && strcmp(w->digest, w->current_digest) == 0;
    pw->begins = pw->policy.staged && !world->rollout_policy.staged;
    pw->ends = !pw->policy.staged && world->rollout_policy.staged;
    if (pw->ends && world->rollout_count > 0)
        return write_refuse(w, 409, "rollout-active", err,
                            "rollout r-%lld is %s: let it end, or roll it back, before changes go "
                            "to all nodes at once",
                            (long long)world->rollouts[0]->number,
                            rollout_state_name(world->rollouts[0]->state));
    return ERR_OK;
}

static void swap(struct write *w)
{
    struct policy_write *pw = (struct policy_write *)w;
    struct rollout_policy old = w->world->rollout_policy;
    w->world->rollout_policy = pw->policy;
    pw->policy = old;
}

/* When staging ends every node is given the plan that it holds. */
static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    if (((struct policy_write *)w)->ends)
        world_each_node(w->world, fn, arg);
}

static enum err_code store(struct write *w, struct db_tx *tx, struct err *err)
{
    struct policy_write *pw = (struct policy_write *)w;
    enum err_code code = write_revision(w, tx, err);
    if (code == ERR_OK && pw->begins)
        code = releases_begin(&pw->releases, w->app, tx, err);
    if (code == ERR_OK && pw->ends)
        code = releases_drop(tx, err);
    if (code == ERR_OK && pw->ends)
        code = plans_drop_unused(tx, DB_NO_LIMIT, NULL, err);
    return code;
}

static enum err_code effects(struct write *w, struct err *err)
{
    return write_publish(w, w->subject, err);
}

static void forget(void *arg, struct world_node *node)
{
    (void)arg; /* nothing can be taken back over a time when changes went out at once */
    node->release.given_by = 0;
    node->release.refused[0] = '\0';
}

static void settle(struct write *w)
{
    struct policy_write *pw = (struct policy_write *)w;
    if (pw->ends)
        world_each_node(w->world, forget, NULL);
    w->world->rollout_policy_revision = w->revision;
    memcpy(w->world->rollout_policy_digest, w->digest, sizeof(w->digest));
    releases_settle(&pw->releases, w->app);
    w->world->rollouts_due = true;
}

static void release(struct write *w)
{
    struct policy_write *pw = (struct policy_write *)w;
    rollout_policy_release(&pw->policy);
    releases_release(&pw->releases);
    write_release(w);
    free(pw);
}

static const struct write_kind rollout_policy_kind = {
    .action = "rollout-policy.put",
    .event = "rollout-policy.changed",
    .refused = "rollout-policy-refused",
    .audited = true,
    .body = true,
    .change = CHANGE_INVENTORY,
    .releases = true,
    .prepare = prepare,
    .swap = swap,
    .each_node = each_node,
    .store = store,
    .effects = effects,
    .settle = settle,
    .release = release,
};

void api_rollout_policy_put(struct request *request)
{
    struct err err = ERR_INIT;
    struct policy_write *pw = api_alloc(request, sizeof(*pw));
    if (pw == NULL)
        return;
    struct write *w = &pw->base;
    if (!write_init(w, &rollout_policy_kind, request))
        return;
    strcpy(w->subject, ROLLOUT_POLICY_KEY);
    const json_t *document = request_json(request);
    enum err_code code = rollout_policy_from_json(document, &pw->policy, &w->findings, &err);
    write_submit_document(w, document, code, &err);
}

/* Before the first PUT the default is in force; it has no revision. */
void api_rollout_policy_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    struct rollout_policy policy;
    struct blob *blob = publish_get(app->publish, ROLLOUT_POLICY_KEY, NULL);
    if (blob != NULL) {
        request_reply_blob(request, 200, blob);
        blob_unref(blob);
        return;
    }
    rollout_policy_init(&policy);
    json_t *document = rollout_policy_to_json(&policy);
    rollout_policy_release(&policy);
    if (document == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    request_reply_json(request, 200, document, NULL, NULL);
}
