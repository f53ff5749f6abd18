/*
 * agent/verify_run.c - see verify_run.h.
 */
#include "agent/verify_run.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "datapath/nl/rdma.h"
#include "datapath/rdma_users.h"
#include "datapath/verbs/bench.h"
#include "datapath/verbs/ping.h"

_Static_assert(VERIFY_SECRET_BYTES == BENCH_SECRET_BYTES, "a task's secret is the measurement's");
_Static_assert(VERIFY_MEMBERS_MAX <= BENCH_ENDS_MAX && VERIFY_MEMBERS_MAX - 1 <= VERBS_PING_MAX,
               "all members of a task can be asked");

static const enum bench_kind bench_kinds[VERIFY_KIND_COUNT] = {
    [VERIFY_SEND_LAT] = BENCH_SEND_LAT,
    [VERIFY_READ_BW] = BENCH_READ_BW,
    [VERIFY_WRITE_BW] = BENCH_WRITE_BW,
    [VERIFY_ALLREDUCE] = BENCH_ALLREDUCE,
};

static void say(struct verify_report *out, const struct err *err)
{
    out->outcome = err->code == ERR_UNSUPPORTED ? VERIFY_UNSUPPORTED : VERIFY_FAILED;
    text_copy(out->problem, sizeof(out->problem), err->text);
}

/* Users ---------------------------------------------------------------------------------------- */

static bool is_ours(void *arg, const struct rdma_list *list, size_t at)
{
    return strcmp(list->devices[at].name, arg) == 0;
}

static bool may_begin(const struct verify_task *task, struct verify_report *out)
{
    char device[VERIFY_DEVICE_SIZE];
    struct err err = ERR_INIT;
    int users = 0;
    if (task->force)
        return true;
    text_copy(device, sizeof(device), task->device);
    if (rdma_users("", is_ours, device, &users, &err) != ERR_OK) {
        say(out, &err);
        return false;
    }
    if (users == 0)
        return true;
    out->outcome = VERIFY_REFUSED;
    snprintf(out->problem, sizeof(out->problem),
             "programs have %d queue pairs on %s: wait for them, or order the test with force",
             users, task->device);
    return false;
}

/* Mesh ----------------------------------------------------------------------------------------- */

static void name_silent(const struct verify_task *task, const struct verbs_ping *peers,
                        struct verify_report *out)
{
    size_t used = 0;
    int silent = 0;
    for (int i = 0; i < task->member_count - 1; i++) {
        if (peers[i].answered || used >= sizeof(out->problem))
            continue;
        int n =
            snprintf(out->problem + used, sizeof(out->problem) - used, "%s%s (%s)",
                     silent++ == 0 ? "silent: " : ", ", task->members[i + 1].node, peers[i].why);
        used += n < 0 ? 0 : (size_t)n;
    }
}

static void run_mesh(const struct verify_task *task, struct verify_report *out)
{
    const struct verbs_ping_from from = {.device = task->device,
                                         .address = task->members[0].address};
    struct verbs_ping peers[VERIFY_MEMBERS_MAX];
    struct verbs_pinged *pinged = NULL;
    struct err err = ERR_INIT;
    int asked = task->member_count - 1, answered = 0;
    for (int i = 0; i < asked; i++)
        peers[i] = (struct verbs_ping){.address = task->members[i + 1].address};
    if (verbs_ping(&from, peers, (size_t)asked, task->deadline_s * 1000, &pinged, &err) != ERR_OK) {
        say(out, &err);
        return;
    }
    for (int i = 0; i < asked; i++)
        answered += peers[i].answered;
    out->figures.values[VERIFY_ASKED] = asked;
    out->figures.values[VERIFY_ANSWERED] = answered;
    name_silent(task, peers, out);
    verbs_ping_end(pinged);
}

/* Bench ---------------------------------------------------------------------------------------- */

static void run_bench(const struct verify_task *task, const atomic_bool *stop,
                      struct verify_report *out)
{
    struct bench bench = {
        .kind = bench_kinds[task->kind],
        .count = task->member_count,
        .place = task->place,
        .device = task->device,
        .service = (uint16_t)task->service,
        .bytes = (size_t)task->bytes,
        .iterations = task->iterations,
        .wait_ns = task->deadline_s * NS_PER_S,
        .stop = stop,
    };
    struct bench_result result;
    struct err err = ERR_INIT;
    if (!hex_decode(task->secret, bench.secret, sizeof(bench.secret))) {
        (void)err_set(&err, ERR_INVALID, "the test has no secret");
        say(out, &err);
        return;
    }
    for (int i = 0; i < task->member_count; i++)
        bench.addresses[i] = task->members[i].address;
    if (verbs_bench(&bench, &result, &err) != ERR_OK) {
        say(out, &err);
        if (result.corrupt)
            out->outcome = VERIFY_CORRUPT;
        return;
    }
    int64_t *values = out->figures.values;
    values[VERIFY_LATENCY_P50_NS] = result.latency_p50_ns;
    values[VERIFY_LATENCY_P99_NS] = result.latency_p99_ns;
    values[VERIFY_LATENCY_MIN_NS] = result.latency_min_ns;
    values[VERIFY_RATE_BPS] = result.rate_bps;
    values[VERIFY_ITERATION_NS] = result.iteration_ns;
    values[VERIFY_SPREAD_PERMYRIAD] = result.spread_permyriad;
}

void verify_run(const struct verify_task *task, const atomic_bool *stop, struct verify_report *out)
{
    *out = (struct verify_report){.outcome = VERIFY_DONE};
    text_copy(out->task, sizeof(out->task), task->id);
    verify_figures_init(&out->figures);
    if (task->cancelled) {
        out->outcome = VERIFY_REFUSED;
        text_copy(out->problem, sizeof(out->problem), "cancelled before it began");
        return;
    }
    if (!may_begin(task, out))
        return;
    if (task->kind == VERIFY_MESH)
        run_mesh(task, out);
    else
        run_bench(task, stop, out);
}
