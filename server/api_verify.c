/*
 * server/api_verify.c - the node's side of verifications: its task, and what it says of it. The
 * node is the token's; a task of another node is one that is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/long_poll.h"
#include "server/speaker.h"
#include "server/task.h"
#include "server/verifications.h"

#define TASK_WAIT_MAX_NS (60 * NS_PER_S)
#define REPORT_BYTES_MAX (8 * 1024)

/* Task ----------------------------------------------------------------------------------------- */

/* Replies when the node's task is not the known one. */
static bool reply_task(struct request *request, bool wait_over)
{
    struct app *app = request_app(request);
    char key[PUBLISH_KEY_SIZE], tag[PUBLISH_TAG_SIZE];
    verifications_task_key(request_principal(request)->node, key);
    struct blob *blob = publish_get(app->publish, key, tag);
    return long_poll_answer(request, blob, tag, wait_over);
}

static void on_task(struct request *request, bool late)
{
    (void)late; /* when woken, the task may be over again: the agent asks again */
    reply_task(request, true);
}

void api_verify_task(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    if (!speaker_is_in_path(request))
        return;
    verifications_task_key(request_principal(request)->node, key);
    long_poll(request, &(struct long_poll){.key = key,
                                           .wait_max_ns = TASK_WAIT_MAX_NS,
                                           .reply = reply_task,
                                           .woken = on_task});
}

/* Report --------------------------------------------------------------------------------------- */

struct report_task {
    struct task base;
    char node[NAME_SIZE];
    int64_t number;
    size_t index;
    struct verify_report report;
    bool new;
    struct verification_change change;
};

static void release_report(struct task *task)
{
    struct report_task *rt = (struct report_task *)task;
    verification_change_release(&rt->change);
    task_release(task);
    free(rt);
}

static enum err_code no_task(struct report_task *rt, struct err *err)
{
    return task_refuse(&rt->base, 404, "not-found", err, "node '%s' has no task '%s'", rt->node,
                       rt->report.task);
}

static enum err_code run_report(struct db_tx *tx, struct task *task, struct err *err)
{
    struct report_task *rt = (struct report_task *)task;
    struct verification_change *change = &rt->change;
    struct err absent = ERR_INIT;
    bool over = false;
    verification_change_init(change, task->app);
    enum err_code code =
        verification_change_begin(change, db_tx_ro(tx), rt->number, &over, &absent);
    if (code == ERR_NOT_FOUND)
        return no_task(rt, err);
    if (code != ERR_OK) {
        *err = absent;
        return code;
    }
    struct verification *v = change->copy;
    int place = rt->index < v->test_count ? verification_place(&v->tests[rt->index], rt->node) : -1;
    const struct world_node *node = world_node_get(task->app->world, rt->node);
    if (place < 0 || v->tests[rt->index].state == VERIFICATION_WAITING || node == NULL ||
        node->created_us > v->created_us)
        return no_task(rt, err);
    rt->new = verification_report(v, rt->index, place, &rt->report, &change->now);
    if (rt->new)
        code = verification_change_store(change, tx, request_id(task->request), err);
    if (code != ERR_OK)
        return code;
    bool ended = v->tests[rt->index].state == VERIFICATION_OVER;
    task->answer = json_pack("{ss}", "state", ended ? "over" : "running");
    if (task->answer == NULL)
        return err_nomem(err);
    if (!rt->new)
        json_object_set_new(task->answer, "unchanged", json_true());
    return ERR_OK;
}

static void settle_report(struct task *task)
{
    struct report_task *rt = (struct report_task *)task;
    if (rt->new)
        verification_change_settle(&rt->change);
}

void api_verify_report(struct request *request)
{
    struct err err = ERR_INIT;
    size_t len;
    (void)request_body(request, &len);
    if (!speaker_is_in_path(request))
        return;
    if (len > REPORT_BYTES_MAX) {
        request_reply_problem(request, 413, "too-large", NULL, NULL,
                              "a report has at most %d bytes", REPORT_BYTES_MAX);
        return;
    }
    struct report_task *rt = api_alloc(request, sizeof(*rt));
    if (rt == NULL)
        return;
    task_init(&rt->base, request, run_report, release_report);
    rt->base.settle = settle_report;
    snprintf(rt->node, sizeof(rt->node), "%s", request_principal(request)->node);
    enum err_code code = verify_report_from_json(request_json(request), &rt->report, &err);
    const char *name = request_param(request, 1);
    if (code == ERR_OK && strcmp(rt->report.task, name) != 0)
        code = err_set_at(&err, ERR_INVALID, "/task", "is not '%.63s' as in the address", name);
    if (code != ERR_OK) {
        release_report(&rt->base);
        request_reply_err(request, &err);
        return;
    }
    if (!verification_task_parse(name, &rt->number, &rt->index)) {
        release_report(&rt->base);
        request_reply_problem(request, 404, "not-found", NULL, NULL, "node '%s' has no task '%s'",
                              request_principal(request)->node, name);
        return;
    }
    task_submit(&rt->base);
}
