#pragma once
/*
 * server/http.h - the only user of libmicrohttpd: connections in, whole requests out, answers back.
 *
 * Each request comes to a route's handler once, complete: method, path, parameters, headers, body,
 * principal. The handler runs on one of HTTP_THREADS threads, must not block, and answers with
 * request_reply() now or later from any thread; the connection is suspended in between.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"

#define HTTP_THREADS         2
#define HTTP_CONNECTIONS_MAX 20000 /* less when RLIMIT_NOFILE allows less; logged */
#define HTTP_BODY_MAX        (1024 * 1024)
#define HTTP_BODY_LARGE_MAX  (16 * 1024 * 1024)  /* agent reports */
#define HTTP_BODY_STREAM_MAX (512 * 1024 * 1024) /* taken in pieces: firmware images */
#define HTTP_URL_MAX         4096
#define HTTP_PARAMS_MAX      4
#define HTTP_REQUEST_ID_SIZE 40
/* From the first byte of the head to the end of the body. */
#define HTTP_REQUEST_DEADLINE_MS 30000

struct http_server;
struct tls;
struct request; /* one exchange */
struct route;
struct sockaddr;

/* Bytes shared by many answers; reference counted, immutable. */
struct blob {
    _Atomic uint32_t refs;
    char *data;
    size_t len;
    bool is_static;           /* data is not freed */
    char etag[48];            /* quoted, "" = none */
    const char *content_type; /* static storage */
};
struct blob *blob_new(char *data, size_t len, const char *etag,
                      const char *content_type); /* takes data */
/* As blob_new(), of bytes that are there as long as the program. */
struct blob *blob_new_static(const void *data, size_t len, const char *etag,
                             const char *content_type);
struct blob *blob_ref(struct blob *blob);
void blob_unref(struct blob *blob);               /* NULL is legal */
void etag_format(int64_t revision, char out[32]); /* quoted, as headers and documents show it */

enum role {
    ROLE_NONE = 0, /* no credentials needed or given */
    ROLE_ADMIN,
    ROLE_OPERATOR,
    ROLE_AUDITOR,
    ROLE_TENANT_ADMIN,
    ROLE_TENANT_USER,
    ROLE_AGENT,
};
#define ROLE_BIT(role) (1u << (role))

#define ROLE_COUNT (ROLE_AGENT + 1)

/* What a credential may do beside its role: safe methods need READ, all others WRITE. */
enum scope {
    SCOPE_READ = 1 << 0,
    SCOPE_WRITE = 1 << 1,
    SCOPE_ALL = SCOPE_READ | SCOPE_WRITE,
};

struct principal {
    enum role role;
    uint32_t scopes;      /* enum scope */
    bool by_cookie;       /* of a session: unsafe methods must come from our own pages */
    int64_t expires_us;   /* of the credential; 0 = never */
    int32_t wait_s;       /* > 0: over its rate, refused with 429 for so long */
    uint32_t place;       /* where server/auth keeps it */
    char name[112];       /* "token:ID", "user:NAME" (of a session), "node:n1"; for audit */
    char credential[24];  /* public id of the token or session; "" = a certificate's, a node's */
    char user[100];       /* whose session or token it is; "" = no user's */
    char tenant[64];      /* of tenant roles */
    char node[64];        /* of agents */
    char certificate[65]; /* fingerprint of the client certificate that showed it; "" = none */
};

/* What a request brought to show who calls; each NULL when it is not there. Borrowed. */
struct credentials {
    const char *bearer;      /* Authorization: Bearer; when there it alone counts */
    const char *session;     /* value of the cookie HTTP_SESSION_COOKIE */
    const char *certificate; /* SHA-256 of a verified client certificate, in hex */
    const struct sockaddr *peer;
};
#define HTTP_SESSION_COOKIE "__Host-stellar"

struct http_config {
    const char *address; /* "127.0.0.1" or "::1", ... */
    uint16_t port;       /* 0 = any free */
    int listen_fd;       /* > 0: this listening socket instead of address and port; it goes on */
    const struct route *routes;
    size_t route_count;
    /* What answers a GET or HEAD of a path that no route has, when fallback_owns() says so: pages.
     * Any other method of such a path is a 405. NULL = nobody, a 404. Any HTTP thread. */
    const struct route *fallback;
    bool (*fallback_owns)(struct request *request);
    void *app; /* request_app() */
    /* Constant-time lookup; false = unknown, expired, revoked, or not from this address. Any HTTP
     * thread. */
    bool (*authenticate)(void *app, const struct credentials *given, struct principal *out);
    /* A change was refused because of who called (403, or the 404 of another tenant); before the
     * answer. NULL = nobody asks. Any HTTP thread. */
    void (*denied)(void *app, const struct request *request, int status, const char *code);
    struct clock *clock; /* NULL = clock_system() */
    struct tls *tls;     /* borrowed, what to show to clients; NULL = plain HTTP */
    /* 0 = the default. For tests, and for operators with odd networks. */
    uint32_t request_deadline_ms; /* HTTP_REQUEST_DEADLINE_MS */
    uint32_t idle_ms;             /* of a connection between two requests; 75 s */
    uint32_t stop_ms;             /* how long http_server_stop() waits for answers; 10 s */
    uint32_t connections_max;     /* HTTP_CONNECTIONS_MAX */
};

ERR_MUST_CHECK enum err_code http_server_start(const struct http_config *config,
                                               struct http_server **out, struct err *err);
uint16_t http_server_port(const struct http_server *server);
/* Quiesce, answer what waits (request_cancelled() becomes true, long waits get 503), wait for 0
 * connections (bounded by 10 s), stop. */
void http_server_stop(struct http_server *server);

#define HTTP_METHODS          8 /* enum route_method, and at the end the unknown */
#define HTTP_OTHER            (HTTP_METHODS - 1)
#define HTTP_CLASSES          6  /* of a status: [2] = 2xx */
#define HTTP_LATENCIES        10 /* buckets with an upper end: 100 us, 400 us, 1.6 ms, ... 26 s */
#define HTTP_LATENCY_FIRST_NS (NS_PER_MS / 10)
#define HTTP_LATENCY_STEP     4

struct http_stats {
    uint64_t answers[HTTP_METHODS][HTTP_CLASSES];
    /* From the head to the answer, without requests that wait for a change and streams; each
     * answer in one bucket, the last has no end. */
    uint64_t latencies[HTTP_LATENCIES + 1];
    uint64_t latency_sum_ns;
    uint64_t requests, responses_4xx, responses_5xx;
    uint64_t unauthenticated, denied; /* 401, 403 */
    uint32_t connections, waiting;
};
void http_stats_get(struct http_server *server, struct http_stats *out);

/* What a handler sees. Everything is borrowed and lives until the reply. ---------------------- */

void *request_app(const struct request *request);
const char *request_method(const struct request *request);
const char *request_path(const struct request *request);   /* decoded */
const char *request_target(const struct request *request); /* as sent, with the query */
const char *request_param(const struct request *request, size_t index); /* {name}s of the route */
const char *request_query(const struct request *request, const char *key); /* NULL = absent */
/* NULL = absent. Never Authorization or Cookie: secrets are not kept. */
const char *request_header(const struct request *request, const char *name);
/* The caller's address, without port: "192.0.2.1", "2001:db8::1"; "" = unknown. */
const char *request_peer(const struct request *request);
const struct route *request_route(const struct request *request);
const char *request_id(const struct request *request); /* X-Request-Id or traceparent's, else new */
const struct principal *request_principal(const struct request *request);
const char *request_body(const struct request *request, size_t *out_len);
/* The parsed body of routes with ROUTE_JSON or ROUTE_PATCH_BODY; borrowed. */
const json_t *request_json(const struct request *request);
/* Which of the types (NULL-terminated, the usual one first) the caller likes best by its header
 * Accept (RFC 9110 12.5.1); 0 when it does not say, or likes none of them. Also says in the answer
 * that it depends on Accept (Vary). http_accept.c */
size_t request_accept(struct request *request, const char *const *types);
/* Which of the content codings ("br", ...; NULL-terminated, the best first) the caller takes by its
 * Accept-Encoding; NULL = none of them. Also says so in the answer (Vary). http_accept.c */
const char *request_accept_coding(struct request *request, const char *const *codings);
/* Of a ROUTE_PATCH_BODY: the body is a JSON Merge Patch, else it is a JSON Patch. */
bool request_is_merge_patch(const struct request *request);
/* A place for the handler's own data, freed with fn after the reply, when the last reference is
 * dropped (any thread). At most 4 a request. */
void request_own(struct request *request, void *data, void (*fn)(void *));
/* "true"/"1" of ?dry_run=. Values that are no boolean were refused before the handler. */
bool request_is_dry_run(const struct request *request);
/* True when the query has only these keys (NULL-terminated); else 400 is replied and it is false:
 * `if (!request_queries_known(request, names)) return;` */
bool request_queries_known(struct request *request, const char *const *names);
/* The deadline of a wait (?timeout=30s or ?wait=25s, at most max_s); ERR_INVALID text for 400. */
ERR_MUST_CHECK enum err_code request_duration(const struct request *request, const char *key,
                                              int64_t default_ns, int64_t max_ns, int64_t *out_ns,
                                              struct err *err);

/*
 * Answers: exactly one, from any thread. -------------------------------------------------------
 *
 * The request is borrowed by its handler, or by whom the handler gives it to (a queue, a table of
 * waiters), until that owner replies. After the reply the pointer is gone, unless request_hold()
 * was called: then its getters stay good until request_drop().
 *
 * The first reply wins, later ones do nothing. Who may still reply, or look at a request, after
 * another thread could have replied, must hold a reference. Two ways for an owner with a wait:
 *   - one lock, one table: the owner and the fn of request_wait_until() each take the request out
 * of the table under the lock; who finds it there replies, who does not leaves it alone. Or
 *   - request_hold() before the hand-over; both reply, one wins; the owner drops its reference.
 * The server itself answers 503 for an owner that has not replied after 120 s without a wait, after
 * its wait's fn came back without a reply (within 30 s), or when the stop takes too long. Such an
 * answer leaves the owner's pointer good until the owner replies too (which then does nothing).
 */
struct request *request_hold(struct request *request);
void request_drop(struct request *request); /* NULL is legal */
/* Whether somebody has replied. */
bool request_is_answered(const struct request *request);
/* True when work for this request is vain: the server stops, or it was answered already. */
bool request_cancelled(const struct request *request);

/* A header of the answer beside the usual ones (copied; at most 4; not for ETag, Location,
 * X-Request-Id, nor for Content-* but Content-Encoding). "Cache-Control" and "Retry-After" replace
 * the usual value. Call it before the reply and only where no other thread may reply. */
void request_set_header(struct request *request, const char *name, const char *value);
/* Takes over body (json_decref); NULL is the body of a 204 only: with any other status it is one
 * that there was no memory for, and the answer is a 500. etag (quoted) may be NULL; location may be
 * NULL. 200 becomes 304 when If-None-Match has the etag (GET/HEAD). Canonical JSON. */
void request_reply_json(struct request *request, int status, json_t *body, const char *etag,
                        const char *location);
/* As request_reply_json(), with this Set-Cookie, which no other answer of the request will carry.
 */
void request_reply_cookie(struct request *request, int status, json_t *body, const char *cookie);
/* Borrows a reference of its own. Answers 304 when If-None-Match has its etag (GET/HEAD). */
void request_reply_blob(struct request *request, int status, struct blob *blob);
/* The open file of `size` bytes (at least 1), which is taken over; one Range is served. */
void request_reply_file(struct request *request, int fd, uint64_t size, const char *etag);
/* text copied. */
void request_reply_text(struct request *request, int status, const char *content_type,
                        const char *text, size_t len);
/*
 * application/problem+json. code: stable kebab-case id; findings (may be NULL) become "errors".
 * 412 answers carry the current etag (may be NULL).
 */
void request_reply_problem(struct request *request, int status, const char *code,
                           const struct finding_list *findings, const char *etag, const char *fmt,
                           ...) __attribute__((format(printf, 6, 7)));
/* From an err: INVALID 422 (400 for syntax is the http layer's), NOT_FOUND 404, CONFLICT 409,
 * DENIED 403, LIMIT 422, UNSUPPORTED 422, UNAVAILABLE 503, IO of a full disk 507, other IO and
 * NOMEM 500 (text to the log, not to the caller). */
void request_reply_err(struct request *request, const struct err *err);
/* The 404 of a tenant that is not there, and of one that a tenant's token must not know of. */
void request_reply_no_tenant(struct request *request, const char *tenant);
/*
 * Waiters register here: fn runs once, on the server's timer thread, when deadline_mono_ns (of
 * http_config.clock) passes or the server stops, unless the request was answered before. fn must
 * reply, or know that the owner is about to; it must not block. It may run while another thread
 * replies. The request stays good while fn runs; arg must live as long as the request does: app
 * data, or something given to request_own(). From the handler or later by the owner; a second call
 * replaces the first. After a reply it does nothing.
 */
void request_wait_until(struct request *request, int64_t deadline_mono_ns,
                        void (*fn)(struct request *request, void *arg), void *arg);
