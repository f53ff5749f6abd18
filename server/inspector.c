/*
 * server/inspector.c - see inspector.h.
 */
#include "server/inspector.h"

#include <pthread.h>
#include <stdlib.h>

#include "fleet/evidence/evidence.h"
#include "server/bundle.h"

struct job {
    void (*fn)(void *arg);
    void *arg;
};

struct inspector {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job queue[INSPECTOR_QUEUE_MAX]; /* a ring */
    size_t first, count;
    bool end, started;
    pthread_t thread;
};

/* False: there will be none any more. */
static bool take(struct inspector *inspector, struct job *out)
{
    pthread_mutex_lock(&inspector->lock);
    while (inspector->count == 0 && !inspector->end)
        pthread_cond_wait(&inspector->wake, &inspector->lock);
    bool found = inspector->count > 0;
    if (found) {
        *out = inspector->queue[inspector->first];
        inspector->first = (inspector->first + 1) % INSPECTOR_QUEUE_MAX;
        inspector->count--;
    }
    pthread_mutex_unlock(&inspector->lock);
    return found;
}

static void inspect_bundle(struct request *request, const char *body, size_t len)
{
    struct err err = ERR_INIT;
    json_t *document = NULL;
    if (bundle_read(body, len, &document, &err) != ERR_OK)
        request_reply_err(request, &err);
    else
        request_reply_json(request, 200, document, NULL, NULL);
}

static void inspect(void *arg)
{
    struct request *request = arg;
    struct err err = ERR_INIT;
    OWN(evidence) struct evidence *evidence = NULL;
    size_t len;
    const char *body = request_body(request, &len);
    if (request_cancelled(request)) /* nobody waits for it any more */
        request_reply_problem(request, 503, "stopping", NULL, NULL, "the server is stopping");
    else if (body != NULL && bundle_is(body, len))
        inspect_bundle(request, body, len);
    else if (evidence_read(NULL, body != NULL ? body : "", body != NULL ? len : 0, &evidence,
                           &err) != ERR_OK)
        request_reply_err(request, &err);
    else
        request_reply_json(request, 200, evidence_to_json(evidence), NULL, NULL);
}

static void *serve(void *arg)
{
    struct inspector *inspector = arg;
    struct job job;
    while (take(inspector, &job))
        job.fn(job.arg);
    return NULL;
}

enum err_code inspector_new(struct inspector **out, struct err *err)
{
    OWN(inspector) struct inspector *inspector = calloc(1, sizeof(*inspector));
    if (inspector == NULL)
        return err_nomem(err);
    pthread_mutex_init(&inspector->lock, NULL);
    pthread_cond_init(&inspector->wake, NULL);
    int error = pthread_create(&inspector->thread, NULL, serve, inspector);
    if (error != 0)
        return err_set_errno(err, ERR_IO, error, "cannot start a thread that reads files");
    inspector->started = true;
    *out = GIVE(inspector);
    return ERR_OK;
}

void inspector_free(struct inspector *inspector)
{
    if (inspector == NULL)
        return;
    pthread_mutex_lock(&inspector->lock);
    inspector->end = true;
    pthread_cond_signal(&inspector->wake);
    pthread_mutex_unlock(&inspector->lock);
    if (inspector->started)
        pthread_join(inspector->thread, NULL);
    pthread_cond_destroy(&inspector->wake);
    pthread_mutex_destroy(&inspector->lock);
    free(inspector);
}

enum err_code inspector_run(struct inspector *inspector, void (*fn)(void *arg), void *arg,
                            struct err *err)
{
    pthread_mutex_lock(&inspector->lock);
    bool room = inspector->count < INSPECTOR_QUEUE_MAX && !inspector->end;
    if (room) {
        inspector->queue[(inspector->first + inspector->count) % INSPECTOR_QUEUE_MAX] =
            (struct job){.fn = fn, .arg = arg};
        inspector->count++;
        pthread_cond_signal(&inspector->wake);
    }
    pthread_mutex_unlock(&inspector->lock);
    return room ? ERR_OK
                : err_set(err, ERR_UNAVAILABLE,
                          "%d files wait to be read already; try again in some seconds",
                          INSPECTOR_QUEUE_MAX);
}

enum err_code inspector_submit(struct inspector *inspector, struct request *request,
                               struct err *err)
{
    return inspector_run(inspector, inspect, request, err);
}
