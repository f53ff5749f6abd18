/*
 * server/api_session.c - logging in, who is logged in, logging out.
 *
 *   HTTP thread         reader thread      pool (passwords.c)      writer thread
 *   back-off (429)  ->  the user's hash -> compare, 401 if wrong -> session row, audit -> cookie
 *
 * A name that nobody has goes the whole way to the comparison, with a hash that is nobody's, and is
 * answered like a wrong password. So is a disabled user.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/read.h"
#include "server/api.h"
#include "server/denials.h"
#include "server/identity.h"
#include "server/pipeline.h"
#include "server/task.h"

#define COOKIE_ATTRIBUTES "; Path=/; Secure; HttpOnly; SameSite=Strict"

struct login {
    struct task base;
    struct password_job job;
    char name[USER_NAME_SIZE];
    char password[PASSWORD_MAX_BYTES + 1]; /* until the job has it */
    struct user_row user;
    char ids[SESSIONS_PER_USER_MAX][TOKEN_ID_SIZE]; /* sessions that make room */
    size_t seen, ended;
};

static void release(struct task *task)
{
    struct login *login = (struct login *)task;
    explicit_bzero(login->password, sizeof(login->password));
    explicit_bzero(&login->job, sizeof(login->job));
    task_release(task);
    free(login);
}

static json_t *session_to_json(const struct principal *who)
{
    json_t *body =
        json_pack("{ss, ss, ss, so}", "name", who->name, "role", role_name(who->role), "by",
                  who->by_cookie ? "session" : "token", "scopes", scopes_to_json(who->scopes));
    if (body == NULL)
        return NULL;
    api_set_text(body, "user", who->user);
    api_set_text(body, "tenant", who->tenant);
    api_set_text(body, "id", who->credential);
    api_set_time(body, "expires", who->expires_us);
    return body;
}

/* The session's row --------------------------------------------------------------------------- */

/* Newest first: what is behind the last that may stay ends. */
static bool on_session(void *arg, const struct db_session *row)
{
    struct login *login = arg;
    if (++login->seen >= SESSIONS_PER_USER_MAX && login->ended < SESSIONS_PER_USER_MAX)
        text_copy(login->ids[login->ended++], TOKEN_ID_SIZE, row->id);
    return true;
}

static enum err_code tell(struct db_tx *tx, const struct task *task, const char *action,
                          const struct identity_event *whose, struct err *err)
{
    struct identity_event event = *whose;
    event.kind = "session";
    event.action = action;
    return identity_event_add(tx, task->request, &event, err);
}

static enum err_code make_room(struct db_tx *tx, struct login *login, struct err *err)
{
    enum err_code code = session_each(db_tx_ro(tx), login->user.name, on_session, login, err);
    for (size_t i = 0; i < login->ended && code == ERR_OK; i++) {
        code = session_delete(tx, login->ids[i], err);
        if (code == ERR_OK)
            code = effects_add(&login->base.effects, EFFECT_END_CREDENTIAL, login->ids[i], err);
        const struct identity_event gone = {
            .user = login->user.name, .tenant = login->user.tenant, .id = login->ids[i]};
        if (code == ERR_OK)
            code = tell(tx, &login->base, "session.delete", &gone, err);
    }
    return code;
}

static enum err_code put_session(struct db_tx *tx, struct login *login, struct err *err)
{
    char secret[TOKEN_TEXT_MAX], hash[DIGEST_TEXT_MAX], id[TOKEN_ID_SIZE];
    unsigned char bytes[8];
    random_bytes(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), id);
    token_make("ss_", secret, hash);
    const struct db_session session = {.id = id,
                                       .hash = hash,
                                       .owner = login->user.name,
                                       .seen_us = db_tx_now_us(tx),
                                       .expires_us = db_tx_now_us(tx) + SESSION_MAX_US};
    enum err_code code = session_put(tx, &session, err);
    const struct identity_event made = {
        .user = login->user.name, .tenant = login->user.tenant, .id = id};
    if (code == ERR_OK)
        code = tell(tx, &login->base, "session.post", &made, err);
    if (code == ERR_OK)
        code = push_session(&login->base.effects, &login->user, &session, err);
    snprintf(login->base.cookie, sizeof(login->base.cookie),
             HTTP_SESSION_COOKIE "=%s" COOKIE_ATTRIBUTES, secret);
    explicit_bzero(secret, sizeof(secret));
    struct principal who = {.role = login->user.role,
                            .scopes = SCOPE_ALL,
                            .by_cookie = true,
                            .expires_us = session.expires_us};
    snprintf(who.name, sizeof(who.name), "user:%s", login->user.name);
    text_copy(who.credential, sizeof(who.credential), id);
    text_copy(who.user, sizeof(who.user), login->user.name);
    text_copy(who.tenant, sizeof(who.tenant), login->user.tenant);
    login->base.answer = session_to_json(&who);
    return code == ERR_OK && login->base.answer == NULL ? err_nomem(err) : code;
}

static enum err_code run_login(struct db_tx *tx, struct task *task, struct err *err)
{
    struct login *login = (struct login *)task;
    char actor[USER_NAME_SIZE + 8], subject[IDENTITY_SUBJECT_SIZE];
    /* As it is now: it may have been changed while the password was compared. */
    enum err_code code = user_row_read(db_tx_ro(tx), login->name, &login->user, err);
    if (code != ERR_OK)
        return code;
    if (!login->user.found || login->user.disabled ||
        strcmp(login->user.password_hash, login->job.old_hash) != 0)
        return task_refuse(task, 401, "login-failed", err, "the name or the password is wrong");
    snprintf(actor, sizeof(actor), "user:%s", login->user.name);
    identity_subject("user", login->user.name, login->user.tenant, subject);
    const struct db_audit audit = {.actor = actor,
                                   .action = "session.post",
                                   .subject = subject,
                                   .request_id = request_id(task->request),
                                   .after = request_peer(task->request)};
    code = audit_add(tx, &audit, err);
    if (code == ERR_OK)
        code = make_room(tx, login, err);
    return code == ERR_OK ? put_session(tx, login, err) : code;
}

/* The way there ------------------------------------------------------------------------------- */

static void busy(struct login *login, const struct err *err)
{
    struct request *request = login->base.request;
    backoff_undo(login->base.app->backoff, login->name, request_peer(request));
    password_reply_err(request, err);
    release(&login->base);
}

static void on_compared(struct password_job *job, enum err_code code, const struct err *err)
{
    struct login *login = (struct login *)((char *)job - offsetof(struct login, job));
    struct request *request = login->base.request;
    if (code != ERR_OK) {
        busy(login, err);
    } else if (!job->right || login->user.disabled) {
        /* A name that nobody has may be a password in the wrong field. */
        log_warning("auth", "a login as %s from %s failed",
                    login->user.found ? login->name : "somebody unknown", request_peer(request));
        denial_login(login->base.app, request, login->user.found ? login->name : "",
                     login->user.tenant);
        request_reply_problem(request, 401, "login-failed", NULL, NULL,
                              "the name or the password is wrong");
        release(&login->base);
    } else {
        backoff_right(login->base.app->backoff, login->name, request_peer(request));
        task_submit(&login->base);
    }
}

static enum err_code read_hash(struct db_ro *ro, void *arg, struct err *err)
{
    struct login *login = arg;
    return user_row_read(ro, login->name, &login->user, err);
}

static void on_hash(void *arg, enum err_code code, const struct err *err)
{
    struct login *login = arg;
    struct err why = *err;
    login->job.compare = true;
    login->job.done = on_compared;
    if (login->user.found)
        text_copy(login->job.old_hash, sizeof(login->job.old_hash), login->user.password_hash);
    memcpy(login->job.given, login->password, sizeof(login->password));
    explicit_bzero(login->password, sizeof(login->password));
    if (code == ERR_OK)
        code = passwords_submit(login->base.app->passwords, &login->job, &why);
    if (code != ERR_OK)
        busy(login, &why);
}

static bool read_login(struct login *login, struct request *request)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    finding_list_init(&findings);
    json_reader_init(&r, request_json(request), "", &findings);
    read_text(&r, "name", true, 1, login->name, sizeof(login->name));
    read_text(&r, "password", true, 1, login->password, sizeof(login->password));
    json_reader_end(&r);
    if (!finding_list_has_errors(&findings))
        return true;
    request_reply_problem(request, 422, "login-refused", &findings, NULL,
                          "the document is not valid; see errors");
    return false;
}

void api_session_post(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    int64_t wait_s = 0;
    struct login *login = api_alloc(request, sizeof(*login));
    if (login == NULL)
        return;
    task_init(&login->base, request, run_login, release);
    if (!read_login(login, request)) {
        release(&login->base);
    } else if (!backoff_try(app->backoff, login->name, request_peer(request), &wait_s)) {
        api_reply_later(request, wait_s, "passwords");
        release(&login->base);
    } else if (db_read(app->db, read_hash, on_hash, login, &err) != ERR_OK) {
        busy(login, &err);
    }
}

void api_session_get(struct request *request)
{
    request_reply_json(request, 200, session_to_json(request_principal(request)), NULL, NULL);
}

static enum err_code run_logout(struct db_tx *tx, struct task *task, struct err *err)
{
    const struct principal *who = request_principal(task->request);
    char subject[IDENTITY_SUBJECT_SIZE];
    if (!who->by_cookie)
        return task_refuse(task, 404, "not-found", err,
                           "this request came with a token, not with a session; end the token "
                           "with DELETE /v1/tokens/{id}");
    identity_subject("user", who->user, who->tenant, subject);
    const struct db_audit audit = {.action = "session.delete", .subject = subject};
    enum err_code code = session_delete(tx, who->credential, err);
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    const struct identity_event gone = {
        .user = who->user, .tenant = who->tenant, .id = who->credential};
    if (code == ERR_OK)
        code = tell(tx, task, "session.delete", &gone, err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_END_CREDENTIAL, who->credential, err);
    task->status = 204;
    snprintf(task->cookie, sizeof(task->cookie),
             HTTP_SESSION_COOKIE "=; Max-Age=0" COOKIE_ATTRIBUTES);
    return code;
}

void api_session_delete(struct request *request)
{
    struct login *login = api_alloc(request, sizeof(*login));
    if (login == NULL)
        return;
    task_init(&login->base, request, run_logout, release);
    task_submit(&login->base);
}
