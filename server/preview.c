/*
 * server/preview.c - what a dry run answers: for each node whose plan would change, the steps,
 * their disruption class, and the jobs hit.
 *
 * Compiling a thousand nodes twice takes longer than other writes should wait, so it is done in
 * slices between them; each slice puts the new value into the world, compiles, and takes it out.
 * Machines of a fleet are much alike: nodes with equal ports that the same placements cover have
 * the same steps, so a few shapes are remembered and most nodes are not compiled at all.
 */
#include "server/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/compile.h"
#include "fleet/plan.h"
#include "server/api.h"
#include "server/planner.h"

#define PREVIEW_SLICE       16  /* nodes */
#define PREVIEW_NODES_SHOWN 256 /* with their steps; more set "truncated" */
#define PREVIEW_SHAPES      8   /* remembered */

/* What a node's plan follows from, its name apart. */
struct shape {
    bool used;
    char given[DIGEST_TEXT_MAX]; /* the plan that it was given, when that counts */
    struct port *ports;          /* owned copies */
    size_t port_count;
    unsigned char *covered; /* owned: by which placements, before and after the change */
    size_t covered_count;
    struct plan_steps steps;
};

struct preview {
    char (*names)[NAME_SIZE]; /* affected nodes, sorted, each once */
    size_t count, capacity, next;
    bool collected, nomem, truncated;
    int64_t generation; /* of the world at the last slice */
    enum disruption disruption;
    int64_t changed;
    struct shape shapes[PREVIEW_SHAPES];
    size_t shape_next; /* the next to be forgotten */
    json_t *nodes;     /* array */
    json_t *jobs;      /* object: "tenant/job" -> {"tenant","job"}, so that each is there once */
};

static void shape_release(struct shape *shape)
{
    free(shape->ports);
    free(shape->covered);
    plan_steps_release(&shape->steps);
    *shape = (struct shape){.used = false};
}

void preview_free(struct preview *preview)
{
    if (preview == NULL)
        return;
    for (size_t i = 0; i < PREVIEW_SHAPES; i++)
        shape_release(&preview->shapes[i]);
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

static void add_job(struct write *w, const char *tenant, const char *job)
{
    char key[2 * NAME_SIZE];
    const char *only = api_own_tenant(w->request);
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
    const char *only = api_own_tenant(w->request);
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

/* Appends which placements cover the node in the world as it is now, after a mark that it is there.
 */
static void cover(const struct view *view, const char *name, struct shape *shape)
{
    const struct view_node *node = view_node_get(view, name);
    shape->covered[shape->covered_count++] = node != NULL;
    for (size_t i = 0; i < view->placement_count; i++)
        shape->covered[shape->covered_count++] =
            node != NULL && view_placed_on(view->placements[i], node);
}

static enum err_code shape_of(struct write *w, const char *name, struct shape *out, struct err *err)
{
    const struct world_node *node = world_node_get(w->world, name);
    const struct inventory *inventory = node == NULL ? NULL : node->inventory;
    /* A change adds one placement at most. */
    out->covered = malloc(2 * (w->world->view.placement_count + 2));
    if (out->covered == NULL)
        return err_nomem(err);
    if (inventory != NULL && inventory->port_count > 0) {
        out->ports = malloc(inventory->port_count * sizeof(struct port));
        if (out->ports == NULL)
            return err_nomem(err);
        /* With the padding: where that differs, a node is compiled for nothing, no more. */
        memcpy(out->ports, inventory->ports, inventory->port_count * sizeof(struct port));
        out->port_count = inventory->port_count;
    }
    if (node != NULL && w->kind->releases)
        memcpy(out->given, node->release.digest, sizeof(out->given));
    cover(&w->world->view, name, out);
    w->kind->swap(w);
    cover(&w->world->view, name, out);
    w->kind->swap(w);
    return ERR_OK;
}

static bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->used && strcmp(a->given, b->given) == 0 && a->port_count == b->port_count &&
           a->covered_count == b->covered_count &&
           memcmp(a->covered, b->covered, a->covered_count) == 0 &&
           (a->port_count == 0 ||
            memcmp(a->ports, b->ports, a->port_count * sizeof(struct port)) == 0);
}

/* What the node is before the change. */
static enum err_code plan_before(struct write *w, const char *name, struct plan **out,
                                 struct err *err)
{
    const struct world_node *node = world_node_get(w->world, name);
    if (!w->kind->releases || node == NULL)
        return compile(w, name, out, NULL, err);
    if (node->release.digest[0] == '\0')
        return plan_new(name, 0, out, err); /* it was given none yet */
    return planner_given(w->app, node, out, err);
}

static enum err_code compile_steps(struct write *w, const char *name, struct plan_steps *out,
                                   struct err *err)
{
    OWN(plan) struct plan *before = NULL;
    OWN(plan) struct plan *after = NULL;
    enum err_code code = plan_before(w, name, &before, err);
    w->kind->swap(w);
    if (code == ERR_OK)
        code = compile(w, name, &after, &w->findings, err);
    w->kind->swap(w);
    return code != ERR_OK ? code : plan_compare(before, after, out, err);
}

static enum err_code look_at(struct write *w, const char *name, struct err *err)
{
    struct preview *preview = w->preview;
    struct shape shape = {.used = false};
    enum err_code code = shape_of(w, name, &shape, err);
    for (size_t i = 0; i < PREVIEW_SHAPES && code == ERR_OK; i++)
        if (shape_equal(&preview->shapes[i], &shape)) {
            shape_release(&shape);
            add_node(w, name, &preview->shapes[i].steps);
            return ERR_OK;
        }
    if (code == ERR_OK)
        code = compile_steps(w, name, &shape.steps, err);
    if (code != ERR_OK) {
        shape_release(&shape);
        return code;
    }
    struct shape *kept = &preview->shapes[preview->shape_next++ % PREVIEW_SHAPES];
    shape_release(kept);
    shape.used = true;
    *kept = shape;
    add_node(w, name, &kept->steps);
    return ERR_OK;
}

/* Other writes may have come between two slices: then what was remembered is not true any more. */
static void forget_shapes(struct preview *preview, int64_t generation)
{
    for (size_t i = 0; i < PREVIEW_SHAPES && preview->generation != generation; i++)
        shape_release(&preview->shapes[i]);
    preview->generation = generation;
}

static enum err_code slice(struct db_tx *tx, void *arg, struct err *err)
{
    struct write *w = arg;
    struct preview *preview = w->preview;
    size_t end = preview->next + PREVIEW_SLICE;
    (void)tx;
    w->world = w->app->world;
    forget_shapes(preview, w->world->generation);
    enum err_code code = world_reserve(w->world, err);
    /* The target may be gone since the last slice. */
    if (code == ERR_OK)
        code = w->kind->prepare(w, err);
    if (code == ERR_OK && !preview->collected)
        code = collect_nodes(w, err);
    for (; code == ERR_OK && preview->next < end && preview->next < preview->count; preview->next++)
        code = look_at(w, preview->names[preview->next], err);
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
