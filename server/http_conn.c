/*
 * server/http_conn.c - the library's callbacks: connections come and go, requests become whole.
 *
 * Runs on the library's threads. A connection has one deadline at a time: for the head and body,
 * for the answer to be taken, or for the next request to start; http_conns_sweep() (timer thread)
 * shuts the socket of one that is late, and the library sees an end of input.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "base/log.h"
#include "server/http_core.h"

#define BODY_FIRST 4096 /* of a chunked body; doubles */

/* Kept, because requests may be looked at after the connection has gone. */
static void conn_peer(struct conn *conn, struct MHD_Connection *con)
{
    const struct sockaddr *peer =
        MHD_get_connection_info(con, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    if (peer->sa_family == AF_INET6) {
        memcpy(&conn->address, peer, sizeof(struct sockaddr_in6));
        inet_ntop(AF_INET6, &conn->address.sin6_addr, conn->peer, sizeof(conn->peer));
    } else if (peer->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = memcpy(&conn->address, peer, sizeof(struct sockaddr_in));
        inet_ntop(AF_INET, &v4->sin_addr, conn->peer, sizeof(conn->peer));
    }
}

static void conn_open(struct http_server *server, struct MHD_Connection *con, void **context)
{
    struct conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL)
        return; /* its requests are refused, see http_on_uri() */
    conn->fd = MHD_get_connection_info(con, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    conn_peer(conn, con);
    if (server->config.tls != NULL)
        http_tls_begin(server, conn, con);
    conn_deadline_set(conn, http_now_ns(server) + server->request_deadline_ns);
    atomic_store(&conn->idle, true);
    pthread_mutex_lock(&server->conns_lock);
    conn->next = server->conns;
    if (conn->next != NULL)
        conn->next->prev = conn;
    server->conns = conn;
    pthread_mutex_unlock(&server->conns_lock);
    *context = conn;
}

static void conn_close(struct http_server *server, struct conn *conn)
{
    /* The library closes the descriptor after this; the lock keeps the sweep off it. */
    pthread_mutex_lock(&server->conns_lock);
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        server->conns = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    pthread_mutex_unlock(&server->conns_lock);
    http_tls_end(conn);
    free(conn);
}

void http_on_connection(void *cls, struct MHD_Connection *con, void **socket_context,
                        enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(&server->connections, 1);
        conn_open(server, con, socket_context);
    } else {
        if (*socket_context != NULL)
            conn_close(server, *socket_context);
        *socket_context = NULL;
        atomic_fetch_sub(&server->connections, 1);
    }
}

void http_conns_sweep(struct http_server *server, int64_t now_ns, bool all)
{
    bool stopping = atomic_load(&server->stopping);
    pthread_mutex_lock(&server->conns_lock);
    for (struct conn *conn = server->conns; conn != NULL; conn = conn->next) {
        bool late = atomic_load_explicit(&conn->deadline_ns, memory_order_relaxed) <= now_ns;
        if (late || all || (stopping && atomic_load(&conn->idle)))
            shutdown(conn->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->conns_lock);
}

void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *con)
{
    struct http_server *server = cls;
    struct conn *conn =
        MHD_get_connection_info(con, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (conn == NULL)
        return NULL;
    atomic_store_explicit(&conn->idle, false, memory_order_relaxed);
    /* The first request's time runs since the connection came. */
    if (conn->used)
        conn_deadline_set(conn, http_now_ns(server) + server->request_deadline_ns);
    conn->used = true;
    struct request *request = request_new(server, uri);
    if (request == NULL)
        return NULL;
    request->con = con;
    request->conn = conn;
    memcpy(request->peer, conn->peer, sizeof(request->peer));
    return request;
}

void http_on_completed(void *cls, struct MHD_Connection *con, void **con_cls,
                       enum MHD_RequestTerminationCode code)
{
    (void)con;
    struct http_server *server = cls;
    struct request *request = *con_cls;
    if (request == NULL)
        return;
    *con_cls = NULL;
    /* A connection that is cut while it waits ends here beside the thread that answers it. */
    bool answered = atomic_load(&request->state) == STATE_ANSWERED;
    /* The path alone: a query may hold what is nobody's to read. */
    log_debug(
        "http", "method=%s path=%s status=%d bytes=%zu who=%s peer=%s ms=%lld sent=%s request=%s",
        request_method(request), request->url.path, answered ? request->status : 0,
        answered ? request->response_len : 0,
        request->principal.name[0] != '\0' ? request->principal.name : "-", request_peer(request),
        (long long)((http_now_ns(server) - request->started_ns) / NS_PER_MS),
        code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "whole" : "cut", request->id);
    conn_deadline_set(request->conn, http_now_ns(server) + server->idle_ns);
    atomic_store(&request->conn->idle, true);
    request_unref(request);
}

/* Makes room for n more bytes and a NUL. */
static bool body_reserve(struct request *request, size_t n)
{
    size_t need = request->body_len + n + 1;
    if (need <= request->body_room)
        return true;
    size_t room = request->body_room * 2;
    if (request->body_room == 0)
        room =
            request->content_length < UINT64_MAX ? (size_t)request->content_length + 1 : BODY_FIRST;
    room = room < need ? need : room;
    char *grown = realloc(request->body, room);
    if (grown == NULL)
        return false;
    request->body = grown;
    request->body_room = room;
    return true;
}

static void body_take(struct request *request, const char *data, size_t n)
{
    bool fits = n <= request->body_max - request->body_len;
    if (fits && body_reserve(request, n)) {
        memcpy(request->body + request->body_len, data, n);
        request->body_len += n;
        request->body[request->body_len] = '\0';
        return;
    }
    /* An answer cannot be queued before the body's end; what is left is read and dropped. */
    request->phase = PHASE_DRAIN;
    request->drained = n;
    free(request->body);
    request->body = NULL;
    request->body_len = request->body_room = 0;
    if (fits)
        http_refuse(request, 503, "unavailable", "no memory for the body; try again");
    else
        http_refuse(request, 413, "too-large", "the body has more than %zu bytes",
                    request->body_max);
}

static void body_parse(struct request *request)
{
    struct err err = ERR_INIT;
    enum err_code code = json_parse_limit(
        request->body != NULL ? request->body : "", request->body_len, request->body_max,
        (request->route->flags & ROUTE_PATCH_BODY) != 0, &request->json, &err);
    if (code == ERR_NOMEM)
        http_refuse(request, 503, "unavailable", "no memory for the body; try again");
    else if (code != ERR_OK)
        http_refuse(request, 400, "invalid-json", "%s", err.text);
}

/* The answer goes to the library; without one (no memory) the connection is cut. */
static enum MHD_Result queue(struct request *request)
{
    struct http_server *server = request->server;
    if (request->blob != NULL)
        request->response = http_blob_response(request);
    if (request->response == NULL)
        return MHD_NO;
    http_count(request);
    int64_t send_ns =
        HTTP_SEND_MS * NS_PER_MS + (int64_t)(request->response_len / HTTP_SEND_RATE) * NS_PER_S;
    conn_deadline_set(request->conn, http_now_ns(server) + send_ns);
    if (request->close || atomic_load_explicit(&server->stopping, memory_order_relaxed))
        MHD_add_response_header(request->response, "Connection", "close");
    enum MHD_Result result =
        MHD_queue_response(request->con, (unsigned)request->status, request->response);
    MHD_destroy_response(request->response);
    request->response = NULL;
    return result;
}

static enum MHD_Result dispatch(struct request *request)
{
    request->phase = PHASE_ANSWER;
    conn_deadline_set(request->conn, INT64_MAX);
    if (request->route->flags & (ROUTE_JSON | ROUTE_PATCH_BODY))
        body_parse(request);
    if (atomic_load(&request->state) == STATE_ANSWERED)
        return queue(request);
    /* The obligation to reply is a reference, given back by the owner's reply. */
    request_hold(request);
    atomic_store(&request->discharged, false);
    atomic_store(&request->state, STATE_RUNNING);
    if (request->intake != NULL)
        http_intake_end(request);
    else
        request->route->handler(request);
    if (atomic_load(&request->state) == STATE_ANSWERED)
        return queue(request);
    /* Suspended first, then told: a reply that comes in between finds RUNNING and leaves the
     * resumption to us. */
    MHD_suspend_connection(request->con);
    http_wait_default(request);
    int running = STATE_RUNNING;
    if (!atomic_compare_exchange_strong(&request->state, &running, STATE_SUSPENDED))
        MHD_resume_connection(request->con);
    return MHD_YES;
}

/* False: the handler refused. */
static bool intake_start(struct request *request)
{
    request->route->handler(request);
    if (atomic_load(&request->state) == STATE_ANSWERED)
        return false;
    request->phase = PHASE_INTAKE;
    return true;
}

static enum MHD_Result on_intake(struct request *request, const char *upload, size_t *n)
{
    switch (http_intake_on_data(request, upload, n)) {
    case INTAKE_WHOLE:
        return dispatch(request);
    case INTAKE_OVER:
        request->phase = PHASE_DRAIN;
        request->drained = *n;
        if (*n == 0)
            return queue(request);
        *n = 0;
        break;
    case INTAKE_MORE:
        break;
    }
    return MHD_YES;
}

/* First call: the head is whole, nothing of the body was read. */
static enum MHD_Result on_head(struct request *request, const char *method)
{
    atomic_fetch_add_explicit(&request->server->requests, 1, memory_order_relaxed);
    request->started_ns = http_now_ns(request->server);
    if (http_head_check(request, method)) {
        request->phase = PHASE_BODY;
        if ((request->route->flags & ROUTE_STREAM) == 0 || intake_start(request))
            return MHD_YES;
    }
    /* A small body is read to its end, so that the client hears the refusal and may go on with
     * this connection. One that waits for "100 Continue" or sends much hears it now. */
    bool has_body = request->content_length > 0;
    bool large = request->content_length != UINT64_MAX && request->content_length > HTTP_DRAIN_MAX;
    if (request->close || (has_body && (large || request->expect != NULL))) {
        request->close = true;
        request->phase = PHASE_ANSWER;
        return queue(request);
    }
    request->phase = PHASE_DRAIN;
    return MHD_YES;
}

enum MHD_Result http_on_request(void *cls, struct MHD_Connection *con, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **con_cls)
{
    (void)cls;
    (void)con;
    (void)version;
    (void)url; /* decoded by the library with %00 in it; ours is the raw one of http_on_uri() */
    struct request *request = *con_cls;
    if (request == NULL)
        return MHD_NO;
    size_t n = *upload_size;
    *upload_size = 0;
    switch (request->phase) {
    case PHASE_HEAD:
        return on_head(request, method);
    case PHASE_BODY:
        if (n == 0)
            return dispatch(request);
        body_take(request, upload, n);
        return MHD_YES;
    case PHASE_INTAKE:
        *upload_size = n;
        return on_intake(request, upload, upload_size);
    case PHASE_DRAIN:
        request->drained += n;
        if (request->drained > (request->intake != NULL ? request->body_max : HTTP_DRAIN_MAX))
            return MHD_NO;
        return n == 0 ? queue(request) : MHD_YES;
    case PHASE_ANSWER:
        break;
    }
    return atomic_load(&request->state) == STATE_ANSWERED ? queue(request) : MHD_YES;
}
