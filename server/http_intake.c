/*
 * server/http_intake.c - see http_intake.h.
 *
 * A piece is with the sink while the library's connection is suspended; the library looks at
 * neither then, so the request cannot end. http_server.resumers counts such pieces, so that the
 * stop waits for them: the library aborts when it is stopped with a suspended connection.
 */
#include "server/http_intake.h"

#include <stdlib.h>
#include <string.h>

#include "server/http_core.h"

/* The library gives at most a connection's memory at a time, which fits behind a full piece. */
#define INTAKE_PIECE (256 * 1024)
#define INTAKE_ROOM  (INTAKE_PIECE + HTTP_CONNECTION_MEMORY)

struct http_intake {
    struct intake sink;
    int64_t end_ns; /* of the whole body: as long as an answer of this size would have */
    size_t len;
    char piece[INTAKE_ROOM];
};

/* A client that sends nothing for this long is cut. It also bounds what the library (0.9.75)
 * misses: an end of input that comes together with data, after which the socket has no news any
 * more. */
#define INTAKE_IDLE_NS (10 * NS_PER_S)

static void wait_for_more(const struct request *request)
{
    int64_t idle_ns = http_now_ns(request->server) + INTAKE_IDLE_NS;
    int64_t end_ns = request->intake->end_ns;
    conn_deadline_set(request->conn, idle_ns < end_ns ? idle_ns : end_ns);
}

bool request_intake(struct request *request, const struct intake *intake)
{
    request->intake = malloc(sizeof(*request->intake));
    if (request->intake == NULL) {
        http_refuse(request, 503, "unavailable", "no memory for the upload; try again");
        return false;
    }
    request->intake->sink = *intake;
    request->intake->len = 0;
    request->intake->end_ns = http_now_ns(request->server) + request->server->request_deadline_ns +
                              (int64_t)(request->content_length / HTTP_SEND_RATE) * NS_PER_S;
    wait_for_more(request);
    return true;
}

static void lend(struct request *request)
{
    struct http_intake *intake = request->intake;
    atomic_fetch_add(&request->server->resumers, 1);
    conn_deadline_set(request->conn, INT64_MAX);
    MHD_suspend_connection(request->con);
    intake->sink.take(request, intake->sink.arg, intake->piece, intake->len);
}

void request_intake_next(struct request *request)
{
    /* After the resumption the request may end at any moment. */
    struct http_server *server = request->server;
    request->intake->len = 0;
    wait_for_more(request);
    MHD_resume_connection(request->con);
    atomic_fetch_sub(&server->resumers, 1);
}

uint64_t request_content_length(const struct request *request)
{
    return request->content_length;
}

enum http_intake_move http_intake_on_data(struct request *request, const char *data, size_t *n)
{
    struct http_intake *intake = request->intake;
    if (atomic_load(&request->state) == STATE_ANSWERED)
        return INTAKE_OVER;
    if (*n == 0 && intake->len == 0)
        return INTAKE_WHOLE;
    wait_for_more(request);
    size_t fits = INTAKE_ROOM - intake->len;
    size_t taken = *n < fits ? *n : fits;
    if (taken > 0) /* else data is NULL */
        memcpy(intake->piece + intake->len, data, taken);
    intake->len += taken;
    bool last = *n == 0;
    *n -= taken;
    if (last || intake->len >= INTAKE_PIECE)
        lend(request);
    return INTAKE_MORE;
}

void http_intake_end(struct request *request)
{
    request->intake->sink.end(request, request->intake->sink.arg);
}
