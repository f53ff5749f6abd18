/*
 * server/http_stream.c - see http_stream.h.
 *
 *   reply --> AWAKE --(fill: 0)--> SLEEPING, the library's connection is suspended
 *               ^                     |
 *               +----stream_wake()----+      a wake that comes while it is AWAKE is remembered, so
 *                                            that fill is asked once more before it sleeps
 *
 * Both moves are made under the stream's lock, so that nobody resumes what is not suspended yet.
 * The library calls on_read() again after each piece is sent, and on_free() last.
 */
#include "server/http_stream.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/http_core.h"

/* Of one piece at most; the connection's memory may allow less. */
#define STREAM_PIECE (16 * 1024)

struct stream {
    atomic_uint refs;
    struct http_server *server; /* not after the end */
    struct stream *prev, *next; /* server->streams */
    struct MHD_Connection *con;
    struct conn *conn;
    struct MHD_Response *response; /* until the reply */
    struct stream_config config;
    bool parted; /* the farewell was said */
    pthread_mutex_t lock;
    bool sleeping, woken; /* guarded by lock */
};

static bool is_stopping(const struct stream *stream)
{
    return atomic_load(&stream->server->stopping);
}

/* Whether it sleeps now. */
static bool stream_sleep(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool sleeps = !stream->woken && !is_stopping(stream);
    stream->woken = false;
    if (sleeps) {
        stream->sleeping = true;
        conn_deadline_set(stream->conn, INT64_MAX);
        MHD_suspend_connection(stream->con);
    }
    pthread_mutex_unlock(&stream->lock);
    return sleeps;
}

/*
 * Without chunks (HTTP/1.0) the end is the connection's end. The library (0.9.75) forgets to clean
 * the connection up when it learns of the end right after a resumption (connection.c,
 * MHD_connection_handle_idle), but not when it does after sending something.
 */
static ssize_t stream_part(struct stream *stream, char *out)
{
    if (stream->parted)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->parted = true;
    out[0] = stream->config.farewell;
    return 1;
}

static ssize_t on_read(void *cls, uint64_t pos, char *out, size_t max)
{
    (void)pos;
    struct stream *stream = cls;
    while (!stream->parted && !is_stopping(stream)) {
        ssize_t n = stream->config.fill(stream->config.arg, out, max);
        if (n < 0)
            break;
        if (n > 0) {
            int64_t now_ns = http_now_ns(stream->server);
            conn_deadline_set(stream->conn, now_ns + HTTP_SEND_MS * NS_PER_MS);
            return n;
        }
        if (stream_sleep(stream))
            return 0;
    }
    return stream_part(stream, out);
}

static void streams_link(struct stream *stream)
{
    struct http_server *server = stream->server;
    pthread_mutex_lock(&server->streams_lock);
    stream->next = server->streams;
    if (stream->next != NULL)
        stream->next->prev = stream;
    server->streams = stream;
    pthread_mutex_unlock(&server->streams_lock);
}

static void streams_unlink(struct stream *stream)
{
    struct http_server *server = stream->server;
    pthread_mutex_lock(&server->streams_lock);
    if (stream->prev != NULL)
        stream->prev->next = stream->next;
    else
        server->streams = stream->next;
    if (stream->next != NULL)
        stream->next->prev = stream->prev;
    pthread_mutex_unlock(&server->streams_lock);
}

static void on_free(void *cls)
{
    struct stream *stream = cls;
    streams_unlink(stream);
    /* Who is just waking it is through after this. */
    pthread_mutex_lock(&stream->lock);
    stream->sleeping = false;
    pthread_mutex_unlock(&stream->lock);
    stream->config.closed(stream->config.arg);
    stream_unref(stream);
}

enum err_code stream_new(struct request *request, const struct stream_config *config,
                         struct stream **out, struct err *err)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return err_nomem(err);
    atomic_init(&stream->refs, 2); /* the caller's and the response's */
    stream->server = request->server;
    stream->con = request->con;
    stream->conn = request->conn;
    stream->config = *config;
    stream->response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, on_read, stream, on_free);
    if (stream->response == NULL) {
        free(stream);
        return err_nomem(err);
    }
    pthread_mutex_init(&stream->lock, NULL);
    streams_link(stream);
    *out = stream;
    return ERR_OK;
}

void request_reply_stream(struct request *request, struct stream *stream)
{
    struct MHD_Response *response = stream->response;
    stream->response = NULL;
    request->waits = true;
    http_reply_response(request, response, stream->config.content_type);
}

/* With the lock. The connection is there as long as it sleeps, and so is the server. */
static void resume(struct stream *stream)
{
    struct http_server *server = stream->server;
    stream->sleeping = false;
    atomic_fetch_add(&server->resumers, 1);
    MHD_resume_connection(stream->con);
    atomic_fetch_sub(&server->resumers, 1);
}

void stream_wake(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->sleeping)
        resume(stream);
    else
        stream->woken = true;
    pthread_mutex_unlock(&stream->lock);
}

void stream_unref(struct stream *stream)
{
    if (stream == NULL || atomic_fetch_sub(&stream->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

void http_streams_wake(struct http_server *server)
{
    pthread_mutex_lock(&server->streams_lock);
    for (struct stream *stream = server->streams; stream != NULL; stream = stream->next)
        stream_wake(stream);
    pthread_mutex_unlock(&server->streams_lock);
}
