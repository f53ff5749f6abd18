/*
 * server/api_certificates.c - the authority's certificate, and those of a node: seen and revoked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

void api_ca_get(struct request *request)
{
    const struct app *app = request_app(request);
    const char *pem = tls_ca_pem(app->ca);
    request_reply_text(request, 200, "application/x-pem-file", pem, strlen(pem));
}

static bool on_certificate(void *arg, const struct db_certificate *row)
{
    json_t *item = json_pack("{ss, ss, ss}", "fingerprint", row->fingerprint, "serial", row->serial,
                             "origin", row->origin);
    if (item != NULL) {
        api_set_time(item, "created", row->created_us);
        api_set_time(item, "expires", row->expires_us);
    }
    return page_add(arg, item, "%s", row->fingerprint);
}

/* A node has two at most, so that there is one page. */
static enum err_code read_certificates(struct db_ro *ro, struct page *page, struct err *err)
{
    return certificate_each(ro, page->subject, on_certificate, page, err);
}

void api_node_certificates(struct request *request)
{
    struct app *app = request_app(request);
    const char *node = request_param(request, 0);
    if (!api_check_name(request, node, "node"))
        return;
    int64_t revision;
    json_t *known = status_get(app->status, node, app->clock->wall_us(app->clock), &revision);
    if (known == NULL) {
        request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no node '%s'", node);
        return;
    }
    json_decref(known);
    struct page *page = page_new(request, read_certificates);
    if (page == NULL)
        return;
    snprintf(page->subject, sizeof(page->subject), "%s", node);
    page_submit(page);
}

struct revoke_task {
    struct task base;
    char node[NAME_SIZE];
};

static void release(struct task *task)
{
    task_release(task);
    free(task);
}

/* The join token goes too: with it the key that is revoked could come back. */
static enum err_code run_revoke(struct db_tx *tx, struct task *task, struct err *err)
{
    struct revoke_task *rt = (struct revoke_task *)task;
    char subject[NAME_SIZE + 8], count_text[24];
    int64_t count = 0;
    if (world_node_get(task->app->world, rt->node) == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", rt->node);
    enum err_code code = certificates_end(tx, rt->node, NULL, &count, err);
    if (code == ERR_OK)
        code = join_end(tx, rt->node, err);
    snprintf(subject, sizeof(subject), "node/%s", rt->node);
    snprintf(count_text, sizeof(count_text), "%lld", (long long)count);
    const struct db_audit audit = {
        .action = "node.revoke", .subject = subject, .before = count_text};
    if (code == ERR_OK)
        code = change_record(tx, task->request, &audit, "node.revoked", "{}", err);
    if (code == ERR_OK)
        code = effects_add(&task->effects, EFFECT_CERTS_END, rt->node, err);
    task->status = 204;
    return code;
}

void api_node_certificates_delete(struct request *request)
{
    if (!api_check_name(request, request_param(request, 0), "node"))
        return;
    struct revoke_task *rt = api_alloc(request, sizeof(*rt));
    if (rt == NULL)
        return;
    task_init(&rt->base, request, run_revoke, release);
    snprintf(rt->node, sizeof(rt->node), "%s", request_param(request, 0));
    task_submit(&rt->base);
}
