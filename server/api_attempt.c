/*
 * server/api_attempt.c - orders to a node's agent, which come with its plan, published anew under
 * the next number: to try again what it gave up, for which an agent takes any such number; and the
 * approval of a reboot for what waits on the node now. The last order is kept with its number, and
 * comes with each plan until there is another one: an agent acts on an approval once, and only when
 * just that waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/pipeline.h"
#include "server/planner.h"
#include "server/release.h"
#include "server/task.h"

struct attempt_task {
    struct task base;
    char node[NAME_SIZE];
    int64_t number;
    bool reboots;                 /* it approves a reboot */
    char digest[DIGEST_TEXT_MAX]; /* for what; at first what the operator saw; "" = not said */
};

static void release(struct task *task)
{
    task_release(task);
    free(task);
}

/* What is published now, under the next number; nothing is when the node never had a plan. */
static enum err_code publish_again(struct attempt_task *at, const struct world_node *node,
                                   struct err *err)
{
    struct app *app = at->base.app;
    char key[PUBLISH_KEY_SIZE], tag[PUBLISH_TAG_SIZE], rollout[ROLLOUT_ID_SIZE] = "";
    struct publish_entry *entry = NULL;
    plan_key(at->node, key);
    struct blob *blob = publish_get(app->publish, key, tag);
    if (blob == NULL)
        return ERR_OK;
    if (node->release.rollout != 0)
        rollout_id(node->release.rollout, rollout);
    tag[DIGEST_TEXT_MAX - 1] = '\0'; /* a tag begins with the digest */
    const struct plan_head head = {.node = at->node,
                                   .digest = tag,
                                   .rollout = rollout,
                                   .attempt = at->number,
                                   .approved = at->digest};
    char *text = strdup(blob->data);
    blob_unref(blob);
    if (text == NULL)
        return err_nomem(err);
    enum err_code code = plan_entry_new(&head, text, &entry, err);
    if (code == ERR_OK)
        code = effects_publish(&at->base.effects, entry, err);
    return code != ERR_OK ? code : effects_add(&at->base.effects, EFFECT_WAKE, key, err);
}

/* What is approved is what the agent tells now, and what the operator saw, when that was said. */
static enum err_code choose(struct attempt_task *at, const struct world_node *node, struct err *err)
{
    const struct inventory_reboot *waits =
        node->inventory == NULL ? NULL : &node->inventory->reboot;
    if (waits == NULL || waits->digest[0] == '\0')
        return task_refuse(&at->base, 409, "reboot-not-wanted", err,
                           "nothing waits for a reboot of node '%s', as far as its agent tells",
                           at->node);
    if (at->digest[0] != '\0' && strcmp(at->digest, waits->digest) != 0)
        return task_refuse(&at->base, 409, "conflict", err,
                           "what waits for a reboot of node '%s' is %s now, %d settings, the first "
                           "is %s: look at it and approve it anew",
                           at->node, waits->digest, waits->count, waits->first);
    if (waits->begun)
        return task_refuse(
            &at->base, 409, "reboot-begun", err,
            "a reboot or reload of node '%s' for just this was begun already, and no "
            "other one will be: %s",
            at->node, waits->why[0] != '\0' ? waits->why : "look at the node");
    memcpy(at->digest, waits->digest, sizeof(at->digest));
    return ERR_OK;
}

/* The answer, the event's body and, without the node, what the audit row tells. */
static json_t *told(const struct attempt_task *at)
{
    json_t *object = json_pack("{sI}", "attempt", (json_int_t)at->number);
    if (object != NULL && at->reboots)
        json_object_set_new(object, "digest", json_string(at->digest));
    return object;
}

static enum err_code run(struct db_tx *tx, struct task *task, struct err *err)
{
    struct attempt_task *at = (struct attempt_task *)task;
    char subject[NAME_SIZE + 8];
    const char *action = at->reboots ? "node.reboot" : "node.release";
    const struct world_node *node = world_node_get(task->app->world, at->node);
    if (node == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", at->node);
    snprintf(subject, sizeof(subject), "node/%s", at->node);
    const struct db_audit audit = {.action = action, .subject = subject};
    enum err_code code = at->reboots ? choose(at, node, err) : ERR_OK;
    if (code == ERR_OK)
        code = node_attempt_next(tx, at->node, at->digest, &at->number, err);
    if (code != ERR_OK)
        return code;
    OWN(json) json_t *answer = told(at);
    OWN(str) char *body = answer == NULL ? NULL : json_canonical(answer, NULL);
    if (body == NULL || json_object_set_new(answer, "node", json_string(at->node)) != 0)
        return err_nomem(err);
    code = change_record(tx, task->request, &audit, action, body, err);
    if (code == ERR_OK)
        code = publish_again(at, node, err);
    if (code == ERR_OK)
        task->answer = GIVE(answer);
    return code;
}

static void settle(struct task *task)
{
    const struct attempt_task *at = (const struct attempt_task *)task;
    struct world_node *node = world_node_get(task->app->world, at->node);
    node->attempt = at->number;
    memcpy(node->approved, at->digest, sizeof(node->approved));
}

static void order(struct request *request, bool reboots)
{
    const char *digest = reboots ? request_query(request, "digest") : NULL;
    if (!api_check_name(request, request_param(request, 0), "node"))
        return;
    if (digest != NULL && !digest_is_valid(digest)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "digest: 'sha256:' and 64 hex digits are wanted, as the node's "
                              "reboot.digest shows them");
        return;
    }
    struct attempt_task *at = api_alloc(request, sizeof(*at));
    if (at == NULL)
        return;
    at->reboots = reboots;
    snprintf(at->digest, sizeof(at->digest), "%s", digest == NULL ? "" : digest);
    task_init(&at->base, request, run, release);
    at->base.settle = settle;
    at->base.idempotent = true;
    at->base.status = 200;
    snprintf(at->node, sizeof(at->node), "%s", request_param(request, 0));
    task_submit(&at->base);
}

void api_node_release(struct request *request)
{
    order(request, false);
}

void api_node_reboot(struct request *request)
{
    order(request, true);
}
