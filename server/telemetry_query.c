/*
 * server/telemetry_query.c - see telemetry_query.h.
 */
#include "server/telemetry_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "server/api.h"

#define S_US        INT64_C(1000000)
#define STEP_DAYS   366
#define STEP_MAX_NS (STEP_DAYS * 86400 * NS_PER_S)

static bool refuse(const struct telemetry_ask *ask, const char *text)
{
    request_reply_problem(ask->request, 400, "invalid-parameter", NULL, NULL, "%s", text);
    return false;
}

static bool read_kind(struct telemetry_ask *ask)
{
    const char *text = request_query(ask->request, "kind");
    enum telemetry_kind kind;
    ask->query.kind = -1;
    if (text == NULL)
        return true;
    if (!telemetry_kind_find(text, &kind))
        return refuse(ask, "kind is node, port, priority, qp, rdma, gpu, pcie, irq, temperature or "
                           "ptp");
    ask->query.kind = (int)kind;
    return true;
}

static bool read_number(struct telemetry_ask *ask)
{
    const char *text = request_query(ask->request, "number");
    char *end;
    ask->query.number = -1;
    if (text == NULL)
        return true;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value > UINT32_MAX)
        return refuse(ask, "number is that of a queue pair, a priority or a sensor");
    ask->query.number = (int64_t)value;
    return true;
}

/* "tx_bytes,rx_bytes" */
static bool read_metrics(struct telemetry_ask *ask)
{
    const char *text = request_query(ask->request, "metric");
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ","), count = ask->query.metric_count;
        if (count == SERIES_METRICS_MAX || len >= TELEMETRY_NAME_SIZE)
            return refuse(ask, "metric has at most 16 names of at most 63 characters, with commas");
        snprintf(ask->names[count], TELEMETRY_NAME_SIZE, "%.*s", (int)len, text);
        if (!telemetry_name_is_valid(ask->names[count]))
            return refuse(ask, "metric holds something that is no name of a counter");
        ask->query.metrics[count] = ask->names[count];
        ask->query.metric_count++;
        text += len + (text[len] == ',');
    }
    return true;
}

/* At most TELEMETRY_STEPS of them, and of the tier whose files are the smallest. */
static int64_t default_step_us(int64_t span_us)
{
    static const int64_t steps_s[] = {1, 2, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400};
    size_t i = 0, last = sizeof(steps_s) / sizeof(steps_s[0]) - 1;
    while (i < last && span_us / (steps_s[i] * S_US) > TELEMETRY_STEPS)
        i++;
    return steps_s[i] * S_US;
}

static bool read_times(struct telemetry_ask *ask)
{
    const struct app *app = request_app(ask->request);
    const char *from = request_query(ask->request, "from"), *to = request_query(ask->request, "to");
    const char *step = request_query(ask->request, "step");
    struct series_query *query = &ask->query;
    int64_t step_ns;
    query->to_us = app->clock->wall_us(app->clock);
    if (to != NULL && !clock_parse(to, &query->to_us))
        return refuse(ask, "to is a time such as 2026-01-02T03:04:05Z");
    query->from_us = query->to_us - TELEMETRY_HISTORY_US;
    if (from != NULL && !clock_parse(from, &query->from_us))
        return refuse(ask, "from is a time such as 2026-01-02T03:04:05Z");
    if (query->from_us < 0 || query->from_us >= query->to_us)
        return refuse(ask, "from is not before to");
    query->step_us = default_step_us(query->to_us - query->from_us);
    if (step == NULL)
        return true;
    if (!duration_parse(step, &step_ns) || step_ns < NS_PER_S || step_ns % NS_PER_S != 0 ||
        step_ns > STEP_MAX_NS) {
        request_reply_problem(ask->request, 400, "invalid-parameter", NULL, NULL,
                              "step is a time of whole seconds such as 10s, 1m or 1h, at most %d "
                              "days",
                              STEP_DAYS);
        return false;
    }
    query->step_us = step_ns / 1000;
    return true;
}

static int compare_name(const void *key, const void *row)
{
    return strcmp(key, row);
}

static bool is_selected(struct app *app, const struct placement *placement, const char *node)
{
    if (placement->selector_count == 0)
        return false;
    OWN(json) json_t *item = status_get(app->status, node, 0, &(int64_t){0});
    return placement_selects(placement, json_object_get(item, "labels"));
}

static bool is_placed(const struct telemetry_ask *ask, const char *node, uint32_t label)
{
    size_t i = 0;
    while (i < ask->query.label_count && ask->labels[i] != label)
        i++;
    if (i == ask->query.label_count)
        return false;
    const struct placement *placement = ask->placements[i];
    bool named =
        placement->node_count > 0 && bsearch(node, placement->nodes, placement->node_count,
                                             sizeof(placement->nodes[0]), compare_name) != NULL;
    return named || is_selected(request_app(ask->request), placement, node);
}

/* Rows of one node and job come one after another: the last answer is kept. */
static bool owns(void *arg, const char *node, uint32_t label)
{
    struct telemetry_ask *ask = arg;
    if (ask->owner_label != label || strcmp(ask->owner_node, node) != 0) {
        ask->owner_is = is_placed(ask, node, label);
        ask->owner_label = label;
        snprintf(ask->owner_node, sizeof(ask->owner_node), "%s", node);
    }
    return ask->owner_is;
}

/* A tenant's caller hears of no other tenant, and of no node. */
static bool read_owner(struct telemetry_ask *ask)
{
    struct app *app = request_app(ask->request);
    const char *own = api_own_tenant(ask->request);
    const char *tenant = request_query(ask->request, "tenant");
    const char *job = request_query(ask->request, "job");
    char key[PUBLISH_KEY_SIZE];
    if (tenant != NULL && (!name_is_valid(tenant) || (own != NULL && strcmp(own, tenant) != 0))) {
        request_reply_no_tenant(ask->request, tenant);
        return false;
    }
    tenant = own != NULL ? own : tenant;
    if (job != NULL && tenant == NULL)
        return refuse(ask, "job needs tenant: jobs of two tenants may have one name");
    if (job != NULL && !name_is_valid(job))
        return refuse(ask, "job is no name");
    if (tenant == NULL)
        return true;
    snprintf(key, sizeof(key), "tenant/%s", tenant);
    struct blob *blob = publish_get(app->publish, key, NULL);
    bool known = blob != NULL;
    blob_unref(blob);
    if (!known) {
        request_reply_no_tenant(ask->request, tenant);
        return false;
    }
    snprintf(ask->tenant, sizeof(ask->tenant), "%s", tenant);
    snprintf(ask->job, sizeof(ask->job), "%s", job == NULL ? "" : job);
    ask->query.labels = ask->labels;
    ask->query.labels_since_us = ask->labels_since_us;
    ask->query.owns = owns;
    ask->query.owns_arg = ask;
    return true;
}

bool telemetry_ask_read(struct telemetry_ask *ask, bool times)
{
    struct app *app = request_app(ask->request);
    const char *node = request_query(ask->request, "node");
    if (!read_owner(ask) || !read_kind(ask) || !read_number(ask) || !read_metrics(ask) ||
        (times && !read_times(ask)))
        return false;
    ask->query.device = request_query(ask->request, "device");
    ask->query.node = node;
    if (node != NULL && ask->tenant[0] == '\0' && !status_has(app->status, node)) {
        request_reply_problem(ask->request, 404, "not-found", NULL, NULL,
                              "there is no node '%.63s'", node);
        return false;
    }
    return true;
}

static bool on_placement(void *arg, const struct db_placement *row)
{
    struct telemetry_ask *ask = arg;
    size_t at = ask->query.label_count;
    OWN(json) json_t *body = json_loads(row->body, 0, NULL);
    OWN(placement) struct placement *placement = NULL;
    if (at == SERIES_LABELS_MAX) {
        ask->too_many_labels = true;
        return false;
    }
    if (body == NULL || placement_from_json(body, row->tenant, row->job, row->label, &placement,
                                            NULL, NULL) != ERR_OK)
        return true; /* one that does not read any more is on no node */
    ask->places += placement->node_count;
    if (ask->places > TELEMETRY_PLACES_MAX) {
        ask->too_many_labels = true;
        return false;
    }
    ask->labels[at] = placement->label;
    ask->labels_since_us[at] = row->taken_us;
    ask->placements[at] = GIVE(placement);
    ask->query.label_count++;
    return true;
}

void telemetry_ask_free(struct telemetry_ask *ask)
{
    for (size_t i = 0; ask != NULL && i < ask->query.label_count; i++)
        placement_free(ask->placements[i]);
    free(ask);
}

enum err_code telemetry_ask_labels(struct db_ro *ro, void *arg, struct err *err)
{
    struct telemetry_ask *ask = arg;
    int64_t since_us = 0;
    enum err_code code = api_own_since(ro, ask->request, &since_us, err);
    if (code == ERR_OK && ask->job[0] != '\0')
        code = placement_get(ro, ask->tenant, ask->job, on_placement, ask, err);
    else if (code == ERR_OK)
        code =
            placement_list(ro, ask->tenant, "", "", SERIES_LABELS_MAX + 1, on_placement, ask, err);
    ask->no_job = code == ERR_NOT_FOUND;
    if (code == ERR_OK && ask->query.from_us < since_us)
        ask->query.from_us = since_us;
    return code;
}
