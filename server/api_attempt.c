/*
 * server/api_attempt.c - an operator lets a node try again what it gave up: its plan is published
 * anew under the next number, which its agent takes for the end of a quarantine.
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
    const struct plan_head head = {
        .node = at->node, .digest = tag, .rollout = rollout, .attempt = at->number};
    char *text = strdup(blob->data);
    blob_unref(blob);
    if (text == NULL)
        return err_nomem(err);
    enum err_code code = plan_entry_new(&head, text, &entry, err);
    if (code == ERR_OK)
        code = effects_publish(&at->base.effects, entry, err);
    return code != ERR_OK ? code : effects_add(&at->base.effects, EFFECT_WAKE, key, err);
}

static enum err_code run(struct db_tx *tx, struct task *task, struct err *err)
{
    struct attempt_task *at = (struct attempt_task *)task;
    char subject[NAME_SIZE + 8], body[64];
    const struct world_node *node = world_node_get(task->app->world, at->node);
    if (node == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", at->node);
    snprintf(subject, sizeof(subject), "node/%s", at->node);
    const struct db_audit audit = {.action = "node.release", .subject = subject};
    enum err_code code = node_attempt_next(tx, at->node, &at->number, err);
    snprintf(body, sizeof(body), "{\"attempt\":%lld}", (long long)at->number);
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, "node.release", body, err);
    if (code == ERR_OK)
        code = publish_again(at, node, err);
    if (code != ERR_OK)
        return code;
    task->answer = json_pack("{ss, sI}", "node", at->node, "attempt", (json_int_t)at->number);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

static void settle(struct task *task)
{
    const struct attempt_task *at = (const struct attempt_task *)task;
    struct world_node *node = world_node_get(task->app->world, at->node);
    node->attempt = at->number;
}

void api_node_release(struct request *request)
{
    if (!api_check_name(request, request_param(request, 0), "node"))
        return;
    struct attempt_task *at = api_alloc(request, sizeof(*at));
    if (at == NULL)
        return;
    task_init(&at->base, request, run, release);
    at->base.settle = settle;
    at->base.idempotent = true;
    at->base.status = 200;
    snprintf(at->node, sizeof(at->node), "%s", request_param(request, 0));
    task_submit(&at->base);
}
