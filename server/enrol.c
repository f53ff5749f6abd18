/*
 * server/enrol.c - see enrol.h.
 */
#include "server/enrol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct load {
    struct app *app;
    char last_node[NAME_SIZE];
    enum err_code code;
    struct err *err;
};

/* Of a node with more than one the later ones are renewals that were not used yet. */
static bool on_certificate(void *arg, const struct db_certificate *row)
{
    struct load *load = arg;
    struct cert *cert = calloc(1, sizeof(*cert));
    if (cert == NULL) {
        load->code = err_nomem(load->err);
        return false;
    }
    snprintf(cert->fingerprint, sizeof(cert->fingerprint), "%s", row->fingerprint);
    snprintf(cert->node, sizeof(cert->node), "%s", row->node);
    cert->expires_us = row->expires_us;
    cert->renewal = strcmp(load->last_node, row->node) == 0;
    snprintf(load->last_node, sizeof(load->last_node), "%s", row->node);
    certs_put(load->app->certs, cert);
    return true;
}

enum err_code enrol_load(struct app *app, struct db_ro *ro, struct err *err)
{
    struct load load = {.app = app, .code = ERR_OK, .err = err};
    enum err_code code = certificate_each(ro, NULL, on_certificate, &load, err);
    return code != ERR_OK ? code : load.code;
}

/* The first use of a renewal ------------------------------------------------------------------ */

struct first_use {
    struct app *app;
    char node[NAME_SIZE];
    char fingerprint[X509_FINGERPRINT_SIZE];
};

/* Its node holds the new certificate for sure now: the older ones can go. */
static enum err_code run_first_use(struct db_tx *tx, void *arg, struct err *err)
{
    struct first_use *use = arg;
    struct effects effects = {0};
    int64_t count;
    enum err_code code = certificates_end(tx, use->node, use->fingerprint, &count, err);
    if (code == ERR_OK)
        code = effects_add(&effects, EFFECT_CERTS_OTHERS, use->fingerprint, err);
    if (code == ERR_OK)
        effects_move(&use->app->effects, &effects);
    return code;
}

static void done_first_use(void *arg, enum err_code code, const struct err *err)
{
    struct first_use *use = arg;
    if (code != ERR_OK) {
        log_warning("tls", "the certificates before %s's new one stay for now: %s", use->node,
                    err->text);
        certs_first_again(use->app->certs, use->fingerprint);
    }
    free(use);
}

static void first_use(struct app *app, const char *node, const char *fingerprint)
{
    struct err err = ERR_INIT;
    struct first_use *use = calloc(1, sizeof(*use));
    if (use == NULL) {
        certs_first_again(app->certs, fingerprint);
        return;
    }
    use->app = app;
    snprintf(use->node, sizeof(use->node), "%s", node);
    snprintf(use->fingerprint, sizeof(use->fingerprint), "%s", fingerprint);
    enum err_code code = db_write(app->db, run_first_use, done_first_use, use, &err);
    if (code != ERR_OK)
        done_first_use(use, code, &err);
}

bool enrol_check(struct app *app, const char *fingerprint, int64_t now_us, struct principal *out)
{
    bool first;
    char node[NAME_SIZE];
    if (!certs_check(app->certs, fingerprint, now_us, node, &first))
        return false;
    if (first)
        first_use(app, node, fingerprint);
    *out = (struct principal){.role = ROLE_AGENT, .scopes = SCOPE_ALL};
    snprintf(out->name, sizeof(out->name), "node:%s", node);
    snprintf(out->node, sizeof(out->node), "%s", node);
    snprintf(out->certificate, sizeof(out->certificate), "%s", fingerprint);
    return true;
}
