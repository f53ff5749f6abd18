#pragma once
/*
 * server/http_core.h - what the http_*.c files share and nobody else includes.
 *
 * Threads: HTTP_THREADS of the library run the callbacks of http_conn.c and the handlers; one timer
 * thread (http_wait.c) cuts late connections and ends late waits; any thread may reply.
 *
 * The life of one exchange (request.state):
 *
 *   on_uri -> READING --(head and body whole, handler called)--> RUNNING
 *   RUNNING  --reply()--------> ANSWERED   queued by the same thread when the handler returns
 *   RUNNING  --handler returns, connection suspended--> SUSPENDED
 *   SUSPENDED --reply()-------> ANSWERED   reply() resumes; the library calls again and we queue
 *
 * reply() is won by the first who sets `claimed`; the others only let go of what they hold. Memory
 * lives by `refs`: one of the connection (until the library says completed), one of the obligation
 * to reply (from the handler's start to its owner's reply), one while a timer runs its function,
 * and request_hold()'s.
 */

#include <pthread.h>
#include <stdatomic.h>

#include <microhttpd.h>
#include <netinet/in.h>

#include "base/x509.h"
#include "server/http.h"
#include "server/http_url.h"
#include "server/problem.h"
#include "server/route_match.h"

/* Head of a request at most, and of its answer: more than HTTP_URL_MAX, so that a long URL gets our
 * own answer. Each connection has it for as long as it lives, and an agent has two. */
#define HTTP_CONNECTION_MEMORY (12 * 1024)
#define HTTP_DRAIN_MAX         (2 * 1024 * 1024) /* of a refused body; more: cut */
#define HTTP_IDLE_MS           75000
#define HTTP_SEND_MS           60000 /* to take the answer, and 1 s for each HTTP_SEND_RATE bytes */
#define HTTP_SEND_RATE         (64 * 1024)
#define HTTP_ANSWER_MS         120000 /* a handler that never replies: 503 */
#define HTTP_STOP_MS           10000
#define HTTP_HEADERS_EXTRA_MAX 4
#define HTTP_OWNED_MAX         4
#define HTTP_TOKEN_MAX         512

#define HTTP_TYPE_JSON        "application/json"
#define HTTP_TYPE_JSON_PATCH  "application/json-patch+json"
#define HTTP_TYPE_MERGE_PATCH "application/merge-patch+json"

struct tls_identity;

/* What a connection's client has shown. */
enum tls_peer {
    TLS_PEER_UNKNOWN = 0, /* not looked at yet */
    TLS_PEER_NONE,
    TLS_PEER_GOOD,      /* our authority signed it for a client, and it is in force */
    TLS_PEER_EXPIRED,   /* it was so once */
    TLS_PEER_UNTRUSTED, /* any other */
};

struct conn { /* one TCP connection */
    struct conn *prev, *next;
    int fd;
    _Atomic int64_t deadline_ns;   /* cut after it; INT64_MAX = waits for us */
    atomic_bool idle;              /* between two requests, or before the first */
    bool used;                     /* had a request */
    struct sockaddr_in6 address;   /* of the peer; or a sockaddr_in */
    char peer[INET6_ADDRSTRLEN];   /* the same as text */
    struct tls_identity *identity; /* owned; what we show to it; NULL = no TLS */
    enum tls_peer certificate_peer;
    char certificate[X509_FINGERPRINT_SIZE]; /* with TLS_PEER_GOOD */
};

enum request_phase { PHASE_HEAD, PHASE_BODY, PHASE_INTAKE, PHASE_DRAIN, PHASE_ANSWER };
enum request_state { STATE_READING, STATE_RUNNING, STATE_SUSPENDED, STATE_ANSWERED };

struct owned {
    void *data;
    void (*fn)(void *);
};

struct header_extra {
    char *name, *value;
};

struct request {
    struct http_server *server; /* not after the answer: it may have stopped */
    struct MHD_Connection *con; /* nor this */
    struct conn *conn;
    void *app;
    atomic_uint refs;
    atomic_int state;
    atomic_bool claimed;    /* somebody replies or has replied */
    atomic_bool discharged; /* the owner's obligation to reply is met */
    bool waits;             /* for a change, or is a stream: its time is not counted */
    int64_t started_ns;     /* when its head was whole */
    atomic_bool wait_used;  /* the timer heap may know this request */

    enum request_phase phase;
    enum route_method method;
    bool close; /* the framing is in doubt, or a body stays unread */
    const struct route *route;
    size_t param_count;
    char *params[HTTP_PARAMS_MAX];
    struct principal principal;
    struct http_url url;
    char id[HTTP_REQUEST_ID_SIZE];
    char peer[INET6_ADDRSTRLEN];

    /* The headers as "name\0value\0...\0\0", without Authorization and Cookie: a copy, since an
     * owner may look at them after a forced answer, when the library's are gone. Those asked for
     * often point there; authorization and cookie point to the library's and are read before the
     * handler only. */
    char *headers;
    bool has_authorization;
    const char *authorization, *cookie;
    const char *content_type, *if_match, *if_none_match, *expect;
    uint64_t content_length; /* UINT64_MAX = chunked */

    char *body;
    size_t body_len, body_room, body_max, drained;
    json_t *json;
    struct http_intake *intake; /* owned; of ROUTE_STREAM */

    /* Of the wait; guarded by server->wait_lock. */
    size_t heap_at; /* 1.. = place in the heap, 0 = not there */
    int64_t wait_deadline_ns;
    void (*wait_fn)(struct request *request, void *arg);
    void *wait_arg;

    /* The answer; written by the thread that claimed, read after STATE_ANSWERED. */
    struct MHD_Response *response;
    struct blob *blob; /* owned; the answer, of which the library's thread makes the response */
    int status;
    size_t response_len;
    struct header_extra extra[HTTP_HEADERS_EXTRA_MAX];
    size_t extra_count;

    struct owned owned[HTTP_OWNED_MAX];
    size_t owned_count;

    size_t raw_len;
    char text[]; /* raw URL, decoded URL, decoded parameters */
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct route_tree *tree;
    struct http_config config;
    int listen_fd;
    uint16_t port;
    unsigned connections_max;
    int64_t request_deadline_ns, idle_ns, stop_ns;
    atomic_bool stopping;

    atomic_uint_fast64_t requests, responses_4xx, responses_5xx;
    atomic_uint_fast64_t unauthenticated, denied; /* answers 401, 403 */
    _Atomic uint64_t answers[HTTP_METHODS][HTTP_CLASSES];
    _Atomic uint64_t latencies[HTTP_LATENCIES + 1], latency_sum_ns;
    atomic_uint connections;
    atomic_uint resumers; /* threads inside MHD_resume_connection(); stop waits for them */

    pthread_mutex_t conns_lock;
    struct conn *conns;

    pthread_mutex_t streams_lock;
    struct stream *streams;

    pthread_mutex_t wait_lock;
    pthread_cond_t wait_cond;
    struct request **heap; /* from 1; by wait_deadline_ns */
    size_t heap_count, heap_room;
    bool timer_end; /* guarded by wait_lock */
    pthread_t timer;
};

static inline int64_t http_now_ns(const struct http_server *server)
{
    return server->config.clock->mono_ns(server->config.clock);
}

static inline void conn_deadline_set(struct conn *conn, int64_t deadline_ns)
{
    atomic_store_explicit(&conn->deadline_ns, deadline_ns, memory_order_relaxed);
}

/* http_conn.c: callbacks of the library. */
void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *con);
void http_on_connection(void *cls, struct MHD_Connection *con, void **socket_context,
                        enum MHD_ConnectionNotificationCode code);
enum MHD_Result http_on_request(void *cls, struct MHD_Connection *con, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **con_cls);
void http_on_completed(void *cls, struct MHD_Connection *con, void **con_cls,
                       enum MHD_RequestTerminationCode code);
/* Cuts connections that are late, and all idle ones when the server stops. */
void http_conns_sweep(struct http_server *server, int64_t now_ns, bool all);

/* http_request.c */
struct request *request_new(struct http_server *server, const char *uri);
void request_unref(struct request *request);

/* http_head.c */
/* Content-Type is `wanted`, alone or with charset=utf-8. */
bool http_type_is(const char *type, const char *wanted);
/* True = go on and read the body; false = a refusal is made (state ANSWERED). */
bool http_head_check(struct request *request, const char *method);

/* Headers that say where a request comes from; each NULL when absent. */
struct http_origin {
    const char *host, *origin, *referer, *fetch_site;
};
/* http_auth.c: true = the caller is known and may; false = a refusal is made. */
bool http_auth_check(struct request *request, const struct http_origin *from);

/* http_tls.c; begin and end only where server->config.tls is set. */
#define HTTP_TLS_OPTIONS 3
void http_tls_options(struct MHD_OptionItem out[HTTP_TLS_OPTIONS]);
void http_tls_begin(struct http_server *server, struct conn *conn, struct MHD_Connection *con);
void http_tls_end(struct conn *conn);
/* Never UNKNOWN. With GOOD, request->conn->certificate is set. The library's thread only. */
enum tls_peer http_tls_peer(struct request *request);

/* http_reply.c: the response of request->blob, which it takes; NULL = no memory. */
struct MHD_Response *http_blob_response(struct request *request);
/* Status 200 with this response, which it takes. */
void http_reply_response(struct request *request, struct MHD_Response *response,
                         const char *content_type);
/* Answers by this layer, before any handler. */
void http_reply_empty(struct request *request, int status);
void http_refuse(struct request *request, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Used by the timer: answers 503 without meeting the owner's obligation. */
void http_reply_forced(struct request *request, const char *detail);

/* http_intake.c: a piece of the body has come, *n 0 at its end; *n becomes what was not taken. */
enum http_intake_move {
    INTAKE_MORE,
    INTAKE_WHOLE, /* call http_intake_end() as a handler */
    INTAKE_OVER,  /* somebody replied: the rest is dropped */
};
enum http_intake_move http_intake_on_data(struct request *request, const char *data, size_t *n);
void http_intake_end(struct request *request);

/* http_reply.c: a response of a file, which it takes; NULL = no memory. */
void http_reply_file(struct request *request, int status, struct MHD_Response *response, size_t len,
                     const char *etag);

/* http_stream.c: all look again, so that they see the server's stop. */
void http_streams_wake(struct http_server *server);

/* http_count.c: an answer is given to the library. */
void http_count(struct request *request);
void http_counts_get(const struct http_server *server, struct http_stats *out);

/* http_wait.c */
ERR_MUST_CHECK enum err_code http_wait_start(struct http_server *server, struct err *err);
void http_wait_end(struct http_server *server);
/* The handler went without a reply: it waits, at most HTTP_ANSWER_MS unless it said otherwise. */
void http_wait_default(struct request *request);
void http_wait_remove(struct request *request);
void http_wait_wake(struct http_server *server);
size_t http_wait_count(struct http_server *server);
