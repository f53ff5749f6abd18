/*
 * server/diagnosis.c - see diagnosis.h. Whoever finds that the request was answered (the server
 * stops) ends the run: the threads that the next step needs may be gone.
 */
#include "server/diagnosis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/json.h"
#include "server/api.h"
#include "server/chains.h"
#include "server/hardware.h"
#include "server/health.h"
#include "server/inspector.h"
#include "server/scan.h"

#define MINUTE_US INT64_C(60000000)

void diagnosis_free(struct diagnosis *d)
{
    if (d == NULL)
        return;
    clues_free(d->clues);
    json_decref(d->runs);
    free(d);
}

/* The body ------------------------------------------------------------------------------------ */

static void problem(const struct json_reader *r, const char *key, const char *text)
{
    char pointer[ERR_POINTER_MAX];
    json_reader_pointer(r, key, pointer);
    finding_addf(r->findings, r->rule, FINDING_ERROR, pointer, "%s", text);
}

static void read_window(struct diagnosis *d, struct json_reader *r)
{
    const struct app *app = request_app(d->request);
    const char *text = NULL;
    int64_t window_us = DIAGNOSIS_WINDOW_US, window_ns;
    if (json_reader_string(r, "window", false, 1, DURATION_TEXT_MAX, &text)) {
        if (!duration_parse(text, &window_ns) || window_ns / 1000 < DIAGNOSIS_WINDOW_MIN_US ||
            window_ns / 1000 > DIAGNOSIS_WINDOW_MAX_US || window_ns / 1000 % MINUTE_US != 0)
            problem(r, "window", "is whole minutes from 1m to 24h, such as 10m");
        else
            window_us = window_ns / 1000;
    }
    /* Whole minutes, so that the roll-ups fit; the open minute belongs to it. */
    int64_t now_us = app->clock->wall_us(app->clock);
    d->to_us = (now_us / MINUTE_US + 1) * MINUTE_US;
    d->from_us = d->to_us - window_us;
}

static bool has_node(const struct diagnosis *d, const char *name)
{
    for (size_t i = 0; i < d->node_count; i++)
        if (strcmp(d->nodes[i], name) == 0)
            return true;
    return false;
}

static void read_nodes(struct diagnosis *d, struct json_reader *r)
{
    const json_t *list = NULL;
    if (!json_reader_array(r, "nodes", false, DIAGNOSIS_NODES_MAX, &list))
        return;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name == NULL || !name_is_valid(name) || has_node(d, name)) {
            problem(r, "nodes", "holds something that is no name of a node, or one twice");
            return;
        }
        snprintf(d->nodes[d->node_count++], NAME_SIZE, "%s", name);
    }
}

static void read_file(struct diagnosis *d, struct json_reader *r)
{
    struct diagnosis_file *file = &d->files[d->file_count];
    const json_t *text = NULL;
    file->node = "";
    bool is_named = json_reader_string(r, "name", true, 1, DIAGNOSIS_NAME_MAX, &file->name);
    if (json_reader_string(r, "node", false, 1, NAME_MAX_LEN, &file->node) &&
        !has_node(d, file->node))
        problem(r, "node", "is none of \"nodes\"");
    if (json_reader_any(r, "text", true, &text) && !json_is_string(text))
        problem(r, "text", "is the file's content, a text");
    json_reader_end(r);
    if (!is_named || !json_is_string(text))
        return;
    file->text = json_string_value(text);
    file->len = json_string_length(text);
    d->file_count++;
}

static void read_files(struct diagnosis *d, struct json_reader *r)
{
    const json_t *list = NULL;
    struct json_reader sub;
    if (!json_reader_array(r, "files", false, DIAGNOSIS_FILES_MAX, &list))
        return;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_reader_element(r, "files", i, json_array_get(list, i), &sub);
        read_file(d, &sub);
        if (d->file_count > 0 && d->node_count > 1 && d->files[d->file_count - 1].node[0] == '\0')
            problem(&sub, "node", "is needed: there are several nodes");
    }
}

bool diagnosis_read(struct diagnosis *d)
{
    const struct app *app = request_app(d->request);
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    finding_list_init(&findings);
    json_reader_init(&r, request_json(d->request), "", &findings);
    read_window(d, &r);
    read_nodes(d, &r);
    read_files(d, &r);
    json_reader_end(&r);
    if (d->node_count + d->file_count == 0)
        problem(&r, "nodes", "names no node, and there are no files");
    if (finding_list_has_errors(&findings)) {
        request_reply_problem(d->request, 422, "runbook-refused", &findings, NULL,
                              "the run cannot be made as it stands");
        return false;
    }
    for (size_t i = 0; i < d->node_count; i++)
        if (!status_has(app->status, d->nodes[i])) {
            request_reply_problem(d->request, 404, "not-found", NULL, NULL, "there is no node '%s'",
                                  d->nodes[i]);
            return false;
        }
    if (d->node_count == 0)
        d->node_count = 1; /* without a name: files alone */
    return true;
}

/* The answer ---------------------------------------------------------------------------------- */

static void stop(struct diagnosis *d, const struct err *err)
{
    request_reply_err(d->request, err);
    diagnosis_free(d);
}

static void give_up(struct diagnosis *d)
{
    request_reply_problem(d->request, 503, "stopping", NULL, NULL, "the server is stopping");
    diagnosis_free(d);
}

/* What is the likeliest cause on how many nodes, the commonest first: of a set of nodes. */
static json_t *causes_of(const json_t *runs)
{
    json_t *causes = json_array();
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        json_t *step = json_object_get(json_array_get(json_object_get(run, "likely"), 0), "step");
        json_t *node = json_object_get(run, "node"), *found = NULL;
        size_t at = 0;
        if (step == NULL || node == NULL)
            continue;
        for (; at < json_array_size(causes) && found == NULL; at++)
            if (json_equal(json_object_get(json_array_get(causes, at), "step"), step))
                found = json_array_get(causes, at);
        if (found == NULL) {
            json_array_append_new(causes, json_pack("{sO, s[O]}", "step", step, "nodes", node));
            continue;
        }
        json_array_append(json_object_get(found, "nodes"), node);
        for (at--; at > 0; at--) { /* forward, past those with fewer nodes */
            const json_t *before = json_array_get(causes, at - 1);
            if (json_array_size(json_object_get(before, "nodes")) >=
                json_array_size(json_object_get(found, "nodes")))
                break;
            json_t *moved = json_incref(json_array_get(causes, at - 1));
            json_array_remove(causes, at - 1);
            json_array_insert_new(causes, at, moved);
        }
    }
    return causes;
}

static void finish(struct diagnosis *d)
{
    json_t *answer = json_pack("{ss, sI, s{sI, sI, sI}, so, sO}", "runbook", d->runbook->name,
                               "window_s", (json_int_t)((d->to_us - d->from_us) / 1000000),
                               "verdicts", "ok", (json_int_t)d->verdicts[RUNBOOK_OK], "fault",
                               (json_int_t)d->verdicts[RUNBOOK_FAULT], "unknown",
                               (json_int_t)d->verdicts[RUNBOOK_UNKNOWN], "causes",
                               causes_of(d->runs), "runs", d->runs);
    if (answer != NULL)
        api_set_time(answer, "from", d->from_us);
    request_reply_json(d->request, 200, answer, NULL, NULL);
    diagnosis_free(d);
}

/* One node ------------------------------------------------------------------------------------ */

static void look_at_node(struct diagnosis *d);

static bool is_its(const struct diagnosis *d, const struct diagnosis_file *file)
{
    return file->node[0] == '\0' || strcmp(file->node, d->nodes[d->at]) == 0;
}

/* The files of the node; `list` gets their names and kinds. */
static enum err_code read_its_files(struct diagnosis *d, json_t *list, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < d->file_count && code == ERR_OK; i++) {
        const struct diagnosis_file *file = &d->files[i];
        OWN(evidence) struct evidence *evidence = NULL;
        if (!is_its(d, file))
            continue;
        code = evidence_read(file->name, file->text, file->len, &evidence, err);
        if (code != ERR_OK)
            continue;
        clues_take_evidence(d->clues, file->name, evidence);
        if (json_array_append_new(
                list, json_pack("{ss, ss}", "name", file->name, "kind", evidence->kind)) != 0)
            code = err_nomem(err);
    }
    return code;
}

static bool on_status(void *arg, const struct health_status *status)
{
    clues_take_status(arg, status);
    return true;
}

static enum err_code judge(struct diagnosis *d, struct err *err)
{
    const struct app *app = request_app(d->request);
    OWN(mem) void *memory = calloc(1, sizeof(struct runbook_run));
    struct runbook_run *run = memory;
    OWN(json) json_t *files = json_array();
    if (run == NULL || files == NULL)
        return err_nomem(err);
    /* What the rules see now; a window's numbers alone are judged by one limit, without the looks
     * before. */
    if (d->nodes[d->at][0] != '\0')
        health_desk_each(app->health, d->nodes[d->at], on_status, d->clues);
    enum err_code code = read_its_files(d, files, err);
    if (code != ERR_OK || d->clues->nomem)
        return code != ERR_OK ? code : err_nomem(err);
    runbook_run(d->runbook, d->clues, run);
    d->verdicts[run->verdict]++;
    json_t *item = runbook_run_to_json(run);
    if (item == NULL)
        return err_nomem(err);
    api_set_text(item, "node", d->nodes[d->at]);
    if (json_array_size(files) > 0)
        json_object_set(item, "files", files);
    return json_array_append_new(d->runs, item) == 0 ? ERR_OK : err_nomem(err);
}

/* On the inspector's thread. */
static void on_turn(void *arg)
{
    struct diagnosis *d = arg;
    struct err err = ERR_INIT;
    if (request_cancelled(d->request)) {
        give_up(d);
        return;
    }
    if (judge(d, &err) != ERR_OK) {
        stop(d, &err);
        return;
    }
    d->at++;
    if (d->at == d->node_count)
        finish(d);
    else
        look_at_node(d);
}

static void take_turn(struct diagnosis *d)
{
    const struct app *app = request_app(d->request);
    struct err err = ERR_INIT;
    if (request_cancelled(d->request))
        give_up(d);
    else if (inspector_run(app->inspector, on_turn, d, &err) != ERR_OK)
        stop(d, &err);
}

/* The window's steps together. */
static struct telemetry_sum sum_of(const struct series_found *found)
{
    struct telemetry_sum sum = {.weight = 0};
    for (size_t i = 0; i < found->count; i++)
        telemetry_sum_merge(&sum, &found->points[i]);
    return sum;
}

/* How much of what queue pairs sent is of no job. */
static void take_unlabelled(struct clues *clues, const struct series_answer *answer)
{
    static const struct telemetry_name name = {.text = "unlabelled_share",
                                               .course = TELEMETRY_GAUGE};
    double all = 0, none = 0;
    for (size_t i = 0; i < answer->count; i++) {
        const struct series_found *found = &answer->found[i];
        if (found->kind != TELEMETRY_QP || strcmp(found->name->text, "tx_bytes") != 0)
            continue;
        const struct telemetry_sum sum = sum_of(found);
        all += (double)sum.sum;
        none += found->label == 0 ? (double)sum.sum : 0;
    }
    if (all <= 0)
        return;
    int64_t permille = (int64_t)(none / all * 1000);
    const struct telemetry_sum sum = {
        .sum = permille, .min = permille, .max = permille, .weight = 1};
    const struct clue_series series = {
        .kind = TELEMETRY_NODE, .device = "", .name = &name, .sum = &sum};
    clues_take_series(clues, &series);
}

/* On the telemetry's thread. */
static void on_series(void *arg, enum err_code code, const struct series_answer *answer,
                      const struct err *err)
{
    struct diagnosis *d = arg;
    if (code != ERR_OK) {
        stop(d, err);
        return;
    }
    for (size_t i = 0; i < answer->count; i++) {
        const struct series_found *found = &answer->found[i];
        const struct telemetry_sum sum = sum_of(found);
        const struct clue_series series = {.kind = found->kind,
                                           .device = found->device,
                                           .number = found->number,
                                           .name = found->name,
                                           .sum = &sum};
        clues_take_series(d->clues, &series);
    }
    take_unlabelled(d->clues, answer);
    d->clues->truncated |= answer->truncated || answer->damaged;
    take_turn(d);
}

struct node_read {
    struct diagnosis *d;
    const struct fabric *fabric;
};

static bool on_inventory(void *arg, const char *node, const struct inventory *inventory)
{
    struct node_read *read = arg;
    const struct app *app = request_app(read->d->request);
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    if (strcmp(node, read->d->nodes[read->d->at]) != 0)
        return false;
    clues_take_inventory(read->d->clues, inventory);
    hardware_check_node(app->compat, read->fabric, node, inventory, &findings);
    clues_take_findings(read->d->clues, "hardware", &findings);
    return false;
}

static enum err_code read_node(struct db_ro *ro, void *arg, struct err *err)
{
    struct diagnosis *d = arg;
    OWN(fabric) struct fabric *fabric = NULL;
    OWN(chain_report) struct chain_report *chains = NULL;
    enum err_code code = scan_fabric(ro, &fabric, err);
    struct node_read read = {.d = d, .fabric = fabric};
    if (code == ERR_OK)
        code = scan_inventories(ro, d->nodes[d->at], on_inventory, &read, err);
    if (code == ERR_OK)
        code = chains_of(ro, d->nodes[d->at], &chains, NULL, err);
    if (code == ERR_OK && chains != NULL)
        clues_take_chains(d->clues, chains);
    return code;
}

/* A query begins on a whole step: short ones keep the window's beginning sharp, long ones read the
 * coarser files. */
static int64_t step_of(int64_t window_us)
{
    return window_us > 6 * 60 * MINUTE_US ? 60 * MINUTE_US : MINUTE_US;
}

static void on_node(void *arg, enum err_code code, const struct err *err)
{
    struct diagnosis *d = arg;
    struct app *app = request_app(d->request);
    struct err failed = ERR_INIT;
    if (code != ERR_OK) {
        stop(d, err);
        return;
    }
    if (request_cancelled(d->request)) {
        give_up(d);
        return;
    }
    d->query = (struct series_query){
        .node = d->nodes[d->at],
        .kind = -1,
        .number = -1,
        .from_us = d->from_us,
        .to_us = d->to_us,
        .step_us = step_of(d->to_us - d->from_us),
    };
    if (series_query(app->series, &d->query, on_series, d, &failed) != ERR_OK)
        stop(d, &failed);
}

static void look_at_node(struct diagnosis *d)
{
    struct app *app = request_app(d->request);
    struct err err = ERR_INIT;
    clues_free(d->clues);
    d->clues = NULL;
    if (clues_new(runbook_wants, d->runbook, &d->clues, &err) != ERR_OK) {
        stop(d, &err);
        return;
    }
    if (d->nodes[d->at][0] == '\0')
        take_turn(d);
    else if (request_cancelled(d->request))
        give_up(d);
    else if (db_read(app->db, read_node, on_node, d, &err) != ERR_OK)
        stop(d, &err);
}

void diagnosis_start(struct diagnosis *d)
{
    d->runs = json_array();
    d->at = 0;
    look_at_node(d);
}
