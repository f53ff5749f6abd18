/*
 * server/preview.c - what a dry run answers: for each node whose plan would change, the steps,
 * their disruption class, and the jobs hit.
 *
 * Compiling a thousand nodes twice takes longer than other writes should wait, so it is done in
 * slices between them; each slice puts the new value into the world, compiles, and takes it out.
 */
#include "server/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/compile.h"
#include "fleet/plan.h"

#define PREVIEW_SLICE       16  /* nodes */
#define PREVIEW_NODES_SHOWN 256 /* with their steps; more set "truncated" */

struct preview {
    char (*names)[NAME_SIZE]; /* affected nodes, sorted, each once */
    size_t count, capacity, next;
    bool collected, nomem, truncated;
    enum disruption disruption;
    int64_t changed;
    json_t *nodes; /* array */
    json_t *jobs;  /* object: "tenant/job" -> {"tenant","job"}, so that each is there once */
};

void preview_free(struct preview *preview)
{
    if (preview == NULL)
        return;
    free(preview->names);
    json_decref(preview->nodes);
    json_decref(preview->jobs);
    free(preview);
}

static void collect(void *arg, struct world_node *node)
{
    struct preview *preview = arg;
    if (preview->count == preview->capacity) {
        size_t wanted = preview->capacity == 0 ? 64 : preview->capacity * 2;
        void *more = realloc(preview->names, wanted * sizeof(*preview->names));
        if (more == NULL) {
            preview->nomem = true;
            return;
        }
        preview->names = more;
        preview->capacity = wanted;
    }
    snprintf(preview->names[preview->count++], NAME_SIZE, "%s", node->name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void sort_names(struct preview *preview)
{
    size_t kept = 0;
    if (preview->count == 0)
        return;
    qsort(preview->names, preview->count, NAME_SIZE, compare_names);
    for (size_t i = 1; i < preview->count; i++)
        if (strcmp(preview->names[i], preview->names[kept]) != 0)
            memmove(preview->names[++kept], preview->names[i], NAME_SIZE);
    preview->count = kept + 1;
}

/* The tenant whose names alone the caller may see; NULL = all. */
static const char *only_tenant(const struct write *w)
{
    const struct principal *who = request_principal(w->request);
    return who->role == ROLE_TENANT_ADMIN || who->role == ROLE_TENANT_USER ? who->tenant : NULL;
}

static void add_job(struct write *w, const char *tenant, const char *job)
{
    char key[2 * NAME_SIZE];
    const char *only = only_tenant(w);
    if (tenant[0] == '\0' || job[0] == '\0' || (only != NULL && strcmp(only, tenant) != 0))
        return;
    snprintf(key, sizeof(key), "%s/%s", tenant, job);
    json_object_set_new(w->preview->jobs, key, json_pack("{ss, ss}", "tenant", tenant, "job", job));
}

/* A port that stalls hits every job on the node, not only those whose own knobs change. */
static void add_jobs_of_node(struct write *w, const char *name)
{
    const struct view *view = &w->world->view;
    const struct view_node *node = view_node_get(view, name);
    for (size_t i = 0; node != NULL && i < view->placement_count; i++)
        if (view_placed_on(view->placements[i], node))
            add_job(w, view->placements[i]->tenant, view->placements[i]->job);
}

/* For a tenant's caller only its own steps are shown; others are counted. */
static json_t *steps_shown(struct write *w, const struct plan_steps *steps, size_t *out_hidden)
{
    const char *only = only_tenant(w);
    OWN(json) json_t *all = plan_steps_to_json(steps);
    *out_hidden = 0;
    if (only == NULL)
        return GIVE(all);
    json_t *own = json_array();
    for (size_t i = 0; i < steps->count; i++)
        if (strcmp(steps->items[i].tenant, only) == 0)
            json_array_append(own, json_array_get(all, i));
        else
            (*out_hidden)++;
    return own;
}

static void add_node(struct write *w, const char *name, const struct plan_steps *steps)
{
    struct preview *preview = w->preview;
    enum disruption worst = DISRUPTION_NONE;
    size_t hidden;
    if (steps->count == 0)
        return;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i].disruption > worst)
            worst = steps->items[i].disruption;
        add_job(w, steps->items[i].tenant, steps->items[i].job);
    }
    if (worst >= DISRUPTION_PAUSE)
        add_jobs_of_node(w, name);
    if (worst > preview->disruption)
        preview->disruption = worst;
    if (preview->changed++ >= PREVIEW_NODES_SHOWN) {
        preview->truncated = true;
        return;
    }
    json_t *shown = steps_shown(w, steps, &hidden);
    json_t *item = json_pack("{ss, ss, so}", "node", name, "disruption", disruption_name(worst),
                             "steps", shown);
    if (hidden > 0)
        json_object_set_new(item, "other_steps", json_integer((json_int_t)hidden));
    json_array_append_new(preview->nodes, item);
}

static enum err_code compile(struct write *w, const char *name, struct plan **out,
                             struct finding_list *findings, struct err *err)
{
    const struct view_node *node = view_node_get(&w->world->view, name);
    if (node == NULL)
        return plan_new(name, 0, out, err); /* not there before, or not after */
    return compile_plan(&w->world->view, node, w->world->generation, out, findings, err);
}

/* Nodes that the value in force touches, and those that the new one does. */
static enum err_code collect_nodes(struct write *w, struct err *err)
{
    struct preview *preview = w->preview;
    preview->collected = true;
    if (w->kind->each_node == NULL)
        return ERR_OK;
    w->kind->each_node(w, collect, preview);
    w->kind->swap(w);
    w->kind->each_node(w, collect, preview);
    w->kind->swap(w);
    sort_names(preview);
    return preview->nomem ? err_nomem(err) : ERR_OK;
}

static enum err_code slice(struct db_tx *tx, void *arg, struct err *err)
{
    struct write *w = arg;
    struct preview *preview = w->preview;
    size_t end = preview->next + PREVIEW_SLICE;
    (void)tx;
    w->world = w->app->world;
    enum err_code code = world_reserve(w->world, err);
    /* The target may be gone since the last slice. */
    if (code == ERR_OK)
        code = w->kind->prepare(w, err);
    if (code == ERR_OK && !preview->collected)
        code = collect_nodes(w, err);
    for (; code == ERR_OK && preview->next < end && preview->next < preview->count;
         preview->next++) {
        const char *name = preview->names[preview->next];
        OWN(plan) struct plan *before = NULL;
        OWN(plan) struct plan *after = NULL;
        OWN_STEPS struct plan_steps steps = {0};
        code = compile(w, name, &before, NULL, err);
        w->kind->swap(w);
        if (code == ERR_OK)
            code = compile(w, name, &after, &w->findings, err);
        if (code == ERR_OK)
            code = plan_compare(before, after, &steps, err);
        if (code == ERR_OK)
            add_node(w, name, &steps);
        w->kind->swap(w);
    }
    return code;
}

static void reply(struct write *w)
{
    struct preview *preview = w->preview;
    json_t *answer = w->answer, *jobs = json_array(), *job;
    const char *key;
    json_object_foreach(preview->jobs, key, job)
    {
        json_array_append(jobs, job);
    }
    json_object_set_new(answer, "dry_run", json_true());
    json_object_set_new(answer, "findings", finding_list_to_json(&w->findings));
    json_object_set_new(answer, "disruption", json_string(disruption_name(preview->disruption)));
    json_object_set_new(answer, "nodes_total", json_integer(preview->changed));
    json_object_set(answer, "nodes", preview->nodes);
    json_object_set_new(answer, "jobs", jobs);
    if (preview->truncated)
        json_object_set_new(answer, "truncated", json_true());
    if (w->unchanged)
        json_object_set_new(answer, "unchanged", json_true());
    request_reply_json(w->request, 200, GIVE(w->answer), NULL, NULL);
    w->kind->release(w);
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct write *w = arg;
    struct err queue_err = ERR_INIT;
    if (code == ERR_OK && w->preview->collected && w->preview->next >= w->preview->count) {
        reply(w);
        return;
    }
    if (code == ERR_OK) {
        code = db_look(w->app->db, slice, done, w, &queue_err);
        err = &queue_err;
    }
    if (code != ERR_OK)
        write_fail(w, err);
}

void preview_start(struct write *w)
{
    struct err err = ERR_INIT;
    struct preview *preview = calloc(1, sizeof(*preview));
    w->preview = preview;
    if (preview != NULL) {
        preview->nodes = json_array();
        preview->jobs = json_object();
    }
    if (preview == NULL || preview->nodes == NULL || preview->jobs == NULL) {
        err_nomem(&err);
        write_fail(w, &err);
        return;
    }
    done(w, ERR_OK, NULL);
}
