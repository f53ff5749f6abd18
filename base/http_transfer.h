#pragma once
/*
 * base/http_transfer.h - one request on one libcurl handle: set up, collected, told. Private to
 * http_client.c (which runs many over a loop), http_call() and http_exchange().
 */

#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>

#include "base/http_client.h"

#define HTTP_ETAG_MAX     256
#define HTTP_LOCATION_MAX 512
#define HTTP_WHAT_MAX     200 /* "GET http://..." of the error texts; longer ones are cut */

/* Headers that are kept; one that does not fit is none. */
struct http_kept {
    char etag[HTTP_ETAG_MAX];
    char store[HTTP_STORE_MAX];
    char location[HTTP_LOCATION_MAX];
};

struct http_transfer {
    CURL *easy;
    struct curl_slist *headers;
    char *body; /* of the response */
    size_t body_len, body_room;
    bool too_big, nomem;
    struct http_kept kept;
    char what[HTTP_WHAT_MAX];
    char ca_file[256]; /* for messages; cut when longer; "" = none */
    char curl_error[CURL_ERROR_SIZE];
};

/* curl_global_init() once, from any thread. */
void http_transfer_library(void);

/* Makes the handle do the request. `easy` is owned by the transfer from here on, also on failure;
 * the transfer must not move in memory. */
ERR_MUST_CHECK enum err_code http_transfer_init(struct http_transfer *transfer, CURL *easy,
                                                const struct http_request *request,
                                                struct err *err);
/* Appends a part of the response's body; a number other than len ends the transfer. */
size_t http_transfer_collect(struct http_transfer *transfer, const char *data, size_t len);
void http_transfer_release(struct http_transfer *transfer);

/* The response after curl ended with `result`; borrows from the transfer. */
void http_transfer_response(struct http_transfer *transfer, CURLcode result,
                            struct http_response *out);
/* Makes the response borrow its headers from a copy of transfer->kept. */
void http_transfer_borrow(const struct http_kept *kept, struct http_response *out);
