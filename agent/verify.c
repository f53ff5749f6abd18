/*
 * agent/verify.c - see verify.h. Called by agent.c.
 */
#include "agent/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/worker.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

struct job {
    struct worker_job base;
    verifier_run_fn *run;
    struct verify_task task;
    struct verify_report report;
    atomic_bool stop;
};

struct verifier {
    struct link *link; /* borrowed, as node */
    const char *node;
    verifier_run_fn *run;
    struct worker *worker;
    struct job *job; /* the worker's; NULL = nothing runs */
    struct verify_task next;
    bool has_next; /* once what runs has ended */
    char known[VERIFY_TAG_SIZE];
};

static void job_run(struct worker_job *base)
{
    struct job *job = (struct job *)base;
    job->run(&job->task, &job->stop, &job->report);
}

static void job_free(struct worker_job *base)
{
    free(base);
}

static void tell(struct verifier *verifier, const struct verify_report *report)
{
    OWN(json) json_t *document = verify_report_to_json(report);
    if (document == NULL)
        log_error("agent", "node %s: out of memory: the report of test %s is not sent",
                  verifier->node, report->task);
    else
        verifier->link->ops->verify_report(verifier->link, report->task, document);
}

static void begin(struct verifier *verifier, const struct verify_task *task);

static void on_done(void *arg, struct worker_job *base)
{
    struct verifier *verifier = arg;
    struct job *job = (struct job *)base;
    verifier->job = NULL;
    log_info("agent", "node %s: test %s (%s): %s%s%s", verifier->node, job->task.id,
             verify_kind_names[job->task.kind], verify_outcome_names[job->report.outcome],
             job->report.problem[0] == '\0' ? "" : ": ", job->report.problem);
    if (job->report.outcome == VERIFY_CORRUPT)
        log_error("agent", "node %s: test %s: data was corrupted silently between its %d nodes",
                  verifier->node, job->task.id, job->task.member_count);
    tell(verifier, &job->report);
    free(job);
    if (!verifier->has_next)
        return;
    verifier->has_next = false;
    begin(verifier, &verifier->next);
}

static void begin(struct verifier *verifier, const struct verify_task *task)
{
    struct err err = ERR_INIT;
    struct job *job = calloc(1, sizeof(*job));
    enum err_code code = job == NULL ? err_nomem(&err) : ERR_OK;
    if (code == ERR_OK) {
        job->base = (struct worker_job){.run = job_run, .done = on_done, .free = job_free};
        job->run = verifier->run;
        job->task = *task;
        atomic_init(&job->stop, false);
        code = worker_start(verifier->worker, &job->base, verifier, &err);
    }
    if (code == ERR_OK) {
        verifier->job = job;
        return;
    }
    struct verify_report report = {.outcome = VERIFY_FAILED};
    verify_figures_init(&report.figures);
    text_copy(report.task, sizeof(report.task), task->id);
    text_copy(report.problem, sizeof(report.problem), err.text);
    tell(verifier, &report);
}

/* What runs is over for the server, or it would not give another task. */
static void take_task(struct verifier *verifier, const struct verify_task *task)
{
    bool same = verifier->job != NULL && strcmp(verifier->job->task.id, task->id) == 0;
    verifier->has_next = false;
    if (verifier->job != NULL && (task->cancelled || !same))
        atomic_store(&verifier->job->stop, true);
    if (task->cancelled || same)
        return;
    log_info("agent", "node %s: test %s (%s) with %d nodes begins", verifier->node, task->id,
             verify_kind_names[task->kind], task->member_count);
    if (verifier->job == NULL) {
        begin(verifier, task);
        return;
    }
    verifier->next = *task;
    verifier->has_next = true;
}

bool verifier_take(struct verifier *verifier, const char *body, size_t len)
{
    char tag[VERIFY_TAG_SIZE];
    struct verify_task task;
    struct err err = ERR_INIT;
    OWN(json) json_t *document = NULL;
    enum err_code code =
        len > VERIFY_TASK_BYTES_MAX
            ? err_set(&err, ERR_LIMIT, "it has more than %d bytes", VERIFY_TASK_BYTES_MAX)
            : json_parse(body, len, &document, &err);
    if (code == ERR_OK)
        code = verify_task_from_json(document, &task, &err);
    if (code == ERR_OK && strcmp(task.members[task.place].node, verifier->node) != 0)
        code = err_set(&err, ERR_INVALID, "it is node %s's", task.members[task.place].node);
    if (code != ERR_OK) {
        log_warning("agent", "node %s: what came as a test is refused: %s", verifier->node,
                    err.text);
        return false;
    }
    verify_task_tag(&task, tag);
    if (strcmp(tag, verifier->known) == 0)
        return false;
    text_copy(verifier->known, sizeof(verifier->known), tag);
    take_task(verifier, &task);
    verifier->link->ops->verify_known(verifier->link, verifier->known);
    return true;
}

void verifier_start(struct verifier *verifier)
{
    verifier->link->ops->verify_known(verifier->link, verifier->known);
}

enum err_code verifier_new(struct loop *loop, struct link *link, const char *node,
                           verifier_run_fn *run, struct verifier **out, struct err *err)
{
    OWN(verifier) struct verifier *verifier = calloc(1, sizeof(*verifier));
    if (verifier == NULL)
        return err_nomem(err);
    verifier->link = link;
    verifier->node = node;
    verifier->run = run;
    enum err_code code = worker_new(loop, &verifier->worker, err);
    if (code == ERR_OK)
        *out = GIVE(verifier);
    return code;
}

void verifier_free(struct verifier *verifier)
{
    if (verifier == NULL)
        return;
    if (verifier->job != NULL)
        atomic_store(&verifier->job->stop, true);
    worker_free(verifier->worker);
    free(verifier);
}

void verifier_run_nothing(const struct verify_task *task, const atomic_bool *stop,
                          struct verify_report *out)
{
    (void)stop;
    *out = (struct verify_report){.outcome = VERIFY_UNSUPPORTED};
    verify_figures_init(&out->figures);
    text_copy(out->task, sizeof(out->task), task->id);
    text_copy(out->problem, sizeof(out->problem),
              "the node is simulated: it has no RDMA device to measure with");
}
