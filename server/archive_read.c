/*
 * server/archive_read.c - the store's content as an archive; see archive.h. Lists are in the order
 * of their names, so that the same content gives the same bytes.
 */
#include "server/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/catalogue.h"
#include "db/tables.h"
#include "server/rollouts.h"
#include "server/world.h"

struct reading {
    json_t *content; /* owned */
    json_t *list;    /* of the part being read; borrowed of content */
    json_t *body;    /* owned: a document that was looked for */
    char tenant[NAME_SIZE], name[NAME_SIZE];
    uint32_t label;
    int rows;
    bool nomem;
};

static bool take(struct reading *reading, json_t *item)
{
    reading->rows++;
    reading->nomem |= item == NULL || json_array_append_new(reading->list, item) != 0;
    return !reading->nomem;
}

static bool on_revision(void *arg, const struct db_revision *row)
{
    struct reading *reading = arg;
    reading->body = json_loads(row->body, 0, NULL);
    reading->nomem |= reading->body == NULL;
    return false;
}

/* The document in force, in reading->body; NULL = none. */
static enum err_code read_current(struct reading *reading, struct db_ro *ro, const char *doc,
                                  struct err *err)
{
    int64_t number = 0;
    reading->body = NULL;
    enum err_code code = document_current(ro, doc, &number, err);
    if (code == ERR_OK && number != 0)
        code = revision_get(ro, doc, number, on_revision, reading, err);
    return code == ERR_OK && reading->nomem ? err_nomem(err) : code;
}

static bool on_tenant(void *arg, const struct db_tenant *row)
{
    struct reading *reading = arg;
    snprintf(reading->name, sizeof(reading->name), "%s", row->name);
    return take(reading,
                json_pack("{ss, so}", "name", row->name, "tenant", json_loads(row->body, 0, NULL)));
}

static bool on_placement(void *arg, const struct db_placement *row)
{
    struct reading *reading = arg;
    snprintf(reading->tenant, sizeof(reading->tenant), "%s", row->tenant);
    snprintf(reading->name, sizeof(reading->name), "%s", row->job);
    return take(reading,
                json_pack("{ss, ss, sI, so}", "tenant", row->tenant, "job", row->job, "label",
                          (json_int_t)row->label, "placement", json_loads(row->body, 0, NULL)));
}

static bool on_node(void *arg, const struct db_node *row)
{
    struct reading *reading = arg;
    snprintf(reading->name, sizeof(reading->name), "%s", row->name);
    return take(reading,
                json_pack("{ss, so}", "name", row->name, "node", json_loads(row->body, 0, NULL)));
}

static bool on_switch(void *arg, const struct db_switch *row)
{
    struct reading *reading = arg;
    snprintf(reading->name, sizeof(reading->name), "%s", row->name);
    return take(reading,
                json_pack("{ss, so}", "name", row->name, "switch", json_loads(row->body, 0, NULL)));
}

static bool on_label(void *arg, const char *tenant, const char *job, uint32_t label)
{
    struct reading *reading = arg;
    reading->label = label;
    return take(reading, json_pack("{ss, ss, sI}", "tenant", tenant, "job", job, "label",
                                   (json_int_t)label));
}

static enum err_code list_tenants(struct reading *reading, struct db_ro *ro, struct err *err)
{
    return tenant_list(ro, reading->name, DB_PAGE_MAX, on_tenant, reading, err);
}

static enum err_code list_placements(struct reading *reading, struct db_ro *ro, struct err *err)
{
    return placement_list(ro, NULL, reading->tenant, reading->name, DB_PAGE_MAX, on_placement,
                          reading, err);
}

static enum err_code list_nodes(struct reading *reading, struct db_ro *ro, struct err *err)
{
    return node_list(ro, reading->name, DB_PAGE_MAX, on_node, reading, err);
}

static enum err_code list_switches(struct reading *reading, struct db_ro *ro, struct err *err)
{
    return switch_list(ro, reading->name, DB_PAGE_MAX, on_switch, reading, err);
}

static enum err_code list_labels(struct reading *reading, struct db_ro *ro, struct err *err)
{
    return label_list_freed(ro, reading->label, DB_PAGE_MAX, on_label, reading, err);
}

static enum err_code
read_list(struct reading *reading, struct db_ro *ro, const char *name,
          enum err_code (*list)(struct reading *, struct db_ro *, struct err *), struct err *err)
{
    enum err_code code = ERR_OK;
    reading->name[0] = reading->tenant[0] = '\0';
    reading->list = json_array();
    if (json_object_set_new(reading->content, name, reading->list) != 0)
        return err_nomem(err);
    do {
        reading->rows = 0;
        code = list(reading, ro, err);
    } while (code == ERR_OK && !reading->nomem && reading->rows == DB_PAGE_MAX);
    return code == ERR_OK && reading->nomem ? err_nomem(err) : code;
}

static enum err_code read_policies(struct reading *reading, struct db_ro *ro, struct err *err)
{
    const json_t *tenants = json_object_get(reading->content, "tenants");
    enum err_code code = ERR_OK;
    char doc[3 * NAME_SIZE];
    size_t i;
    json_t *tenant;
    json_array_foreach(tenants, i, tenant)
    {
        const char *name = json_string_value(json_object_get(tenant, "name"));
        snprintf(doc, sizeof(doc), "tenant/%s/policy", name);
        if (code == ERR_OK)
            code = read_current(reading, ro, doc, err);
        if (code == ERR_OK && reading->body != NULL &&
            json_object_set_new(tenant, "policy", GIVE(reading->body)) != 0)
            code = err_nomem(err);
    }
    return code;
}

/* A part that is one document, if there is one in force. */
static enum err_code read_single(struct reading *reading, struct db_ro *ro, const char *doc,
                                 const char *name, struct err *err)
{
    enum err_code code = read_current(reading, ro, doc, err);
    if (code == ERR_OK && reading->body != NULL &&
        json_object_set_new(reading->content, name, GIVE(reading->body)) != 0)
        code = err_nomem(err);
    return code;
}

enum err_code archive_read(struct db_ro *ro, json_t **out_content, struct err *err)
{
    struct reading reading = {.content = json_object()};
    if (reading.content == NULL)
        return err_nomem(err);
    enum err_code code = read_single(&reading, ro, "fabric", "fabric", err);
    if (code == ERR_OK)
        code = read_single(&reading, ro, ROLLOUT_POLICY_KEY, "rollout_policy", err);
    if (code == ERR_OK)
        code = read_list(&reading, ro, "tenants", list_tenants, err);
    if (code == ERR_OK)
        code = read_policies(&reading, ro, err);
    if (code == ERR_OK)
        code = read_list(&reading, ro, "placements", list_placements, err);
    if (code == ERR_OK)
        code = read_list(&reading, ro, "nodes", list_nodes, err);
    if (code == ERR_OK)
        code = read_list(&reading, ro, "switches", list_switches, err);
    if (code == ERR_OK)
        code = read_list(&reading, ro, "retired_labels", list_labels, err);
    if (code == ERR_OK)
        *out_content = GIVE(reading.content);
    json_decref(reading.content);
    return code;
}
