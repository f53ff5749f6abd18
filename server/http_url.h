#pragma once
/*
 * server/http_url.h - the request target taken apart, strictly and without allocation.
 *
 * Only the origin form ("/path?query") is taken. Refused: "//", "." and "..", an encoded slash,
 * anything that decodes to bad UTF-8, to a control or to a character that a reader cannot see, a
 * query key twice. What the library would let through never reaches a handler.
 */

#include <stddef.h>

#include "base/err.h"
#include "server/route_match.h"

#define HTTP_QUERIES_MAX 32

struct http_query {
    const char *key, *value; /* decoded */
};

struct http_url {
    struct route_segment segments[ROUTE_SEGMENTS_MAX]; /* raw */
    size_t segment_count;
    const char *path; /* decoded, for messages and logs */
    struct http_query queries[HTTP_QUERIES_MAX];
    size_t query_count;
};

/* Bytes that http_url_parse() needs for what it decodes. */
#define HTTP_URL_ROOM(len) ((len) + 3 + HTTP_QUERIES_MAX)

/*
 * `raw` stays borrowed by the segments; decoded text goes to `room`, HTTP_URL_ROOM(raw_len) bytes.
 * ERR_INVALID (text for a 400), ERR_LIMIT (over HTTP_URL_MAX: 414). out->path is always set.
 */
ERR_MUST_CHECK enum err_code http_url_parse(const char *raw, size_t raw_len, char *room,
                                            struct http_url *out, struct err *err);

/* Decodes one segment; room has len + 1 bytes. It was checked by http_url_parse(). */
void http_segment_decode(const struct route_segment *segment, char *room);
