/*
 * server/hardware.c - see hardware.h.
 */
#include "server/hardware.h"

#include <stdio.h>
#include <string.h>

#include "fleet/firmware.h"
#include "server/pipeline.h"

#define EVENT "node.compat"

void hardware_check_node(const struct compat *compat, const struct fabric *fabric, const char *node,
                         const struct inventory *inventory, struct finding_list *findings)
{
    compat_check_node(compat, node, inventory, findings);
    firmware_check_node(fabric, node, inventory, findings);
}

/* Admission ----------------------------------------------------------------------------------- */

static void add_warnings(const struct finding_list *from, struct finding_list *to)
{
    for (size_t i = 0; i < from->count; i++) {
        struct finding finding = from->items[i];
        if (finding.severity < FINDING_WARNING)
            continue;
        finding.severity = FINDING_WARNING;
        finding_add(to, &finding);
    }
    to->truncated |= from->truncated;
    to->nomem |= from->nomem;
}

static void admit_node(const struct app *app, const struct world *world,
                       const struct change *change, const struct view_node *node,
                       struct finding_list *findings)
{
    OWN_FINDINGS struct finding_list found;
    finding_list_init(&found);
    if (node->inventory == NULL)
        return;
    if (change->kind == CHANGE_FABRIC)
        firmware_check_node(world->fabric, node->name, node->inventory, &found);
    else
        hardware_check_node(app->compat, world->fabric, node->name, node->inventory, &found);
    add_warnings(&found, findings);
}

/* A change of hardware looks at its node, one of the profile at all, others at their placements. */
static bool touches(const struct view *view, const struct change *change,
                    const struct view_node *node)
{
    if (change->kind == CHANGE_INVENTORY)
        return change->node != NULL && strcmp(change->node, node->name) == 0;
    if (change->kind == CHANGE_FABRIC)
        return true;
    if (change->kind == CHANGE_PLACEMENT && change->tenant != NULL && change->job != NULL) {
        const struct placement *placement = view_placement_get(view, change->tenant, change->job);
        return placement != NULL && view_placed_on(placement, node);
    }
    return change->tenant != NULL && view_tenant_is_on(view, change->tenant, node);
}

void hardware_admit(const struct app *app, const struct world *world, const struct change *change,
                    struct finding_list *findings)
{
    const struct view *view = &world->view;
    if (app->compat == NULL || change->kind == CHANGE_TENANT)
        return;
    for (size_t i = 0; i < view->node_count && !findings->truncated; i++)
        if (touches(view, change, &view->nodes[i]))
            admit_node(app, world, change, &view->nodes[i], findings);
}

/* Change -------------------------------------------------------------------------------------- */

static bool is_same(const struct finding *a, const struct finding *b)
{
    return a->severity == b->severity && strcmp(a->rule, b->rule) == 0 &&
           strcmp(a->subject, b->subject) == 0 && strcmp(a->observed, b->observed) == 0 &&
           strcmp(a->limit, b->limit) == 0;
}

static bool has(const struct finding_list *list, const struct finding *finding)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_same(&list->items[i], finding))
            return true;
    return false;
}

/* Those of `list` that `other` has not; *out_count of them, some of which are shown. */
static json_t *difference(const struct finding_list *list, const struct finding_list *other,
                          size_t *out_count)
{
    json_t *items = json_array();
    *out_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct finding *finding = &list->items[i];
        if (finding->severity < FINDING_WARNING || has(other, finding))
            continue;
        if ((*out_count)++ < HARDWARE_SHOWN_MAX)
            json_array_append_new(items, json_pack("{ss, ss, ss, ss}", "rule", finding->rule,
                                                   "subject", finding->subject, "observed",
                                                   finding->observed, "limit", finding->limit));
    }
    return items;
}

static enum err_code add_event(struct db_tx *tx, const struct request *request, const char *subject,
                               const json_t *body, struct err *err)
{
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    const struct db_audit subject_only = {.subject = subject};
    return change_record(tx, request, &subject_only, EVENT, text, err);
}

/* *out_changed: the sets differ and the event was added. */
static enum err_code compare(struct db_tx *tx, const struct request *request, const char *node,
                             const struct finding_list lists[2], bool *out_changed, struct err *err)
{
    char subject[NAME_SIZE + 8];
    size_t appeared, gone;
    OWN(json) json_t *new_ones = difference(&lists[1], &lists[0], &appeared);
    OWN(json) json_t *old_ones = difference(&lists[0], &lists[1], &gone);
    *out_changed = appeared + gone > 0;
    if (lists[0].nomem || lists[1].nomem)
        return err_nomem(err);
    if (!*out_changed)
        return ERR_OK;
    snprintf(subject, sizeof(subject), "node/%s", node);
    OWN(json)
    json_t *body =
        json_pack("{sO, sO, sI, sI}", "appeared", new_ones, "gone", old_ones, "appeared_count",
                  (json_int_t)appeared, "gone_count", (json_int_t)gone);
    return add_event(tx, request, subject, body, err);
}

enum err_code hardware_inventory_changed(const struct app *app, struct db_tx *tx,
                                         const struct request *request, const char *node,
                                         const struct inventory *inventory, struct err *err)
{
    const struct world *world = app->world;
    const struct world_node *entry = world_node_get(world, node);
    struct finding_list lists[2];
    bool changed;
    if (app->compat == NULL)
        return ERR_OK;
    finding_list_init(&lists[0]);
    finding_list_init(&lists[1]);
    if (entry != NULL && entry->inventory != NULL)
        hardware_check_node(app->compat, world->fabric, node, entry->inventory, &lists[0]);
    if (inventory != NULL)
        hardware_check_node(app->compat, world->fabric, node, inventory, &lists[1]);
    enum err_code code = compare(tx, request, node, lists, &changed, err);
    finding_list_release(&lists[0]);
    finding_list_release(&lists[1]);
    return code;
}

enum err_code hardware_fabric_changed(const struct app *app, struct db_tx *tx,
                                      const struct request *request, const struct fabric *fabric,
                                      struct err *err)
{
    const struct view *view = &app->world->view;
    size_t events = 0, i = 0;
    enum err_code code = ERR_OK;
    for (; i < view->node_count && code == ERR_OK && events < HARDWARE_EVENTS_MAX; i++) {
        const struct view_node *node = &view->nodes[i];
        struct finding_list lists[2];
        bool changed = false;
        if (node->inventory == NULL)
            continue;
        finding_list_init(&lists[0]);
        finding_list_init(&lists[1]);
        firmware_check_node(app->world->fabric, node->name, node->inventory, &lists[0]);
        firmware_check_node(fabric, node->name, node->inventory, &lists[1]);
        code = compare(tx, request, node->name, lists, &changed, err);
        events += changed;
        finding_list_release(&lists[0]);
        finding_list_release(&lists[1]);
    }
    if (code != ERR_OK || i == view->node_count)
        return code;
    OWN(json) json_t *body = json_pack("{sb, sI}", "truncated", 1, "nodes", (json_int_t)events);
    return add_event(tx, request, "fabric", body, err);
}
