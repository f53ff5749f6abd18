/*
 * server/api_import.c - an archive in: POST /v1/import.
 *
 *   HTTP thread: parameters, the archive's frame        400, 422
 *   writer: the operation's row                         --> 202 (a dry run has none, and waits)
 *   reader, in slices: each item as an upload           may be cancelled between two
 *   writer: import_apply(), the point of no return      --> the operation's end, or the answer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/api.h"
#include "server/import.h"
#include "server/pipeline.h"
#include "server/task.h"

#define CHECK_SLICE 100 /* items read between two looks at whether it was cancelled */

struct import_task {
    struct task base;
    struct import *import; /* owned until it runs */
};

static void import_free(struct import *import)
{
    if (import == NULL)
        return;
    archive_release(&import->archive);
    finding_list_release(&import->findings);
    effects_drop(&import->effects);
    world_free(import->world);
    request_drop(import->request);
    free(import);
}

/* End of an import ----------------------------------------------------------------------------- */

static enum err_code store_failure(struct db_tx *tx, void *arg, struct err *err)
{
    struct import *import = arg;
    bool cancelled = import->code != NULL && strcmp(import->code, "cancelled") == 0;
    OWN(json)
    json_t *problem =
        json_pack("{s{ss, ss}}", "problem", "code", import->code, "detail", import->text);
    OWN(json) json_t *errors = finding_list_to_json(&import->findings);
    if (problem != NULL && errors != NULL && json_array_size(errors) > 0)
        json_object_set(json_object_get(problem, "problem"), "errors", errors);
    OWN(str) char *text = problem == NULL ? NULL : json_canonical(problem, NULL);
    const struct db_operation row = {.id = import->id,
                                     .state = cancelled ? "cancelled" : "failed",
                                     .done = (int64_t)import->checked,
                                     .result = text};
    return text == NULL ? err_nomem(err) : operation_finish(tx, &row, err);
}

static void ended(void *arg, enum err_code code, const struct err *err)
{
    struct import *import = arg;
    if (code != ERR_OK)
        log_error("import", "operation=%s ended, but that is not stored: %s", import->id,
                  err->text);
    operations_end(import->app->operations, import->id, code == ERR_OK);
    import_free(import);
}

static void end_operation(struct import *import, enum err_code code, const struct err *err)
{
    struct err queue_err = ERR_INIT;
    if (code == ERR_OK) {
        ended(import, ERR_OK, NULL);
        return;
    }
    if (import->status == 0) {
        log_error("import", "operation=%s: %s", import->id, err->text);
        bool full = err_is_full(err);
        import->code = full ? "storage-full" : "internal";
        snprintf(import->text, sizeof(import->text), "%s",
                 full ? "the server's disk has no room: nothing was stored"
                      : "the server failed; its log has the reason");
    }
    if (db_write(import->app->db, store_failure, ended, import, &queue_err) != ERR_OK)
        ended(import, queue_err.code, &queue_err);
}

static void end_dry_run(struct import *import, const struct err *err)
{
    struct request *request = import->request;
    const struct finding_list *findings = import->findings.count > 0 ? &import->findings : NULL;
    if (import->status != 0) {
        request_reply_problem(request, import->status, import->code, findings, NULL, "%s",
                              import->text);
    } else if (err->code != ERR_CONFLICT) {
        request_reply_err(request, err);
    } else {
        json_t *answer = import_to_json(import);
        json_object_set_new(answer, "dry_run", json_true());
        request_reply_json(request, 200, answer, NULL, NULL);
    }
    import_free(import);
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct import *import = arg;
    if (import->dry_run)
        end_dry_run(import, err);
    else
        end_operation(import, code, err);
}

/* Its run -------------------------------------------------------------------------------------- */

static enum err_code apply(struct db_tx *tx, void *arg, struct err *err)
{
    return import_apply(arg, tx, err);
}

static enum err_code check(struct db_ro *ro, void *arg, struct err *err)
{
    struct import *import = arg;
    (void)ro;
    enum err_code code =
        archive_check(&import->archive, import->checked, CHECK_SLICE, &import->findings, err);
    import->checked += CHECK_SLICE;
    if (import->checked > import->archive.total)
        import->checked = import->archive.total;
    if (code == ERR_OK && import->id[0] != '\0' &&
        !operations_progress(import->app->operations, import->id, (int64_t)import->checked))
        return import_refuse(import, 409, "cancelled", err, "the operation was cancelled");
    if (code == ERR_OK && import->checked == import->archive.total &&
        finding_list_has_errors(&import->findings))
        return import_refuse(import, 422, "import-refused", err,
                             "the archive has documents that are not valid; see errors");
    return code;
}

static void checked(void *arg, enum err_code code, const struct err *err)
{
    struct import *import = arg;
    struct err queue_err = ERR_INIT;
    if (code != ERR_OK) {
        done(import, code, err);
        return;
    }
    code = import->checked < import->archive.total
               ? db_read(import->app->db, check, checked, import, &queue_err)
               : db_write(import->app->db, apply, done, import, &queue_err);
    if (code != ERR_OK)
        done(import, code, &queue_err);
}

static void run(struct import *import)
{
    struct err err = ERR_INIT;
    if (db_read(import->app->db, check, checked, import, &err) != ERR_OK)
        done(import, err.code, &err);
}

/* Its start ------------------------------------------------------------------------------------ */

static enum err_code run_start(struct db_tx *tx, struct task *task, struct err *err)
{
    struct import *import = ((struct import_task *)task)->import;
    char location[OPERATION_ID_SIZE + 32];
    enum err_code code = operations_start(task->app->operations, tx, "import",
                                          request_principal(task->request)->name,
                                          (int64_t)import->archive.total, import->id, err);
    if (code == ERR_LIMIT)
        return task_refuse(task, 503, "busy", err, "%d operations are running; try again later",
                           OPERATIONS_RUNNING_MAX);
    if (code != ERR_OK)
        return code;
    snprintf(location, sizeof(location), "/v1/operations/%s", import->id);
    task->status = 202;
    task->answer = json_pack("{ss, ss}", "operation", import->id, "location", location);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

/* Not of a repetition: that one's import is under way, or was. */
static void after(struct task *task)
{
    run(GIVE(((struct import_task *)task)->import));
}

static void release(struct task *task)
{
    struct import *import = ((struct import_task *)task)->import;
    if (import != NULL && import->id[0] != '\0')
        operations_end(import->app->operations, import->id, true); /* its row was not stored */
    import_free(import);
    task_release(task);
    free(task);
}

/* ?mode= and ?override=; false when it has replied. */
static bool read_parameters(struct request *request, struct import *import)
{
    const char *mode = request_query(request, "mode"), *reason = request_query(request, "reason");
    const char *override = request_query(request, "override");
    import->dry_run = request_is_dry_run(request);
    import->replace = mode != NULL && strcmp(mode, "replace") == 0;
    import->override_floor = override != NULL;
    if (mode != NULL && !import->replace && strcmp(mode, "merge") != 0)
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "mode is merge (the default) or replace");
    else if (override != NULL && strcmp(override, WRITE_OVERRIDABLE) != 0)
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "only " WRITE_OVERRIDABLE " can be overridden");
    else if (override != NULL && (reason == NULL || reason[0] == '\0'))
        request_reply_problem(request, 400, "reason-required", NULL, NULL,
                              "an override needs a reason: add ?reason=, it is kept in the audit");
    else
        return true;
    return false;
}

/* NULL when it has replied. */
static struct import *import_new(struct request *request)
{
    struct err err = ERR_INIT;
    struct import *import = api_alloc(request, sizeof(*import));
    if (import == NULL)
        return NULL;
    import->app = request_app(request);
    finding_list_init(&import->findings);
    bool good = read_parameters(request, import);
    if (good &&
        archive_open(request_json(request), &import->archive, &import->findings, &err) != ERR_OK) {
        good = false;
        if (finding_list_has_errors(&import->findings))
            request_reply_problem(request, 422, "import-refused", &import->findings, NULL,
                                  "this is no archive that can be imported; see errors");
        else
            request_reply_err(request, &err);
    }
    if (good) {
        import->request = request_hold(request);
        return import;
    }
    import_free(import);
    return NULL;
}

void api_import(struct request *request)
{
    struct err err = ERR_INIT;
    struct import *import = import_new(request);
    if (import == NULL)
        return;
    if (import->dry_run) {
        run(import);
        return;
    }
    struct import_task *it = calloc(1, sizeof(*it));
    if (it == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        import_free(import);
        return;
    }
    it->import = import;
    operations_flush(import->app->operations, import->app->db);
    task_init(&it->base, request, run_start, release);
    it->base.idempotent = true;
    it->base.after = after;
    task_submit(&it->base);
}
