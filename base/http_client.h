#pragma once
/*
 * base/http_client.h - requests over libcurl, driven by a base/loop (agent, bench) or in one
 * blocking call (cli, tests). Bodies are bounded; nothing is followed (no redirects), no proxy from
 * the environment.
 */

#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"

#define HTTP_CLIENT_BODY_MAX    (16 * 1024 * 1024)
#define HTTP_CLIENT_HEADERS_MAX 8
#define HTTP_STORE_MAX          72   /* of the header Stellar-Store, with its NUL */
#define HTTP_CLIENT_RUNNING_MAX 4096 /* requests of one client at a time; more: ERR_LIMIT */

struct http_client;

struct http_request {
    const char *method;                           /* "GET", ... */
    const char *url;                              /* http:// or https:// */
    const char *bearer;                           /* token or NULL */
    const char *headers[HTTP_CLIENT_HEADERS_MAX]; /* "Name: value", NULL-terminated */
    const void *body;                             /* copied; NULL = none */
    size_t body_len;
    const char *content_type; /* NULL = application/json when there is a body */
    int64_t deadline_ns;      /* of the whole request; 0 = 30 s */
    const char *ca_file;      /* PEM; who may sign the server's certificate; NULL = the system's */
    const char *cert_file;    /* PEM; our certificate and key for mutual TLS; NULL = none */
    const char *key_file;
};

struct http_response {
    long status; /* 0 when there was no answer; then err says why */
    const char *body;
    size_t body_len;
    const char *etag;     /* "" if none */
    const char *store;    /* which store the server has, header Stellar-Store; "" if none */
    const char *location; /* "" if none, or too long */
    struct err err; /* ERR_UNAVAILABLE: no answer (refused, reset, deadline); ERR_LIMIT: too big */
};

typedef void http_done_fn(void *arg, const struct http_response *response);

ERR_MUST_CHECK enum err_code http_client_new(struct loop *loop, struct http_client **out,
                                             struct err *err);
/* Cancels what runs; done is not called. Free it before its loop. */
void http_client_free(struct http_client *client);
OWN_DEFINE(http_client, struct http_client *, http_client_free)

/* Starts a request; done runs on the loop's thread, once, never inside this call; the response
 * lives until it returns. done may start and cancel requests and free the client. *out_id may be
 * NULL. ERR_INVALID: a malformed method, URL or header, or a file of TLS that is no regular one;
 * ERR_NOT_FOUND, ERR_DENIED, ERR_IO: one that cannot be opened. */
ERR_MUST_CHECK enum err_code http_client_start(struct http_client *client,
                                               const struct http_request *request,
                                               http_done_fn *done, void *arg, uint64_t *out_id,
                                               struct err *err);
void http_client_cancel(struct http_client *client, uint64_t id); /* done is not called */

/* Where a Location leads, for people and harmless: "HOST:PORT", without user, path and query; ""
 * when it names no host. size >= 16. */
void http_location_host(const char *location, char *out, size_t size);

/* Blocking GET that does not look at who answers: for what is known by its hash, and nothing else.
 * It sends no credentials. Any answer of the server is ERR_OK: look at the status. */
ERR_MUST_CHECK enum err_code http_fetch_unverified(const char *url, long *out_status,
                                                   char **out_body, size_t *out_len,
                                                   struct err *err);

/* Blocking. The response's body is malloc'ed into *out_body, NUL-terminated (free it). Any answer
 * of the server is ERR_OK: look at the status. */
ERR_MUST_CHECK enum err_code http_call(const struct http_request *request, long *out_status,
                                       char **out_body, size_t *out_len, struct err *err);
