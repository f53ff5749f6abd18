/*
 * server/api_switches.c - switches, as operators describe them, one by one or many at once. They
 * are no part of the nodes' desired state: hardware rules look at them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/catalogue.h"
#include "fleet/switch.h"
#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

#define SUBJECT_SIZE (NAME_SIZE + 8)

struct switch_row { /* of a PUT: one */
    char name[NAME_SIZE];
    char *body; /* owned, canonical, without the name */
};

struct switch_task {
    struct task base;
    struct switch_row *rows; /* owned */
    size_t count;
    json_t *findings; /* owned: warnings of what is stored */
};

static void release(struct task *task)
{
    struct switch_task *st = (struct switch_task *)task;
    for (size_t i = 0; i < st->count; i++)
        free(st->rows[i].body);
    free(st->rows);
    json_decref(st->findings);
    task_release(task);
    free(st);
}

/* NULL when it has replied. */
static struct switch_task *task_new(struct request *request, size_t count,
                                    enum err_code (*run)(struct db_tx *, struct task *,
                                                         struct err *))
{
    struct err err = ERR_INIT;
    struct switch_task *st = calloc(1, sizeof(*st));
    if (st != NULL)
        st->rows = calloc(count + 1, sizeof(*st->rows));
    if (st == NULL || st->rows == NULL) {
        free(st);
        err_nomem(&err);
        request_reply_err(request, &err);
        return NULL;
    }
    st->count = count;
    task_init(&st->base, request, run, release);
    return st;
}

/* The store's row before a change. */
struct before {
    int64_t revision; /* 0 = none */
    char digest[DIGEST_TEXT_MAX];
};

static bool on_before(void *arg, const struct db_switch *row)
{
    struct before *before = arg;
    before->revision = row->revision;
    bytes_digest(row->body, strlen(row->body), before->digest);
    return false;
}

static enum err_code look_up(struct db_tx *tx, const char *name, struct before *out,
                             struct err *err)
{
    struct err absent = ERR_INIT;
    *out = (struct before){0};
    enum err_code code = switch_get(db_tx_ro(tx), name, on_before, out, &absent);
    if (code == ERR_OK || code == ERR_NOT_FOUND)
        return ERR_OK;
    *err = absent;
    return code;
}

static enum err_code record(struct db_tx *tx, const struct task *task, const char *name,
                            const char *action, const struct before *before, const char *after,
                            struct err *err)
{
    char subject[SUBJECT_SIZE], body[128];
    snprintf(subject, sizeof(subject), "switch/%s", name);
    snprintf(body, sizeof(body), "{\"action\":\"%s\"}", action);
    const struct db_audit audit = {
        .action = action, .subject = subject, .before = before->digest, .after = after};
    return change_record(tx, task->request, &audit, "switch.changed", body, err);
}

/* *out_revision is the old one when nothing changes. */
static enum err_code store(struct db_tx *tx, const struct task *task, const struct switch_row *row,
                           const struct before *before, int64_t *out_revision, struct err *err)
{
    char digest[DIGEST_TEXT_MAX];
    bytes_digest(row->body, strlen(row->body), digest);
    *out_revision = before->revision;
    if (before->revision != 0 && strcmp(digest, before->digest) == 0)
        return ERR_OK;
    enum err_code code = switch_put(tx, row->name, row->body, out_revision, err);
    return code != ERR_OK ? code : record(tx, task, row->name, "switch.put", before, digest, err);
}

/* Reads one document into a row; problems and warnings are findings. */
static enum err_code take(struct switch_task *st, size_t at, const json_t *document,
                          const char *pointer, const char *name, struct finding_list *findings,
                          struct finding_list *warnings, struct err *err)
{
    const struct app *app = st->base.app;
    struct switch_info info;
    struct switch_row *row = &st->rows[at];
    OWN_FINDINGS struct finding_list found;
    finding_list_init(&found);
    struct err problem = ERR_INIT;
    enum err_code code = switch_from_json(document, pointer, name, &info, findings, &problem);
    if (code == ERR_INVALID)
        return ERR_OK; /* the findings say it */
    if (code != ERR_OK) {
        *err = problem;
        return code;
    }
    snprintf(row->name, sizeof(row->name), "%s", name != NULL ? name : info.name);
    OWN(json) json_t *copy = json_copy((json_t *)document);
    json_object_del(copy, "name");
    row->body = copy == NULL ? NULL : json_canonical(copy, NULL);
    if (row->body == NULL)
        return err_nomem(err);
    compat_check_switch(app->compat, row->name, &info, &found);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].severity >= FINDING_WARNING)
            finding_add(warnings, &found.items[i]);
    return ERR_OK;
}

/* Replies with what is wrong, or submits. */
static void finish(struct switch_task *st, const struct finding_list *findings,
                   const struct finding_list *warnings, enum err_code code, struct err *err)
{
    struct request *request = st->base.request;
    if (code == ERR_OK && (st->findings = finding_list_to_json(warnings)) == NULL)
        code = err_nomem(err);
    if (code == ERR_OK && !finding_list_has_errors(findings)) {
        task_submit(&st->base);
        return;
    }
    if (code == ERR_OK)
        request_reply_problem(request, 422, "switch-refused", findings, NULL,
                              "nothing was stored: %zu problem%s; see errors", findings->count,
                              findings->count == 1 ? "" : "s");
    else
        request_reply_err(request, err);
    release(&st->base);
}

/* PUT ----------------------------------------------------------------------------------------- */

static enum err_code run_put(struct db_tx *tx, struct task *task, struct err *err)
{
    struct switch_task *st = (struct switch_task *)task;
    const struct switch_row *row = &st->rows[0];
    char what[SUBJECT_SIZE];
    struct before before;
    snprintf(what, sizeof(what), "switch/%s", row->name);
    enum err_code code = look_up(tx, row->name, &before, err);
    if (code == ERR_OK)
        code = task_check_match(task, what, before.revision, err);
    if (code == ERR_OK)
        code = store(tx, task, row, &before, &task->revision, err);
    if (code != ERR_OK)
        return code;
    task->status = before.revision == 0 ? 201 : 200;
    task->answer =
        json_pack("{sI, sO}", "revision", (json_int_t)task->revision, "findings", st->findings);
    if (task->answer != NULL && task->revision == before.revision)
        json_object_set_new(task->answer, "unchanged", json_true());
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

void api_switch_put(struct request *request)
{
    const char *name = request_param(request, 0);
    struct err err = ERR_INIT;
    if (!api_check_name(request, name, "switch"))
        return;
    struct switch_task *st = task_new(request, 1, run_put);
    if (st == NULL)
        return;
    OWN_FINDINGS struct finding_list findings;
    OWN_FINDINGS struct finding_list warnings;
    finding_list_init(&findings);
    finding_list_init(&warnings);
    enum err_code code = take(st, 0, request_json(request), "", name, &findings, &warnings, &err);
    finish(st, &findings, &warnings, code, &err);
}

/* Import -------------------------------------------------------------------------------------- */

static enum err_code run_import(struct db_tx *tx, struct task *task, struct err *err)
{
    struct switch_task *st = (struct switch_task *)task;
    size_t created = 0, changed = 0;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < st->count && code == ERR_OK; i++) {
        struct before before;
        int64_t revision = 0;
        code = look_up(tx, st->rows[i].name, &before, err);
        if (code == ERR_OK)
            code = store(tx, task, &st->rows[i], &before, &revision, err);
        created += before.revision == 0;
        changed += before.revision != 0 && revision != before.revision;
    }
    if (code != ERR_OK)
        return code;
    task->answer = json_pack("{sI, sI, sI, sO}", "created", (json_int_t)created, "changed",
                             (json_int_t)changed, "unchanged",
                             (json_int_t)(st->count - created - changed), "findings", st->findings);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const struct switch_row *)a)->name, ((const struct switch_row *)b)->name);
}

/* After all were read: the same name twice would let the last one win in silence. */
static void check_twice(struct switch_task *st, struct finding_list *findings)
{
    if (finding_list_has_errors(findings) || st->count < 2)
        return;
    qsort(st->rows, st->count, sizeof(*st->rows), compare_rows);
    for (size_t i = 1; i < st->count; i++)
        if (compare_rows(&st->rows[i - 1], &st->rows[i]) == 0)
            finding_addf(findings, "schema", FINDING_ERROR, "/switches",
                         "two switches have the name '%s'", st->rows[i].name);
}

static enum err_code take_all(struct switch_task *st, const json_t *array,
                              struct finding_list *findings, struct finding_list *warnings,
                              struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < st->count && code == ERR_OK; i++) {
        char pointer[ERR_POINTER_MAX];
        snprintf(pointer, sizeof(pointer), "/switches/%zu", i);
        code = take(st, i, json_array_get(array, i), pointer, NULL, findings, warnings, err);
    }
    check_twice(st, findings);
    return code;
}

void api_switches_import(struct request *request)
{
    struct err err = ERR_INIT;
    struct json_reader r;
    const json_t *array = NULL;
    OWN_FINDINGS struct finding_list findings;
    OWN_FINDINGS struct finding_list warnings;
    finding_list_init(&findings);
    finding_list_init(&warnings);
    json_reader_init(&r, request_json(request), "", &findings);
    json_reader_array(&r, "switches", true, SWITCH_IMPORT_MAX, &array);
    json_reader_end(&r);
    struct switch_task *st = task_new(request, json_array_size(array), run_import);
    if (st == NULL)
        return;
    st->base.idempotent = true;
    enum err_code code = take_all(st, array, &findings, &warnings, &err);
    finish(st, &findings, &warnings, code, &err);
}

/* DELETE -------------------------------------------------------------------------------------- */

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    const char *name = ((struct switch_task *)task)->rows[0].name;
    char what[SUBJECT_SIZE];
    struct before before;
    snprintf(what, sizeof(what), "switch/%s", name);
    enum err_code code = look_up(tx, name, &before, err);
    if (code == ERR_OK && before.revision == 0)
        return task_refuse(task, 404, "not-found", err, "there is no switch '%s'", name);
    if (code == ERR_OK)
        code = task_check_match(task, what, before.revision, err);
    if (code == ERR_OK)
        code = switch_delete(tx, name, err);
    if (code == ERR_OK)
        code = record(tx, task, name, "switch.delete", &before, "", err);
    if (code != ERR_OK)
        return code;
    task->status = 204;
    task->revision = 0; /* nothing is left that could have one */
    return ERR_OK;
}

void api_switch_delete(struct request *request)
{
    const char *name = request_param(request, 0);
    if (!api_check_name(request, name, "switch"))
        return;
    struct switch_task *st = task_new(request, 1, run_delete);
    if (st == NULL)
        return;
    snprintf(st->rows[0].name, sizeof(st->rows[0].name), "%s", name);
    task_submit(&st->base);
}

/* GET ----------------------------------------------------------------------------------------- */

struct switch_get {
    struct request *request;
    char name[NAME_SIZE];
    char etag[32];
    char *body; /* owned copy */
};

static bool on_one(void *arg, const struct db_switch *row)
{
    struct switch_get *get = arg;
    etag_format(row->revision, get->etag);
    get->body = strdup(row->body);
    return false;
}

static enum err_code read_one(struct db_ro *ro, void *arg, struct err *err)
{
    struct switch_get *get = arg;
    enum err_code code = switch_get(ro, get->name, on_one, get, err);
    return code == ERR_OK && get->body == NULL ? err_nomem(err) : code;
}

static void one_done(void *arg, enum err_code code, const struct err *err)
{
    struct switch_get *get = arg;
    if (code == ERR_NOT_FOUND)
        request_reply_problem(get->request, 404, "not-found", NULL, NULL, "there is no switch '%s'",
                              get->name);
    else if (code != ERR_OK)
        request_reply_err(get->request, err);
    else
        request_reply_json(get->request, 200, json_loads(get->body, 0, NULL), get->etag, NULL);
    free(get->body);
    free(get);
}

void api_switch_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *name = request_param(request, 0);
    if (!api_check_name(request, name, "switch"))
        return;
    struct switch_get *get = api_alloc(request, sizeof(*get));
    if (get == NULL)
        return;
    get->request = request;
    snprintf(get->name, sizeof(get->name), "%s", name);
    enum err_code code = db_read(app->db, read_one, one_done, get, &err);
    if (code != ERR_OK)
        one_done(get, code, &err);
}

static bool on_switch(void *arg, const struct db_switch *row)
{
    char etag[32];
    etag_format(row->revision, etag);
    json_t *item =
        json_pack("{ss, sI, ss, so}", "name", row->name, "revision", (json_int_t)row->revision,
                  "etag", etag, "switch", json_loads(row->body, 0, NULL));
    if (item != NULL)
        api_set_time(item, "updated", row->updated_us);
    return page_add(arg, item, "%s", row->name);
}

static enum err_code read_switches(struct db_ro *ro, struct page *page, struct err *err)
{
    return switch_list(ro, page->after, page_limit(page), on_switch, page, err);
}

void api_switches_list(struct request *request)
{
    struct page *page = page_new(request, read_switches);
    if (page != NULL)
        page_submit(page);
}
