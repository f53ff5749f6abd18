/*
 * server/import_remove.c - what an archive that replaces does not have goes; see import.h. The
 * rollout policy stays: there is always one in force.
 */
#include <stdio.h>
#include <string.h>

#include "db/catalogue.h"
#include "server/import_change.h"

struct removal {
    const char *action, *event;
    enum err_code (*run)(struct db_tx *tx, const char *tenant, const char *name, struct err *err);
};

static enum err_code remove_placement(struct db_tx *tx, const char *tenant, const char *name,
                                      struct err *err)
{
    return placement_delete(tx, tenant, name, err);
}

static enum err_code remove_tenant(struct db_tx *tx, const char *tenant, const char *name,
                                   struct err *err)
{
    (void)tenant;
    return tenant_delete(tx, name, err);
}

static enum err_code remove_node(struct db_tx *tx, const char *tenant, const char *name,
                                 struct err *err)
{
    (void)tenant;
    return node_delete(tx, name, err);
}

static enum err_code remove_fabric(struct db_tx *tx, const char *tenant, const char *name,
                                   struct err *err)
{
    (void)tenant;
    return document_delete(tx, name, err);
}

static enum err_code remove_one(struct import_change *change, const struct removal *removal,
                                const char *tenant, const char *name, struct err *err)
{
    if (json_object_get(change->import->archive.seen, change->subject) != NULL)
        return ERR_OK;
    change->action = removal->action;
    change->event = removal->event;
    enum err_code code = import_begin(change->import, change->tx, err);
    if (code == ERR_OK)
        code = removal->run(change->tx, tenant, name, err);
    return code != ERR_OK ? code : import_record(change, err);
}

static enum err_code remove_switch(struct db_tx *tx, const char *tenant, const char *name,
                                   struct err *err)
{
    (void)tenant;
    return switch_delete(tx, name, err);
}

/* Names and digests first: a list that is being deleted from has no next page. */
struct known {
    json_t *digests; /* owned */
    char last[NAME_SIZE];
    int rows; /* of the page */
};

static bool on_known_switch(void *arg, const struct db_switch *row)
{
    struct known *known = arg;
    char digest[DIGEST_TEXT_MAX];
    bytes_digest(row->body, strlen(row->body), digest);
    snprintf(known->last, sizeof(known->last), "%s", row->name);
    known->rows++;
    return json_object_set_new(known->digests, row->name, json_string(digest)) == 0;
}

static enum err_code known_switches(struct db_ro *ro, json_t **out, struct err *err)
{
    struct known known = {.digests = json_object()};
    enum err_code code = known.digests == NULL ? err_nomem(err) : ERR_OK;
    do {
        known.rows = 0;
        if (code == ERR_OK)
            code = switch_list(ro, known.last, DB_PAGE_MAX, on_known_switch, &known, err);
    } while (code == ERR_OK && known.rows == DB_PAGE_MAX);
    *out = known.digests;
    return code;
}

static enum err_code remove_switches(struct import *import, struct db_tx *tx, struct err *err)
{
    static const struct removal removal = {"switch.delete", "switch.changed", remove_switch};
    struct import_change change = import_change(import, tx, NULL, NULL);
    OWN(json) json_t *known = NULL;
    const char *name;
    json_t *digest;
    enum err_code code = known_switches(db_tx_ro(tx), &known, err);
    json_object_foreach(known, name, digest)
    {
        snprintf(change.subject, sizeof(change.subject), "switch/%s", name);
        change.before = json_string_value(digest);
        if (code == ERR_OK)
            code = remove_one(&change, &removal, NULL, name, err);
    }
    return code;
}

enum err_code import_remove_others(struct import *import, struct db_tx *tx, struct err *err)
{
    static const struct removal placement = {"placement.delete", "placement.changed",
                                             remove_placement};
    static const struct removal tenant = {"tenant.delete", "tenant.changed", remove_tenant};
    static const struct removal node = {"node.delete", "node.changed", remove_node};
    static const struct removal fabric = {"fabric.delete", "fabric.changed", remove_fabric};
    const struct world *world = import->app->world;
    struct import_change change = import_change(import, tx, NULL, NULL);
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < world->view.placement_count && code == ERR_OK; i++) {
        const struct placement *p = world->view_placements[i];
        snprintf(change.subject, sizeof(change.subject), "tenant/%s/job/%s", p->tenant, p->job);
        change.before = world->placements[i]->digest;
        code = remove_one(&change, &placement, p->tenant, p->job, err);
    }
    for (size_t i = 0; i < world->view.tenant_count && code == ERR_OK; i++) {
        snprintf(change.subject, sizeof(change.subject), "tenant/%s", world->tenants[i]->name);
        change.before = world->tenants[i]->digest;
        code = remove_one(&change, &tenant, NULL, world->tenants[i]->name, err);
    }
    for (size_t i = 0; i < world->view.node_count && code == ERR_OK; i++) {
        snprintf(change.subject, sizeof(change.subject), "node/%s", world->nodes[i]->name);
        change.before = world->nodes[i]->digest;
        code = remove_one(&change, &node, NULL, world->nodes[i]->name, err);
    }
    strcpy(change.subject, "fabric");
    change.before = world->fabric_digest;
    if (code == ERR_OK && world->fabric_revision != 0 &&
        import->archive.parts[ARCHIVE_FABRIC] == NULL)
        code = remove_one(&change, &fabric, NULL, "fabric", err);
    return code == ERR_OK ? remove_switches(import, tx, err) : code;
}
