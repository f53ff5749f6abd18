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

#define HTTP_THREADS 2
#define HTTP_CONNECTIONS_MAX 20000 /* less when RLIMIT_NOFILE allows less; logged */
#define HTTP_BODY_MAX (1024 * 1024)
#define HTTP_BODY_LARGE_MAX (16 * 1024 * 1024) /* agent reports */
#define HTTP_URL_MAX 4096
#define HTTP_REQUEST_DEADLINE_MS 30000 /* from the first byte of the head to the end of the body */
#define HTTP_PARAMS_MAX 4
#define HTTP_REQUEST_ID_SIZE 40

struct http_server;
struct request; /* one exchange */
struct route;

/* Bytes shared by many answers; reference counted, immutable. */
struct blob {
    _Atomic uint32_t refs;
    char *data;
    size_t len;
    char etag[48];            /* quoted, "" = none */
    const char *content_type; /* static storage */
};
struct blob *blob_new(char *data, size_t len, const char *etag, const char *content_type); /* takes data */
struct blob *blob_ref(struct blob *blob);
void blob_unref(struct blob *blob); /* NULL is legal */

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

struct principal {
    enum role role;
    char name[80];   /* "token:ID", "node:n1"; for audit */
    char tenant[64]; /* of tenant roles */
    char node[64];   /* of agents */
};

struct http_config {
    const char *address; /* "127.0.0.1" or "::1", ... */
    uint16_t port;       /* 0 = any free */
    const struct route *routes;
    size_t route_count;
    void *app; /* request_app() */
    /* Constant-time lookup of a bearer token; false = unknown, expired or revoked. Any HTTP thread. */
    bool (*authenticate)(void *app, const char *token, struct principal *out);
    struct clock *clock;
};

ERR_MUST_CHECK enum err_code http_server_start(const struct http_config *config,
                                               struct http_server **out, struct err *err);
uint16_t http_server_port(const struct http_server *server);
/* Quiesce, answer what waits (request_cancelled() becomes true, long waits get 503), wait for 0
 * connections (bounded by 10 s), stop. */
void http_server_stop(struct http_server *server);

struct http_stats {
    uint64_t requests, responses_4xx, responses_5xx;
    uint32_t connections, waiting;
};
void http_stats_get(struct http_server *server, struct http_stats *out);

/* What a handler sees. Everything is borrowed and lives until the reply. ---------------------- */

void *request_app(const struct request *request);
const char *request_method(const struct request *request);
const char *request_path(const struct request *request);               /* decoded */
const char *request_param(const struct request *request, size_t index); /* {name}s of the route */
const char *request_query(const struct request *request, const char *key); /* NULL = absent */
const char *request_header(const struct request *request, const char *name); /* NULL = absent */
const char *request_id(const struct request *request); /* X-Request-Id or traceparent's, else new */
const struct principal *request_principal(const struct request *request);
const char *request_body(const struct request *request, size_t *out_len);
/* The parsed body of routes with ROUTE_JSON; borrowed. */
const json_t *request_json(const struct request *request);
/* A place for the handler's own data, freed with fn after the reply. */
void request_own(struct request *request, void *data, void (*fn)(void *));
/* "true"/"1" of ?dry_run=. */
bool request_is_dry_run(const struct request *request);
/* The deadline of a wait (?timeout=30s or ?wait=25s, at most max_s); ERR_INVALID text for 400. */
ERR_MUST_CHECK enum err_code request_duration(const struct request *request, const char *key,
                                              int64_t default_ns, int64_t max_ns, int64_t *out_ns,
                                              struct err *err);

/* Answers: exactly one, from any thread. ------------------------------------------------------- */

/* Takes over body (json_decref); NULL body = no content. etag may be NULL; location may be NULL. */
void request_reply_json(struct request *request, int status, json_t *body, const char *etag,
                        const char *location);
/* Borrows a reference of its own. Answers 304 when If-None-Match has its etag (GET/HEAD). */
void request_reply_blob(struct request *request, int status, struct blob *blob);
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
/* From an err: INVALID 422 (400 for syntax is the http layer's), NOT_FOUND 404, CONFLICT 409, DENIED 403, LIMIT 422,
 * UNSUPPORTED 422, UNAVAILABLE 503, IO/NOMEM 500 (text to the log, not to the caller). */
void request_reply_err(struct request *request, const struct err *err);
/* Waiters register here; fn runs (HTTP thread) when the server stops or the deadline given passes. */
void request_wait_until(struct request *request, int64_t deadline_mono_ns,
                        void (*fn)(struct request *request, void *arg), void *arg);
