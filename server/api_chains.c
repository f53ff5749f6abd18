/*
 * server/api_chains.c - the marking chains of a node: its agent tells them when they change, staff
 * reads them with what is known of the neighbour behind each port.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "db/tables.h"
#include "server/api.h"
#include "server/chains.h"
#include "server/pipeline.h"
#include "server/scan.h"
#include "server/speaker.h"
#include "server/task.h"

/* From the agent ------------------------------------------------------------------------------ */

struct chains_task {
    struct task base;
    char node[NAME_SIZE];
    struct chain_report *report; /* owned */
    char *text;                  /* owned; canonical */
};

static void release(struct task *task)
{
    struct chains_task *ct = (struct chains_task *)task;
    chain_report_free(ct->report);
    free(ct->text);
    task_release(task);
    free(ct);
}

static json_t *count_verdicts(const struct chain_report *report)
{
    json_int_t of[CHAIN_UNKNOWN + 1] = {0};
    for (size_t i = 0; i < report->count; i++)
        of[report->chains[i].verdict]++;
    return json_pack("{sI, sI, sI}", "whole", of[CHAIN_WHOLE], "broken", of[CHAIN_BROKEN],
                     "unknown", of[CHAIN_UNKNOWN]);
}

static enum err_code run(struct db_tx *tx, struct task *task, struct err *err)
{
    struct chains_task *ct = (struct chains_task *)task;
    char subject[NAME_SIZE + 8];
    if (world_node_get(task->app->world, ct->node) == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", ct->node);
    snprintf(subject, sizeof(subject), "node/%s", ct->node);
    const struct db_audit subject_only = {.subject = subject};
    task->answer = count_verdicts(ct->report);
    OWN(str) char *body = task->answer == NULL ? NULL : json_canonical(task->answer, NULL);
    if (body == NULL)
        return err_nomem(err);
    enum err_code code = node_chains_put(tx, ct->node, ct->text, err);
    return code != ERR_OK
               ? code
               : change_record(tx, task->request, &subject_only, "node.marking", body, err);
}

void api_agent_chains(struct request *request)
{
    struct err err = ERR_INIT;
    const char *node = request_principal(request)->node;
    struct chains_task *ct = api_alloc(request, sizeof(*ct));
    if (ct == NULL)
        return;
    task_init(&ct->base, request, run, release);
    snprintf(ct->node, sizeof(ct->node), "%s", node);
    enum err_code code = chain_report_from_json(request_json(request), &ct->report, &err);
    if (code == ERR_OK && !speaker_is_named(request, ct->report->node)) {
        release(&ct->base);
        return;
    }
    if (code == ERR_OK && (ct->text = json_canonical(request_json(request), NULL)) == NULL)
        code = err_nomem(&err);
    if (code != ERR_OK) {
        release(&ct->base);
        request_reply_err(request, &err);
        return;
    }
    task_submit(&ct->base);
}

/* To staff ------------------------------------------------------------------------------------ */

struct chains_look {
    struct request *request;
    char node[NAME_SIZE];
    struct db_ro *ro;
    struct chain_report *report; /* owned; NULL = none was told */
    int64_t received_us;
    json_t *items; /* owned */
};

static void make_items(struct chains_look *look, const struct inventory *inventory)
{
    const struct chain_report *report = look->report;
    json_decref(look->items);
    look->items = json_array();
    for (size_t i = 0; i < report->count; i++) {
        json_t *item = chain_to_json(&report->chains[i]);
        json_object_set_new(item, "neighbour",
                            chains_neighbour(look->ro, &report->chains[i], inventory, false, NULL));
        json_array_append_new(look->items, item);
    }
}

static bool on_inventory(void *arg, const char *node, const struct inventory *inventory)
{
    struct chains_look *look = arg;
    if (strcmp(node, look->node) == 0)
        make_items(look, inventory);
    return false;
}

static enum err_code read_chains(struct db_ro *ro, void *arg, struct err *err)
{
    struct chains_look *look = arg;
    look->ro = ro;
    enum err_code code = chains_of(ro, look->node, &look->report, &look->received_us, err);
    if (code != ERR_OK || look->report == NULL)
        return code;
    make_items(look, NULL);
    return scan_inventories(ro, look->node, on_inventory, look, err);
}

static json_t *answer_of(struct chains_look *look)
{
    const struct chain_report *report = look->report;
    json_t *answer = json_pack("{ss, sb, so}", "node", look->node, "reported", report != NULL,
                               "items", look->items == NULL ? json_array() : look->items);
    look->items = NULL;
    if (answer == NULL || report == NULL)
        return answer;
    json_object_set_new(answer, "generation", json_integer(report->generation));
    json_object_set_new(answer, "digest", json_string(report->digest));
    api_set_time(answer, "time", look->received_us);
    if (report->truncated)
        json_object_set_new(answer, "truncated", json_true());
    return answer;
}

static void chains_done(void *arg, enum err_code code, const struct err *err)
{
    struct chains_look *look = arg;
    if (code == ERR_OK)
        request_reply_json(look->request, 200, answer_of(look), NULL, NULL);
    else
        request_reply_err(look->request, err);
    json_decref(look->items);
    chain_report_free(look->report);
    free(look);
}

void api_node_chains(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *node = request_param(request, 0);
    if (!api_check_node(request, node))
        return;
    struct chains_look *look = api_alloc(request, sizeof(*look));
    if (look == NULL)
        return;
    look->request = request;
    snprintf(look->node, sizeof(look->node), "%s", node);
    enum err_code code = db_read(app->db, read_chains, chains_done, look, &err);
    if (code != ERR_OK)
        chains_done(look, code, &err);
}
