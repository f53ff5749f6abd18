#pragma once
/*
 * server/http_intake.h - bodies that are too large for memory: given to a sink in pieces, as they
 * come, with the connection waiting while the sink works.
 *
 * The handler of a route with ROUTE_STREAM is called when the head is whole, before the body. It
 * replies (a refusal), or calls request_intake() and returns. Then, per piece:
 *
 *   HTTP thread: take(piece) --> [sink's thread works] --> request_intake_next() --> HTTP thread
 *
 * and end() after the last. What belongs to `arg` goes to request_own(), which also ends it when
 * the client leaves in the middle; never while a piece is with the sink.
 */

#include "server/http.h"

struct intake {
    void *arg;
    /* n bytes, borrowed until request_intake_next(). Must not block. */
    void (*take)(struct request *request, void *arg, const char *data, size_t n);
    /* The body is whole: replies, now or later, as a handler does. Must not block. */
    void (*end)(struct request *request, void *arg);
};

/* From the handler. False = no memory (503 replied). */
bool request_intake(struct request *request, const struct intake *intake);
/* From any thread, once for each take(), as the last look at the request. A reply before it ends
 * the intake: what is left of the body is read and dropped, so that the client hears the answer. */
void request_intake_next(struct request *request);
/* Bytes that the client said it will send. */
uint64_t request_content_length(const struct request *request);
