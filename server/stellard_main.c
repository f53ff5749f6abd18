/*
 * server/stellard_main.c - the program: verbs, signals, start and stop, the service manager.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/notify.h"
#include "db/backup.h"
#include "server/admin_token.h"
#include "server/app.h"
#include "server/denials.h"
#include "server/health_reports.h"
#include "server/identity.h"
#include "server/stellard_options.h"

/* Each request's memory goes back and forth between threads; without these the heap's end is given
 * to the kernel and taken again for every few requests. */
#define HEAP_KEPT_BYTES (8 * 1024 * 1024)
#define HEAP_STEP_BYTES (256 * 1024)
#define STORE_PATH_MAX  4096

enum exit_status { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

/* Serving --------------------------------------------------------------------------------------*/

struct serving {
    struct loop *loop;
    struct app *app; /* NULL until it serves */
    struct loop_timer *minute, *watchdog;
    int64_t watchdog_ns;
};

static void tell(const char *lines)
{
    struct err err = ERR_INIT;
    if (notify_send(lines, &err) != ERR_OK)
        log_warning("stellard", "%s", err.text);
}

static void on_signal(void *arg)
{
    struct serving *serving = arg;
    tell("STOPPING=1");
    loop_stop(serving->loop);
}

static void on_hangup(void *arg)
{
    struct serving *serving = arg;
    if (serving->app != NULL)
        app_tls_reload(serving->app);
}

static void on_minute(void *arg)
{
    struct serving *serving = arg;
    app_tls_tick(serving->app);
    health_reports_tick(serving->app->reports);
    identity_flush(serving->app, false);
    denials_flush(serving->app);
    operations_flush(serving->app->operations, serving->app->db);
    loop_timer_set(serving->minute, IDENTITY_FLUSH_S * NS_PER_S);
}

/* The writer thread is what everything waits for: a sign of life from it is one of the server. */
static enum err_code alive(struct db_tx *tx, void *arg, struct err *err)
{
    (void)tx;
    (void)arg;
    (void)err;
    tell("WATCHDOG=1");
    return ERR_OK;
}

static void on_watchdog(void *arg)
{
    struct serving *serving = arg;
    struct err err = ERR_INIT;
    if (db_look(serving->app->db, alive, NULL, NULL, &err) != ERR_OK)
        log_warning("stellard", "no sign of life: %s", err.text);
    loop_timer_set(serving->watchdog, serving->watchdog_ns);
}

static enum err_code prepare(struct serving *serving, struct err *err)
{
    /* Before any thread starts, so that all inherit the blocked signals. */
    enum err_code code = loop_new(&serving->loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(serving->loop, SIGTERM, on_signal, serving, err);
    if (code == ERR_OK)
        code = loop_signal_add(serving->loop, SIGINT, on_signal, serving, err);
    if (code == ERR_OK)
        code = loop_signal_add(serving->loop, SIGHUP, on_hangup, serving, err);
    if (code == ERR_OK)
        code = loop_timer_new(serving->loop, on_minute, serving, &serving->minute, err);
    if (code == ERR_OK)
        code = loop_timer_new(serving->loop, on_watchdog, serving, &serving->watchdog, err);
    return code;
}

static enum err_code serve(const struct app_config *config, struct err *err)
{
    struct serving serving = {.watchdog_ns = notify_watchdog_ns() / 3};
    enum err_code code = prepare(&serving, err);
    if (code == ERR_OK)
        code = app_new(config, &serving.app, err);
    if (code == ERR_OK) {
        loop_timer_set(serving.minute, IDENTITY_FLUSH_S * NS_PER_S);
        if (serving.watchdog_ns > 0)
            loop_timer_set(serving.watchdog, 0);
        tell("READY=1");
        code = loop_run(serving.loop, err);
    }
    if (code == ERR_OK)
        log_info("stellard", "stopping");
    app_free(serving.app);
    loop_free(serving.loop);
    return code;
}

/* A store that nobody runs ---------------------------------------------------------------------*/

static void print_figures(const char *what, const char *path, const struct store_figures *figures)
{
    printf("%s %s: %lld bytes, schema %lld, generation %lld, %lld audit rows\n", what, path,
           (long long)figures->size_bytes, (long long)figures->schema,
           (long long)figures->generation, (long long)figures->audit_rows);
}

/* Into a new folder, too: on the machine that takes a lost one's place. */
static enum err_code restore(const struct stellard_options *options, const char *store,
                             struct err *err)
{
    struct store_figures figures;
    char aside[RESTORE_PATH_MAX];
    enum err_code code = file_mkdirs(options->config.data_dir, 0700, err);
    if (code == ERR_OK)
        code = db_restore(store, options->from, clock_system(), aside, &figures, err);
    if (code != ERR_OK)
        return code;
    print_figures("restored", store, &figures);
    if (aside[0] != '\0')
        printf("the store that was there is now %s\n", aside);
    return ERR_OK;
}

static enum err_code run(struct stellard_options *options, struct err *err)
{
    struct store_figures figures;
    char store[STORE_PATH_MAX];
    enum err_code code = ERR_OK;
    if (options->verb == STELLARD_SERVE)
        return serve(&options->config, err);
    if (options->verb == STELLARD_NEW_ADMIN)
        return admin_token_new(options->config.data_dir, err);
    if (options->verb == STELLARD_CHECK_CONFIG) {
        puts("the options are right");
        return ERR_OK;
    }
    int n = snprintf(store, sizeof(store), "%s/stellar.db", options->config.data_dir);
    if (n < 0 || (size_t)n >= sizeof(store))
        return err_set(err, ERR_INVALID, "--data: the path is too long");
    if (options->verb == STELLARD_RESTORE)
        return restore(options, store, err);
    if (options->verb == STELLARD_BACKUP)
        code = db_backup_offline(store, options->out, &figures, err);
    else
        code = db_verify(store, &figures, err);
    if (code == ERR_OK)
        print_figures(options->verb == STELLARD_BACKUP ? "copied" : "whole:",
                      options->verb == STELLARD_BACKUP ? options->out : store, &figures);
    if (code == ERR_OK && options->verb == STELLARD_BACKUP)
        puts("not in it: ca.key, ca.crt, solar.key and images/ beside the store; copy them too");
    return code;
}

int main(int argc, char **argv)
{
    struct stellard_options options;
    struct err err = ERR_INIT;
    enum exit_status status = EXIT_GOOD;
    if (stellard_options_read(argc, argv, &options, &err) != ERR_OK) {
        fprintf(stderr, "stellard: %s\n", err.text);
        status = EXIT_USAGE;
    } else if (options.verb != STELLARD_PRINTED) {
        loop_signals_hold();
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error where it is written */
        mallopt(M_TRIM_THRESHOLD, HEAP_KEPT_BYTES);
        mallopt(M_TOP_PAD, HEAP_STEP_BYTES);
        if (run(&options, &err) != ERR_OK) {
            log_error("stellard", "%s", err.text);
            status = EXIT_BAD;
        }
    }
    stellard_options_release(&options);
    return (int)status;
}
