#pragma once
/*
 * server/inspector.h - the thread that reads operators' files: reading takes up to seconds, so HTTP
 * threads never do it. One file at a time; INSPECTOR_QUEUE_MAX wait.
 *
 *   HTTP thread --inspector_submit()--> queue --> its thread: fleet/evidence --> the reply
 *
 * What else takes long, such as a runbook with its files, waits in the same queue: inspector_run().
 */

#include "base/err.h"
#include "base/own.h"
#include "server/http.h"

#define INSPECTOR_QUEUE_MAX                                                                        \
    8 /* files that wait; each holds a body of up to HTTP_BODY_LARGE_MAX                           \
       */

struct inspector;

ERR_MUST_CHECK enum err_code inspector_new(struct inspector **out, struct err *err);
/* Answers what is queued, then ends the thread. */
void inspector_free(struct inspector *inspector);
OWN_DEFINE(inspector, struct inspector *, inspector_free)

/* Any thread. The request's body is read and the request answered, by the inspector's thread.
 * ERR_UNAVAILABLE: the queue is full, and the request is still the caller's. */
ERR_MUST_CHECK enum err_code inspector_submit(struct inspector *inspector, struct request *request,
                                              struct err *err);
/* The same with work of another kind: fn(arg) runs once, on the inspector's thread.
 * ERR_UNAVAILABLE: it will not. */
ERR_MUST_CHECK enum err_code inspector_run(struct inspector *inspector, void (*fn)(void *arg),
                                           void *arg, struct err *err);
