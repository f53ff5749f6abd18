/*
 * agent/renew.c - see renew.h.
 */
#include "agent/renew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backoff.h"
#include "agent/enrol.h"
#include "base/json.h"
#include "base/log.h"

#define URL_MAX      1024
#define SLEEP_MAX_NS (12 * 3600 * NS_PER_S) /* clocks are set by hand */
#define NS_PER_US    INT64_C(1000)

struct renew {
    struct renew_config config;
    struct http_client *client;
    struct loop_timer *timer;
    bool running;
    uint64_t request;
    char *key_pem; /* owned; of the request that runs */
};

static void forget_key(struct renew *renew)
{
    x509_key_free(renew->key_pem);
    renew->key_pem = NULL;
}

static void arm(struct renew *renew)
{
    struct clock *clock = clock_system();
    const struct x509_facts *facts = &renew->config.identity.facts;
    int64_t life_us = facts->not_after_us - facts->not_before_us;
    int64_t left_us = facts->not_after_us - life_us / 3 - clock->wall_us(clock);
    int64_t wait_ns = left_us <= 0                          ? NS_PER_S
                      : left_us >= SLEEP_MAX_NS / NS_PER_US ? SLEEP_MAX_NS
                                                            : left_us * NS_PER_US;
    loop_timer_set(renew->timer, jitter(wait_ns, 10, jitter_random()));
}

static void again(struct renew *renew, const struct err *err)
{
    log_error("agent", "node %s: its certificate is not renewed: %s; trying again in an hour",
              renew->config.node, err->text);
    forget_key(renew);
    loop_timer_set(renew->timer, jitter(RENEW_RETRY_NS, 20, jitter_random()));
}

static void on_answer(void *arg, const struct http_response *response)
{
    struct renew *renew = arg;
    struct renew_config *config = &renew->config;
    struct identity fresh;
    struct err err = response->err;
    OWN(str) char *cert_pem = NULL;
    renew->running = false;
    enum err_code code = err.code;
    if (code == ERR_OK)
        code = enrol_read_answer(response->status, response->body, response->body_len, &cert_pem,
                                 &err);
    if (code == ERR_OK)
        code = identity_store(config->state_dir, config->node, &config->identity, renew->key_pem,
                              cert_pem, &fresh, &err);
    if (code != ERR_OK) {
        again(renew, &err);
        return;
    }
    forget_key(renew);
    config->identity = fresh;
    log_info("agent", "node %s: a new certificate, %s", config->node, fresh.facts.fingerprint);
    config->fresh(config->arg, &fresh);
    arm(renew);
}

static enum err_code ask(struct renew *renew, struct err *err)
{
    const struct renew_config *config = &renew->config;
    char url[URL_MAX];
    OWN(str) char *csr = NULL;
    OWN(json) json_t *document = NULL;
    OWN(str) char *body = NULL;
    size_t len;
    forget_key(renew);
    enum err_code code = x509_key_new(&renew->key_pem, err);
    if (code == ERR_OK)
        code = x509_request_new(renew->key_pem, config->node, &csr, err);
    if (code != ERR_OK)
        return code;
    document = json_pack("{ss}", "csr", csr);
    body = document == NULL ? NULL : json_canonical(document, &len);
    if (body == NULL)
        return err_nomem(err);
    snprintf(url, sizeof(url), "%s/v1/agent/renew", config->server);
    const struct http_request request = {.method = "POST",
                                         .url = url,
                                         .body = body,
                                         .body_len = len,
                                         .ca_file = config->ca_file,
                                         .cert_file = config->identity.path,
                                         .key_file = config->identity.path};
    code = http_client_start(renew->client, &request, on_answer, renew, &renew->request, err);
    renew->running = code == ERR_OK;
    return code;
}

void renew_now(struct renew *renew)
{
    struct err err = ERR_INIT;
    if (!renew->running && ask(renew, &err) != ERR_OK)
        again(renew, &err);
}

static void on_timer(void *arg)
{
    struct renew *renew = arg;
    struct clock *clock = clock_system();
    const struct x509_facts *facts = &renew->config.identity.facts;
    int64_t life_us = facts->not_after_us - facts->not_before_us;
    if (clock->wall_us(clock) < facts->not_after_us - life_us / 3)
        arm(renew);
    else
        renew_now(renew);
}

enum err_code renew_new(struct loop *loop, struct http_client *client,
                        const struct renew_config *config, struct renew **out, struct err *err)
{
    OWN(renew) struct renew *renew = calloc(1, sizeof(*renew));
    if (renew == NULL)
        return err_nomem(err);
    renew->config = *config;
    renew->client = client;
    enum err_code code = loop_timer_new(loop, on_timer, renew, &renew->timer, err);
    if (code != ERR_OK)
        return code;
    arm(renew);
    *out = GIVE(renew);
    return ERR_OK;
}

void renew_free(struct renew *renew)
{
    if (renew == NULL)
        return;
    if (renew->running)
        http_client_cancel(renew->client, renew->request);
    loop_timer_free(renew->timer);
    forget_key(renew);
    free(renew);
}
