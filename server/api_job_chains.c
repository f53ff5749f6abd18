/*
 * server/api_job_chains.c - the marking chains of a job on every node that it is placed on: its own
 * marks, and those that the node gives to all of its traffic. A node that told nothing of them is
 * unknown, never whole. Of one node: api_chains.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "db/tables.h"
#include "fleet/placement.h"
#include "server/api.h"
#include "server/chains.h"
#include "server/page.h"
#include "server/scan.h"
#include "server/status.h"

#define SHOWN_MAX 256 /* chains of a node; more set its `truncated`, and count all the same */
#define BATCH     500

struct job_look {
    struct page *page;
    struct db_ro *ro;
    struct placement *placement;
    char source[2 * NAME_SIZE]; /* of the job's own marks */
    bool is_tenant;             /* who asks hears of no switch */
    char (*nodes)[NAME_SIZE];
    size_t count, room;
    size_t of[CHAIN_UNKNOWN + 1]; /* nodes of each verdict */
    json_t *first;                /* owned: the first node's hop that is broken */
};

/* What is known of one node. */
struct node_chains {
    const char *name;
    const struct job_look *look;
    struct chain_report *report; /* owned; NULL = none was told */
    int64_t received_us;
    bool is_judged;
    bool is_current; /* the report is of the plan that the node was given */
    enum chain_verdict verdict;
    json_t *chains, *first; /* owned */
    char why[160];          /* of `unknown` as a whole, "" = `first` says it */
    size_t seen;
};

/* Nodes --------------------------------------------------------------------------------------- */

static bool add_node(struct job_look *look, const char *name)
{
    if (look->count == look->room) {
        size_t room = look->room == 0 ? 64 : 2 * look->room;
        char(*more)[NAME_SIZE] = realloc(look->nodes, room * sizeof(*more));
        if (more == NULL)
            return false;
        look->nodes = more;
        look->room = room;
    }
    snprintf(look->nodes[look->count++], NAME_SIZE, "%s", name);
    return true;
}

static bool add_selected(struct job_look *look)
{
    static const struct status_filter all = {.sync = NODE_SYNC_COUNT};
    char after[NAME_SIZE] = "", next[NAME_SIZE];
    do {
        OWN(json)
        json_t *items = status_list(look->page->app->status, after, BATCH, &all, 0, next);
        if (items == NULL)
            return false;
        for (size_t i = 0; i < json_array_size(items); i++) {
            const json_t *item = json_array_get(items, i);
            const char *name = json_string_value(json_object_get(item, "name"));
            if (name != NULL &&
                placement_selects(look->placement, json_object_get(item, "labels")) &&
                !add_node(look, name))
                return false;
        }
        memcpy(after, next, sizeof(after));
    } while (after[0] != '\0');
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static enum err_code find_nodes(struct job_look *look, struct err *err)
{
    const struct placement *placement = look->placement;
    bool ok = true;
    for (size_t i = 0; i < placement->node_count && ok; i++)
        ok = add_node(look, placement->nodes[i]);
    if (!ok || (placement->selector_count > 0 && !add_selected(look)))
        return err_nomem(err);
    size_t kept = 0;
    if (look->count > 0)
        qsort(look->nodes, look->count, sizeof(*look->nodes), by_name);
    for (size_t i = 0; i < look->count; i++)
        if (kept == 0 || strcmp(look->nodes[kept - 1], look->nodes[i]) != 0)
            memmove(look->nodes[kept++], look->nodes[i], NAME_SIZE);
    look->count = kept;
    return ERR_OK;
}

/* One node ------------------------------------------------------------------------------------ */

/* The job's own, and those of the node itself: what marks no tenant's flows marks all of them. */
static bool is_of_job(const struct job_look *look, const struct chain *chain)
{
    return strcmp(chain->source, look->source) == 0 || strchr(chain->source, '/') == NULL;
}

/* A broken hop is worse than an unknown one, and the first of its kind is the one that is named. */
static void count_hop(struct node_chains *node, const struct chain *chain,
                      enum chain_verdict verdict, const char *at, const char *why)
{
    bool worse =
        verdict == CHAIN_BROKEN ? node->verdict != CHAIN_BROKEN : node->verdict == CHAIN_WHOLE;
    if (verdict == CHAIN_WHOLE || !worse)
        return;
    node->verdict = verdict;
    json_decref(node->first);
    node->first = json_pack("{ss, ss, si, ss, ss}", "subject", chain->subject, "source",
                            chain->source, "dscp", chain->dscp, "at", at, "why", why);
}

static void add_chain(struct node_chains *node, const struct chain *chain,
                      const struct inventory *inventory)
{
    const struct job_look *look = node->look;
    enum chain_verdict behind = CHAIN_UNKNOWN;
    json_t *neighbour = chains_neighbour(look->ro, chain, inventory, look->is_tenant, &behind);
    const char *why = json_string_value(json_object_get(neighbour, "why"));
    if (chain->verdict != CHAIN_WHOLE)
        count_hop(node, chain, chain->verdict, chain_hop_name(chain->at), chain->why);
    else if (behind == CHAIN_BROKEN)
        count_hop(node, chain, CHAIN_BROKEN, "neighbour", why == NULL ? "" : why);
    if (node->seen++ < SHOWN_MAX) {
        json_t *item = chain_to_json(chain);
        json_object_set_new(item, "neighbour", neighbour);
        json_array_append_new(node->chains, item);
    } else {
        json_decref(neighbour);
    }
}

/* Why the node is unknown although no chain of it is; NULL = it is as the chains say. */
static const char *why_unknown(const struct node_chains *node)
{
    if (node->report == NULL)
        return status_has(node->look->page->app->status, node->name)
                   ? "the node told no chains: does its agent run, and does it have a plan?"
                   : "there is no node of this name";
    if (node->seen == 0)
        return "nothing that the node told marks the packets of the job";
    if (!node->is_current)
        return "what the node told is of another plan than the one that it was given";
    return node->report->truncated ? "the node has more chains than it told" : NULL;
}

/* inventory: NULL = none. */
static void judge(struct node_chains *node, const struct inventory *inventory)
{
    node->is_judged = true;
    node->chains = json_array();
    node->verdict = CHAIN_WHOLE;
    for (size_t i = 0; node->report != NULL && i < node->report->count; i++)
        if (is_of_job(node->look, &node->report->chains[i]))
            add_chain(node, &node->report->chains[i], inventory);
    const char *why = why_unknown(node);
    if (why == NULL || node->verdict == CHAIN_BROKEN)
        return;
    node->verdict = CHAIN_UNKNOWN;
    snprintf(node->why, sizeof(node->why), "%s", why);
}

static bool on_inventory(void *arg, const char *name, const struct inventory *inventory)
{
    struct node_chains *node = arg;
    if (strcmp(name, node->name) == 0)
        judge(node, inventory);
    return false;
}

static bool is_current(struct app *app, const struct node_chains *node)
{
    int64_t revision;
    OWN(json) json_t *item = status_get(app->status, node->name, 0, &revision);
    const json_t *given = json_object_get(item, "released");
    const char *digest = json_string_value(given != NULL ? given : json_object_get(item, "digest"));
    return digest != NULL && strcmp(digest, node->report->digest) == 0;
}

/* `since_us`: what was told before is of another tenant that had the name. */
static enum err_code look_at(struct node_chains *node, int64_t since_us, struct err *err)
{
    const struct job_look *look = node->look;
    enum err_code code = chains_of(look->ro, node->name, &node->report, &node->received_us, err);
    if (code != ERR_OK)
        return code;
    if (node->report != NULL && node->received_us < since_us) {
        chain_report_free(node->report);
        node->report = NULL;
    }
    node->is_current = node->report != NULL && is_current(look->page->app, node);
    if (node->report != NULL)
        code = scan_inventories(look->ro, node->name, on_inventory, node, err);
    if (!node->is_judged)
        judge(node, NULL);
    return code;
}

static void release_node(struct node_chains *node)
{
    chain_report_free(node->report);
    json_decref(node->chains);
    json_decref(node->first);
}

static json_t *item_of(struct node_chains *node)
{
    bool told = node->report != NULL;
    json_t *item = json_pack("{ss, ss, sb, sb, so}", "node", node->name, "verdict",
                             chain_verdict_name(node->verdict), "reported", told, "current",
                             node->is_current, "chains", json_incref(node->chains));
    api_set_text(item, "why", node->why);
    if (node->first != NULL)
        json_object_set(item, "first", node->first);
    if (!told)
        return item;
    json_object_set_new(item, "generation", json_integer(node->report->generation));
    api_set_time(item, "time", node->received_us);
    if (node->seen > SHOWN_MAX || node->report->truncated)
        json_object_set_new(item, "truncated", json_true());
    return item;
}

/* All of them --------------------------------------------------------------------------------- */

static void count_node(struct job_look *look, const struct node_chains *node)
{
    look->of[node->verdict]++;
    if (node->verdict != CHAIN_BROKEN || look->first != NULL || node->first == NULL)
        return;
    look->first = json_deep_copy(node->first);
    json_object_set_new(look->first, "node", json_string(node->name));
}

/* Of all nodes: only with the list's start, the later pages do not look at every node again. */
static json_t *summary_of(struct job_look *look)
{
    const struct placement *placement = look->placement;
    enum chain_verdict verdict = look->of[CHAIN_BROKEN] > 0                        ? CHAIN_BROKEN
                                 : look->of[CHAIN_UNKNOWN] > 0 || look->count == 0 ? CHAIN_UNKNOWN
                                                                                   : CHAIN_WHOLE;
    json_t *summary =
        json_pack("{ss, s{sI, sI, sI}}", "verdict", chain_verdict_name(verdict), "nodes", "whole",
                  (json_int_t)look->of[CHAIN_WHOLE], "broken", (json_int_t)look->of[CHAIN_BROKEN],
                  "unknown", (json_int_t)look->of[CHAIN_UNKNOWN]);
    if (look->first != NULL)
        json_object_set(summary, "first", look->first);
    json_object_set_new(summary, "tenant", json_string(placement->tenant));
    json_object_set_new(summary, "job", json_string(placement->job));
    json_object_set_new(summary, "label", json_integer(placement->label));
    return summary;
}

static enum err_code look_at_nodes(struct job_look *look, int64_t since_us, struct err *err)
{
    struct page *page = look->page;
    bool is_start = page->after[0] == '\0', is_full = false;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < look->count && code == ERR_OK && (is_start || !is_full); i++) {
        if (strcmp(look->nodes[i], page->after) <= 0)
            continue;
        struct node_chains node = {.name = look->nodes[i], .look = look};
        code = look_at(&node, since_us, err);
        if (code == ERR_OK)
            count_node(look, &node);
        if (code == ERR_OK && !is_full)
            is_full = !page_add(page, item_of(&node), "%s", node.name);
        release_node(&node);
    }
    if (code == ERR_OK && is_start)
        page->extra = summary_of(look);
    return code;
}

static bool on_placement(void *arg, const struct db_placement *row)
{
    struct job_look *look = arg;
    OWN(json) json_t *body = json_loads(row->body, 0, NULL);
    if (body == NULL || placement_from_json(body, row->tenant, row->job, row->label,
                                            &look->placement, NULL, NULL) != ERR_OK)
        look->placement = NULL;
    return false;
}

static enum err_code read_job(struct db_ro *ro, struct page *page, struct err *err)
{
    const char *tenant = request_param(page->request, 0), *job = request_param(page->request, 1);
    struct job_look look = {
        .page = page, .ro = ro, .is_tenant = api_own_tenant(page->request) != NULL};
    int64_t since_us = 0;
    snprintf(look.source, sizeof(look.source), "%s/%s", tenant, job);
    enum err_code code = placement_get(ro, tenant, job, on_placement, &look, err);
    if (code == ERR_OK && look.placement == NULL)
        code = err_set(err, ERR_NOT_FOUND, "job '%s' of tenant '%s' is not placed", job, tenant);
    if (code == ERR_OK)
        code = api_own_since(ro, page->request, &since_us, err);
    if (code == ERR_OK)
        code = find_nodes(&look, err);
    if (code == ERR_OK)
        code = look_at_nodes(&look, since_us, err);
    placement_free(look.placement);
    json_decref(look.first);
    free(look.nodes);
    return code;
}

void api_job_chains(struct request *request)
{
    if (!api_check_name(request, request_param(request, 0), "tenant") ||
        !api_check_name(request, request_param(request, 1), "job"))
        return;
    struct page *page = page_new(request, read_job);
    if (page != NULL)
        page_submit(page);
}
