/*
 * server/task.c - see task.h.
 */
#include "server/task.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/tables.h"
#include "server/pipeline.h"

void task_init(struct task *task, struct request *request,
               enum err_code (*run)(struct db_tx *tx, struct task *task, struct err *err),
               void (*release)(struct task *task))
{
    task->app = request_app(request);
    task->request = request;
    task->run = run;
    task->release = release;
    task->status = 200;
}

void task_release(struct task *task)
{
    explicit_bzero(task->cookie, sizeof(task->cookie));
    effects_drop(&task->effects);
    json_decref(task->answer);
    json_decref(task->kept);
}

enum err_code task_refuse(struct task *task, int status, const char *code, struct err *err,
                          const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(task->refusal_text, sizeof(task->refusal_text), fmt, args);
    va_end(args);
    task->refusal = status;
    task->refusal_code = code;
    return err_set(err, ERR_CONFLICT, "%s", task->refusal_text);
}

enum err_code task_check_match(struct task *task, const char *what, int64_t current,
                               struct err *err)
{
    char text[PRECONDITION_TEXT_MAX];
    task->revision = current;
    if (precondition_holds(task->request, what, current, text))
        return ERR_OK;
    return task_refuse(task, 412, "precondition-failed", err, "%s", text);
}

struct replay {
    struct task *task;
    const char *digest; /* of the request */
    bool other;         /* the key was used for another request */
};

static bool on_stored(void *arg, const struct db_idempotency *row)
{
    struct replay *replay = arg;
    replay->other = strcmp(row->request, replay->digest) != 0;
    if (!replay->other) {
        replay->task->status = row->status;
        replay->task->answer = json_loads(row->body, 0, NULL);
    }
    return false;
}

static enum err_code request_digest(const struct task *task, char out[DIGEST_TEXT_MAX],
                                    struct err *err)
{
    const struct request *request = task->request;
    size_t len;
    const char *body = request_body(request, &len);
    char digest[DIGEST_TEXT_MAX] = "";
    if (task->same[0] != '\0')
        memcpy(digest, task->same, sizeof(digest));
    else if (len > 0)
        bytes_digest(body, len, digest);
    OWN(json)
    json_t *whole =
        json_pack("[s, s, s]", request_method(request), request_target(request), digest);
    return whole == NULL ? err_nomem(err) : json_digest(whole, out, err);
}

/* The effect and its answer are one transaction, so that a repetition finds both or neither. */
static enum err_code run_once(struct db_tx *tx, struct task *task, const char *key, struct err *err)
{
    char whole[TASK_KEY_MAX + sizeof(((struct principal *)0)->name) + 2], digest[DIGEST_TEXT_MAX];
    snprintf(whole, sizeof(whole), "%s\n%s", request_principal(task->request)->name, key);
    enum err_code code = request_digest(task, digest, err);
    if (code != ERR_OK)
        return code;
    struct replay replay = {.task = task, .digest = digest};
    code = idempotency_get(db_tx_ro(tx), whole, on_stored, &replay, err);
    if (code == ERR_OK && replay.other)
        return task_refuse(task, 422, "idempotency-key-reused", err,
                           "this Idempotency-Key was used for another request");
    if (code == ERR_OK) {
        task->settle = task->after = NULL; /* its effect is there already */
        if (json_object_get(task->answer, "etag") != NULL)
            task->revision = json_integer_value(json_object_get(task->answer, "revision"));
        bool ok = json_object_set_new(task->answer, "replayed", json_true()) == 0;
        return ok ? ERR_OK : err_nomem(err);
    }
    if (code != ERR_NOT_FOUND)
        return code;
    code = task->run(tx, task, err);
    if (code != ERR_OK)
        return code;
    OWN(str) char *text = json_canonical(task->kept != NULL ? task->kept : task->answer, NULL);
    const struct db_idempotency row = {
        .key = whole, .request = digest, .status = task->status, .body = text};
    return text == NULL ? err_nomem(err) : idempotency_put(tx, &row, err);
}

static enum err_code run(struct db_tx *tx, void *arg, struct err *err)
{
    struct task *task = arg;
    const char *key = request_header(task->request, "Idempotency-Key");
    enum err_code code =
        task->idempotent && key != NULL ? run_once(tx, task, key, err) : task->run(tx, task, err);
    if (code != ERR_OK)
        return code;
    effects_move(&task->app->effects, &task->effects);
    if (task->settle != NULL)
        task->settle(task);
    return ERR_OK;
}

/* What the task holds of the request's document is let go before the reply: after it another thread
 * frees the document, and jansson's counts do not order the two. */
static void done(void *arg, enum err_code code, const struct err *err)
{
    struct task *task = arg;
    struct request *request = task->request;
    json_t *answer = GIVE(task->answer);
    const char *refusal_code = task->refusal_code;
    char refusal_text[sizeof(task->refusal_text)];
    int status = task->status, refusal = task->refusal;
    char etag[32] = "";
    if (task->revision != 0)
        etag_format(task->revision, etag);
    char location[sizeof(task->location)];
    memcpy(refusal_text, task->refusal_text, sizeof(refusal_text));
    memcpy(location, task->location, sizeof(location));
    char cookie[sizeof(task->cookie)];
    memcpy(cookie, task->cookie, sizeof(cookie));
    if (code == ERR_OK && task->after != NULL)
        task->after(task);
    task->release(task);
    if (code == ERR_OK && cookie[0] != '\0')
        request_reply_cookie(request, status, GIVE(answer), cookie);
    else if (code == ERR_OK)
        request_reply_json(request, status, GIVE(answer), etag,
                           location[0] != '\0'                ? location
                           : status == 201 && etag[0] != '\0' ? request_path(request)
                                                              : NULL);
    else if (refusal != 0)
        request_reply_problem(request, refusal, refusal_code, NULL, refusal == 412 ? etag : NULL,
                              "%s", refusal_text);
    else
        request_reply_err(request, err);
    json_decref(answer);
    explicit_bzero(cookie, sizeof(cookie));
}

void task_author(const struct task *task, char *out, size_t size)
{
    char actor[AUDIT_ACTOR_SIZE];
    principal_actor(request_principal(task->request), actor);
    text_copy(out, size, actor);
}

void task_submit(struct task *task)
{
    struct err err = ERR_INIT;
    const char *key = request_header(task->request, "Idempotency-Key");
    const char *reason = request_query(task->request, "reason");
    enum err_code code = ERR_OK;
    if (reason != NULL && strlen(reason) > WRITE_TEXT_MAX)
        code = task_refuse(task, 400, "invalid-parameter", &err, "reason takes at most %d bytes",
                           WRITE_TEXT_MAX);
    else if (task->idempotent && key != NULL && (key[0] == '\0' || strlen(key) > TASK_KEY_MAX))
        code = task_refuse(task, 400, "invalid-header", &err,
                           "an Idempotency-Key has 1 to %d bytes", TASK_KEY_MAX);
    else
        code = db_write(task->app->db, run, done, task, &err);
    if (code != ERR_OK)
        done(task, code, &err);
}
