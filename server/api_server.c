/*
 * server/api_server.c - the server itself, and whom a Prometheus should ask. Both are put together
 * on a reader thread: one needs the store, the other goes through all nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/backups.h"
#include "server/selector.h"

#define SD_NODES_A_LOOK 1000 /* while the nodes' table is locked for writers */

struct look {
    struct app *app;
    struct request *request;
    json_t *answer; /* owned */
    struct status_filter filter;
};

static void look_free(void *arg)
{
    struct look *look = arg;
    json_decref(look->answer);
    free(look);
}

static void on_looked(void *arg, enum err_code code, const struct err *err)
{
    struct look *look = arg;
    if (code != ERR_OK)
        request_reply_err(look->request, err);
    else
        request_reply_json(look->request, 200, json_incref(look->answer), NULL, NULL);
}

/* NULL when it has replied. */
static struct look *look_new(struct request *request)
{
    struct err err = ERR_INIT;
    struct look *look = calloc(1, sizeof(*look));
    if (look == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return NULL;
    }
    *look = (struct look){
        .app = request_app(request), .request = request, .filter = {.sync = NODE_SYNC_COUNT}};
    request_own(request, look, look_free);
    return look;
}

static void look_submit(struct look *look, db_read_fn *fn)
{
    struct err err = ERR_INIT;
    if (db_read(look->app->db, fn, on_looked, look, &err) != ERR_OK)
        request_reply_err(look->request, &err);
}

/* The server ----------------------------------------------------------------------------------- */

static bool take_head(void *arg, const struct db_audit *row)
{
    json_object_set_new(arg, "audit",
                        json_pack("{sI, ss}", "id", (json_int_t)row->id, "hash", row->hash));
    return false;
}

static void add_tls(json_t *answer, struct tls *tls)
{
    struct x509_facts facts;
    if (tls == NULL)
        return;
    tls_facts(tls, &facts);
    json_t *certificate = json_pack("{ss}", "fingerprint", facts.fingerprint);
    api_set_time(certificate, "not_after", facts.not_after_us);
    json_object_set_new(answer, "certificate", certificate);
}

static json_t *connections(struct app *app)
{
    struct http_stats http = {.requests = 0};
    struct http_server *server = app->http;
    struct event_hub_stats events;
    if (server != NULL)
        http_stats_get(server, &http);
    event_hub_stats_get(app->events, &events);
    return json_pack("{sI, sI, sI}", "open", (json_int_t)http.connections, "waiting",
                     (json_int_t)waiters_count(app->waiters), "streams",
                     (json_int_t)events.clients);
}

static json_t *store(struct app *app)
{
    struct db_stats db;
    db_stats_get(app->db, &db);
    return json_pack("{sI, sI, sI}", "file_bytes", (json_int_t)db.file_bytes, "log_bytes",
                     (json_int_t)db.log_bytes, "queue_depth", (json_int_t)db.queue_depth);
}

static void add_backups(json_t *answer, struct backups *backups)
{
    struct backup all[BACKUPS_KEPT_MAX];
    size_t count = backups_list(backups, all);
    json_object_set_new(answer, "backups", json_integer((json_int_t)count));
    if (count > 0)
        json_object_set_new(answer, "last_backup", backup_to_json(&all[0]));
}

static enum err_code read_server(struct db_ro *ro, void *arg, struct err *err)
{
    struct look *look = arg;
    struct app *app = look->app;
    struct fleet_status fleet;
    status_fleet(app->status, &fleet);
    json_t *answer = json_pack("{ss, sI, sI, so, so}", "version", STELLAR_VERSION, "generation",
                               (json_int_t)fleet.generation, "planned_generation",
                               (json_int_t)fleet.planned_generation, "store", store(app),
                               "connections", connections(app));
    if (answer == NULL)
        return err_nomem(err);
    look->answer = answer;
    api_set_time(answer, "started", app->start_us);
    api_set_time(answer, "time", app->clock->wall_us(app->clock));
    add_tls(answer, app->tls);
    add_backups(answer, app->backups);
    const struct audit_filter newest = {.tenant = NULL};
    return audit_list(ro, &newest, 0, 1, take_head, answer, err);
}

void api_server_get(struct request *request)
{
    struct look *look = look_new(request);
    if (look != NULL)
        look_submit(look, read_server);
}

/* Whom to ask ---------------------------------------------------------------------------------- */

/* "gpu-model" -> "__meta_stellar_label_gpu_model": labels of Prometheus have no other characters.
 */
static void set_label(json_t *labels, const char *key, json_t *value)
{
    char name[NAME_SIZE + 32];
    snprintf(name, sizeof(name), "__meta_stellar_label_%s", key);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '-' || *c == '.')
            *c = '_';
    json_object_set(labels, name, value);
}

/* What Prometheus' http_sd wants of the node; NULL = it gives no address to ask. */
static json_t *target_of(const json_t *node)
{
    json_t *address = json_object_get(node, "metrics_address"), *value;
    const char *key;
    if (address == NULL)
        return NULL;
    json_t *labels = json_pack("{sO, sO}", "node", json_object_get(node, "name"),
                               "__meta_stellar_sync", json_object_get(node, "sync"));
    json_object_foreach(json_object_get(node, "labels"), key, value) set_label(labels, key, value);
    return json_pack("{s[O], so}", "targets", address, "labels", labels);
}

static enum err_code read_targets(struct db_ro *ro, void *arg, struct err *err)
{
    (void)ro;
    struct look *look = arg;
    char after[NAME_SIZE] = "", next[NAME_SIZE];
    int64_t now_us = look->app->clock->wall_us(look->app->clock);
    look->answer = json_array();
    do {
        size_t i;
        const json_t *node;
        OWN(json)
        json_t *nodes =
            status_list(look->app->status, after, SD_NODES_A_LOOK, &look->filter, now_us, next);
        if (nodes == NULL || look->answer == NULL)
            return err_nomem(err);
        json_array_foreach(nodes, i, node)
        {
            json_t *target = target_of(node);
            if (target != NULL)
                json_array_append_new(look->answer, target);
        }
        memcpy(after, next, sizeof(after));
    } while (next[0] != '\0');
    return ERR_OK;
}

void api_http_sd(struct request *request)
{
    struct err err = ERR_INIT;
    struct look *look = look_new(request);
    const char *selector = request_query(request, "selector");
    if (look == NULL)
        return;
    if (selector != NULL && selector_parse(selector, &look->filter.selector, &err) != ERR_OK)
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL, "%s", err.text);
    else
        look_submit(look, read_targets);
}
