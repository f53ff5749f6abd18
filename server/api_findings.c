/*
 * server/api_findings.c - what hardware rules find, on one node and on all of the fleet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "db/catalogue.h"
#include "fleet/firmware.h"
#include "fleet/switch.h"
#include "server/api.h"
#include "server/chains.h"
#include "server/hardware.h"
#include "server/page.h"
#include "server/scan.h"

void api_compat_get(struct request *request)
{
    request_reply_text(request, 200, "application/json", (const char *)compat_files[0].data,
                       compat_files[0].len);
}

/* One node ------------------------------------------------------------------------------------ */

struct node_look {
    struct request *request;
    char node[NAME_SIZE];
    struct fabric *fabric;
    struct finding_list findings;
    bool found;
};

static bool look_at_node(void *arg, const char *node, const struct inventory *inventory)
{
    struct node_look *look = arg;
    const struct app *app = request_app(look->request);
    if (strcmp(node, look->node) == 0) {
        look->found = true;
        hardware_check_node(app->compat, look->fabric, node, inventory, &look->findings);
    }
    return false;
}

static enum err_code read_node(struct db_ro *ro, void *arg, struct err *err)
{
    struct node_look *look = arg;
    enum err_code code = scan_fabric(ro, &look->fabric, err);
    if (code == ERR_OK)
        code = scan_inventories(ro, look->node, look_at_node, look, err);
    if (code == ERR_OK)
        code = chains_find(ro, look->node, &look->findings, err);
    return code == ERR_OK && look->findings.nomem ? err_nomem(err) : code;
}

static void reply_node(struct node_look *look)
{
    json_t *answer = json_pack("{ss, so, sb}", "node", look->node, "items",
                               finding_list_to_json(&look->findings), "reported", look->found);
    if (answer != NULL && look->findings.truncated)
        json_object_set_new(answer, "truncated", json_true());
    request_reply_json(look->request, 200, answer, NULL, NULL);
}

static void node_done(void *arg, enum err_code code, const struct err *err)
{
    struct node_look *look = arg;
    if (code == ERR_OK)
        reply_node(look);
    else
        request_reply_err(look->request, err);
    finding_list_release(&look->findings);
    fabric_free(look->fabric);
    free(look);
}

void api_node_findings(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *node = request_param(request, 0);
    if (!api_check_node(request, node))
        return;
    struct node_look *look = api_alloc(request, sizeof(*look));
    if (look == NULL)
        return;
    look->request = request;
    snprintf(look->node, sizeof(look->node), "%s", node);
    finding_list_init(&look->findings);
    enum err_code code = db_read(app->db, read_node, node_done, look, &err);
    if (code != ERR_OK)
        node_done(look, code, &err);
}

/* All ----------------------------------------------------------------------------------------- */

/* A page's key is "NODE INDEX" or "~SWITCH INDEX": switches come after every node. */
struct fleet_look {
    struct page *page;
    const struct app *app;
    struct db_ro *ro;
    struct fabric *fabric;
    const char *rule;     /* NULL = all */
    const char *severity; /* NULL = all */
    char owner[NAME_SIZE + 1];
    int after; /* index of the owner's last finding that was shown */
    bool full;
    int rows; /* of this page of the store's switches */
    char last_switch[NAME_SIZE];
    enum err_code code; /* of reading chains */
    struct err *err;
};

static bool is_wanted(const struct fleet_look *look, const struct finding *finding)
{
    return (look->rule == NULL || strcmp(look->rule, finding->rule) == 0) &&
           (look->severity == NULL ||
            strcmp(look->severity, finding_severity_name(finding->severity)) == 0);
}

static bool add_findings(struct fleet_look *look, const char *owner,
                         const struct finding_list *findings)
{
    int first = strcmp(owner, look->owner) == 0 ? look->after + 1 : 0;
    look->page->no_memory |= findings->nomem;
    for (int i = first; i < (int)findings->count && !look->full; i++)
        if (is_wanted(look, &findings->items[i]))
            look->full =
                !page_add(look->page, finding_to_json(&findings->items[i]), "%s %d", owner, i);
    return !look->full;
}

static bool on_node(void *arg, const char *node, const struct inventory *inventory)
{
    struct fleet_look *look = arg;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    hardware_check_node(look->app->compat, look->fabric, node, inventory, &findings);
    if (look->code == ERR_OK)
        look->code = chains_find(look->ro, node, &findings, look->err);
    return look->code == ERR_OK && add_findings(look, node, &findings);
}

static bool on_switch(void *arg, const struct db_switch *row)
{
    struct fleet_look *look = arg;
    struct switch_info info;
    char owner[NAME_SIZE + 1];
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(json) json_t *document = json_loads(row->body, 0, NULL);
    look->rows++;
    snprintf(look->last_switch, sizeof(look->last_switch), "%s", row->name);
    snprintf(owner, sizeof(owner), "~%s", row->name);
    if (document == NULL || switch_from_json(document, "", row->name, &info, NULL, NULL) != ERR_OK)
        return true;
    compat_check_switch(look->app->compat, row->name, &info, &findings);
    return add_findings(look, owner, &findings);
}

static enum err_code each_switch(struct db_ro *ro, struct fleet_look *look, struct err *err)
{
    char after[PAGE_KEY_SIZE] = "";
    enum err_code code;
    if (look->owner[0] == '~')
        key_before(look->owner + 1, after);
    do {
        look->rows = 0;
        code = switch_list(ro, after, DB_PAGE_MAX, on_switch, look, err);
        snprintf(after, sizeof(after), "%s", look->last_switch);
    } while (code == ERR_OK && look->rows == DB_PAGE_MAX && !look->full);
    return code;
}

static enum err_code read_all(struct db_ro *ro, struct page *page, struct err *err)
{
    struct fleet_look look = {
        .page = page,
        .app = page->app,
        .rule = request_query(page->request, "rule"),
        .severity = request_query(page->request, "severity"),
        .after = -1,
        .ro = ro,
        .err = err,
    };
    if (sscanf(page->after, "%64s %d", look.owner, &look.after) != 2)
        look.owner[0] = '\0';
    enum err_code code = scan_fabric(ro, &look.fabric, err);
    if (code == ERR_OK && look.owner[0] != '~')
        code = scan_inventories(ro, look.owner, on_node, &look, err);
    if (code == ERR_OK)
        code = look.code;
    if (code == ERR_OK && !look.full)
        code = each_switch(ro, &look, err);
    fabric_free(look.fabric);
    return code;
}

static bool is_rule(const struct compat *compat, const char *id)
{
    for (size_t i = 0; i < compat->rule_count; i++)
        if (strcmp(compat->rules[i].id, id) == 0)
            return true;
    return strcmp(id, RULE_FIRMWARE_MINIMUM) == 0 || strcmp(id, RULE_MARKING_CHAIN) == 0;
}

static bool is_severity(const char *name)
{
    for (enum finding_severity s = FINDING_INFO; s <= FINDING_ERROR; s++)
        if (strcmp(finding_severity_name(s), name) == 0)
            return true;
    return false;
}

void api_findings_list(struct request *request)
{
    const struct app *app = request_app(request);
    const char *rule = request_query(request, "rule");
    const char *severity = request_query(request, "severity");
    if (rule != NULL && !is_rule(app->compat, rule)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "rule=%s is no hardware rule; GET /v1/compat lists them, and "
                              "there are " RULE_FIRMWARE_MINIMUM " and " RULE_MARKING_CHAIN,
                              rule);
        return;
    }
    if (severity != NULL && !is_severity(severity)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "severity=%s is none of info, warning and error", severity);
        return;
    }
    struct page *page = page_new(request, read_all);
    if (page != NULL)
        page_submit(page);
}
