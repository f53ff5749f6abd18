/*
 * server/rollout_preview.c - see rollout_preview.h. Nodes are compiled a few at a time between
 * other writes; the plan of a node is compared with the one that it was given.
 */
#include "server/rollout_preview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/compile.h"
#include "server/app.h"
#include "server/planner.h"
#include "server/rollout_pick.h"

#define SLICE_NODES 16
#define NODES_SHOWN 256 /* names in one wave; the count is whole */

struct wave {
    size_t nodes, steps;
    enum disruption disruption;
    json_t *names, *tenants, *jobs; /* owned: array; objects with a member each */
};

struct preview {
    struct app *app;
    struct request *request;
    json_t *document; /* owned */
    struct rollout_pick pick;
    bool picked;
    uint32_t *waves; /* owned: of each picked node */
    size_t wave_count, next;
    struct wave list[ROLLOUT_WAVES_MAX + 1];
};

static void rollout_preview_free(struct preview *p)
{
    for (size_t i = 0; i < sizeof(p->list) / sizeof(p->list[0]); i++) {
        json_decref(p->list[i].names);
        json_decref(p->list[i].tenants);
        json_decref(p->list[i].jobs);
    }
    rollout_pick_release(&p->pick);
    free(p->waves);
    json_decref(p->document);
    free(p);
}

static void add_job(struct wave *wave, const char *tenant, const char *job)
{
    char key[2 * NAME_SIZE];
    if (tenant[0] == '\0')
        return;
    json_object_set_new(wave->tenants, tenant, json_string(tenant));
    snprintf(key, sizeof(key), "%s/%s", tenant, job);
    if (job[0] != '\0')
        json_object_set_new(wave->jobs, key, json_pack("{ss, ss}", "tenant", tenant, "job", job));
}

static void add_steps(struct preview *p, struct wave *wave, const struct view_node *node,
                      const struct plan_steps *steps)
{
    const struct view *view = &p->app->world->view;
    enum disruption worst = DISRUPTION_NONE;
    for (size_t i = 0; i < steps->count; i++) {
        add_job(wave, steps->items[i].tenant, steps->items[i].job);
        if (steps->items[i].disruption > worst)
            worst = steps->items[i].disruption;
    }
    /* A port that stalls hits every job on the node. */
    for (size_t i = 0; worst >= DISRUPTION_PAUSE && i < view->placement_count; i++)
        if (view_placed_on(view->placements[i], node))
            add_job(wave, view->placements[i]->tenant, view->placements[i]->job);
    wave->steps += steps->count;
    if (worst > wave->disruption)
        wave->disruption = worst;
}

static enum err_code look_at(struct preview *p, size_t index, struct err *err)
{
    const struct world *world = p->app->world;
    const struct world_node *now = world_node_get(world, p->pick.names[index]);
    const struct view_node *node = view_node_get(&world->view, p->pick.names[index]);
    struct wave *wave = &p->list[p->waves[index]];
    OWN(plan) struct plan *before = NULL;
    OWN(plan) struct plan *after = NULL;
    OWN_STEPS struct plan_steps steps = {0};
    if (now == NULL || node == NULL)
        return ERR_OK; /* removed since the first slice */
    enum err_code code = planner_given(p->app, now, &before, err);
    if (code == ERR_OK)
        code = compile_plan(&world->view, node, world->generation, &after, NULL, err);
    if (code == ERR_OK)
        code = plan_compare(before, after, &steps, err);
    if (code != ERR_OK)
        return code;
    if (wave->nodes++ < NODES_SHOWN)
        json_array_append_new(wave->names, json_string(node->name));
    add_steps(p, wave, node, &steps);
    return ERR_OK;
}

static enum err_code begin(struct preview *p, struct err *err)
{
    const struct world *world = p->app->world;
    p->picked = true;
    enum err_code code = rollout_pick_make(&p->pick, world, p->document, err);
    if (code != ERR_OK)
        return code;
    OWN(mem) void *names = rollout_pick_pointers(&p->pick);
    p->waves = calloc(p->pick.count, sizeof(*p->waves));
    if (names == NULL || p->waves == NULL)
        return err_nomem(err);
    p->wave_count =
        rollout_assign_waves(&p->pick.settings, &world->view, names, p->pick.count, p->waves);
    for (size_t i = 0; i < p->wave_count; i++) {
        struct wave *wave = &p->list[i];
        wave->names = json_array();
        wave->tenants = json_object();
        wave->jobs = json_object();
        if (wave->names == NULL || wave->tenants == NULL || wave->jobs == NULL)
            return err_nomem(err);
    }
    return ERR_OK;
}

static enum err_code slice(struct db_tx *tx, void *arg, struct err *err)
{
    struct preview *p = arg;
    size_t end = p->next + SLICE_NODES;
    (void)tx;
    enum err_code code = p->picked ? ERR_OK : begin(p, err);
    for (; code == ERR_OK && p->next < end && p->next < p->pick.count; p->next++)
        code = look_at(p, p->next, err);
    return code;
}

static json_t *values_of(const json_t *object)
{
    json_t *list = json_array(), *value;
    const char *key;
    json_object_foreach((json_t *)object, key, value)
    {
        json_array_append(list, value);
    }
    return list;
}

static void reply(struct preview *p)
{
    json_t *waves = json_array();
    size_t total = 0;
    for (size_t i = 0; i < p->wave_count; i++) {
        const struct wave *wave = &p->list[i];
        total += wave->nodes;
        json_t *item =
            json_pack("{sI, sI, sI, ss, sO, so, so}", "wave", (json_int_t)i + 1, "nodes_total",
                      (json_int_t)wave->nodes, "steps", (json_int_t)wave->steps, "disruption",
                      disruption_name(wave->disruption), "nodes", wave->names, "tenants",
                      values_of(wave->tenants), "jobs", values_of(wave->jobs));
        if (item != NULL && wave->nodes > NODES_SHOWN)
            json_object_set_new(item, "truncated", json_true());
        json_array_append_new(waves, item);
    }
    json_t *answer =
        json_pack("{sb, sI, so}", "dry_run", 1, "nodes_total", (json_int_t)total, "waves", waves);
    request_reply_json(p->request, 200, answer, NULL, NULL);
    rollout_preview_free(p);
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct preview *p = arg;
    struct err queue_err = ERR_INIT;
    if (code == ERR_OK && p->picked && p->next >= p->pick.count) {
        reply(p);
        return;
    }
    if (code == ERR_OK) {
        code = db_look(p->app->db, slice, done, p, &queue_err);
        err = &queue_err;
    }
    if (code == ERR_OK)
        return;
    if (code == ERR_CONFLICT && p->pick.status != 0)
        request_reply_problem(p->request, p->pick.status, p->pick.code, NULL, NULL, "%s",
                              err->text);
    else
        request_reply_err(p->request, err);
    rollout_preview_free(p);
}

void rollout_preview_start(struct request *request)
{
    struct err err = ERR_INIT;
    struct preview *p = calloc(1, sizeof(*p));
    if (p != NULL)
        p->document = json_deep_copy(request_json(request));
    if (p == NULL || p->document == NULL) {
        free(p);
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    p->app = request_app(request);
    p->request = request;
    done(p, ERR_OK, NULL);
}
