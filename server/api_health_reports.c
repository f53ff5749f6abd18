/*
 * server/api_health_reports.c - reports of health: of now, kept ones, and those that agents and
 * tools upload. As JSON, CSV or an HTML page, by Accept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/schema.h"
#include "base/text.h"
#include "fleet/report.h"
#include "server/api.h"
#include "server/health_reports.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/speaker.h"
#include "server/task.h"

#define HTML_TYPE "text/html; charset=utf-8"

/* One ----------------------------------------------------------------------------------------- */

struct report_look {
    struct request *request;
    int64_t id;             /* 0 = of now */
    char tenant[NAME_SIZE]; /* "" = the fleet's */
    size_t type;
    enum report_language language;
    json_t *document; /* owned */
};

static const char *const types[] = {"application/json", "text/csv", "text/html", NULL};

static void reply_shown(struct report_look *look)
{
    size_t len = 0;
    struct err err = ERR_INIT;
    OWN(str)
    char *text = look->type == 1 ? report_csv(look->document, &len)
                                 : report_html(look->document, look->language, &len);
    if (text == NULL) {
        err_nomem(&err);
        request_reply_err(look->request, &err);
    } else {
        request_reply_text(look->request, 200, look->type == 1 ? CSV_TYPE : HTML_TYPE, text, len);
    }
}

static void look_done(void *arg, enum err_code code, const struct err *err)
{
    struct report_look *look = arg;
    if (code != ERR_OK)
        request_reply_err(look->request, err);
    else if (look->type == 0)
        request_reply_json(look->request, 200, json_incref(look->document), NULL, NULL);
    else
        reply_shown(look);
    json_decref(look->document);
    free(look);
}

static bool on_report(void *arg, const struct db_health_report *row)
{
    struct report_look *look = arg;
    look->document = json_loads(row->body, 0, NULL);
    if (look->document != NULL)
        json_object_set_new(look->document, "id", json_integer((json_int_t)row->id));
    return false;
}

static enum err_code read_report(struct db_ro *ro, void *arg, struct err *err)
{
    struct report_look *look = arg;
    const struct app *app = request_app(look->request);
    if (look->tenant[0] != '\0')
        return health_report_make_tenant(app->reports, ro, look->tenant, &look->document, err);
    if (look->id == 0)
        return health_report_make(app->reports, ro, &look->document, err);
    enum err_code code = health_report_get(ro, look->id, on_report, look, err);
    return code == ERR_OK && look->document == NULL ? err_nomem(err) : code;
}

/* False: it has replied. */
static bool read_id(struct request *request, int64_t *out)
{
    const char *text = request_param(request, 0);
    char *end;
    *out = 0;
    if (strcmp(text, "current") == 0)
        return true;
    long long id = strtoll(text, &end, 10);
    if (text[0] >= '1' && text[0] <= '9' && *end == '\0') {
        *out = id;
        return true;
    }
    request_reply_problem(request, 404, "not-found", NULL, NULL,
                          "there is no such report: its number, or current");
    return false;
}

/* What is asked for by name is one of the two; Accept-Language may be anything. */
static bool check_language(struct request *request, const char *language)
{
    if (language == NULL || strcmp(language, "en") == 0 || strcmp(language, "zh") == 0)
        return true;
    request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                          "lang: en or zh is wanted");
    return false;
}

static void start_look(struct request *request, int64_t id, const char *tenant)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *language = request_query(request, "lang");
    if (!check_language(request, language))
        return;
    struct report_look *look = api_alloc(request, sizeof(*look));
    if (look == NULL)
        return;
    look->request = request;
    look->id = id;
    text_copy(look->tenant, sizeof(look->tenant), tenant);
    look->type = request_accept(request, types);
    look->language = report_language_of(
        language != NULL ? language : request_header(request, "Accept-Language"));
    enum err_code code = db_read(app->db, read_report, look_done, look, &err);
    if (code != ERR_OK)
        look_done(look, code, &err);
}

void api_health_report_get(struct request *request)
{
    int64_t id;
    if (read_id(request, &id))
        start_look(request, id, "");
}

void api_tenant_report(struct request *request)
{
    const char *tenant = request_param(request, 0);
    if (api_check_name(request, tenant, "tenant"))
        start_look(request, 0, tenant);
}

/* All ----------------------------------------------------------------------------------------- */

static bool on_row(void *arg, const struct db_health_report *row)
{
    struct page *page = arg;
    json_t *item = json_pack("{sI, ss, ss, ss}", "id", (json_int_t)row->id, "kind", row->kind,
                             "source", row->source, "grade", row->grade);
    if (item != NULL)
        api_set_time(item, "time", row->created_us);
    return page_add(page, item, "%lld", (long long)row->id);
}

static enum err_code read_list(struct db_ro *ro, struct page *page, struct err *err)
{
    return health_report_list(ro, request_query(page->request, "kind"), page->after_number,
                              page_limit(page), on_row, page, err);
}

void api_health_reports_list(struct request *request)
{
    const char *kind = request_query(request, "kind");
    if (kind != NULL && strcmp(kind, "daily") != 0 && strcmp(kind, "upload") != 0) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "kind is daily or upload");
        return;
    }
    struct page *page = page_new(request, read_list);
    if (page != NULL)
        page_submit(page);
}

/* Uploads ------------------------------------------------------------------------------------- */

struct upload_task {
    struct task base;
    char *body; /* owned; canonical */
    char source[128];
    char grade[16];
};

static void upload_release(struct task *task)
{
    struct upload_task *ut = (struct upload_task *)task;
    free(ut->body);
    task_release(task);
    free(ut);
}

static enum err_code upload_run(struct db_tx *tx, struct task *task, struct err *err)
{
    struct upload_task *ut = (struct upload_task *)task;
    char subject[64], digest[DIGEST_TEXT_MAX];
    int64_t id = 0;
    const struct db_health_report row = {
        .kind = "upload", .source = ut->source, .grade = ut->grade, .body = ut->body};
    enum err_code code = health_report_add(tx, &row, &id, err);
    if (code != ERR_OK)
        return code;
    snprintf(subject, sizeof(subject), "health-report/%lld", (long long)id);
    bytes_digest(ut->body, strlen(ut->body), digest);
    const struct db_audit audit = {
        .action = "health-report.post", .subject = subject, .before = "", .after = digest};
    task->status = 201;
    task->answer =
        json_pack("{sI, ss, ss}", "id", (json_int_t)id, "source", ut->source, "grade", ut->grade);
    snprintf(task->location, sizeof(task->location), "/v1/health/reports/%lld", (long long)id);
    return task->answer == NULL ? err_nomem(err)
                                : change_record(tx, task->request, &audit, NULL, NULL, err);
}

void api_health_report_post(struct request *request)
{
    const json_t *document = request_json(request);
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    if (!schema_validate(schema_get("health-report"), document, &findings)) {
        request_reply_problem(request, 422, "health-report-refused", &findings, NULL,
                              "the report is not as schemas/health-report.json wants it");
        return;
    }
    const char *source = json_string_value(json_object_get(document, "source"));
    const char *node = request_principal(request)->node;
    if (node[0] != '\0' && strcmp(source, node) != 0) {
        request_reply_problem(request, 403, "wrong-node", NULL, NULL,
                              "an agent's report has the name of its node as source");
        return;
    }
    struct upload_task *ut = api_alloc(request, sizeof(*ut));
    if (ut == NULL)
        return;
    task_init(&ut->base, request, upload_run, upload_release);
    ut->base.idempotent = true;
    snprintf(ut->source, sizeof(ut->source), "%s", source);
    snprintf(ut->grade, sizeof(ut->grade), "%s",
             json_string_value(json_object_get(document, "grade")));
    ut->body = json_canonical(document, NULL);
    if (ut->body != NULL) {
        task_submit(&ut->base);
        return;
    }
    struct err err = ERR_INIT;
    err_nomem(&err);
    upload_release(&ut->base);
    request_reply_err(request, &err);
}
