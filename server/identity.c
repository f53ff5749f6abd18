/*
 * server/identity.c - see identity.h.
 */
#include "server/identity.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "fleet/name.h"
#include "server/api.h"

/* Users --------------------------------------------------------------------------------------- */

void user_row_copy(const struct db_user *user, struct user_row *out)
{
    *out = (struct user_row){
        .found = true,
        .disabled = user->disabled,
        .revision = user->revision,
        .created_us = user->created_us,
        .updated_us = user->updated_us,
        .password_us = user->password_us,
    };
    text_copy(out->name, sizeof(out->name), user->name);
    text_copy(out->tenant, sizeof(out->tenant), user->tenant);
    text_copy(out->description, sizeof(out->description), user->description);
    text_copy(out->password_hash, sizeof(out->password_hash), user->password_hash);
    if (!role_from_name(user->role, &out->role))
        out->found = false; /* of a newer server: may nothing here */
}

static bool on_user(void *arg, const struct db_user *user)
{
    user_row_copy(user, arg);
    return false;
}

enum err_code user_row_read(struct db_ro *ro, const char *name, struct user_row *out,
                            struct err *err)
{
    *out = (struct user_row){.found = false};
    return user_get(ro, name, on_user, out, err);
}

enum err_code user_row_put(struct db_tx *tx, struct user_row *row, struct err *err)
{
    const struct db_user user = {
        .name = row->name,
        .tenant = row->tenant,
        .role = role_name(row->role),
        .description = row->description,
        .password_hash = row->password_hash,
        .disabled = row->disabled,
    };
    char name[USER_NAME_SIZE];
    text_copy(name, sizeof(name), row->name);
    enum err_code code = user_put(tx, &user, &row->revision, err);
    return code != ERR_OK ? code : user_row_read(db_tx_ro(tx), name, row, err);
}

json_t *user_row_to_json(const struct user_row *row)
{
    char etag[32];
    etag_format(row->revision, etag);
    json_t *item = json_pack("{ss, ss, sb, sI, ss}", "name", row->name, "role",
                             role_name(row->role), "disabled", (int)row->disabled, "revision",
                             (json_int_t)row->revision, "etag", etag);
    if (item == NULL)
        return NULL;
    api_set_text(item, "tenant", row->tenant);
    api_set_text(item, "description", row->description);
    api_set_time(item, "created", row->created_us);
    api_set_time(item, "updated", row->updated_us);
    api_set_time(item, "password_changed", row->password_us);
    return item;
}

void password_job_of(struct password_job *job, const struct request *request)
{
    const struct principal *who = request_principal(request);
    job->lane = PASSWORD_NEW;
    /* A user with many tokens is one caller. */
    text_copy(job->caller, sizeof(job->caller), who->user[0] != '\0' ? who->user : who->name);
    text_copy(job->tenant, sizeof(job->tenant), who->tenant);
}

void password_reply_err(struct request *request, const struct err *err)
{
    char seconds[16];
    if (err->code != ERR_LIMIT && err->code != ERR_UNAVAILABLE) {
        request_reply_err(request, err);
        return;
    }
    snprintf(seconds, sizeof(seconds), "%d", PASSWORDS_RETRY_S);
    request_set_header(request, "Retry-After", seconds);
    if (err->code == ERR_UNAVAILABLE)
        request_reply_err(request, err);
    else
        request_reply_problem(request, 429, "rate-limited", NULL, NULL, "%s", err->text);
}

const char *const people_roles[] = {"admin",        "operator",    "auditor",
                                    "tenant-admin", "tenant-user", NULL};

bool role_is_tenants(enum role role)
{
    return role == ROLE_TENANT_ADMIN || role == ROLE_TENANT_USER;
}

enum err_code user_name_check(const char *name, const char **out, struct err *err)
{
    char local[NAME_SIZE];
    const char *at = strchr(name, '@');
    size_t len = at == NULL ? strlen(name) : (size_t)(at - name);
    if (len > USER_LOCAL_MAX)
        return err_set(err, ERR_INVALID, "the user's name has %zu bytes before '@'; at most %d",
                       len, USER_LOCAL_MAX);
    memcpy(local, name, len);
    local[len] = '\0';
    enum err_code code = name_check(local, "user", err);
    if (code == ERR_OK && at != NULL)
        code = name_check(at + 1, "tenant", err);
    if (code == ERR_OK)
        *out = at == NULL ? "" : at + 1;
    return code;
}

void user_name_take(const struct request *request, char out[USER_NAME_SIZE])
{
    const char *name = request_param(request, 0);
    text_copy(out, USER_NAME_SIZE, strlen(name) < USER_NAME_SIZE ? name : "");
}

void identity_subject(const char *kind, const char *name, const char *tenant,
                      char out[IDENTITY_SUBJECT_SIZE])
{
    snprintf(out, IDENTITY_SUBJECT_SIZE, "%s%s%s%s/%s", tenant[0] != '\0' ? "tenant/" : "", tenant,
             tenant[0] != '\0' ? "/" : "", kind, name);
}

enum err_code identity_event_add(struct db_tx *tx, const struct request *request,
                                 const struct identity_event *what, struct err *err)
{
    char kind[32], owner[IDENTITY_SUBJECT_SIZE], subject[IDENTITY_SUBJECT_SIZE + 64], body[256];
    const char *by = request_principal(request)->name;
    int64_t id;
    bool own = strcmp(what->kind, "user") == 0; /* the user itself */
    snprintf(kind, sizeof(kind), "%s.changed", what->kind);
    if (what->user[0] != '\0')
        identity_subject("user", what->user, what->tenant, owner);
    else
        identity_subject(what->kind, what->id, what->tenant, owner);
    bool below = what->user[0] != '\0' && !own && what->id[0] != '\0';
    snprintf(subject, sizeof(subject), "%s%s%s%s%s", owner, below ? "/" : "",
             below ? what->kind : "", below ? "/" : "", below ? what->id : "");
    /* Names of principals need no escapes; who logs in is not known yet. */
    snprintf(body, sizeof(body), "{\"action\":\"%s\"%s%s%s}", what->action,
             by[0] == '\0' ? "" : ",\"by\":\"", by, by[0] == '\0' ? "" : "\"");
    const struct db_event event = {
        .kind = kind, .subject = subject, .request_id = request_id(request), .body = body};
    return event_add(tx, &event, &id, err);
}

json_t *scopes_to_json(uint32_t scopes)
{
    json_t *list = json_array();
    if ((scopes & SCOPE_READ) != 0)
        json_array_append_new(list, json_string("read"));
    if ((scopes & SCOPE_WRITE) != 0)
        json_array_append_new(list, json_string("write"));
    return list;
}

/* To auth ------------------------------------------------------------------------------------- */

size_t sources_parse(const char *text, struct ip_prefix out[TOKEN_SOURCES_MAX])
{
    size_t count = 0;
    while (*text != '\0' && count < TOKEN_SOURCES_MAX) {
        char one[IP_PREFIX_TEXT_MAX];
        size_t len = strcspn(text, ",");
        snprintf(one, sizeof(one), "%.*s", (int)len, text);
        /* One that cannot be read must not widen what the others allow: it matches nothing. */
        if (ip_prefix_parse(one, &out[count], NULL) != ERR_OK)
            out[count] = (struct ip_prefix){.family = 0};
        count++;
        text += len + (text[len] == ',');
    }
    return count;
}

static enum err_code token_of_row(const struct db_token *row, struct auth_token **out,
                                  struct err *err)
{
    struct auth_token *token = calloc(1, sizeof(*token));
    if (token == NULL)
        return err_nomem(err);
    struct principal *who = &token->principal;
    if (!role_from_name(row->role, &who->role)) {
        free(token);
        return err_set(err, ERR_INVALID, "has no role that this server knows");
    }
    text_copy(token->hash, sizeof(token->hash), row->hash);
    token->expires_us = who->expires_us = row->expires_us;
    token->used_us = token->told_us = row->used_us;
    token->source_count = sources_parse(row->sources, token->sources);
    who->scopes = (uint32_t)row->scopes & SCOPE_ALL;
    snprintf(who->name, sizeof(who->name), "token:%s", row->id);
    text_copy(who->credential, sizeof(who->credential), row->id);
    text_copy(who->user, sizeof(who->user), row->owner);
    text_copy(who->tenant, sizeof(who->tenant), row->tenant);
    *out = token;
    return ERR_OK;
}

static enum err_code session_of_row(const struct user_row *user, const struct db_session *row,
                                    struct auth_token **out, struct err *err)
{
    struct auth_token *token = calloc(1, sizeof(*token));
    if (token == NULL)
        return err_nomem(err);
    struct principal *who = &token->principal;
    text_copy(token->hash, sizeof(token->hash), row->hash);
    token->expires_us = who->expires_us = row->expires_us;
    token->used_us = token->told_us = row->seen_us;
    who->role = user->role;
    who->scopes = SCOPE_ALL;
    who->by_cookie = true;
    snprintf(who->name, sizeof(who->name), "user:%s", user->name);
    text_copy(who->credential, sizeof(who->credential), row->id);
    text_copy(who->user, sizeof(who->user), user->name);
    text_copy(who->tenant, sizeof(who->tenant), user->tenant);
    *out = token;
    return ERR_OK;
}

enum err_code push_token(struct effects *effects, const struct db_token *row, struct err *err)
{
    struct auth_token *token = NULL;
    enum err_code code = token_of_row(row, &token, err);
    return code != ERR_OK ? code : effects_token(effects, token, err);
}

enum err_code push_session(struct effects *effects, const struct user_row *user,
                           const struct db_session *session, struct err *err)
{
    struct auth_token *token = NULL;
    enum err_code code = session_of_row(user, session, &token, err);
    return code != ERR_OK ? code : effects_token(effects, token, err);
}

struct push {
    struct effects *effects;
    struct err *err;
    enum err_code code;
};

static bool on_push(void *arg, const struct db_token *row)
{
    struct push *push = arg;
    push->code = push_token(push->effects, row, push->err);
    return push->code == ERR_OK;
}

enum err_code push_tokens_of(struct effects *effects, struct db_ro *ro, const char *user,
                             struct err *err)
{
    struct push push = {.effects = effects, .err = err};
    enum err_code code = token_each_of_owner(ro, user, "", on_push, &push, err);
    return code != ERR_OK ? code : push.code;
}

/* Start --------------------------------------------------------------------------------------- */

struct load {
    struct app *app;
    struct db_ro *ro;
    struct err *err;
    enum err_code code;
};

static bool keep(struct load *load, enum err_code code, const char *what, const char *id)
{
    if (code != ERR_OK)
        err_context(load->err, "%s %s", what, id);
    load->code = code;
    return code == ERR_OK;
}

static bool on_token(void *arg, const struct db_token *row)
{
    struct load *load = arg;
    struct auth_token *token = NULL;
    struct user_row owner = {.found = true};
    enum err_code code = ERR_OK;
    if (row->owner[0] != '\0')
        code = user_row_read(load->ro, row->owner, &owner, load->err);
    if (code == ERR_OK && (!owner.found || owner.disabled))
        return true;
    if (code == ERR_OK)
        code = token_of_row(row, &token, load->err);
    if (code == ERR_OK)
        auth_put(load->app->auth, token, false);
    return keep(load, code, "token", row->id);
}

static bool on_session(void *arg, const struct db_session *row)
{
    struct load *load = arg;
    struct auth_token *token = NULL;
    struct user_row owner;
    enum err_code code = user_row_read(load->ro, row->owner, &owner, load->err);
    if (code == ERR_OK && (!owner.found || owner.disabled))
        return true;
    if (code == ERR_OK)
        code = session_of_row(&owner, row, &token, load->err);
    if (code == ERR_OK)
        auth_put(load->app->auth, token, false);
    return keep(load, code, "session", row->id);
}

enum err_code identity_load(struct app *app, struct db_ro *ro, struct err *err)
{
    struct load load = {.app = app, .ro = ro, .err = err};
    enum err_code code = token_each(ro, "", on_token, &load, err);
    if (code == ERR_OK)
        code = load.code;
    if (code == ERR_OK)
        code = session_each(ro, NULL, on_session, &load, err);
    return code != ERR_OK ? code : load.code;
}

/* Last uses ----------------------------------------------------------------------------------- */

struct flush {
    size_t count;
    struct auth_use uses[IDENTITY_FLUSH_MAX];
};

static enum err_code write_uses(struct db_tx *tx, void *arg, struct err *err)
{
    const struct flush *flush = arg;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < flush->count && code == ERR_OK; i++) {
        const struct auth_use *use = &flush->uses[i];
        code = use->session ? session_seen(tx, use->id, use->used_us, err)
                            : token_used(tx, use->id, use->used_us, err);
    }
    return code != ERR_OK ? code : sessions_expire(tx, db_tx_now_us(tx) - SESSION_IDLE_US, err);
}

static void flushed(void *arg, enum err_code code, const struct err *err)
{
    if (code != ERR_OK)
        log_warning("store", "the last uses of tokens were not written: %s", err->text);
    free(arg);
}

void identity_flush(struct app *app, bool wait)
{
    struct err err = ERR_INIT;
    struct flush *flush = calloc(1, sizeof(*flush));
    if (flush == NULL)
        return; /* the next time says the same and more */
    auth_expire(app->auth);
    flush->count = auth_used_each(app->auth, flush->uses, IDENTITY_FLUSH_MAX);
    enum err_code code = wait ? db_write_wait(app->db, write_uses, flush, &err)
                              : db_write(app->db, write_uses, flushed, flush, &err);
    if (wait || code != ERR_OK)
        flushed(flush, code, &err);
}
