/*
 * server/api_tokens.c - API tokens and agents' tokens. A secret leaves once, in the answer that
 * made it; the store and the memory keep its digest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "server/api.h"
#include "server/identity.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"
#include "server/token_wish.h"

struct token_task {
    struct task base;
    char node[NAME_SIZE]; /* of an agent's token; else "" */
    struct token_wish wish;
    char id[TOKEN_ID_SIZE];
    bool found; /* of DELETE */
    int64_t expires_us;
    int64_t revision; /* of the node, after its token changed */
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
    struct token_task *tt = api_alloc(request, sizeof(*tt));
    if (tt == NULL)
        return NULL;
    task_init(&tt->base, request, run, release);
    return tt;
}

/* The principal that the new token stands for, from the commit on. */
static enum err_code push_agent(struct token_task *tt, const char *name, struct err *err)
{
    struct auth_token *token = calloc(1, sizeof(*token));
    if (token == NULL)
        return err_nomem(err);
    memcpy(token->hash, tt->hash, sizeof(token->hash));
    token->principal.role = ROLE_AGENT;
    token->principal.scopes = SCOPE_ALL;
    snprintf(token->principal.name, sizeof(token->principal.name), "%s", name);
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
        code = push_agent(tt, who, err);
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
    snprintf(tt->node, sizeof(tt->node), "%s", request_param(request, 0));
    token_make("sa_", tt->token, tt->hash);
    task_submit(&tt->base);
}

/* People and programs ------------------------------------------------------------------------- */

/* Whether the caller may see and end this token: admin each, tenant-admin its tenant's, everybody
 * their own and the one they call with. */
static bool is_visible(const struct principal *who, const struct db_token *row)
{
    return who->role == ROLE_ADMIN ||
           (who->role == ROLE_TENANT_ADMIN && strcmp(row->tenant, who->tenant) == 0) ||
           (who->user[0] != '\0' && strcmp(row->owner, who->user) == 0) ||
           (!who->by_cookie && strcmp(row->id, who->credential) == 0);
}

static json_t *sources_to_json(const char *text)
{
    json_t *list = json_array();
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        json_array_append_new(list, json_stringn(text, len));
        text += len + (text[len] == ',');
    }
    return list;
}

static json_t *token_to_json(const struct request *request, const struct db_token *row)
{
    struct app *app = request_app(request);
    const char *own = api_own_tenant(request), *maker = strrchr(row->created_by, '@');
    int64_t used_us = auth_used(app->auth, row->hash);
    json_t *item = json_pack("{ss, ss, so}", "id", row->id, "role", row->role, "scopes",
                             scopes_to_json((uint32_t)row->scopes));
    if (item == NULL)
        return NULL;
    api_set_text(item, "tenant", row->tenant);
    api_set_text(item, "owner", row->owner);
    /* Who of the staff made a tenant's token is not for the tenant. */
    if (own == NULL || (maker != NULL && strcmp(maker + 1, own) == 0))
        api_set_text(item, "created_by", row->created_by);
    api_set_text(item, "description", row->description);
    api_set_time(item, "created", row->created_us);
    api_set_time(item, "expires", row->expires_us);
    api_set_time(item, "last_used", used_us > row->used_us ? used_us : row->used_us);
    if (row->sources[0] != '\0')
        json_object_set_new(item, "sources", sources_to_json(row->sources));
    return item;
}

/* Of the token that the request came with, what its children inherit. */
struct parent {
    bool found;
    int64_t expires_us;
    char sources[SOURCES_TEXT_SIZE];
};

static bool on_parent(void *arg, const struct db_token *row)
{
    struct parent *parent = arg;
    parent->found = true;
    parent->expires_us = row->expires_us;
    snprintf(parent->sources, sizeof(parent->sources), "%s", row->sources);
    return false;
}

static bool covers_all(const char *outer_text, const char *inner_text)
{
    struct ip_prefix outer[TOKEN_SOURCES_MAX], inner[TOKEN_SOURCES_MAX];
    size_t outer_count = sources_parse(outer_text, outer), count = sources_parse(inner_text, inner);
    for (size_t i = 0; i < count; i++) {
        bool covered = false;
        for (size_t k = 0; k < outer_count; k++)
            covered = covered || ip_prefix_covers(&outer[k], &inner[i]);
        if (!covered)
            return false;
    }
    return true;
}

/* A token made with a token ends with it at the latest and is good from nowhere else. */
static enum err_code inherit(struct db_tx *tx, struct token_task *tt, struct err *err)
{
    const struct principal *who = request_principal(tt->base.request);
    struct parent parent = {.found = false};
    if (who->by_cookie)
        return ERR_OK;
    enum err_code code = token_get(db_tx_ro(tx), who->credential, on_parent, &parent, err);
    if (code != ERR_OK)
        return code;
    if (!parent.found)
        return task_refuse(&tt->base, 401, "unauthenticated", err,
                           "the token of this request has been ended");
    if (parent.expires_us != 0 && (tt->expires_us == 0 || tt->expires_us > parent.expires_us))
        tt->expires_us = parent.expires_us;
    if (parent.sources[0] == '\0')
        return ERR_OK;
    if (tt->wish.sources[0] == '\0')
        memcpy(tt->wish.sources, parent.sources, sizeof(tt->wish.sources));
    else if (!covers_all(parent.sources, tt->wish.sources))
        return task_refuse(&tt->base, 422, "token-refused", err,
                           "the token of this request is good from %.100s only; so are those that "
                           "it makes",
                           parent.sources);
    return ERR_OK;
}

static bool on_counted(void *arg, const struct db_token *row)
{
    (void)row;
    ++*(int *)arg;
    return true;
}

static enum err_code check_room(struct db_tx *tx, struct token_task *tt, struct err *err)
{
    int of_owner = 0, of_tenant = 0;
    enum err_code code =
        token_each_of_owner(db_tx_ro(tx), tt->wish.owner, "", on_counted, &of_owner, err);
    if (code == ERR_OK)
        code = token_each_of_tenant(db_tx_ro(tx), tt->wish.tenant, "", on_counted, &of_tenant, err);
    if (code == ERR_OK && (of_owner >= TOKENS_PER_OWNER_MAX || of_tenant >= TOKENS_PER_TENANT_MAX))
        return task_refuse(&tt->base, 422, "token-refused", err,
                           "a user has at most %d tokens and a tenant %d; end some before",
                           TOKENS_PER_OWNER_MAX, TOKENS_PER_TENANT_MAX);
    return code;
}

static enum err_code tell(struct db_tx *tx, struct token_task *tt, const char *action,
                          struct err *err)
{
    const struct identity_event event = {.kind = "token",
                                         .action = action,
                                         .user = tt->wish.owner,
                                         .tenant = tt->wish.tenant,
                                         .id = tt->id};
    return identity_event_add(tx, tt->base.request, &event, err);
}

static enum err_code run_post(struct db_tx *tx, struct task *task, struct err *err)
{
    struct token_task *tt = (struct token_task *)task;
    char subject[IDENTITY_SUBJECT_SIZE];
    int64_t now_us = db_tx_now_us(tx);
    if (tt->wish.tenant[0] != '\0' && world_tenant_get(task->app->world, tt->wish.tenant) == NULL)
        return task_refuse(task, 422, "token-refused", err, "there is no tenant '%s'",
                           tt->wish.tenant);
    tt->expires_us = tt->wish.lifetime_s == 0 ? 0 : now_us + tt->wish.lifetime_s * INT64_C(1000000);
    enum err_code code = check_room(tx, tt, err);
    if (code == ERR_OK)
        code = inherit(tx, tt, err);
    if (code != ERR_OK)
        return code;
    const struct db_token row = {
        .id = tt->id,
        .hash = tt->hash,
        .role = role_name(tt->wish.role),
        .tenant = tt->wish.tenant,
        .description = tt->wish.description,
        .created_us = now_us,
        .expires_us = tt->expires_us,
        .owner = tt->wish.owner,
        .scopes = tt->wish.scopes,
        .sources = tt->wish.sources,
        .created_by = request_principal(task->request)->name,
    };
    identity_subject("token", tt->id, tt->wish.tenant, subject);
    OWN(json) json_t *shown = token_to_json(task->request, &row);
    OWN(str) char *after = shown == NULL ? NULL : json_canonical(shown, NULL);
    const struct db_audit audit = {.action = "token.post", .subject = subject, .after = after};
    code = after == NULL ? err_nomem(err) : token_put(tx, &row, err);
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    if (code == ERR_OK)
        code = tell(tx, tt, "token.post", err);
    if (code == ERR_OK)
        code = push_token(&task->effects, &row, err);
    return code != ERR_OK ? code : set_answer(tt, token_to_json(task->request, &row), err);
}

void api_token_post(struct request *request)
{
    unsigned char id[8];
    struct token_task *tt = task_new(request, run_post);
    if (tt == NULL)
        return;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    token_wish_read(request, &tt->wish, &findings);
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

static bool on_deleted(void *arg, const struct db_token *row)
{
    struct token_task *tt = arg;
    tt->found = is_visible(request_principal(tt->base.request), row);
    snprintf(tt->wish.tenant, sizeof(tt->wish.tenant), "%s", row->tenant);
    snprintf(tt->wish.owner, sizeof(tt->wish.owner), "%s", row->owner);
    return false;
}

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct token_task *tt = (struct token_task *)task;
    char subject[IDENTITY_SUBJECT_SIZE];
    int64_t admins = 0;
    enum err_code code = token_get(db_tx_ro(tx), tt->id, on_deleted, tt, err);
    if (code == ERR_OK && !tt->found)
        return task_refuse(task, 404, "not-found", err, "there is no token with this id");
    if (code == ERR_OK)
        code = token_delete(tx, tt->id, err);
    if (code == ERR_OK)
        code = admins_count(db_tx_ro(tx), &admins, err);
    if (code == ERR_OK && admins == 0)
        return task_refuse(task, 409, "last-admin", err,
                           "this is the last way in for an admin: make another before");
    identity_subject("token", tt->id, tt->wish.tenant, subject);
    const struct db_audit audit = {.action = "token.delete", .subject = subject};
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    if (code == ERR_OK)
        code = tell(tx, tt, "token.delete", err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_END_CREDENTIAL, tt->id, err);
    task->status = 204;
    return code;
}

static void take_id(const struct request *request, char out[TOKEN_ID_SIZE])
{
    const char *id = request_param(request, 0);
    snprintf(out, TOKEN_ID_SIZE, "%s", strlen(id) < TOKEN_ID_SIZE ? id : "");
}

void api_token_delete(struct request *request)
{
    struct token_task *tt = task_new(request, run_delete);
    if (tt == NULL)
        return;
    take_id(request, tt->id);
    task_submit(&tt->base);
}

static bool on_token(void *arg, const struct db_token *row)
{
    struct page *page = arg;
    return page_add(page, token_to_json(page->request, row), "%s", row->id);
}

static bool on_own_token(void *arg, const struct db_token *row)
{
    const struct page *page = arg;
    return strcmp(row->id, page->after) <= 0 || on_token(arg, row);
}

static enum err_code read_tokens(struct db_ro *ro, struct page *page, struct err *err)
{
    const struct principal *who = request_principal(page->request);
    if (who->role == ROLE_ADMIN)
        return token_each(ro, page->after, on_token, page, err);
    if (who->role == ROLE_TENANT_ADMIN)
        return token_each_of_tenant(ro, who->tenant, page->after, on_token, page, err);
    if (who->user[0] != '\0')
        return token_each_of_owner(ro, who->user, page->after, on_token, page, err);
    return token_get(ro, who->credential, on_own_token, page, err);
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
    get->found = is_visible(request_principal(get->request), row);
    get->item = get->found ? token_to_json(get->request, row) : NULL;
    return false;
}

static enum err_code read_token(struct db_ro *ro, void *arg, struct err *err)
{
    struct token_get *get = arg;
    enum err_code code = token_get(ro, get->id, look_at, get, err);
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
    struct token_get *get = api_alloc(request, sizeof(*get));
    if (get == NULL)
        return;
    get->request = request;
    take_id(request, get->id);
    enum err_code code = db_read(app->db, read_token, done, get, &err);
    if (code != ERR_OK)
        done(get, code, &err);
}
