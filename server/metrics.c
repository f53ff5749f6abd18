/*
 * server/metrics.c - GET /metrics, Prometheus text format 0.0.4. Open to anybody who reaches the
 * address, so it has counts only: no name of a tenant, a job or a node.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "db/series.h"
#include "server/health.h"
#include "fleet/rules.h"
#include "server/api.h"
#include "server/backups.h"
#include "server/denials.h"

#define METRICS_MAX 32768

struct text {
    char data[METRICS_MAX];
    size_t len;
};

static void put(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A line that does not fit is left out whole. */
static void put(struct text *text, const char *fmt, ...)
{
    va_list ap;
    size_t room = sizeof(text->data) - text->len;
    va_start(ap, fmt);
    int n = vsnprintf(text->data + text->len, room, fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < room)
        text->len += (size_t)n;
}

static void family(struct text *text, const char *name, const char *type, const char *help)
{
    put(text, "# HELP stellar_%s %s\n# TYPE stellar_%s %s\n", name, help, name, type);
}

static void add(struct text *text, const char *name, const char *type, const char *help,
                double value)
{
    family(text, name, type, help);
    put(text, "stellar_%s %.15g\n", name, value);
}

static void add_nodes(struct text *text, const struct fleet_status *fleet, size_t stale)
{
    const struct {
        const char *sync;
        size_t count;
    } rows[] = {{"in-sync", fleet->in_sync},
                {"pending", fleet->pending},
                {"failed", fleet->failed},
                {"idle", fleet->nodes - fleet->total}};
    family(text, "nodes", "gauge", "Nodes by state of their plan.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        put(text, "stellar_nodes{sync=\"%s\"} %zu\n", rows[i].sync, rows[i].count);
    add(text, "quarantined_nodes", "gauge", "Of the failed nodes those that try nothing more.",
        (double)fleet->quarantined);
    add(text, "stale_nodes", "gauge", "Nodes whose agent is silent.", (double)stale);
}

static void add_counters(struct text *text, const struct counters *counters)
{
    family(text, "receipts_total", "counter", "Receipts of nodes by result.");
    for (int i = 0; i < RECEIPT_RESULT_COUNT; i++)
        put(text, "stellar_receipts_total{result=\"%s\"} %" PRIu64 "\n",
            receipt_result_name((enum receipt_result)i), counters->receipts[i]);
    add(text, "states_total", "counter", "States that agents told of their nodes.",
        (double)counters->states);
    add(text, "drifts_total", "counter", "Nodes found to differ from their plan.",
        (double)counters->drifts);
    family(text, "refusals_total", "counter", "Findings that refused a change, by rule.");
    for (size_t i = 0; i < COUNTERS_RULES_MAX && rules[i] != NULL; i++)
        put(text, "stellar_refusals_total{rule=\"%s\"} %" PRIu64 "\n", rules[i]->id,
            counters->refusals[i]);
    put(text, "stellar_refusals_total{rule=\"schema\"} %" PRIu64 "\n",
        counters->refusals[COUNTERS_RULES_MAX]);
}

static void add_campaigns(struct text *text, const struct counters *counters)
{
    family(text, "firmware_campaigns", "gauge", "Firmware campaigns that are not over, by state.");
    for (int i = 0; i < CAMPAIGN_STATE_COUNT; i++)
        if (!campaign_is_over((enum campaign_state)i))
            put(text, "stellar_firmware_campaigns{state=\"%s\"} %" PRIu32 "\n",
                campaign_state_name((enum campaign_state)i), counters->campaigns[i]);
    add(text, "firmware_devices_at_work", "gauge", "Devices that are being flashed.",
        (double)counters->flashing);
    family(text, "firmware_devices_total", "counter",
           "Devices of campaigns that ended, by outcome.");
    for (int i = CAMPAIGN_DEVICE_SUCCESS; i < CAMPAIGN_DEVICE_STATE_COUNT; i++)
        put(text, "stellar_firmware_devices_total{outcome=\"%s\"} %" PRIu64 "\n",
            campaign_device_state_name((enum campaign_device_state)i), counters->flashes[i]);
}

static void add_verifications(struct text *text, const struct counters *counters)
{
    family(text, "verification_tests_total", "counter",
           "Tests between nodes that ended, by verdict.");
    for (int i = VERIFY_PASS; i <= VERIFY_UNKNOWN; i++)
        put(text, "stellar_verification_tests_total{verdict=\"%s\"} %" PRIu64 "\n",
            verify_verdict_names[i], counters->verified[i]);
}

static void add_answers(struct text *text, const struct http_stats *http)
{
    static const char *const methods[HTTP_METHODS] = {"GET",   "HEAD",   "PUT",     "POST",
                                                      "PATCH", "DELETE", "OPTIONS", "other"};
    family(text, "http_answers_total", "counter", "Answers by method and class of status.");
    for (size_t m = 0; m < HTTP_METHODS; m++)
        for (size_t c = 2; c < HTTP_CLASSES; c++)
            put(text, "stellar_http_answers_total{method=\"%s\",status=\"%zuxx\"} %" PRIu64 "\n",
                methods[m], c, http->answers[m][c]);
    family(text, "http_answer_seconds", "histogram",
           "From the head of a request to its answer, without those that wait for a change.");
    uint64_t count = 0;
    double end_s = (double)HTTP_LATENCY_FIRST_NS / 1e9;
    for (size_t i = 0; i < HTTP_LATENCIES; i++, end_s *= HTTP_LATENCY_STEP)
        put(text, "stellar_http_answer_seconds_bucket{le=\"%.9g\"} %" PRIu64 "\n", end_s,
            count += http->latencies[i]);
    count += http->latencies[HTTP_LATENCIES];
    put(text,
        "stellar_http_answer_seconds_bucket{le=\"+Inf\"} %" PRIu64
        "\nstellar_http_answer_seconds_sum %.9g\nstellar_http_answer_seconds_count %" PRIu64 "\n",
        count, (double)http->latency_sum_ns / 1e9, count);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_process(struct text *text)
{
    struct rusage usage;
    unsigned long long size = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r"); /* of the kernel's memory: it does not wait */
    if (statm != NULL && fscanf(statm, "%llu %llu", &size, &resident) == 2)
        add(text, "process_resident_memory_bytes", "gauge", "Memory in use.",
            (double)resident * (double)sysconf(_SC_PAGESIZE));
    if (statm != NULL)
        fclose(statm);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        add(text, "process_cpu_seconds_total", "counter", "Processor time used.",
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
}

static void add_events(struct text *text, struct event_hub *hub)
{
    struct event_hub_stats stats;
    event_hub_stats_get(hub, &stats);
    add(text, "event_streams", "gauge", "Clients of the event stream.", (double)stats.clients);
    add(text, "event_resyncs_total", "counter", "Clients told to read everything anew.",
        (double)stats.resyncs);
    add(text, "event_streams_refused_total", "counter", "Streams over the limits.",
        (double)stats.refused);
}

static void add_telemetry(struct text *text, struct app *app)
{
    struct series_stats stats;
    series_stats_get(app->series, &stats);
    add(text, "telemetry_batches_total", "counter", "Batches of telemetry that were stored.",
        (double)stats.batches);
    add(text, "telemetry_values_total", "counter", "Values in them.", (double)stats.values);
    add(text, "telemetry_refused_total", "counter", "Batches that were refused.",
        (double)stats.refused);
    add(text, "telemetry_dropped_samples_total", "counter",
        "Samples that were not later than what was stored.", (double)stats.dropped_samples);
    add(text, "telemetry_failed_writes_total", "counter", "Frames that could not be written.",
        (double)stats.failed_writes);
    add(text, "telemetry_failed_rollups_total", "counter",
        "Of these the times that minutes or hours could not be written.",
        (double)stats.failed_rolls);
    add(text, "telemetry_cut_bytes_total", "counter", "Torn ends of files that were cut off.",
        (double)stats.cut_bytes);
    add(text, "telemetry_rows", "gauge", "Rows that have latest values.", (double)stats.rows);
    add(text, "telemetry_queue_depth", "gauge", "Batches that wait.", (double)stats.queued);
    family(text, "telemetry_bytes_total", "counter", "Bytes written, by tier.");
    for (int i = 0; i < SERIES_TIER_COUNT; i++)
        put(text, "stellar_telemetry_bytes_total{tier=\"%s\"} %" PRIu64 "\n",
            series_tier_name((enum series_tier)i), stats.bytes[i]);
}

static void add_health(struct text *text, struct app *app)
{
    struct health_fleet fleet;
    health_desk_fleet(app->health, &fleet);
    family(text, "health_nodes", "gauge", "Nodes by grade.");
    for (int i = 0; i < HEALTH_STATE_COUNT; i++)
        put(text, "stellar_health_nodes{grade=\"%s\"} %zu\n",
            health_state_name((enum health_state)i), fleet.grades[i]);
    family(text, "health_findings", "gauge", "Findings that are raised, without excluded ones.");
    for (int i = HEALTH_WARNING; i < HEALTH_STATE_COUNT; i++)
        put(text, "stellar_health_findings{severity=\"%s\"} %zu\n",
            health_state_name((enum health_state)i), fleet.raised[i]);
    add(text, "health_findings_excluded", "gauge", "Findings that an exclusion accepts.",
        (double)fleet.excluded);
    add(text, "health_changes_pending", "gauge", "Changes of health that wait for the store.",
        (double)fleet.pending);
    add(text, "health_changes_lost_total", "counter", "Changes of health without room to wait.",
        (double)fleet.lost);
    add(text, "incidents_refused_total", "counter", "Incidents over the limit of open ones.",
        (double)fleet.refused);
}

static void add_backups(struct text *text, struct app *app)
{
    struct backup all[BACKUPS_KEPT_MAX];
    size_t count = backups_list(app->backups, all);
    add(text, "backups", "gauge", "Backups that are kept.", (double)count);
    add(text, "backups_failed_total", "counter", "Backups that failed.",
        (double)backups_failed(app->backups));
    if (count > 0)
        add(text, "last_backup_age_seconds", "gauge", "Age of the newest backup; absent without.",
            (double)(app->clock->wall_us(app->clock) - all[0].created_us) / 1e6);
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
    family(&text, "build_info", "gauge", "The version.");
    put(&text, "stellar_build_info{version=\"%s\"} 1\n", STELLAR_VERSION);
    add(&text, "uptime_seconds", "gauge", "Time since the start.", up_s);
    add(&text, "generation", "gauge", "Generation of the desired state.", (double)fleet.generation);
    add(&text, "planned_generation", "gauge", "Generation that every node's plan has reached.",
        (double)fleet.planned_generation);
    add_nodes(&text, &fleet, status_stale(app->status, app->clock->wall_us(app->clock)));
    add_counters(&text, &app->counters);
    add_campaigns(&text, &app->counters);
    add_verifications(&text, &app->counters);
    add_health(&text, app);
    add(&text, "tenants", "gauge", "Tenants.", (double)fleet.tenants);
    add(&text, "placements", "gauge", "Placed jobs.", (double)fleet.placements);
    add(&text, "waiting_requests", "gauge", "Agents and barriers that wait for a change.",
        (double)waiters_count(app->waiters));
    add(&text, "http_requests_total", "counter", "Requests.", (double)http.requests);
    add(&text, "http_client_errors_total", "counter", "Answers 4xx.", (double)http.responses_4xx);
    add(&text, "http_server_errors_total", "counter", "Answers 5xx.", (double)http.responses_5xx);
    add(&text, "http_unauthenticated_total", "counter",
        "Answers 401: no credential, or one that does not count.", (double)http.unauthenticated);
    add(&text, "http_denied_total", "counter", "Answers 403: a caller that may not do so.",
        (double)http.denied);
    add(&text, "denied_untold_total", "counter",
        "Refused changes and logins beyond the audit's rows of a minute.",
        (double)denials_total(app->denials));
    add_answers(&text, &http);
    add_events(&text, app->events);
    add_process(&text);
    add_backups(&text, app);
    add_telemetry(&text, app);
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
    add(&text, "db_file_bytes", "gauge", "Size of the store.", (double)db.file_bytes);
    add(&text, "db_log_bytes", "gauge", "Size of the store's log.", (double)db.log_bytes);
    request_reply_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", text.data,
                       text.len);
}
