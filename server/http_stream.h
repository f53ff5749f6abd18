#pragma once
/*
 * server/http_stream.h - an answer without an end: its bytes come as they are there, and in between
 * the connection sleeps and costs nothing but its memory. Knows nothing of what it carries.
 *
 * A stream ends when fill says so, when its connection is cut (also by a client that takes nothing
 * for HTTP_SEND_MS), or when the server stops.
 */

#include <sys/types.h>

#include "base/err.h"
#include "server/http.h"

struct stream;

struct stream_config {
    const char *content_type; /* static storage */
    /* Fills up to max bytes, on an HTTP thread, without blocking. 0 = nothing now: it is called
     * again after stream_wake(). -1 = the end. */
    ssize_t (*fill)(void *arg, char *out, size_t max);
    char farewell; /* the last byte, after fill's end; something that means nothing */
    /* Once, when nothing calls fill any more; any thread. */
    void (*closed)(void *arg);
    void *arg;
};

/* A stream for the answer of this request; nothing is called before the reply. *out is a reference
 * of the caller's. */
ERR_MUST_CHECK enum err_code stream_new(struct request *request, const struct stream_config *config,
                                        struct stream **out, struct err *err);
/* The reply, 200. When somebody else has replied, `closed` is called at once. */
void request_reply_stream(struct request *request, struct stream *stream);
/* Any thread, also after its end. Must not be called from fill or closed. */
void stream_wake(struct stream *stream);
void stream_unref(struct stream *stream); /* NULL is legal */
