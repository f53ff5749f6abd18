/*
 * server/api_tokens.c - API tokens and agents' tokens. A secret leaves once, in the answer that
 * made it; the store and the memory keep its digest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fleet/name.h"
#include "fleet/read.h"
#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

#define LIFETIME_MAX_S  INT64_C(315360000) /* ten years */
#define DESCRIPTION_MAX 256

struct token_task {
    struct task base;
    char node[NAME_SIZE]; /* of an agent's token; else "" */
    char id[TOKEN_ID_SIZE];
    enum role role;
    char tenant[NAME_SIZE];
    char description[DESCRIPTION_MAX + 1];
    int64_t lifetime_s; /* 0 = for ever */
    int64_t revision;   /* of the node, after its token changed */
    char token[TOKEN_TEXT_MAX];
    char hash[DIGEST_TEXT_MAX];
};

static void release(struct task *task)
{
    explicit_bzero(((struct token_task *)task)->token, TOKEN_TEXT_MAX);
    task_release(task);
    free(task);
}

static struct token_task *
task_new(struct request *request, enum err_code (*run)(struct db_tx *, struct task *, struct err *))
{
    struct err err = ERR_INIT;
    struct token_task *tt = calloc(1, sizeof(*tt));
    if (tt == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return NULL;
    }
    task_init(&tt->base, request, run, release);
    return tt;
}

/* The principal that the new token stands for, from the commit on. */
static enum err_code push_token(struct token_task *tt, const char *name, int64_t expires_us,
                                struct err *err)
{
    struct auth_token *token = calloc(1, sizeof(*token));
    if (token == NULL)
        return err_nomem(err);
    memcpy(token->hash, tt->hash, sizeof(token->hash));
    token->expires_us = token->principal.expires_us = expires_us;
    token->principal.scopes = SCOPE_ALL;
    snprintf(token->principal.credential, sizeof(token->principal.credential), "%s", tt->id);
    token->principal.role = tt->role;
    snprintf(token->principal.name, sizeof(token->principal.name), "%s", name);
    snprintf(token->principal.tenant, sizeof(token->principal.tenant), "%s", tt->tenant);
    snprintf(token->principal.node, sizeof(token->principal.node), "%s", tt->node);
    return effects_token(&tt->base.effects, token, err);
}

/* The answer with the secret, and the one without it for repetitions. */
static enum err_code set_answer(struct token_task *tt, json_t *shown, struct err *err)
{
    tt->base.kept = shown;
    tt->base.answer = json_copy(shown);
    if (tt->base.answer == NULL ||
        json_object_set_new(tt->base.answer, "token", json_string(tt->token)) != 0)
        return err_nomem(err);
    tt->base.status = 201;
    return ERR_OK;
}

/* Agents -------------------------------------------------------------------------------------- */

static enum err_code run_node_token(struct db_tx *tx, struct task *task, struct err *err)
{
    struct token_task *tt = (struct token_task *)task;
    const struct world_node *node = world_node_get(task->app->world, tt->node);
    char who[NAME_SIZE + 8], subject[NAME_SIZE + 8];
    if (node == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", tt->node);
    snprintf(who, sizeof(who), "node:%s", tt->node);
    snprintf(subject, sizeof(subject), "node/%s", tt->node);
    enum err_code code = node_put(tx, tt->node, node->document.text, tt->hash, &tt->revision, err);
    const struct db_audit audit = {
        .action = "node.token", .subject = subject, .after = "a new token; the former one ended"};
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    if (code == ERR_OK)
        code = push_token(tt, who, 0, err);
    return code != ERR_OK ? code : set_answer(tt, json_pack("{ss}", "node", tt->node), err);
}

static void settle_node_token(struct task *task)
{
    struct token_task *tt = (struct token_task *)task;
    struct world_node *node = world_node_get(task->app->world, tt->node);
    node->revision = tt->revision;
    world_node_resync(task->app->world, node);
}

void api_node_token(struct request *request)
{
    if (!api_check_name(request, request_param(request, 0), "node"))
        return;
    if (((struct app *)request_app(request))->tls != NULL) {
        request_reply_problem(request, 409, "agent-tokens-off", NULL, NULL,
                              "this server has TLS, so its agents have certificates: POST "
                              "/v1/nodes/%s/join-token instead",
                              request_param(request, 0));
        return;
    }
    struct token_task *tt = task_new(request, run_node_token);
    if (tt == NULL)
        return;
    tt->base.idempotent = true;
    tt->base.settle = settle_node_token;
    tt->role = ROLE_AGENT;
    snprintf(tt->node, sizeof(tt->node), "%s", request_param(request, 0));
    token_make("sa_", tt->token, tt->hash);
    task_submit(&tt->base);
}

/* People and programs ------------------------------------------------------------------------- */

static json_t *token_to_json(const struct db_token *row)
{
    json_t *item = json_pack("{ss, ss}", "id", row->id, "role", row->role);
    if (item == NULL)
        return NULL;
    api_set_text(item, "tenant", row->tenant);
    api_set_text(item, "description", row->description);
    api_set_time(item, "created", row->created_us);
    api_set_time(item, "expires", row->expires_us);
    return item;
}

static enum err_code run_post(struct db_tx *tx, struct task *task, struct err *err)
{
    struct token_task *tt = (struct token_task *)task;
    char who[TOKEN_ID_SIZE + 8], subject[TOKEN_ID_SIZE + 8];
    int64_t now_us = db_tx_now_us(tx);
    if (tt->tenant[0] != '\0' && world_tenant_get(task->app->world, tt->tenant) == NULL)
        return task_refuse(task, 422, "token-refused", err, "there is no tenant '%s'", tt->tenant);
    snprintf(who, sizeof(who), "token:%s", tt->id);
    snprintf(subject, sizeof(subject), "token/%s", tt->id);
    const struct db_token row = {
        .id = tt->id,
        .hash = tt->hash,
        .role = role_name(tt->role),
        .tenant = tt->tenant,
        .scopes = SCOPE_ALL,
        .description = tt->description,
        .created_us = now_us,
        .expires_us = tt->lifetime_s == 0 ? 0 : now_us + tt->lifetime_s * INT64_C(1000000),
    };
    OWN(json) json_t *shown = token_to_json(&row);
    OWN(str) char *after = shown == NULL ? NULL : json_canonical(shown, NULL);
    const struct db_audit audit = {.action = "token.post", .subject = subject, .after = after};
    enum err_code code = after == NULL ? err_nomem(err) : token_put(tx, &row, err);
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    if (code == ERR_OK)
        code = push_token(tt, who, row.expires_us, err);
    return code != ERR_OK ? code : set_answer(tt, token_to_json(&row), err);
}

static void read_token_request(struct token_task *tt, const json_t *document,
                               struct finding_list *findings)
{
    static const char *const roles[] = {"admin",        "operator",    "auditor",
                                        "tenant-admin", "tenant-user", NULL};
    struct json_reader r;
    struct err err = ERR_INIT;
    int role = 0;
    json_reader_init(&r, document, "", findings);
    bool known = json_reader_enum(&r, "role", true, roles, &role);
    bool homed = read_text(&r, "tenant", false, 1, tt->tenant, sizeof(tt->tenant));
    read_text(&r, "description", false, 0, tt->description, sizeof(tt->description));
    json_reader_int(&r, "lifetime_s", false, 1, LIFETIME_MAX_S, &tt->lifetime_s);
    json_reader_end(&r);
    if (!known)
        return;
    role_from_name(roles[role], &tt->role);
    bool needs = tt->role == ROLE_TENANT_ADMIN || tt->role == ROLE_TENANT_USER;
    if (needs && !homed)
        read_problem(&r, "tenant", "role '%s' needs a 'tenant'", roles[role]);
    else if (!needs && homed)
        read_problem(&r, "tenant", "role '%s' belongs to no tenant", roles[role]);
    else if (homed && name_check(tt->tenant, "tenant", &err) != ERR_OK)
        read_problem(&r, "tenant", "%s", err.text);
}

void api_token_post(struct request *request)
{
    unsigned char id[8];
    struct token_task *tt = task_new(request, run_post);
    if (tt == NULL)
        return;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    read_token_request(tt, request_json(request), &findings);
    if (finding_list_has_errors(&findings)) {
        request_reply_problem(request, 422, "token-refused", &findings, NULL,
                              "the document is not valid; see errors");
        release(&tt->base);
        return;
    }
    tt->base.idempotent = true;
    random_bytes(id, sizeof(id));
    hex_encode(id, sizeof(id), tt->id);
    token_make("st_", tt->token, tt->hash);
    task_submit(&tt->base);
}

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct token_task *tt = (struct token_task *)task;
    char who[TOKEN_ID_SIZE + 8], subject[TOKEN_ID_SIZE + 8];
    snprintf(who, sizeof(who), "token:%s", tt->id);
    snprintf(subject, sizeof(subject), "token/%s", tt->id);
    enum err_code code = token_delete(tx, tt->id, err);
    if (code == ERR_NOT_FOUND)
        return task_refuse(task, 404, "not-found", err, "there is no token with this id");
    const struct db_audit audit = {.action = "token.delete", .subject = subject};
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_END, who, err);
    task->status = 204;
    return code;
}

void api_token_delete(struct request *request)
{
    struct token_task *tt = task_new(request, run_delete);
    if (tt == NULL)
        return;
    snprintf(tt->id, sizeof(tt->id), "%s", request_param(request, 0));
    task_submit(&tt->base);
}

static bool on_token(void *arg, const struct db_token *row)
{
    return page_add(arg, token_to_json(row), "%s", row->id);
}

static enum err_code read_tokens(struct db_ro *ro, struct page *page, struct err *err)
{
    return token_each(ro, page->after, on_token, page, err);
}

void api_tokens_list(struct request *request)
{
    struct page *page = page_new(request, read_tokens);
    if (page != NULL)
        page_submit(page);
}

struct token_get {
    struct request *request;
    char id[TOKEN_ID_SIZE];
    bool found;
    json_t *item;
};

static bool look_at(void *arg, const struct db_token *row)
{
    struct token_get *get = arg;
    if (strcmp(get->id, row->id) != 0)
        return true;
    get->found = true;
    get->item = token_to_json(row);
    return false;
}

static enum err_code read_token(struct db_ro *ro, void *arg, struct err *err)
{
    struct token_get *get = arg;
    enum err_code code = token_each(ro, "", look_at, get, err);
    return code == ERR_OK && get->found && get->item == NULL ? err_nomem(err) : code;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct token_get *get = arg;
    if (code != ERR_OK)
        request_reply_err(get->request, err);
    else if (!get->found)
        request_reply_problem(get->request, 404, "not-found", NULL, NULL,
                              "there is no token with this id");
    else
        request_reply_json(get->request, 200, GIVE(get->item), NULL, NULL);
    json_decref(get->item);
    free(get);
}

void api_token_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    struct token_get *get = calloc(1, sizeof(*get));
    if (get == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    get->request = request;
    snprintf(get->id, sizeof(get->id), "%s", request_param(request, 0));
    enum err_code code = db_read(app->db, read_token, done, get, &err);
    if (code != ERR_OK)
        done(get, code, &err);
}
