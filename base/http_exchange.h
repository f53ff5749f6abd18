#pragma once
/*
 * base/http_exchange.h - one request in one blocking call, with everything that its answer says,
 * for clients on a command line: headers, bodies that are sent from a file or taken as they come,
 * and streams without an end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/http_client.h"

#define HTTP_EXCHANGE_HEADERS_MAX (32 * 1024)        /* bytes of an answer's headers */
#define HTTP_EXCHANGE_FILE_MAX    (INT64_C(1) << 40) /* bytes of a file that is sent */

struct http_answer {
    long status;
    char *body; /* owned, NUL-terminated; "" when the sink took it */
    size_t body_len;
    char *headers; /* owned: the lines as they came, NUL-terminated */
};

/* Takes a part of the body of a success (2xx); false ends the exchange, which is no error. */
typedef bool http_sink_fn(void *arg, const char *data, size_t len);

struct http_exchange {
    struct http_request request; /* its deadline does not hold when idle_ns is set */
    const char *body_path;       /* a file to send instead of request.body; NULL = none */
    http_sink_fn *sink;          /* NULL: the body is collected, at most HTTP_CLIENT_BODY_MAX */
    /* Called before the first part of a success; NULL = not asked. */
    void (*began)(void *arg, long status);
    void *sink_arg;  /* of both */
    int64_t idle_ns; /* > 0: no deadline in all, but one without a byte, in whole seconds */
    long slow_bytes; /* a second over idle_ns that are as good as none; 0 = none are */
};

/* Any answer is ERR_OK: look at the status. ERR_UNAVAILABLE: no answer, or it broke off; ERR_LIMIT:
 * too big; ERR_IO: the file cannot be read; ERR_INVALID: a malformed method, URL or header. */
ERR_MUST_CHECK enum err_code http_exchange(const struct http_exchange *exchange,
                                           struct http_answer *out, struct err *err);
void http_answer_release(struct http_answer *answer);

/* The value of the last header of that name, cut blanks; false when there is none or it does not
 * fit. */
bool http_answer_header(const struct http_answer *answer, const char *name, char *out, size_t size);
