/*
 * server/api_flash.c - the node's side of firmware campaigns: its task, and what it says of it. The
 * node is the token's; a task of another node is one that is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/campaigns.h"
#include "server/long_poll.h"
#include "server/speaker.h"
#include "server/task.h"

#define TASK_WAIT_MAX_NS (60 * NS_PER_S)

/* Task ---------------------------------------------------------------------------------------- */

/* Replies when the node's task is not the known one. */
static bool reply_task(struct request *request, bool wait_over)
{
    struct app *app = request_app(request);
    char key[PUBLISH_KEY_SIZE], tag[PUBLISH_TAG_SIZE];
    campaign_task_key(request_principal(request)->node, key);
    struct blob *blob = publish_get(app->publish, key, tag);
    return long_poll_answer(request, blob, tag, wait_over);
}

static void on_task(struct request *request, bool late)
{
    (void)late; /* when woken, the task may be over again: the agent asks again */
    reply_task(request, true);
}

void api_flash_task(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    if (!speaker_is_in_path(request))
        return;
    campaign_task_key(request_principal(request)->node, key);
    long_poll(request, &(struct long_poll){.key = key,
                                           .wait_max_ns = TASK_WAIT_MAX_NS,
                                           .reply = reply_task,
                                           .woken = on_task});
}

/* Report -------------------------------------------------------------------------------------- */

struct report_task {
    struct task base;
    char node[NAME_SIZE];
    struct campaign_task_name name;
    struct flash_report report;
    bool new;
    struct campaign_change change;
};

static void release_report(struct task *task)
{
    struct report_task *rt = (struct report_task *)task;
    campaign_change_release(&rt->change);
    task_release(task);
    free(rt);
}

static enum err_code no_task(struct report_task *rt, struct err *err)
{
    return task_refuse(&rt->base, 404, "not-found", err, "node '%s' has no task '%s'", rt->node,
                       rt->report.task);
}

/* A campaign that is over still takes how a lost device ended. */
static enum err_code begin_report(struct report_task *rt, struct db_tx *tx, struct err *err)
{
    struct app *app = rt->base.app;
    struct err absent = ERR_INIT;
    const struct campaign *active = campaigns_get(app->world, rt->name.number);
    enum err_code code;
    rt->change = (struct campaign_change){.app = app};
    if (active != NULL)
        code = campaign_copy(active, &rt->change.copy, &absent);
    else
        code = campaign_load(db_tx_ro(tx), rt->name.number, app->clock->mono_ns(app->clock),
                             &rt->change.copy, &absent);
    if (code == ERR_NOT_FOUND)
        return no_task(rt, err);
    if (code != ERR_OK) {
        *err = absent;
        return code;
    }
    const struct campaign *c = rt->change.copy;
    if (c->created_us != rt->name.created_us || rt->name.index >= c->device_count ||
        strcmp(c->devices[rt->name.index].node, rt->node) != 0)
        return no_task(rt, err);
    return ERR_OK;
}

static enum err_code run_report(struct db_tx *tx, struct task *task, struct err *err)
{
    struct report_task *rt = (struct report_task *)task;
    struct clock *clock = task->app->clock;
    const struct campaign_now now = {.mono_ns = clock->mono_ns(clock),
                                     .wall_us = clock->wall_us(clock)};
    enum err_code code = begin_report(rt, tx, err);
    if (code != ERR_OK)
        return code;
    struct campaign_change *change = &rt->change;
    rt->new = campaign_report(change->copy, rt->name.index, &rt->report, &now, &change->actions);
    if (rt->new) {
        campaign_change_step(change);
        code = campaign_change_store(change, tx, request_id(task->request), err);
    }
    if (code != ERR_OK)
        return code;
    const struct campaign_device *device = &change->copy->devices[rt->name.index];
    task->answer = json_pack("{ss, sb}", "state", campaign_device_state_name(device->state),
                             "cancelled", (int)device->cancel);
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
        campaign_change_settle(&rt->change);
}

void api_flash_report(struct request *request)
{
    struct err err = ERR_INIT;
    size_t len;
    (void)request_body(request, &len);
    if (!speaker_is_in_path(request))
        return;
    if (len > FLASH_REPORT_BYTES_MAX) {
        request_reply_problem(request, 413, "too-large", NULL, NULL,
                              "a report has at most %d bytes", FLASH_REPORT_BYTES_MAX);
        return;
    }
    struct report_task *rt = api_alloc(request, sizeof(*rt));
    if (rt == NULL)
        return;
    task_init(&rt->base, request, run_report, release_report);
    rt->base.settle = settle_report;
    snprintf(rt->node, sizeof(rt->node), "%s", request_principal(request)->node);
    enum err_code code = flash_report_from_json(request_json(request), &rt->report, &err);
    const char *name = request_param(request, 1);
    if (code == ERR_OK && strcmp(rt->report.task, name) != 0)
        code = err_set_at(&err, ERR_INVALID, "/task", "is not '%.63s' as in the address", name);
    if (code != ERR_OK) {
        release_report(&rt->base);
        request_reply_err(request, &err);
        return;
    }
    if (!campaign_task_parse(name, &rt->name)) {
        release_report(&rt->base);
        request_reply_problem(request, 404, "not-found", NULL, NULL, "node '%s' has no task '%s'",
                              request_principal(request)->node, name);
        return;
    }
    task_submit(&rt->base);
}
