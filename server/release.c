/*
 * server/release.c - see release.h.
 */
#include "server/release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/tables.h"
#include "server/planner.h"

void releases_release(struct releases *releases)
{
    effects_drop(&releases->effects);
    free(releases->items);
    *releases = (struct releases){.count = 0};
}

/* Behind the member that begins with `start`, when it is the first of the text; its value has no
 * comma. */
static const char *behind(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0)
        return text;
    const char *comma = strchr(text, ',');
    return comma == NULL ? text : comma + 1;
}

const char *plan_text_rest(const char *text)
{
    return behind(behind(text + 1, "\"approved\":"), "\"attempt\":");
}

/* Takes text. */
static char *with_head(char *text, const struct plan_head *head)
{
    char *whole = NULL, attempt[40] = "", approved[DIGEST_TEXT_MAX + 20] = "";
    const char *rest = plan_text_rest(text);
    if (head->attempt == 0 && head->approved[0] == '\0' && rest == text + 1)
        return text;
    if (head->attempt != 0)
        snprintf(attempt, sizeof(attempt), "\"attempt\":%lld,", (long long)head->attempt);
    if (head->approved[0] != '\0')
        snprintf(approved, sizeof(approved), "\"approved\":\"%s\",", head->approved);
    int n = asprintf(&whole, "{%s%s%s", approved, attempt, rest);
    free(text);
    return n < 0 ? NULL : whole;
}

enum err_code plan_entry_new(const struct plan_head *head, char *text, struct publish_entry **out,
                             struct err *err)
{
    char key[PUBLISH_KEY_SIZE], etag[72], tag[PLAN_TAG_SIZE], attempt[24] = "";
    struct plan plan = {.attempt = head->attempt};
    plan_key(head->node, key);
    snprintf(plan.digest, sizeof(plan.digest), "%s", head->digest);
    snprintf(plan.confirm.rollout, sizeof(plan.confirm.rollout), "%s", head->rollout);
    plan_tag(&plan, tag);
    text = with_head(text, head);
    if (text == NULL)
        return err_nomem(err);
    if (head->attempt > 0)
        snprintf(attempt, sizeof(attempt), "!%lld", (long long)head->attempt);
    /* 64 bits of the digest tell two plans of one node apart; the whole digest is in the body. */
    snprintf(etag, sizeof(etag), "\"%.16s%s%.24s%s\"", head->digest + strlen("sha256:"),
             head->rollout[0] == '\0' ? "" : "+", head->rollout, attempt);
    struct blob *blob = blob_new(text, strlen(text), etag, "application/json");
    return publish_entry_new(key, blob, tag, out, err);
}

struct stored_plan {
    char *text; /* owned */
    size_t knobs;
    const struct node_release *release; /* NULL = the text as it is */
};

/* The canonical text of a plan begins with its digest; "confirm" sorts before it. */
static bool on_plan(void *arg, const char *body, int64_t knobs)
{
    struct stored_plan *plan = arg;
    const struct node_release *release = plan->release;
    char id[ROLLOUT_ID_SIZE];
    plan->knobs = (size_t)knobs;
    if (release == NULL || release->rollout == 0) {
        plan->text = strdup(body);
        return false;
    }
    rollout_id(release->rollout, id);
    if (asprintf(&plan->text, "{\"confirm\":{\"rollout\":\"%s\",\"timeout_s\":%lld},%s", id,
                 (long long)release->timeout_s, body + 1) < 0)
        plan->text = NULL;
    return false;
}

static enum err_code entry_of(struct db_ro *ro, const struct world_node *node,
                              const struct node_release *release, size_t *out_knobs,
                              struct publish_entry **out, struct err *err)
{
    struct stored_plan plan = {.release = release};
    char id[ROLLOUT_ID_SIZE] = "";
    enum err_code code = plan_get(ro, release->digest, on_plan, &plan, err);
    if (code != ERR_OK)
        return err_context(err, "the plan of node %s", node->name);
    if (plan.text == NULL)
        return err_nomem(err);
    if (release->rollout != 0)
        rollout_id(release->rollout, id);
    *out_knobs = plan.knobs;
    const struct plan_head head = {.node = node->name,
                                   .digest = release->digest,
                                   .rollout = id,
                                   .attempt = node->attempt,
                                   .approved = node->approved};
    return plan_entry_new(&head, plan.text, out, err);
}

enum err_code release_keep_plan(struct db_tx *tx, const struct plan *plan, struct err *err)
{
    OWN(json) json_t *document = plan_to_json(plan);
    OWN(str) char *text = document == NULL ? NULL : json_canonical(document, NULL);
    if (text == NULL)
        return err_nomem(err);
    return plan_put(tx, plan->digest, text, (int64_t)plan->knob_count, err);
}

static enum err_code add_item(struct releases *releases, const char *node,
                              const struct node_release *value, struct err *err)
{
    if (releases->count == releases->room) {
        size_t room = releases->room == 0 ? 64 : 2 * releases->room;
        struct release_item *more = realloc(releases->items, room * sizeof(*more));
        if (more == NULL)
            return err_nomem(err);
        releases->items = more;
        releases->room = room;
    }
    struct release_item *item = &releases->items[releases->count++];
    snprintf(item->node, sizeof(item->node), "%s", node);
    item->value = *value;
    return ERR_OK;
}

static enum err_code store(struct db_tx *tx, const char *node, const struct node_release *value,
                           struct err *err)
{
    const struct db_release row = {.node = node,
                                   .digest = value->digest,
                                   .good = value->good,
                                   .rollout = value->rollout,
                                   .timeout_s = value->timeout_s,
                                   .given_by = value->given_by,
                                   .refused = value->refused};
    return release_put(tx, &row, err);
}

enum err_code release_give(struct releases *releases, struct app *app, struct db_tx *tx,
                           const char *node, const struct node_release *next, struct err *err)
{
    char key[PUBLISH_KEY_SIZE];
    struct publish_entry *entry = NULL;
    struct node_release value = *next;
    const struct world_node *given = world_node_get(app->world, node);
    if (given == NULL)
        return ERR_OK;
    enum err_code code = entry_of(db_tx_ro(tx), given, &value, &value.knobs, &entry, err);
    if (code == ERR_OK)
        code = effects_publish(&releases->effects, entry, err);
    plan_key(node, key);
    if (code == ERR_OK)
        code = effects_add(&releases->effects, EFFECT_WAKE, key, err);
    if (code == ERR_OK)
        code = store(tx, node, &value, err);
    return code != ERR_OK ? code : add_item(releases, node, &value, err);
}

enum err_code release_note(struct releases *releases, struct app *app, struct db_tx *tx,
                           const char *node, const struct node_release *next, struct err *err)
{
    if (world_node_get(app->world, node) == NULL)
        return ERR_OK;
    enum err_code code = store(tx, node, next, err);
    return code != ERR_OK ? code : add_item(releases, node, next, err);
}

void releases_settle(struct releases *releases, struct app *app)
{
    for (size_t i = 0; i < releases->count; i++) {
        struct world_node *node = world_node_get(app->world, releases->items[i].node);
        if (node == NULL)
            continue;
        if (strcmp(node->release.digest, releases->items[i].value.digest) != 0)
            node->drifted = false; /* from what it had before */
        node->release = releases->items[i].value;
        world_node_resync(app->world, node);
    }
    effects_move(&app->effects, &releases->effects);
}

struct loading {
    struct app *app;
    struct world *world;
    struct db_ro *ro;
    bool publish;
    enum err_code code;
    struct err *err;
};

static enum err_code load_release(struct loading *loading, struct world_node *node)
{
    struct publish_entry *entry = NULL;
    size_t knobs;
    if (!loading->publish)
        return ERR_OK;
    enum err_code code = entry_of(loading->ro, node, &node->release, &knobs, &entry, loading->err);
    if (code == ERR_OK)
        publish_put(loading->app->publish, entry);
    return code;
}

static bool on_release(void *arg, const struct db_release *row)
{
    struct loading *loading = arg;
    struct world_node *node = world_node_get(loading->world, row->node);
    if (node == NULL)
        return true;
    node->release = (struct node_release){.rollout = row->rollout,
                                          .timeout_s = row->timeout_s,
                                          .given_by = row->given_by,
                                          .knobs = (size_t)row->knobs};
    snprintf(node->release.digest, DIGEST_TEXT_MAX, "%s", row->digest);
    snprintf(node->release.good, DIGEST_TEXT_MAX, "%s", row->good);
    snprintf(node->release.refused, DIGEST_TEXT_MAX, "%s", row->refused);
    loading->code = load_release(loading, node);
    return loading->code == ERR_OK;
}

enum err_code releases_load(struct app *app, struct world *world, struct db_ro *ro, bool publish,
                            struct err *err)
{
    struct loading loading = {.app = app, .world = world, .ro = ro, .publish = publish, .err = err};
    enum err_code code = release_each(ro, on_release, &loading, err);
    return code != ERR_OK ? code : loading.code;
}

static enum err_code begin_node(struct releases *releases, struct app *app, struct db_tx *tx,
                                const struct world_node *node, struct err *err)
{
    char key[PUBLISH_KEY_SIZE], tag[PUBLISH_TAG_SIZE];
    struct node_release value = node->release;
    if (node->inventory == NULL) {
        /* Its plan of nothing counts for none: it is new, and joins with the newest one. */
        value = (struct node_release){.digest = ""};
        return add_item(releases, node->name, &value, err);
    }
    plan_key(node->name, key);
    struct blob *blob = publish_get(app->publish, key, tag);
    if (blob == NULL || value.digest[0] == '\0') {
        blob_unref(blob); /* it never had a plan: it will be given the first one */
        return ERR_OK;
    }
    OWN(str) char *text = NULL;
    int n = asprintf(&text, "{%s", plan_text_rest(blob->data));
    blob_unref(blob);
    if (n < 0) {
        text = NULL;
        return err_nomem(err);
    }
    enum err_code code = plan_put(tx, value.digest, text, (int64_t)value.knobs, err);
    if (code == ERR_OK)
        code = store(tx, node->name, &value, err);
    return code != ERR_OK ? code : add_item(releases, node->name, &value, err);
}

enum err_code releases_begin(struct releases *releases, struct app *app, struct db_tx *tx,
                             struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < app->world->view.node_count && code == ERR_OK; i++)
        code = begin_node(releases, app, tx, app->world->nodes[i], err);
    return code;
}
