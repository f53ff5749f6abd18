/*
 * server/api_enrol.c - how an agent becomes a node: a join token that the operator makes, spent for
 * a certificate; and the next certificate for the one in use.
 *
 * A join token counts for one key: who spent it and lost the answer may ask again with the same
 * key, which its signing request proves; anybody else is refused as if it did not exist. The writer
 * thread decides, so two who come at once are one after the other.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/name.h"
#include "fleet/read.h"
#include "server/api.h"
#include "server/pipeline.h"
#include "server/task.h"
#include "server/tls_csr.h"

#define JOIN_DEFAULT_NS (24 * 3600 * NS_PER_S)
#define JOIN_MAX_NS     (7 * 24 * 3600 * NS_PER_S)
#define JOIN_TEXT_SIZE  (TOKEN_TEXT_MAX + X509_FINGERPRINT_SIZE + 1)
#define COMMAND_SIZE    (TLS_URL_SIZE + JOIN_TEXT_SIZE + NAME_SIZE + 64)
#define SUBJECT_SIZE    (NAME_SIZE + 8)

/* Of an attempt to spend a join token: what becomes of its count. */
enum attempt { ATTEMPT_NONE, ATTEMPT_OPEN, ATTEMPT_WRONG, ATTEMPT_RIGHT };

struct enrol_task {
    struct task base;
    char node[NAME_SIZE];
    int64_t lifetime_us; /* of a join token */
    int64_t now_us;
    char token[JOIN_TEXT_SIZE];         /* made, or given */
    char hash[DIGEST_TEXT_MAX];         /* of token */
    char caller[X509_FINGERPRINT_SIZE]; /* certificate of a renewal's caller */
    char *csr;                          /* owned */
    struct tls_issued issued;
    bool found, expired; /* the join token */
    char used_key[X509_FINGERPRINT_SIZE];
    enum attempt attempt;
    char peer[INET6_ADDRSTRLEN];
};

static void release(struct task *task)
{
    struct enrol_task *et = (struct enrol_task *)task;
    if (et->attempt == ATTEMPT_RIGHT)
        backoff_right(task->app->joins, et->hash, et->peer);
    else if (et->attempt == ATTEMPT_OPEN) /* not judged: another part of it was wrong */
        backoff_undo(task->app->joins, et->hash, et->peer);
    explicit_bzero(et->token, sizeof(et->token));
    tls_issued_release(&et->issued);
    free(et->csr);
    task_release(task);
    free(et);
}

static struct enrol_task *start(struct request *request,
                                enum err_code (*run)(struct db_tx *, struct task *, struct err *))
{
    struct enrol_task *et = api_alloc(request, sizeof(*et));
    if (et == NULL)
        return NULL;
    task_init(&et->base, request, run, release);
    return et;
}

static enum err_code no_node(struct enrol_task *et, struct err *err)
{
    return task_refuse(&et->base, 404, "not-found", err, "there is no node '%s'", et->node);
}

/* Join tokens --------------------------------------------------------------------------------- */

/* The command is for a server that agents can reach and trust. */
static enum err_code join_answer(struct enrol_task *et, int64_t expires_us, struct err *err)
{
    const struct app *app = et->base.app;
    const struct http_server *http = app->http;
    char url[TLS_URL_SIZE], command[COMMAND_SIZE];
    json_t *kept = json_pack("{ss}", "node", et->node);
    api_set_time(kept, "expires", expires_us);
    api_set_text(kept, "ca_sha256", tls_ca_fingerprint(app->ca));
    json_t *answer = json_copy(kept);
    api_set_text(answer, "join_token", et->token);
    if (app->tls != NULL && http != NULL) {
        tls_names_url(&app->names, true, http_server_port(http), url);
        snprintf(command, sizeof(command), "stellar-agent --server %s --node %s --join %s", url,
                 et->node, et->token);
        api_set_text(answer, "command", command);
        explicit_bzero(command, sizeof(command));
    }
    et->base.kept = kept;
    et->base.answer = answer;
    et->base.status = 201;
    return answer == NULL ? err_nomem(err) : ERR_OK;
}

static enum err_code run_join(struct db_tx *tx, struct task *task, struct err *err)
{
    struct enrol_task *et = (struct enrol_task *)task;
    char subject[SUBJECT_SIZE];
    if (world_node_get(task->app->world, et->node) == NULL)
        return no_node(et, err);
    int64_t expires_us = db_tx_now_us(tx) + et->lifetime_us;
    snprintf(subject, sizeof(subject), "node/%s", et->node);
    const struct db_audit audit = {.action = "node.join-token", .subject = subject};
    enum err_code code = join_put(tx, et->node, et->hash, expires_us, err);
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    return code == ERR_OK ? join_answer(et, expires_us, err) : code;
}

void api_node_join_token(struct request *request)
{
    const struct app *app = request_app(request);
    struct err err = ERR_INIT;
    int64_t lifetime_ns;
    char secret[TOKEN_TEXT_MAX], hash[DIGEST_TEXT_MAX];
    if (!api_check_name(request, request_param(request, 0), "node"))
        return;
    if (request_duration(request, "expires", JOIN_DEFAULT_NS, JOIN_MAX_NS, &lifetime_ns, &err) !=
            ERR_OK ||
        lifetime_ns < NS_PER_S) {
        request_reply_problem(request, 400, "invalid-query", NULL, NULL, "%s",
                              err.text[0] != '\0' ? err.text : "expires takes at least 1s");
        return;
    }
    struct enrol_task *et = start(request, run_join);
    if (et == NULL)
        return;
    et->base.idempotent = true;
    et->lifetime_us = lifetime_ns / 1000;
    snprintf(et->node, sizeof(et->node), "%s", request_param(request, 0));
    token_make("sj_", secret, hash);
    snprintf(et->token, sizeof(et->token), "%s_%s", secret, tls_ca_fingerprint(app->ca));
    explicit_bzero(secret, sizeof(secret));
    bytes_digest(et->token, strlen(et->token), et->hash);
    task_submit(&et->base);
}

/* Certificates -------------------------------------------------------------------------------- */

/* PEM has line ends, which texts of other documents must not have. */
static bool read_pem(struct json_reader *r, const char *key, const char **out)
{
    const json_t *value = NULL;
    if (!json_reader_any(r, key, true, &value))
        return false;
    const char *text = json_string_value(value);
    if (text == NULL || json_string_length(value) != strlen(text)) {
        read_problem(r, key, "a PEM text is wanted");
        return false;
    }
    *out = text;
    return true;
}

/* The public key's request is checked on this thread, before the writer's time is spent on it. */
static bool read_body(struct enrol_task *et, const json_t *document, bool joins,
                      struct finding_list *findings)
{
    struct json_reader r;
    struct err err = ERR_INIT;
    OWN(pubkey) gnutls_pubkey_t key = NULL;
    const char *csr = NULL, *token = NULL;
    json_reader_init(&r, document, "", findings);
    if (joins)
        json_reader_string(&r, "join_token", true, 1, sizeof(et->token) - 1, &token);
    if (read_pem(&r, "csr", &csr) && tls_csr_read(csr, strlen(csr), &key, &err) != ERR_OK)
        read_problem(&r, "csr", "%s", err.text);
    json_reader_end(&r);
    if (finding_list_has_errors(findings))
        return false;
    et->csr = strdup(csr);
    return true;
}

static void submit_request(struct request *request, struct enrol_task *et, bool joins)
{
    OWN_FINDINGS struct finding_list findings;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    if (!read_body(et, request_json(request), joins, &findings)) {
        request_reply_problem(request, 422, "csr-refused", &findings, NULL,
                              "the document is not valid; see errors");
        release(&et->base);
    } else if (et->csr == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        release(&et->base);
    } else {
        task_submit(&et->base);
    }
}

static enum err_code push_cert(struct enrol_task *et, bool renewal, struct err *err)
{
    struct cert *cert = calloc(1, sizeof(*cert));
    if (cert == NULL)
        return err_nomem(err);
    memcpy(cert->fingerprint, et->issued.facts.fingerprint, sizeof(cert->fingerprint));
    memcpy(cert->node, et->node, sizeof(cert->node));
    cert->expires_us = et->issued.facts.not_after_us;
    cert->renewal = renewal;
    return effects_cert(&et->base.effects, cert, err);
}

static enum err_code certificate_answer(struct enrol_task *et, struct err *err)
{
    et->base.answer = json_pack("{ss, ss, ss}", "node", et->node, "certificate", et->issued.pem,
                                "ca", tls_ca_pem(et->base.app->ca));
    if (et->base.answer == NULL)
        return err_nomem(err);
    api_set_time(et->base.answer, "expires", et->issued.facts.not_after_us);
    et->base.status = 201;
    return ERR_OK;
}

/* The node itself did it: change_record() would name the caller, who was nobody before. */
static enum err_code record(struct enrol_task *et, struct db_tx *tx, const char *keep,
                            struct err *err)
{
    char who[SUBJECT_SIZE], subject[SUBJECT_SIZE];
    int64_t id;
    snprintf(who, sizeof(who), "node:%s", et->node);
    snprintf(subject, sizeof(subject), "node/%s", et->node);
    const struct db_audit audit = {.actor = who,
                                   .action = keep != NULL ? "node.renew" : "node.enrol",
                                   .subject = subject,
                                   .request_id = request_id(et->base.request),
                                   .reason = "",
                                   .before = keep != NULL ? keep : "",
                                   .after = et->issued.facts.fingerprint};
    const struct db_event event = {
        .kind = "node.enrolled", .subject = subject, .request_id = audit.request_id, .body = "{}"};
    enum err_code code = audit_add(tx, &audit, err);
    return code == ERR_OK && keep == NULL ? event_add(tx, &event, &id, err) : code;
}

/* What was signed becomes the node's; keep = the caller's own, NULL = it joins. */
static enum err_code add_certificate(struct enrol_task *et, struct db_tx *tx, const char *keep,
                                     struct err *err)
{
    const struct x509_facts *facts = &et->issued.facts;
    const struct db_certificate row = {.fingerprint = facts->fingerprint,
                                       .node = et->node,
                                       .serial = facts->serial,
                                       .origin = keep != NULL ? "renewal" : "join",
                                       .expires_us = facts->not_after_us};
    int64_t count;
    enum err_code code = certificates_end(tx, et->node, keep, &count, err);
    if (code == ERR_OK)
        code = certificate_put(tx, &row, err);
    if (code == ERR_OK)
        code = record(et, tx, keep, err);
    if (code == ERR_OK)
        code = effects_add(&et->base.effects, keep != NULL ? EFFECT_CERTS_OTHERS : EFFECT_CERTS_END,
                           keep != NULL ? keep : et->node, err);
    if (code == ERR_OK)
        code = push_cert(et, keep != NULL, err);
    return code == ERR_OK ? certificate_answer(et, err) : code;
}

static bool on_join(void *arg, const struct db_join *join)
{
    struct enrol_task *et = arg;
    et->found = true;
    et->expired = join->expires_us <= et->now_us;
    snprintf(et->node, sizeof(et->node), "%s", join->node);
    snprintf(et->used_key, sizeof(et->used_key), "%s", join->key);
    return false;
}

/* One text for all: who guesses does not learn which tokens there were. */
static enum err_code refuse_join(struct enrol_task *et, struct err *err)
{
    et->attempt = ATTEMPT_WRONG;
    return task_refuse(&et->base, 401, "join-token-refused", err,
                       "the join token is unknown, used or expired; make a new one with POST "
                       "/v1/nodes/NODE/join-token");
}

static enum err_code run_enrol(struct db_tx *tx, struct task *task, struct err *err)
{
    struct enrol_task *et = (struct enrol_task *)task;
    et->now_us = db_tx_now_us(tx);
    enum err_code code = join_get(db_tx_ro(tx), et->hash, on_join, et, err);
    if (code == ERR_NOT_FOUND || (code == ERR_OK && et->expired))
        return refuse_join(et, err);
    if (code == ERR_OK)
        code = tls_ca_issue_node(task->app->ca, et->csr, et->node, et->now_us, &et->issued, err);
    if (code == ERR_OK && et->used_key[0] != '\0' &&
        strcmp(et->used_key, et->issued.facts.key) != 0)
        return refuse_join(et, err);
    if (code == ERR_OK)
        code = join_use(tx, et->node, et->issued.facts.key, err);
    if (code == ERR_OK)
        code = add_certificate(et, tx, NULL, err);
    if (code == ERR_OK)
        et->attempt = ATTEMPT_RIGHT;
    return code;
}

/* Each token is an "account" of its own, so that only the address counts for who tries many: others
 * elsewhere enrol undisturbed. False = replied 429. */
static bool may_try(struct request *request, struct enrol_task *et)
{
    const char *token = json_string_value(json_object_get(request_json(request), "join_token"));
    int64_t wait_s;
    if (token == NULL)
        return true; /* read_body() says so */
    bytes_digest(token, strlen(token), et->hash);
    snprintf(et->peer, sizeof(et->peer), "%s", request_peer(request));
    if (backoff_try(et->base.app->joins, et->hash, et->peer, &wait_s)) {
        et->attempt = ATTEMPT_OPEN;
        return true;
    }
    api_reply_later(request, wait_s, "join tokens");
    return false;
}

void api_agent_enrol(struct request *request)
{
    struct enrol_task *et = start(request, run_enrol);
    if (et == NULL)
        return;
    if (may_try(request, et))
        submit_request(request, et, true);
    else
        release(&et->base);
}

static enum err_code run_renew(struct db_tx *tx, struct task *task, struct err *err)
{
    struct enrol_task *et = (struct enrol_task *)task;
    if (world_node_get(task->app->world, et->node) == NULL)
        return no_node(et, err);
    enum err_code code =
        tls_ca_issue_node(task->app->ca, et->csr, et->node, db_tx_now_us(tx), &et->issued, err);
    return code == ERR_OK ? add_certificate(et, tx, et->caller, err) : code;
}

void api_agent_renew(struct request *request)
{
    const struct principal *who = request_principal(request);
    if (who->certificate[0] == '\0') {
        request_reply_problem(request, 409, "certificate-needed", NULL, NULL,
                              "only a certificate can be renewed; enrol with a join token");
        return;
    }
    struct enrol_task *et = start(request, run_renew);
    if (et == NULL)
        return;
    snprintf(et->node, sizeof(et->node), "%s", who->node);
    snprintf(et->caller, sizeof(et->caller), "%s", who->certificate);
    submit_request(request, et, false);
}
