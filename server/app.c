/*
 * server/app.c - see app.h. Starts in the order store, world, listener, and ends the other way
 * round: nobody asks for what is not there.
 */
#include "server/app.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/file.h"
#include "base/log.h"

#include "db/catalogue.h"
#include "db/series.h"
#include "db/tables.h"
#include "server/admin_token.h"
#include "server/api.h"
#include "server/app_tls.h"
#include "server/assets.h"
#include "server/backups.h"
#include "server/denials.h"
#include "server/enrol.h"
#include "server/health.h"
#include "server/health_reports.h"
#include "server/identity.h"
#include "server/images.h"
#include "server/inspector.h"
#include "server/planner.h"
#include "server/rollouts.h"
#include "server/route.h"
#include "server/solar_keys.h"
#include "server/world_load.h"

#define APP_PATH_MAX 4096
#define APP_TRIM_NS  (5 * NS_PER_S) /* at most so often */

static void on_event(void *arg, const struct db_event *event)
{
    struct app *app = arg;
    event_hub_add(app->events, event);
    if (strncmp(event->kind, "node.", 5) == 0 || strncmp(event->kind, "fabric.", 7) == 0)
        app->health_poked = true;
}

static uint64_t rights_version(void *arg)
{
    struct app *app = arg;
    return auth_version(app->auth);
}

static bool is_alive(void *arg, const struct principal *who)
{
    struct app *app = arg;
    return auth_is_alive(app->auth, who);
}

static void touch(void *arg, const struct principal *who)
{
    struct app *app = arg;
    auth_touch(app->auth, who);
}

static enum err_code make_event_hub(struct app *app, struct err *err)
{
    const struct event_hub_config config = {
        .clock = app->clock,
        .app = app,
        .rights_version = rights_version,
        .is_alive = is_alive,
        .touch = touch,
    };
    return event_hub_new(&config, &app->events, err);
}

static enum err_code on_start(void *arg, struct db_tx *tx, struct err *err)
{
    struct app *app = arg;
    int64_t oldest, newest;
    enum err_code code = world_load(app, db_tx_ro(tx), true, &app->world, err);
    if (code == ERR_OK)
        code = event_bounds(db_tx_ro(tx), &oldest, &newest, err);
    if (code == ERR_OK)
        code = enrol_load(app, db_tx_ro(tx), err);
    if (code != ERR_OK)
        return code;
    event_hub_start(app->events, newest);
    /* Compiled when the store is idle: a large fleet must not delay the start. */
    planner_reload(app);
    planner_committed(app);
    return ERR_OK;
}

/* The world holds what the file does not. Without a world no write can be judged, so if the file
 * cannot be read either there is nothing left to serve from: the store is whole, a restart is
 * right. */
static void on_rolled_back(void *arg, struct db_tx *tx)
{
    struct app *app = arg;
    struct world *world = NULL;
    struct err err = ERR_INIT;
    effects_drop(&app->effects);
    log_error("store", "a commit failed; loading what the file holds");
    if (world_load(app, db_tx_ro(tx), false, &world, &err) != ERR_OK) {
        log_error("store", "cannot load after a failed commit: %s; ending, start it again",
                  err.text);
        _exit(1);
    }
    world_free(app->world);
    app->world = world;
    planner_reload(app);
}

static bool authenticate(void *arg, const struct credentials *given, struct principal *out)
{
    struct app *app = arg;
    bool by_token = given->bearer != NULL || given->session != NULL;
    if (by_token ? !auth_check(app->auth, given, out)
                 : !enrol_check(app, given->certificate, app->clock->wall_us(app->clock), out))
        return false;
    /* Agents' tokens are for loopback without TLS (decision 10). */
    if (out->role == ROLE_AGENT && by_token && app->tls != NULL)
        return false;
    if (out->role == ROLE_AGENT)
        status_touch(app->status, out->node, app->clock->wall_us(app->clock));
    return true;
}

static void denied(void *arg, const struct request *request, int status, const char *code)
{
    denial_call(arg, request, status, code);
}

static bool stop_at_first(void *arg, const struct db_image *row)
{
    (void)arg;
    (void)row;
    return false;
}

/* A store that cannot be asked makes every image known: nothing is removed then. */
static bool is_image(void *arg, const char *id)
{
    struct err err = ERR_INIT;
    return image_get(arg, id, stop_at_first, NULL, &err) != ERR_NOT_FOUND;
}

static enum err_code sweep_images(struct db_ro *ro, void *arg, struct err *err)
{
    struct app *app = arg;
    (void)err;
    images_sweep(app->images, is_image, ro);
    return ERR_OK;
}

static void on_series_failed(void *arg, const struct err *err)
{
    (void)arg;
    log_error("stellard",
              "minutes and hours of the telemetry cannot be written: %s; said once, "
              "stellar_telemetry_failed_rollups_total counts on",
              err->text);
}

static enum err_code open_series(struct app *app, const char *data_dir, struct err *err)
{
    char path[APP_PATH_MAX];
    struct series_stats stats;
    const struct series_config config = {
        .dir = path,
        .clock = app->clock,
        .failed = on_series_failed,
        .stored = health_desk_stored,
        .stored_arg = app->health,
    };
    snprintf(path, sizeof(path), "%s/telemetry", data_dir);
    enum err_code code = series_open(&config, &app->series, err);
    if (code != ERR_OK)
        return err_context(err, "telemetry");
    series_stats_get(app->series, &stats);
    log_info("stellard", "telemetry of %u nodes, %u rows", stats.nodes, stats.rows);
    return ERR_OK;
}

static enum err_code open_images(struct app *app, const char *data_dir, struct err *err)
{
    enum err_code code = images_new(data_dir, &app->images, err);
    return code != ERR_OK ? code : db_read_wait(app->db, sweep_images, app, err);
}

/* "policy.json" names the file "policy". */
static bool names_file(const char *ref, const char *name)
{
    size_t len = strlen(name);
    return strncmp(ref, name, len) == 0 && strcmp(ref + len, ".json") == 0;
}

/* /openapi.json: references to the documents' own schemas are replaced by the schemas; each has its
 * own "$id", so that references inside them still mean themselves. */
static enum err_code make_openapi(struct app *app, struct err *err)
{
    OWN(json) json_t *document = json_loads((const char *)openapi_files[0].data, 0, NULL);
    json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas"), *schema;
    const char *name;
    void *next;
    size_t len;
    json_object_foreach_safe(schemas, next, name, schema)
    {
        const char *ref = json_string_value(json_object_get(schema, "$ref"));
        const struct embed_file *file = schema_files;
        while (ref != NULL && file->name != NULL && !names_file(ref, file->name))
            file++;
        if (ref != NULL && file->name != NULL)
            json_object_set_new(schemas, name, json_loads((const char *)file->data, 0, NULL));
    }
    char *text = document == NULL ? NULL : json_canonical(document, &len);
    if (text == NULL)
        return err_nomem(err);
    app->contract = json_incref(document);
    app->openapi = blob_new(text, len, "\"" STELLAR_VERSION "\"", "application/json");
    return app->openapi == NULL ? err_nomem(err) : ERR_OK;
}

/* What a burst of requests took stays with the allocator in holes between what lives on: a third of
 * the memory after a plan for a thousand nodes. A quiet moment gives it back. */
static void on_quiet(void *arg)
{
    struct app *app = arg;
    int64_t now_ns = app->clock->mono_ns(app->clock);
    if (now_ns < app->trim_ns)
        return;
    app->trim_ns = now_ns + APP_TRIM_NS;
    malloc_trim(0);
}

static enum err_code make_parts(struct app *app, struct err *err)
{
    enum err_code code = publish_new(&app->publish, err);
    if (code == ERR_OK)
        code = auth_new(app->clock, &app->auth, err);
    if (code == ERR_OK)
        code = backoff_new(app->clock, &app->backoff, err);
    if (code == ERR_OK)
        code = passwords_new(&app->passwords, err);
    if (code == ERR_OK)
        code = inspector_new(&app->inspector, err);
    if (code == ERR_OK)
        code = health_reports_new(app, &app->reports, err);
    if (code == ERR_OK)
        code = denials_new(app->clock, &app->denials, err);
    if (code == ERR_OK)
        code = status_new(&app->status, err);
    if (code == ERR_OK)
        code = waiters_new(&app->waiters, err);
    if (code == ERR_OK)
        code = make_event_hub(app, err);
    if (code == ERR_OK)
        code = compat_builtin(&app->compat, err);
    if (code == ERR_OK)
        code = certs_new(&app->certs, err);
    if (code == ERR_OK)
        code = backoff_new(app->clock, &app->joins, err);
    if (code == ERR_OK)
        code = operations_new(&app->operations, err);
    if (code == ERR_OK)
        code = make_openapi(app, err);
    if (code == ERR_OK)
        code = assets_new(asset_files, &app->assets, err);
    return code;
}

static enum err_code open_store(struct app *app, const char *data_dir, struct err *err)
{
    char path[APP_PATH_MAX];
    const struct db_hooks hooks = {
        .arg = app,
        .start = on_start,
        .event = on_event,
        .committed = planner_committed,
        .rolled_back = on_rolled_back,
        .idle = planner_idle,
        .quiet = on_quiet,
    };
    enum err_code code = file_mkdirs(data_dir, 0700, err);
    snprintf(path, sizeof(path), "%s/stellar.db", data_dir);
    if (code == ERR_OK)
        code = db_open(path, app->clock, &hooks, &app->db, err);
    struct rollout_ticker *ticker = NULL;
    if (code == ERR_OK)
        code = rollout_ticker_start(app, &ticker, err);
    app->ticker = ticker; /* from now on the writer thread may use app->db */
    return code;
}

/* Before the first request. */
static enum err_code prepare_store(struct db_tx *tx, void *arg, struct err *err)
{
    struct app *app = arg;
    unsigned char id[STORE_KEY_SIZE];
    enum err_code code = operations_interrupt(tx, err);
    if (code == ERR_OK)
        code = store_key_get(tx, "page-token", app->page_key, err);
    if (code == ERR_OK)
        code = store_key_get(tx, STORE_KEY_ID, id, err);
    if (code == ERR_OK)
        hex_encode(id, sizeof(id), app->store_id);
    return code;
}

static enum err_code write_url(const struct app *app, const struct app_config *config,
                               struct err *err)
{
    char path[APP_PATH_MAX], url[128];
    /* For programs on this host: who listens everywhere is found on loopback. */
    bool v6 = strchr(config->address, ':') != NULL, any = address_is_any(config->address);
    const char *address = !any ? config->address : v6 ? "::1" : "127.0.0.1";
    int n = snprintf(url, sizeof(url), "http%s://%s%s%s:%u\n", app->tls != NULL ? "s" : "",
                     v6 ? "[" : "", address, v6 ? "]" : "", (unsigned)http_server_port(app->http));
    snprintf(path, sizeof(path), "%s/url", config->data_dir);
    log_info("stellard", "ready: %.*s data=%s", n - 1, url, config->data_dir);
    return file_write_atomic(path, url, (size_t)n, 0644, err);
}

enum err_code app_new(const struct app_config *config, struct app **out, struct err *err)
{
    OWN(app) struct app *app = calloc(1, sizeof(*app));
    if (app == NULL)
        return err_nomem(err);
    struct http_server *server = NULL;
    app->clock = clock_system();
    app->start_us = app->clock->wall_us(app->clock);
    enum err_code code = make_parts(app, err);
    if (code == ERR_OK)
        code = open_store(app, config->data_dir, err);
    if (code == ERR_OK)
        code = app_tls_open(app, config, err);
    if (code == ERR_OK)
        code = db_write_wait(app->db, prepare_store, app, err);
    if (code == ERR_OK)
        code = open_images(app, config->data_dir, err);
    if (code == ERR_OK)
        code = solar_secret_open(config->data_dir, app->solar_secret, err);
    if (code == ERR_OK)
        code = backups_new(app, config->data_dir, &app->backups, err);
    if (code == ERR_OK)
        code = health_desk_new(app, &app->health, err);
    if (code == ERR_OK)
        code = open_series(app, config->data_dir, err);
    if (code == ERR_OK)
        auth_set_rates(app->auth, config->rate_token, config->rate_tenant);
    if (code == ERR_OK)
        code = admin_token_first(app, config->data_dir, err);
    const struct http_config http = {
        .address = config->address,
        .port = config->port,
        .listen_fd = config->listen_fd,
        .routes = routes,
        .route_count = route_count,
        .fallback = &api_assets_route,
        .fallback_owns = api_assets_owns,
        .app = app,
        .authenticate = authenticate,
        .denied = denied,
        .clock = app->clock,
        .tls = app->tls,
    };
    if (code == ERR_OK)
        code = http_server_start(&http, &server, err);
    if (code == ERR_OK)
        app->http = server;
    if (code == ERR_OK)
        code = write_url(app, config, err);
    if (code == ERR_OK)
        *out = GIVE(app);
    return code;
}

void app_free(struct app *app)
{
    if (app == NULL)
        return;
    if (app->http != NULL)
        http_server_stop(app->http);
    rollout_ticker_stop(app->ticker);
    app->ticker = NULL;
    passwords_free(app->passwords); /* what it ends is written */
    inspector_free(app->inspector);
    if (app->http != NULL) {
        denials_flush(app);
        identity_flush(app, true);
    }
    backups_stop(app->backups);
    health_reports_stop(app->reports);
    series_close(app->series);
    health_desk_free(app->health);
    db_close(app->db);
    event_hub_free(app->events); /* its thread asks auth for the rights of those who listen */
    effects_drop(&app->effects);
    world_free(app->world);
    health_reports_free(app->reports);
    publish_free(app->publish);
    auth_free(app->auth);
    backoff_free(app->backoff);
    denials_free(app->denials);
    status_free(app->status);
    waiters_free(app->waiters);
    compat_free(app->compat);
    certs_free(app->certs);
    backoff_free(app->joins);
    tls_free(app->tls);
    tls_ca_free(app->ca);
    images_free(app->images);
    backups_free(app->backups);
    operations_free(app->operations);
    assets_free(app->assets);
    blob_unref(app->openapi);
    json_decref(app->contract);
    explicit_bzero(app->solar_secret, sizeof(app->solar_secret));
    free(app);
}
