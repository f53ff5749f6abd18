/*
 * server/metrics.c - GET /metrics, Prometheus text format 0.0.4. Open to anybody who reaches the
 * address, so it has counts only: no name of a tenant, a job or a node.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/api.h"

#define METRICS_MAX 8192

struct text {
    char data[METRICS_MAX];
    size_t len;
};

static void add(struct text *text, const char *name, const char *type, const char *help,
                double value)
{
    size_t room = sizeof(text->data) - text->len;
    int n = snprintf(text->data + text->len, room,
                     "# HELP stellar_%s %s\n# TYPE stellar_%s %s\nstellar_%s %.15g\n", name, help,
                     name, type, name, value);
    if (n > 0 && (size_t)n < room)
        text->len += (size_t)n;
}

static void add_nodes(struct text *text, const struct fleet_status *fleet)
{
    size_t room = sizeof(text->data) - text->len;
    int n = snprintf(text->data + text->len, room,
                     "# HELP stellar_nodes Nodes by state of their plan.\n"
                     "# TYPE stellar_nodes gauge\n"
                     "stellar_nodes{sync=\"in-sync\"} %zu\nstellar_nodes{sync=\"pending\"} %zu\n"
                     "stellar_nodes{sync=\"failed\"} %zu\nstellar_nodes{sync=\"idle\"} %zu\n",
                     fleet->in_sync, fleet->pending, fleet->failed, fleet->nodes - fleet->total);
    if (n > 0 && (size_t)n < room)
        text->len += (size_t)n;
}

void api_metrics(struct request *request)
{
    struct app *app = request_app(request);
    struct fleet_status fleet;
    struct db_stats db;
    struct http_stats http = {.requests = 0};
    struct http_server *server = app->http;
    struct text text = {.len = 0};
    status_fleet(app->status, &fleet);
    db_stats_get(app->db, &db);
    if (server != NULL)
        http_stats_get(server, &http);
    double up_s = (double)(app->clock->wall_us(app->clock) - app->start_us) / 1e6;
    add(&text, "uptime_seconds", "gauge", "Time since the start.", up_s);
    add(&text, "generation", "gauge", "Generation of the desired state.", (double)fleet.generation);
    add(&text, "planned_generation", "gauge", "Generation that every node's plan has reached.",
        (double)fleet.planned_generation);
    add_nodes(&text, &fleet);
    add(&text, "tenants", "gauge", "Tenants.", (double)fleet.tenants);
    add(&text, "placements", "gauge", "Placed jobs.", (double)fleet.placements);
    add(&text, "waiting_requests", "gauge", "Agents and barriers that wait for a change.",
        (double)waiters_count(app->waiters));
    add(&text, "http_requests_total", "counter", "Requests.", (double)http.requests);
    add(&text, "http_client_errors_total", "counter", "Answers 4xx.", (double)http.responses_4xx);
    add(&text, "http_server_errors_total", "counter", "Answers 5xx.", (double)http.responses_5xx);
    add(&text, "http_connections", "gauge", "Open connections.", (double)http.connections);
    add(&text, "db_writes_total", "counter", "Writes in the store.", (double)db.writes);
    add(&text, "db_failed_writes_total", "counter", "Writes that were refused or failed.",
        (double)db.failed_writes);
    add(&text, "db_commits_total", "counter", "Durable commits.", (double)db.commits);
    add(&text, "db_failed_commits_total", "counter", "Commits that failed.",
        (double)db.failed_commits);
    add(&text, "db_reads_total", "counter", "Reads of the store.", (double)db.reads);
    add(&text, "db_queue_depth", "gauge", "Writes that wait for the writer.",
        (double)db.queue_depth);
    add(&text, "db_last_commit_seconds", "gauge", "How long the last commit took.",
        (double)db.last_commit_ns / 1e9);
    request_reply_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", text.data,
                       text.len);
}
