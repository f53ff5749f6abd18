#pragma once
/*
 * agent/link_http.h - the link over HTTP(S):
 *   PUT  /v1/agent/inventory
 *   GET  /v1/agent/plan?known=TAG&wait=25s      200 a plan, 204 nothing new ('+' of TAG as %2B)
 *   POST /v1/agent/receipts
 *   PUT  /v1/agent/state
 *   PUT  /v1/agent/chains
 *   POST /v1/nodes/NODE/telemetry
 *   GET  /v1/nodes/NODE/flash?known=TAG&wait=25s   200 a flash task, 204 nothing new, 404 a server
 *                                                  that has none: asked again slowly
 *   POST /v1/nodes/NODE/flash/TASK:report
 *   GET  /v1/nodes/NODE/verify?known=TAG&wait=25s  the same of a test between nodes
 *   POST /v1/nodes/NODE/verify/TASK:report
 * each with a client certificate, or with "Authorization: Bearer TOKEN" (loopback only). What is
 * sent goes one at a time, the receipt first: one connection beside those of the polls. A server
 * that is away or answers 5xx, 408 or 429 is tried again with back-off; 401 and 403 slowly; what it
 * refuses otherwise (4xx) is logged and not sent again.
 */

#include "agent/link.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/http_client.h"
#include "base/loop.h"

#define LINK_POLL_WAIT_S      25
#define LINK_POLL_DEADLINE_NS (40 * NS_PER_S) /* the wait and what the way takes */
#define LINK_SEND_DEADLINE_NS (30 * NS_PER_S)
#define LINK_POLL_MIN_NS      (1 * NS_PER_S)  /* a server that does not wait is asked this often */
#define LINK_DENIED_RETRY_NS  (60 * NS_PER_S) /* jittered */

struct link_http_config {
    const char *server;   /* "https://host:port", without a path; copied */
    const char *token;    /* copied; never logged; NULL = by certificate */
    const char *ca_file;  /* copied; who may sign the server's certificate; NULL = the system's */
    const char *identity; /* copied; a file with our certificate and its key; NULL = none */
    const char *node;     /* for log lines; copied */
    int64_t denied_retry_ns; /* 0 = LINK_DENIED_RETRY_NS; tests shorten it */
};

/* From the next request on the agent shows this file's certificate. ERR_NOMEM keeps the old one. */
ERR_MUST_CHECK enum err_code link_http_show(struct link *link, const char *identity,
                                            struct err *err);

/* What it takes to ask for a path of the server ("/v1/...") as this agent; the caller releases
 * *out.
 */
ERR_MUST_CHECK enum err_code link_http_at(const struct link *link, const char *path,
                                          struct link_image *out, struct err *err);

/* loop and client are borrowed and may be shared by many links. */
ERR_MUST_CHECK enum err_code link_http_new(struct loop *loop, struct http_client *client,
                                           const struct link_http_config *config, struct link **out,
                                           struct err *err);
