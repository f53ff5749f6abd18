/*
 * server/api_password.c - a new password: a user's own, with the old one, or another's, by who
 * manages it. All sessions of the user end with it; its tokens only when that is asked for.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/read.h"
#include "server/api.h"
#include "server/denials.h"
#include "server/identity.h"
#include "server/pipeline.h"
#include "server/task.h"

struct password_task {
    struct task base;
    struct password_job job;
    char name[USER_NAME_SIZE];
    bool self;       /* the caller's own */
    bool end_tokens; /* and tokens */
    struct user_row row;
};

static void release(struct task *task)
{
    struct password_task *pt = (struct password_task *)task;
    explicit_bzero(&pt->job, sizeof(pt->job));
    task_release(task);
    free(pt);
}

static enum err_code end_what_was(struct db_tx *tx, struct password_task *pt, struct err *err)
{
    char who[USER_NAME_SIZE + 8];
    snprintf(who, sizeof(who), "user:%s", pt->row.name);
    enum err_code code = sessions_delete_of(tx, pt->row.name, err);
    if (code == ERR_OK)
        code = effects_add(&pt->base.effects, EFFECT_END, who, err);
    if (code != ERR_OK || !pt->end_tokens)
        return code;
    code = tokens_delete_of(tx, pt->row.name, err);
    return code == ERR_OK ? effects_add(&pt->base.effects, EFFECT_END_USER, pt->row.name, err)
                          : code;
}

static enum err_code run_password(struct db_tx *tx, struct task *task, struct err *err)
{
    struct password_task *pt = (struct password_task *)task;
    char subject[IDENTITY_SUBJECT_SIZE];
    enum err_code code = user_row_read(db_tx_ro(tx), pt->name, &pt->row, err);
    if (code == ERR_OK && !pt->self && !user_is_managed(task->request, &pt->row))
        return user_refuse_absent(task, err);
    if (code == ERR_OK && pt->self && strcmp(pt->row.password_hash, pt->job.old_hash) != 0)
        return task_refuse(task, 409, "conflict", err, "the password was changed meanwhile");
    memcpy(pt->row.password_hash, pt->job.new_hash, sizeof(pt->row.password_hash));
    if (code == ERR_OK)
        code = user_row_put(tx, &pt->row, err);
    if (code == ERR_OK)
        code = end_what_was(tx, pt, err);
    identity_subject("user", pt->row.name, pt->row.tenant, subject);
    const struct db_audit audit = {.action = "user.password", .subject = subject};
    const struct identity_event event = {.kind = "user",
                                         .action = audit.action,
                                         .user = pt->row.name,
                                         .tenant = pt->row.tenant,
                                         .id = ""};
    task->status = 204;
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, NULL, NULL, err);
    return code == ERR_OK ? identity_event_add(tx, task->request, &event, err) : code;
}

static void fail(struct password_task *pt, const struct err *err)
{
    struct request *request = pt->base.request;
    if (pt->self)
        backoff_undo(pt->base.app->backoff, pt->name, request_peer(request));
    password_reply_err(request, err);
    release(&pt->base);
}

static void on_hashed(struct password_job *job, enum err_code code, const struct err *err)
{
    struct password_task *pt =
        (struct password_task *)((char *)job - offsetof(struct password_task, job));
    struct request *request = pt->base.request;
    if (code != ERR_OK) {
        fail(pt, err);
    } else if (!job->right) {
        denial_call(pt->base.app, request, 422, "password-refused");
        request_reply_problem(request, 422, "password-refused", NULL, NULL,
                              "the old password is wrong");
        release(&pt->base);
    } else {
        if (pt->self)
            backoff_right(pt->base.app->backoff, pt->name, request_peer(request));
        task_submit(&pt->base);
    }
}

static enum err_code read_row(struct db_ro *ro, void *arg, struct err *err)
{
    struct password_task *pt = arg;
    return user_row_read(ro, pt->name, &pt->row, err);
}

static void on_row(void *arg, enum err_code code, const struct err *err)
{
    struct password_task *pt = arg;
    struct request *request = pt->base.request;
    struct err why = *err;
    if (code == ERR_OK && !(pt->self && pt->row.found) && !user_is_managed(request, &pt->row)) {
        request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no such user");
        release(&pt->base);
        return;
    }
    pt->job.compare = pt->self;
    pt->job.done = on_hashed;
    password_job_of(&pt->job, request);
    memcpy(pt->job.old_hash, pt->row.password_hash, sizeof(pt->job.old_hash));
    if (code == ERR_OK)
        code = passwords_submit(pt->base.app->passwords, &pt->job, &why);
    if (code != ERR_OK)
        fail(pt, &why);
}

static bool read_request(struct password_task *pt, struct request *request)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    json_reader_init(&r, request_json(request), "", &findings);
    bool has_old = read_text(&r, "old", false, 1, pt->job.given, sizeof(pt->job.given));
    bool has_new = read_text(&r, "new", true, 1, pt->job.chosen, sizeof(pt->job.chosen));
    json_reader_bool(&r, "end_tokens", false, &pt->end_tokens);
    json_reader_end(&r);
    if (has_new && password_check(pt->job.chosen, pt->name, &err) != ERR_OK)
        read_problem(&r, "new", "%s", err.text);
    if (pt->self && !has_old)
        read_problem(&r, "old", "your own password is changed with the old one");
    if (!finding_list_has_errors(&findings))
        return true;
    request_reply_problem(request, 422, "password-refused", &findings, NULL,
                          "the document is not valid; see errors");
    return false;
}

void api_user_password(struct request *request)
{
    struct app *app = request_app(request);
    const struct principal *who = request_principal(request);
    struct err err = ERR_INIT;
    int64_t wait_s = 0;
    struct password_task *pt = api_alloc(request, sizeof(*pt));
    if (pt == NULL)
        return;
    task_init(&pt->base, request, run_password, release);
    user_name_take(request, pt->name);
    pt->self = who->user[0] != '\0' && strcmp(who->user, pt->name) == 0;
    if (!read_request(pt, request)) {
        release(&pt->base);
    } else if (pt->self && !backoff_try(app->backoff, pt->name, request_peer(request), &wait_s)) {
        api_reply_later(request, wait_s, "passwords");
        release(&pt->base);
    } else if (db_read(app->db, read_row, on_row, pt, &err) != ERR_OK) {
        fail(pt, &err);
    }
}
