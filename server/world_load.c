/*
 * server/world_load.c - see world_load.h. The file's own documents are parsed as strictly as the
 * ones that come in: a row that does not read stops the start with its name.
 */
#include "server/world_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/tables.h"
#include "server/identity.h"
#include "server/campaigns.h"
#include "server/verifications.h"
#include "server/rollouts.h"

struct load {
    struct app *app;
    struct world *world;
    bool publish;
    enum err_code code;
    struct err *err;
    int rows; /* of the page */
    char last_tenant[NAME_SIZE], last_job[NAME_SIZE];
};

static bool keep(struct load *load, enum err_code code, const char *what, const char *name)
{
    load->code = code;
    if (code != ERR_OK)
        err_context(load->err, "the store's %s %s", what, name);
    load->rows++;
    return code == ERR_OK;
}

static enum err_code show(struct load *load, const char *key, const char *body, int64_t revision,
                          const char *digest)
{
    struct publish_entry *entry = NULL;
    char etag[32];
    if (!load->publish)
        return ERR_OK;
    etag_format(revision, etag);
    char *copy = strdup(body);
    if (copy == NULL)
        return err_nomem(load->err);
    struct blob *blob = blob_new(copy, strlen(copy), etag, "application/json");
    enum err_code code = publish_entry_new(key, blob, digest, &entry, load->err);
    if (code == ERR_OK)
        publish_put(load->app->publish, entry);
    return code;
}

static enum err_code parse(const char *body, json_t **out, struct err *err)
{
    return json_parse_limit(body, strlen(body), HTTP_BODY_LARGE_MAX, false, out, err);
}

static enum err_code load_tenant(struct load *load, const struct db_tenant *row)
{
    char key[PUBLISH_KEY_SIZE];
    OWN(json) json_t *document = NULL;
    OWN(world_tenant) struct world_tenant *tenant = calloc(1, sizeof(*tenant));
    if (tenant == NULL)
        return err_nomem(load->err);
    enum err_code code = world_reserve(load->world, load->err);
    if (code == ERR_OK)
        code = parse(row->body, &document, load->err);
    if (code == ERR_OK)
        code = tenant_document_read(document, row->name, &tenant->quota, NULL, load->err);
    if (code != ERR_OK)
        return code;
    snprintf(tenant->name, sizeof(tenant->name), "%s", row->name);
    tenant->revision = row->revision;
    bytes_digest(row->body, strlen(row->body), tenant->digest);
    snprintf(key, sizeof(key), "tenant/%s", row->name);
    code = show(load, key, row->body, row->revision, tenant->digest);
    if (code == ERR_OK)
        world_swap_tenant(load->world, tenant->name, &tenant);
    return code;
}

static bool on_tenant(void *arg, const struct db_tenant *row)
{
    struct load *load = arg;
    snprintf(load->last_tenant, sizeof(load->last_tenant), "%s", row->name);
    return keep(load, load_tenant(load, row), "tenant", row->name);
}

static enum err_code load_fabric(struct load *load, const struct db_revision *row,
                                 const json_t *document)
{
    struct fabric *fabric = NULL;
    enum err_code code = fabric_from_json(document, &fabric, NULL, load->err);
    if (code != ERR_OK)
        return code;
    world_swap_fabric(load->world, &fabric);
    load->world->fabric_revision = row->number;
    snprintf(load->world->fabric_digest, DIGEST_TEXT_MAX, "%s", row->digest);
    return show(load, "fabric", row->body, row->number, row->digest);
}

static enum err_code load_rollout_policy(struct load *load, const struct db_revision *row,
                                         const json_t *document)
{
    struct world *world = load->world;
    enum err_code code =
        rollout_policy_from_json(document, &world->rollout_policy, NULL, load->err);
    if (code != ERR_OK)
        return code;
    world->rollout_policy_revision = row->number;
    snprintf(world->rollout_policy_digest, DIGEST_TEXT_MAX, "%s", row->digest);
    return show(load, ROLLOUT_POLICY_KEY, row->body, row->number, row->digest);
}

static enum err_code load_policy(struct load *load, const struct db_revision *row, const char *name,
                                 const json_t *document)
{
    struct world_tenant *tenant = world_tenant_get(load->world, name);
    struct policy *policy = NULL;
    if (tenant == NULL)
        return err_set(load->err, ERR_INVALID, "belongs to no tenant");
    enum err_code code = policy_from_json(document, &policy, NULL, load->err);
    if (code != ERR_OK)
        return code;
    world_swap_policy(load->world, name, &policy);
    tenant->policy_revision = row->number;
    snprintf(tenant->policy_digest, DIGEST_TEXT_MAX, "%s", row->digest);
    return show(load, row->doc, row->body, row->number, row->digest);
}

static bool on_document(void *arg, const struct db_revision *row)
{
    struct load *load = arg;
    OWN(json) json_t *document = NULL;
    char name[NAME_SIZE];
    int end = 0;
    enum err_code code = parse(row->body, &document, load->err);
    if (code == ERR_OK && strcmp(row->doc, "fabric") == 0)
        code = load_fabric(load, row, document);
    else if (code == ERR_OK && strcmp(row->doc, ROLLOUT_POLICY_KEY) == 0)
        code = load_rollout_policy(load, row, document);
    else if (code == ERR_OK && sscanf(row->doc, "tenant/%63[^/]/policy%n", name, &end) == 1 &&
             end > 0)
        code = load_policy(load, row, name, document);
    return keep(load, code, "document", row->doc);
}

static enum err_code load_placement(struct load *load, const struct db_placement *row)
{
    char key[PUBLISH_KEY_SIZE];
    OWN(json) json_t *document = NULL;
    OWN(world_placement) struct world_placement *placement = calloc(1, sizeof(*placement));
    if (placement == NULL)
        return err_nomem(load->err);
    enum err_code code = world_reserve(load->world, load->err);
    if (code == ERR_OK)
        code = parse(row->body, &document, load->err);
    if (code == ERR_OK)
        code = placement_from_json(document, row->tenant, row->job, row->label, &placement->value,
                                   NULL, load->err);
    if (code != ERR_OK)
        return code;
    placement->revision = row->revision;
    bytes_digest(row->body, strlen(row->body), placement->digest);
    OWN(str) char *text = placement_item_text(placement->value, row->revision, document);
    if (text == NULL)
        return err_nomem(load->err);
    snprintf(key, sizeof(key), "tenant/%s/placement/%s", row->tenant, row->job);
    code = show(load, key, text, row->revision, placement->digest);
    if (code == ERR_OK)
        world_swap_placement(load->world, row->tenant, row->job, &placement);
    return code;
}

static bool on_placement(void *arg, const struct db_placement *row)
{
    struct load *load = arg;
    snprintf(load->last_tenant, sizeof(load->last_tenant), "%s", row->tenant);
    snprintf(load->last_job, sizeof(load->last_job), "%s", row->job);
    return keep(load, load_placement(load, row), "placement", row->job);
}

static int64_t newest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Reports of agents are old news: one that does not read any more is left out, not fatal. */
static void load_reports(struct world_node *node, const struct db_node *row)
{
    OWN(json) json_t *inventory = NULL;
    OWN(json) json_t *receipt_document = NULL;
    OWN(receipt) struct receipt *receipt = NULL;
    if (row->inventory != NULL && parse(row->inventory, &inventory, NULL) == ERR_OK &&
        inventory_from_json(inventory, &node->inventory, NULL, NULL) == ERR_OK)
        bytes_digest(row->inventory, strlen(row->inventory), node->inventory_digest);
    if (row->receipt != NULL && parse(row->receipt, &receipt_document, NULL) == ERR_OK &&
        receipt_from_json(receipt_document, &receipt, NULL) == ERR_OK) {
        char digest[DIGEST_TEXT_MAX];
        bytes_digest(row->receipt, strlen(row->receipt), digest);
        receipt_note_of(receipt, digest, &node->receipt);
        node->receipt.id = -1; /* there is one; its number is not needed again */
        if (row->state != NULL && row->state_us > row->receipt_us)
            node->state = strdup(row->state); /* without memory the next report says it again */
    }
    node->created_us = row->created_us;
    node->last_report_us = newest(row->inventory_us, newest(row->state_us, row->receipt_us));
}

static enum err_code load_node_token(struct load *load, const struct db_node *row)
{
    if (!load->publish || row->token_hash == NULL || row->token_hash[0] == '\0')
        return ERR_OK;
    struct auth_token *token = calloc(1, sizeof(*token));
    if (token == NULL)
        return err_nomem(load->err);
    snprintf(token->hash, sizeof(token->hash), "%s", row->token_hash);
    token->principal.role = ROLE_AGENT;
    token->principal.scopes = SCOPE_ALL;
    snprintf(token->principal.name, sizeof(token->principal.name), "node:%s", row->name);
    snprintf(token->principal.node, sizeof(token->principal.node), "%s", row->name);
    auth_put(load->app->auth, token, false);
    return ERR_OK;
}

static enum err_code load_node(struct load *load, const struct db_node *row)
{
    OWN(json) json_t *document = NULL;
    OWN(world_node) struct world_node *node = calloc(1, sizeof(*node));
    if (node == NULL)
        return err_nomem(load->err);
    enum err_code code = world_reserve(load->world, load->err);
    if (code == ERR_OK)
        code = parse(row->body, &document, load->err);
    if (code == ERR_OK)
        code = node_document_read(document, row->name, &node->document, NULL, load->err);
    if (code == ERR_OK)
        code = load_node_token(load, row);
    if (code != ERR_OK)
        return code;
    snprintf(node->name, sizeof(node->name), "%s", row->name);
    node->revision = row->revision;
    node->attempt = row->attempt;
    snprintf(node->approved, sizeof(node->approved), "%s", row->approved);
    bytes_digest(row->body, strlen(row->body), node->digest);
    load_reports(node, row);
    world_swap_node(load->world, row->name, &node);
    return ERR_OK;
}

static bool on_node(void *arg, const struct db_node *row)
{
    struct load *load = arg;
    snprintf(load->last_tenant, sizeof(load->last_tenant), "%s", row->name);
    return keep(load, load_node(load, row), "node", row->name);
}

static enum err_code load_tenants(struct load *load, struct db_ro *ro)
{
    enum err_code code;
    do {
        load->rows = 0;
        code = tenant_list(ro, load->last_tenant, DB_PAGE_MAX, on_tenant, load, load->err);
    } while (code == ERR_OK && load->code == ERR_OK && load->rows == DB_PAGE_MAX);
    load->last_tenant[0] = '\0';
    return code != ERR_OK ? code : load->code;
}

static enum err_code load_placements(struct load *load, struct db_ro *ro)
{
    enum err_code code;
    do {
        load->rows = 0;
        code = placement_list(ro, NULL, load->last_tenant, load->last_job, DB_PAGE_MAX,
                              on_placement, load, load->err);
    } while (code == ERR_OK && load->code == ERR_OK && load->rows == DB_PAGE_MAX);
    load->last_tenant[0] = '\0';
    return code != ERR_OK ? code : load->code;
}

static enum err_code load_nodes(struct load *load, struct db_ro *ro)
{
    enum err_code code;
    do {
        load->rows = 0;
        code = node_list(ro, load->last_tenant, DB_PAGE_MAX, on_node, load, load->err);
    } while (code == ERR_OK && load->code == ERR_OK && load->rows == DB_PAGE_MAX);
    return code != ERR_OK ? code : load->code;
}

enum err_code world_load(struct app *app, struct db_ro *ro, bool publish, struct world **out,
                         struct err *err)
{
    OWN(world) struct world *world = NULL;
    enum err_code code = world_new(&world, err);
    if (code != ERR_OK)
        return code;
    struct load load = {.app = app, .world = world, .publish = publish, .err = err};
    code = world_reserve(world, err);
    if (code == ERR_OK)
        code = generation_current(ro, &world->generation, err);
    if (code == ERR_OK)
        code = load_tenants(&load, ro);
    if (code == ERR_OK)
        code = document_each(ro, on_document, &load, err);
    if (code == ERR_OK)
        code = load.code;
    if (code == ERR_OK)
        code = load_placements(&load, ro);
    if (code == ERR_OK)
        code = load_nodes(&load, ro);
    if (code == ERR_OK)
        code = releases_load(app, world, ro, publish, err);
    if (code == ERR_OK)
        code = rollouts_load(app, world, ro, err);
    if (code == ERR_OK)
        code = campaigns_load(app, world, ro, publish, err);
    if (code == ERR_OK)
        code = verifications_load(app, world, ro, publish, err);
    if (code == ERR_OK && publish)
        code = identity_load(app, ro, err);
    if (code == ERR_OK)
        code = load.code;
    if (code == ERR_OK)
        *out = GIVE(world);
    return code;
}
