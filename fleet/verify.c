/*
 * fleet/verify.c - see verify.h. Called by the server's verifications and the agent's tests.
 */
#include "fleet/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "fleet/read.h"

#define VERIFY_JSON_VERSION 1

const char *const verify_kind_names[] = {"send_lat", "read_bw",   "write_bw",
                                         "mesh",     "allreduce", NULL};
const char *const verify_figure_names[] = {"latency_p50_ns", "latency_p99_ns", "latency_min_ns",
                                           "rate_bps",       "iteration_ns",   "spread_permyriad",
                                           "answered",       "asked",          NULL};
const char *const verify_outcome_names[] = {"done",   "refused", "unsupported",
                                            "failed", "corrupt", NULL};
const char *const verify_verdict_names[] = {"open",           "pass",    "fail",
                                            "not-applicable", "unknown", NULL};

/* Figures -------------------------------------------------------------------------------------- */

void verify_figures_init(struct verify_figures *figures)
{
    for (int i = 0; i < VERIFY_FIGURE_COUNT; i++)
        figures->values[i] = -1;
}

json_t *verify_figures_to_json(const struct verify_figures *figures)
{
    OWN(json) json_t *object = json_object();
    for (int i = 0; i < VERIFY_FIGURE_COUNT; i++)
        if (figures->values[i] >= 0 &&
            !write_member(object, verify_figure_names[i], json_integer(figures->values[i])))
            return NULL;
    return GIVE(object);
}

void verify_figures_from_json(struct json_reader *r, struct verify_figures *out)
{
    verify_figures_init(out);
    for (int i = 0; i < VERIFY_FIGURE_COUNT; i++)
        json_reader_int(r, verify_figure_names[i], false, 0, INT64_MAX, &out->values[i]);
    json_reader_end(r);
}

/* Task ----------------------------------------------------------------------------------------- */

int verify_tasks_of(enum verify_kind kind, int member_count)
{
    return kind == VERIFY_MESH ? 1 : member_count;
}

void verify_task_tag(const struct verify_task *task, char out[VERIFY_TAG_SIZE])
{
    snprintf(out, VERIFY_TAG_SIZE, "%s%s", task->id, task->cancelled ? "~cancelled" : "");
}

static void read_member(struct json_reader *r, struct verify_member *out)
{
    read_name(r, "node", true, out->node);
    read_address(r, "address", out->address, sizeof(out->address));
    json_reader_end(r);
}

static void read_members(struct json_reader *r, struct verify_task *task)
{
    const json_t *members = NULL;
    if (!json_reader_array(r, "members", true, VERIFY_MEMBERS_MAX, &members))
        return;
    task->member_count = (int)json_array_size(members);
    for (int i = 0; i < task->member_count; i++) {
        struct json_reader element;
        json_reader_element(r, "members", (size_t)i, json_array_get(members, (size_t)i), &element);
        read_member(&element, &task->members[i]);
    }
    bool pair = task->kind != VERIFY_MESH && task->kind != VERIFY_ALLREDUCE;
    if (task->member_count < 2 || (pair && task->member_count != 2))
        read_problem(r, "members", "%s", pair ? "a pair has two" : "at least two");
}

static void read_count(struct json_reader *r, const char *key, int64_t min, int64_t max, int *out)
{
    int64_t value = 0;
    if (json_reader_int(r, key, true, min, max, &value))
        *out = (int)value;
}

static void read_secret(struct json_reader *r, char out[2 * VERIFY_SECRET_BYTES + 1])
{
    uint8_t bytes[VERIFY_SECRET_BYTES];
    if (read_text(r, "secret", true, 1, out, 2 * VERIFY_SECRET_BYTES + 1) &&
        !hex_decode(out, bytes, sizeof(bytes)))
        read_problem(r, "secret", "is no %d bytes in hex", VERIFY_SECRET_BYTES);
}

enum err_code verify_task_from_json(const json_t *document, struct verify_task *out,
                                    struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct verify_task task = {.id = ""};
    struct json_reader r;
    int version = 0, kind = 0;
    json_reader_init(&r, document, "", &findings);
    read_count(&r, "version", VERIFY_JSON_VERSION, VERIFY_JSON_VERSION, &version);
    read_name(&r, "verification", true, task.id);
    if (json_reader_enum(&r, "kind", true, verify_kind_names, &kind))
        task.kind = (enum verify_kind)kind;
    read_members(&r, &task);
    read_count(&r, "place", 0, VERIFY_MEMBERS_MAX - 1, &task.place);
    if (task.place >= verify_tasks_of(task.kind, task.member_count))
        read_problem(&r, "place", "no member with a task stands there");
    read_text(&r, "device", true, 1, task.device, sizeof(task.device));
    read_count(&r, "service", 1024, UINT16_MAX, &task.service);
    read_secret(&r, task.secret);
    read_count(&r, "bytes", 1, VERIFY_BYTES_MAX, &task.bytes);
    read_count(&r, "iterations", 1, VERIFY_ITERATIONS_MAX, &task.iterations);
    read_count(&r, "deadline_s", 1, VERIFY_DEADLINE_MAX_S, &task.deadline_s);
    json_reader_bool(&r, "force", true, &task.force);
    json_reader_bool(&r, "cancelled", true, &task.cancelled);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = task;
    return code;
}

static json_t *members_to_json(const struct verify_task *task)
{
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < task->member_count; i++) {
        const struct verify_member *member = &task->members[i];
        if (json_array_append_new(array, json_pack("{ss, ss}", "node", member->node, "address",
                                                   member->address)) != 0)
            return NULL;
    }
    return GIVE(array);
}

json_t *verify_task_to_json(const struct verify_task *task)
{
    json_t *members = members_to_json(task);
    return members == NULL
               ? NULL
               : json_pack("{si, ss, ss, so, si, ss, si, ss, si, si, si, sb, sb}", "version",
                           VERIFY_JSON_VERSION, "verification", task->id, "kind",
                           verify_kind_names[task->kind], "members", members, "place", task->place,
                           "device", task->device, "service", task->service, "secret", task->secret,
                           "bytes", task->bytes, "iterations", task->iterations, "deadline_s",
                           task->deadline_s, "force", (int)task->force, "cancelled",
                           (int)task->cancelled);
}

/* Report --------------------------------------------------------------------------------------- */

enum err_code verify_report_from_json(const json_t *document, struct verify_report *out,
                                      struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct verify_report report = {.task = ""};
    struct json_reader r, figures;
    int version = 0, outcome = 0;
    json_reader_init(&r, document, "", &findings);
    read_count(&r, "version", VERIFY_JSON_VERSION, VERIFY_JSON_VERSION, &version);
    read_name(&r, "task", true, report.task);
    if (json_reader_enum(&r, "outcome", true, verify_outcome_names, &outcome))
        report.outcome = (enum verify_outcome)outcome;
    read_text(&r, "problem", false, 1, report.problem, sizeof(report.problem));
    if (json_reader_object(&r, "figures", true, &figures))
        verify_figures_from_json(&figures, &report.figures);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = report;
    return code;
}

json_t *verify_report_to_json(const struct verify_report *report)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(VERIFY_JSON_VERSION)) ||
        !write_text(object, "task", report->task) ||
        !write_text(object, "outcome", verify_outcome_names[report->outcome]) ||
        !write_text(object, "problem", report->problem) ||
        !write_member(object, "figures", verify_figures_to_json(&report->figures)))
        return NULL;
    return GIVE(object);
}

/* Grades --------------------------------------------------------------------------------------- */

/* What a figure must be. A limit of hardware says nothing of a device that a processor plays; that
 * peers answer is asked of every device. */
static const struct threshold {
    enum verify_figure figure;
    bool hardware; /* for hardware alone */
    enum { BELOW, SPEED_SHARE, ALL } law;
    int64_t limit; /* BELOW: of the figure; SPEED_SHARE: permyriad of the link's speed */
} thresholds[VERIFY_KIND_COUNT] = {
    [VERIFY_SEND_LAT] = {VERIFY_LATENCY_P50_NS, true, BELOW, 1200},
    [VERIFY_READ_BW] = {VERIFY_RATE_BPS, true, SPEED_SHARE, 9800},
    [VERIFY_WRITE_BW] = {VERIFY_RATE_BPS, true, SPEED_SHARE, 9800},
    [VERIFY_MESH] = {VERIFY_ANSWERED, false, ALL, 0},
    [VERIFY_ALLREDUCE] = {VERIFY_SPREAD_PERMYRIAD, true, BELOW, 300},
};

enum verify_figure verify_graded_figure(enum verify_kind kind)
{
    return thresholds[kind].figure;
}

/* What the figure is held against; -1 = unknown. */
static int64_t limit_of(const struct threshold *t, const struct verify_class *device,
                        const struct verify_figures *figures)
{
    if (t->law == BELOW)
        return t->limit;
    if (t->law == ALL)
        return figures->values[VERIFY_ASKED];
    return device->speed_bps <= 0 ? -1 : device->speed_bps / 10000 * t->limit;
}

int64_t verify_limit(enum verify_kind kind, const struct verify_class *device,
                     const struct verify_figures *figures, bool *out_below)
{
    const struct threshold *t = &thresholds[kind];
    *out_below = t->law == BELOW;
    return t->hardware && device->software ? -1 : limit_of(t, device, figures);
}

enum verify_verdict verify_grade(enum verify_kind kind, const struct verify_class *device,
                                 const struct verify_figures *figures, char why[VERIFY_WHY_SIZE])
{
    const struct threshold *t = &thresholds[kind];
    const char *name = verify_figure_names[t->figure];
    bool below;
    int64_t value = figures->values[t->figure];
    int64_t limit = verify_limit(kind, device, figures, &below);
    if (value < 0) {
        snprintf(why, VERIFY_WHY_SIZE, "%s is not known", name);
        return VERIFY_UNKNOWN;
    }
    if (t->hardware && device->software) {
        snprintf(why, VERIFY_WHY_SIZE, "software device, threshold not applicable");
        return VERIFY_NOT_APPLICABLE;
    }
    if (limit < 0) {
        snprintf(why, VERIFY_WHY_SIZE, "%s",
                 t->law == ALL ? "it is not known how many were asked"
                               : "the speed of the link is not known: there is no limit");
        return VERIFY_UNKNOWN;
    }
    bool good = below ? value < limit : value >= limit;
    snprintf(why, VERIFY_WHY_SIZE, "%s %" PRId64 ", %s %" PRId64, name, value,
             below ? "to be below" : "to be at least", limit);
    return good ? VERIFY_PASS : VERIFY_FAIL;
}
