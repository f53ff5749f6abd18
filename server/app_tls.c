/*
 * server/app_tls.c - see app_tls.h and app.h: the start of TLS, and what happens to the server's
 * certificate while it runs. The main thread calls it.
 */
#include "server/app_tls.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

static void say(struct app *app, const char *what)
{
    struct x509_facts facts;
    char until[CLOCK_TEXT_MAX];
    tls_facts(app->tls, &facts);
    clock_format(facts.not_after_us, until);
    log_info("tls", "%s: sha256 %s, until %s", what, facts.fingerprint, until);
}

enum err_code app_tls_open(struct app *app, const struct app_config *config, struct err *err)
{
    int64_t now_us = app->clock->wall_us(app->clock);
    tls_names_fill(&app->names, config->names, config->address);
    enum err_code code = tls_ca_open(config->data_dir, now_us, &app->ca, err);
    if (code != ERR_OK || !config->tls)
        return code;
    const struct tls_config tls = {
        .cert_file = config->cert_file, .key_file = config->key_file, .names = app->names.list};
    code = tls_new(&tls, app->ca, app->clock, &app->tls, err);
    if (code == ERR_OK)
        say(app, "the server's certificate");
    return code;
}

static void tell(struct app *app, enum err_code code, const struct err *err)
{
    if (code == ERR_OK)
        say(app, "a new server certificate");
    else
        log_error("tls", "the server's certificate stays as it is: %s", err->text);
}

void app_tls_reload(struct app *app)
{
    struct err err = ERR_INIT;
    if (app->tls != NULL)
        tell(app, tls_reload(app->tls, &err), &err);
}

void app_tls_tick(struct app *app)
{
    struct err err = ERR_INIT;
    bool changed = false;
    if (app->tls == NULL)
        return;
    enum err_code code = tls_tick(app->tls, &changed, &err);
    if (changed || code != ERR_OK)
        tell(app, code, &err);
}
