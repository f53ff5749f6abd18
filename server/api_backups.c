/*
 * server/api_backups.c - copies of the running store: made on server/backups' thread as an
 * operation, read and removed by admins. Each copy that is made, fetched or removed is audited: it
 * holds everything that the store does, hashes of secrets too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/backups.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

#define SUBJECT_SIZE (BACKUP_ID_SIZE + 16)

/* POST ---------------------------------------------------------------------------------------- */

struct backup_post {
    struct task base;
    struct backup_wish wish;
    bool claimed, begun;
};

static enum err_code run_post(struct db_tx *tx, struct task *task, struct err *err)
{
    struct backup_post *post = (struct backup_post *)task;
    struct backup_wish *wish = &post->wish;
    const char *reason = request_query(task->request, "reason");
    post->claimed = backups_claim(task->app->backups);
    if (!post->claimed)
        return task_refuse(task, 409, "backup-running", err,
                           "a backup is being made; wait for its operation to end");
    snprintf(wish->actor, sizeof(wish->actor), "%s", request_principal(task->request)->name);
    principal_actor(request_principal(task->request), wish->audit_actor);
    snprintf(wish->request_id, sizeof(wish->request_id), "%s", request_id(task->request));
    snprintf(wish->reason, sizeof(wish->reason), "%s", reason == NULL ? "" : reason);
    enum err_code code = operations_start(task->app->operations, tx, "backup", wish->actor,
                                          BACKUP_PROGRESS, wish->operation, err);
    if (code == ERR_LIMIT)
        return task_refuse(task, 503, "busy", err, "%d operations are running; try again later",
                           OPERATIONS_RUNNING_MAX);
    if (code != ERR_OK)
        return code;
    snprintf(task->location, sizeof(task->location), "/v1/operations/%s", wish->operation);
    task->status = 202;
    task->answer = json_pack("{ss, ss}", "operation", wish->operation, "location", task->location);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

/* After the commit, and not of a repetition. */
static void after_post(struct task *task)
{
    struct backup_post *post = (struct backup_post *)task;
    post->begun = true;
    backups_begin(task->app->backups, &post->wish);
}

static void release_post(struct task *task)
{
    struct backup_post *post = (struct backup_post *)task;
    if (post->claimed && !post->begun) {
        if (post->wish.operation[0] != '\0')
            operations_end(task->app->operations, post->wish.operation, true);
        backups_unclaim(task->app->backups);
    }
    task_release(task);
    free(post);
}

void api_backup_post(struct request *request)
{
    struct err err = ERR_INIT;
    struct backup_post *post = calloc(1, sizeof(*post));
    if (post == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    struct app *app = request_app(request);
    operations_flush(app->operations, app->db);
    task_init(&post->base, request, run_post, release_post);
    post->base.after = after_post;
    post->base.idempotent = true;
    task_submit(&post->base);
}

/* Reading ------------------------------------------------------------------------------------- */

/* At most BACKUPS_KEPT_MAX, newest first, from memory. */
void api_backups_list(struct request *request)
{
    struct app *app = request_app(request);
    struct backup all[BACKUPS_KEPT_MAX];
    struct page *page = page_new(request, NULL);
    if (page == NULL)
        return;
    size_t count = backups_list(app->backups, all);
    for (size_t i = 0; i < count; i++)
        if ((page->after[0] == '\0' || strcmp(all[i].id, page->after) < 0) &&
            !page_add(page, backup_to_json(&all[i]), "%s", all[i].id))
            break;
    page_reply(page);
}

static void reply_absent(struct request *request)
{
    request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no backup '%s'",
                          request_param(request, 0));
}

void api_backup_get(struct request *request)
{
    struct app *app = request_app(request);
    struct backup backup;
    if (backups_get(app->backups, request_param(request, 0), &backup))
        request_reply_json(request, 200, backup_to_json(&backup), NULL, NULL);
    else
        reply_absent(request);
}

/* Content: audited on the writer, opened on a reader, sent by the http layer ------------------- */

struct fetch {
    struct app *app;
    struct request *request;
    struct backup backup;
    int fd;
    uint64_t size_bytes;
};

static enum err_code record(struct db_tx *tx, const struct request *request, const char *action,
                            const struct backup *backup, struct err *err)
{
    char subject[SUBJECT_SIZE], sum[SHA256_HEX_SIZE + 16];
    bool gone = strcmp(action, "backup.delete") == 0;
    snprintf(subject, sizeof(subject), "backup/%s", backup->id);
    snprintf(sum, sizeof(sum), "sha256:%s", backup->sha256);
    const struct db_audit audit = {
        .action = action, .subject = subject, .before = gone ? sum : "", .after = gone ? "" : sum};
    return change_record(tx, request, &audit, gone ? "backup.changed" : NULL,
                         "{\"action\":\"backup.delete\"}", err);
}

static enum err_code run_record(struct db_tx *tx, void *arg, struct err *err)
{
    struct fetch *fetch = arg;
    return record(tx, fetch->request, "backup.read", &fetch->backup, err);
}

static enum err_code open_file(struct db_ro *ro, void *arg, struct err *err)
{
    struct fetch *fetch = arg;
    (void)ro;
    return backups_open(fetch->app->backups, fetch->backup.id, &fetch->fd, &fetch->size_bytes, err);
}

static void opened(void *arg, enum err_code code, const struct err *err)
{
    struct fetch *fetch = arg;
    char name[BACKUP_ID_SIZE + 64], etag[SHA256_HEX_SIZE + 2];
    if (code == ERR_NOT_FOUND) {
        request_reply_problem(fetch->request, 500, "backup-lost", NULL, NULL,
                              "%s; delete the backup and make another", err->text);
    } else if (code != ERR_OK) {
        request_reply_err(fetch->request, err);
    } else {
        snprintf(name, sizeof(name), "attachment; filename=\"stellar-%s.db\"", fetch->backup.id);
        snprintf(etag, sizeof(etag), "\"%.32s\"", fetch->backup.sha256);
        request_set_header(fetch->request, "Content-Disposition", name);
        request_reply_file(fetch->request, fetch->fd, fetch->size_bytes, etag);
    }
    free(fetch);
}

static void recorded(void *arg, enum err_code code, const struct err *err)
{
    struct fetch *fetch = arg;
    struct err failed = ERR_INIT;
    if (code == ERR_OK) {
        code = db_read(fetch->app->db, open_file, opened, fetch, &failed);
        if (code == ERR_OK)
            return;
        err = &failed;
    }
    opened(fetch, code, err);
}

void api_backup_content(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    if (fetch == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    *fetch = (struct fetch){.app = app, .request = request, .fd = -1};
    if (!backups_get(app->backups, request_param(request, 0), &fetch->backup)) {
        free(fetch);
        reply_absent(request);
        return;
    }
    if (db_write(app->db, run_record, recorded, fetch, &err) != ERR_OK)
        opened(fetch, err.code, &err);
}

/* DELETE -------------------------------------------------------------------------------------- */

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct backup backup;
    const char *id = request_param(task->request, 0);
    if (!backups_get(task->app->backups, id, &backup))
        return task_refuse(task, 404, "not-found", err, "there is no backup '%s'", id);
    enum err_code code = record(tx, task->request, "backup.delete", &backup, err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_BACKUP_REMOVED, backup.id, err);
    task->status = 204;
    return code;
}

static void release_delete(struct task *task)
{
    task_release(task);
    free(task);
}

void api_backup_delete(struct request *request)
{
    struct err err = ERR_INIT;
    struct task *task = calloc(1, sizeof(*task));
    if (task == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    task_init(task, request, run_delete, release_delete);
    task_submit(task);
}
