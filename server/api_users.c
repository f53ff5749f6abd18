/*
 * server/api_users.c - people: admin manages all, tenant-admin those of its own tenant, for whom
 * every other user is not there.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/read.h"
#include "server/api.h"
#include "server/identity.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

struct user_task {
    struct task base;
    struct password_job job; /* of POST */
    char name[USER_NAME_SIZE];
    char tenant[NAME_SIZE];
    enum role role;
    char description[IDENTITY_TEXT_MAX + 1];
    bool disabled;
    bool has_role, has_description, has_disabled; /* of PATCH */
    struct user_row row;
};

static void release(struct task *task)
{
    struct user_task *ut = (struct user_task *)task;
    explicit_bzero(&ut->job, sizeof(ut->job));
    task_release(task);
    free(ut);
}

static struct user_task *task_new(struct request *request,
                                  enum err_code (*run)(struct db_tx *, struct task *, struct err *))
{
    struct user_task *ut = api_alloc(request, sizeof(*ut));
    if (ut == NULL)
        return NULL;
    task_init(&ut->base, request, run, release);
    return ut;
}

/* Of a route with {user}. */
static struct user_task *task_named(struct request *request,
                                    enum err_code (*run)(struct db_tx *, struct task *,
                                                         struct err *))
{
    struct user_task *ut = task_new(request, run);
    if (ut != NULL)
        user_name_take(request, ut->name);
    return ut;
}

bool user_is_managed(const struct request *request, const struct user_row *row)
{
    const char *tenant = api_own_tenant(request);
    const struct principal *who = request_principal(request);
    return row->found && (who->role == ROLE_ADMIN ||
                          (who->role == ROLE_TENANT_ADMIN && strcmp(row->tenant, tenant) == 0));
}

enum err_code user_refuse_absent(struct task *task, struct err *err)
{
    return task_refuse(task, 404, "not-found", err, "there is no such user");
}

/* Reads the row; 404 when the caller may not know of it, 412 when it is another than the caller
 * has seen. */
static enum err_code find(struct db_tx *tx, struct user_task *ut, bool match, struct err *err)
{
    struct task *task = &ut->base;
    const char *wanted = request_header(task->request, "If-Match");
    enum err_code code = user_row_read(db_tx_ro(tx), ut->name, &ut->row, err);
    if (code != ERR_OK)
        return code;
    if (!user_is_managed(task->request, &ut->row))
        return user_refuse_absent(task, err);
    task->revision = ut->row.revision;
    if (match && (wanted == NULL || !etag_list_has(wanted, ut->row.revision)))
        return task_refuse(task, 412, "precondition-failed", err,
                           "the user has revision %lld by now", (long long)ut->row.revision);
    return ERR_OK;
}

/* After the change: somebody must be able to come back in. */
static enum err_code keep_an_admin(struct db_tx *tx, struct task *task, struct err *err)
{
    int64_t count = 0;
    enum err_code code = admins_count(db_tx_ro(tx), &count, err);
    if (code == ERR_OK && count == 0)
        return task_refuse(task, 409, "last-admin", err,
                           "this is the last way in for an admin: make another enabled admin, or "
                           "an admin's token that never expires, before");
    return code;
}

static enum err_code record(struct db_tx *tx, struct user_task *ut, const char *action,
                            const char *before, struct err *err)
{
    char subject[IDENTITY_SUBJECT_SIZE];
    OWN(str)
    char *after = ut->base.answer == NULL ? NULL : json_canonical(ut->base.answer, NULL);
    identity_subject("user", ut->row.name, ut->row.tenant, subject);
    const struct db_audit audit = {
        .action = action, .subject = subject, .before = before, .after = after};
    enum err_code code = change_record(tx, ut->base.request, &audit, NULL, NULL, err);
    const struct identity_event event = {.kind = strcmp(action, "user.sessions") == 0 ? "session"
                                                                                      : "user",
                                         .action = action,
                                         .user = ut->row.name,
                                         .tenant = ut->row.tenant,
                                         .id = ""};
    return code != ERR_OK ? code : identity_event_add(tx, ut->base.request, &event, err);
}

static enum err_code set_answer(struct user_task *ut, struct err *err)
{
    ut->base.revision = ut->row.revision;
    ut->base.answer = user_row_to_json(&ut->row);
    return ut->base.answer == NULL ? err_nomem(err) : ERR_OK;
}

/* POST ---------------------------------------------------------------------------------------- */

static enum err_code run_post(struct db_tx *tx, struct task *task, struct err *err)
{
    struct user_task *ut = (struct user_task *)task;
    int64_t count = 0;
    if (ut->tenant[0] != '\0' && world_tenant_get(task->app->world, ut->tenant) == NULL)
        return task_refuse(task, 422, "user-refused", err, "there is no tenant '%s'", ut->tenant);
    enum err_code code = user_row_read(db_tx_ro(tx), ut->name, &ut->row, err);
    if (code == ERR_OK && ut->row.found)
        return task_refuse(task, 409, "exists", err, "there is a user '%s' already", ut->name);
    if (code == ERR_OK)
        code = users_count(db_tx_ro(tx), ut->tenant, &count, err);
    if (code == ERR_OK && count >= USERS_PER_TENANT_MAX)
        return task_refuse(task, 422, "user-refused", err, "there are %d users already; delete one",
                           USERS_PER_TENANT_MAX);
    if (code != ERR_OK)
        return code;
    ut->row.role = ut->role;
    ut->row.disabled = ut->disabled;
    text_copy(ut->row.name, sizeof(ut->row.name), ut->name);
    text_copy(ut->row.tenant, sizeof(ut->row.tenant), ut->tenant);
    text_copy(ut->row.description, sizeof(ut->row.description), ut->description);
    text_copy(ut->row.password_hash, sizeof(ut->row.password_hash), ut->job.new_hash);
    code = user_row_put(tx, &ut->row, err);
    if (code == ERR_OK)
        code = set_answer(ut, err);
    task->status = 201;
    return code == ERR_OK ? record(tx, ut, "user.post", NULL, err) : code;
}

static void on_hashed(struct password_job *job, enum err_code code, const struct err *err)
{
    struct user_task *ut = (struct user_task *)((char *)job - offsetof(struct user_task, job));
    struct request *request = ut->base.request;
    if (code == ERR_OK) {
        task_submit(&ut->base);
        return;
    }
    release(&ut->base);
    request_reply_err(request, err);
}

/* Whose user the caller may make, and with which role. */
static void check_right(struct json_reader *r, const struct user_task *ut, bool has_role)
{
    const char *own = api_own_tenant(ut->base.request);
    if (own != NULL && strcmp(own, ut->tenant) != 0)
        read_problem(r, "name", "the names of your users end in '@%s'", own);
    else if (has_role && role_is_tenants(ut->role) && ut->tenant[0] == '\0')
        read_problem(r, "name", "a tenant's user is named NAME@TENANT");
    else if (has_role && !role_is_tenants(ut->role) && ut->tenant[0] != '\0')
        read_problem(r, "role", "a tenant's user is tenant-admin or tenant-user");
}

static void read_user(struct user_task *ut, const json_t *document, struct finding_list *findings)
{
    struct json_reader r;
    struct err err = ERR_INIT;
    const char *tenant = "";
    int role = 0;
    json_reader_init(&r, document, "", findings);
    bool named = read_text(&r, "name", true, 1, ut->name, sizeof(ut->name));
    bool has_role = json_reader_enum(&r, "role", true, people_roles, &role);
    bool secret = read_text(&r, "password", true, 1, ut->job.chosen, sizeof(ut->job.chosen));
    read_text(&r, "description", false, 0, ut->description, sizeof(ut->description));
    json_reader_bool(&r, "disabled", false, &ut->disabled);
    json_reader_end(&r);
    if (secret && password_check(ut->job.chosen, ut->name, &err) != ERR_OK)
        read_problem(&r, "password", "%s", err.text);
    if (has_role)
        role_from_name(people_roles[role], &ut->role);
    if (!named)
        return;
    if (user_name_check(ut->name, &tenant, &err) != ERR_OK) {
        read_problem(&r, "name", "%s", err.text);
        return;
    }
    text_copy(ut->tenant, sizeof(ut->tenant), tenant);
    check_right(&r, ut, has_role);
}

/* A digest of the password would be one that can be guessed fast. */
static enum err_code same_without_password(const json_t *document, char out[DIGEST_TEXT_MAX],
                                           struct err *err)
{
    OWN(json) json_t *copy = json_copy((json_t *)document);
    json_object_del(copy, "password");
    return copy == NULL ? err_nomem(err) : json_digest(copy, out, err);
}

void api_user_post(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    OWN_FINDINGS struct finding_list findings;
    struct user_task *ut = task_new(request, run_post);
    if (ut == NULL)
        return;
    finding_list_init(&findings);
    read_user(ut, request_json(request), &findings);
    ut->job.done = on_hashed;
    ut->base.idempotent = true;
    snprintf(ut->base.location, sizeof(ut->base.location), "/v1/users/%s", ut->name);
    password_job_of(&ut->job, request);
    if (finding_list_has_errors(&findings))
        request_reply_problem(request, 422, "user-refused", &findings, NULL,
                              "the document is not valid; see errors");
    else if (same_without_password(request_json(request), ut->base.same, &err) == ERR_OK &&
             passwords_submit(app->passwords, &ut->job, &err) == ERR_OK)
        return;
    else
        password_reply_err(request, &err);
    release(&ut->base);
}

/* PATCH, DELETE ------------------------------------------------------------------------------- */

static enum err_code end_all(struct db_tx *tx, struct user_task *ut, bool tokens, struct err *err)
{
    enum err_code code = sessions_delete_of(tx, ut->row.name, err);
    if (code == ERR_OK && tokens)
        code = tokens_delete_of(tx, ut->row.name, err);
    return code == ERR_OK ? effects_add(&ut->base.effects, EFFECT_END_USER, ut->row.name, err)
                          : code;
}

static enum err_code run_patch(struct db_tx *tx, struct task *task, struct err *err)
{
    struct user_task *ut = (struct user_task *)task;
    struct user_row *row = &ut->row;
    enum err_code code = find(tx, ut, true, err);
    if (code != ERR_OK)
        return code;
    if (ut->has_role && role_is_tenants(ut->role) != (row->tenant[0] != '\0'))
        return task_refuse(task, 422, "user-refused", err, "the role %s does not fit the user '%s'",
                           role_name(ut->role), row->name);
    OWN(json) json_t *was = user_row_to_json(row);
    OWN(str) char *before = was == NULL ? NULL : json_canonical(was, NULL);
    bool other_role = ut->has_role && ut->role != row->role;
    bool ends = ut->has_disabled && ut->disabled && !row->disabled;
    bool returns = ut->has_disabled && !ut->disabled && row->disabled;
    row->role = ut->has_role ? ut->role : row->role;
    row->disabled = ut->has_disabled ? ut->disabled : row->disabled;
    if (ut->has_description)
        memcpy(row->description, ut->description, sizeof(row->description));
    code = user_row_put(tx, row, err);
    /* What was made with another role may do more than the user may now. */
    if (code == ERR_OK && (other_role || ends))
        code = end_all(tx, ut, other_role, err);
    if (code == ERR_OK && returns)
        code = push_tokens_of(&task->effects, db_tx_ro(tx), row->name, err);
    if (code == ERR_OK)
        code = keep_an_admin(tx, task, err);
    if (code == ERR_OK)
        code = set_answer(ut, err);
    return code == ERR_OK ? record(tx, ut, "user.patch", before, err) : code;
}

void api_user_patch(struct request *request)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    int role = 0;
    struct user_task *ut = task_named(request, run_patch);
    if (ut == NULL)
        return;
    finding_list_init(&findings);
    json_reader_init(&r, request_json(request), "", &findings);
    ut->has_role = json_reader_enum(&r, "role", false, people_roles, &role);
    ut->has_description =
        read_text(&r, "description", false, 0, ut->description, sizeof(ut->description));
    ut->has_disabled = json_reader_bool(&r, "disabled", false, &ut->disabled);
    json_reader_end(&r);
    if (ut->has_role)
        role_from_name(people_roles[role], &ut->role);
    if (!finding_list_has_errors(&findings)) {
        task_submit(&ut->base);
        return;
    }
    request_reply_problem(request, 422, "user-refused", &findings, NULL,
                          "the document is not valid; see errors");
    release(&ut->base);
}

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct user_task *ut = (struct user_task *)task;
    enum err_code code = find(tx, ut, true, err);
    if (code == ERR_OK)
        code = user_delete(tx, ut->row.name, err);
    if (code == ERR_OK)
        code = keep_an_admin(tx, task, err);
    if (code == ERR_OK)
        code = record(tx, ut, "user.delete", role_name(ut->row.role), err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_END_USER, ut->row.name, err);
    task->status = 204;
    if (code == ERR_OK)
        task->revision = 0;
    return code;
}

void api_user_delete(struct request *request)
{
    struct user_task *ut = task_named(request, run_delete);
    if (ut != NULL)
        task_submit(&ut->base);
}

static enum err_code run_sessions_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct user_task *ut = (struct user_task *)task;
    char who[USER_NAME_SIZE + 8];
    enum err_code code = user_row_read(db_tx_ro(tx), ut->name, &ut->row, err);
    bool self = ut->row.found && strcmp(ut->row.name, request_principal(task->request)->user) == 0;
    if (code == ERR_OK && !self && !user_is_managed(task->request, &ut->row))
        return user_refuse_absent(task, err);
    if (code == ERR_OK)
        code = sessions_delete_of(tx, ut->row.name, err);
    if (code == ERR_OK)
        code = record(tx, ut, "user.sessions", NULL, err);
    snprintf(who, sizeof(who), "user:%s", ut->row.name);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_END, who, err);
    task->status = 204;
    return code;
}

void api_user_sessions_delete(struct request *request)
{
    struct user_task *ut = task_named(request, run_sessions_delete);
    if (ut != NULL)
        task_submit(&ut->base);
}

/* GET ----------------------------------------------------------------------------------------- */

static bool on_user(void *arg, const struct db_user *user)
{
    struct user_row row;
    user_row_copy(user, &row);
    return page_add(arg, user_row_to_json(&row), "%s", row.name);
}

static enum err_code read_users(struct db_ro *ro, struct page *page, struct err *err)
{
    const char *tenant = api_own_tenant(page->request);
    return user_list(ro, tenant, page->after, page_limit(page), on_user, page, err);
}

void api_users_list(struct request *request)
{
    struct page *page = page_new(request, read_users);
    if (page != NULL)
        page_submit(page);
}

static enum err_code read_one(struct db_ro *ro, void *arg, struct err *err)
{
    struct user_task *ut = arg;
    return user_row_read(ro, ut->name, &ut->row, err);
}

static void on_one(void *arg, enum err_code code, const struct err *err)
{
    struct user_task *ut = arg;
    struct request *request = ut->base.request;
    char etag[32];
    etag_format(ut->row.revision, etag);
    if (code != ERR_OK)
        request_reply_err(request, err);
    else if (!user_is_managed(request, &ut->row))
        request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no such user");
    else
        request_reply_json(request, 200, user_row_to_json(&ut->row), etag, NULL);
    release(&ut->base);
}

void api_user_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    struct user_task *ut = task_named(request, NULL);
    if (ut == NULL)
        return;
    enum err_code code = db_read(app->db, read_one, on_one, ut, &err);
    if (code != ERR_OK)
        on_one(ut, code, &err);
}
