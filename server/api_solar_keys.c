/*
 * server/api_solar_keys.c - a node's agent fetches the keys of the jobs that run there. The node is
 * the token's or the certificate's; nobody else is given a key, staff and tenants neither.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/api.h"
#include "server/solar_keys.h"
#include "server/task.h"

struct keys_task {
    struct task base;
    char node[NAME_SIZE];
};

static void release(struct task *task)
{
    task_release(task);
    free(task);
}

/* On the writer's thread because the world is there; nothing is written. */
static enum err_code run(struct db_tx *tx, struct task *task, struct err *err)
{
    struct keys_task *kt = (struct keys_task *)task;
    struct app *app = task->app;
    const struct view_node *node = view_node_get(&app->world->view, kt->node);
    (void)tx;
    if (node == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", kt->node);
    return solar_keys_to_json(app->solar_secret, &app->world->view, node,
                              app->clock->wall_us(app->clock), &task->answer, err);
}

void api_agent_solar_keys(struct request *request)
{
    struct keys_task *kt = api_alloc(request, sizeof(*kt));
    if (kt == NULL)
        return;
    task_init(&kt->base, request, run, release);
    snprintf(kt->node, sizeof(kt->node), "%s", request_principal(request)->node);
    task_submit(&kt->base);
}
