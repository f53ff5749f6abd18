/*
 * server/http_head.c - decides on the head of a request alone: is it well formed, and is the body
 * that follows welcome; who calls, and may they, is http_auth.c. Every refusal is made before a
 * byte of the body is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http_core.h"

struct head {
    struct request *request;
    size_t size; /* of the copy */
    char *room;
    struct http_origin from;
    const char *content_length, *transfer_encoding, *request_id, *traceparent;
    const char *idempotency_key;
    const char *twice; /* a header that may stand once only */
    bool twice_closes; /* and whose doubling puts the framing in doubt */
};

static enum MHD_Result head_measure(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind;
    struct head *head = cls;
    head->size += strlen(name) + (value != NULL ? strlen(value) : 0) + 2;
    return MHD_YES;
}

/* Copies name and value; returns the copied value. */
static const char *head_copy(struct head *head, const char *name, const char *value)
{
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    memcpy(head->room, name, name_size);
    char *copy = memcpy(head->room + name_size, value, value_size);
    head->room = copy + value_size;
    return copy;
}

static enum MHD_Result head_take(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    struct head *head = cls;
    struct request *request = head->request;
    const struct {
        const char *name;
        const char **at;
        bool framing;
    } once[] = {
        {"Host", &head->from.host, true},
        {"Content-Length", &head->content_length, true},
        {"Transfer-Encoding", &head->transfer_encoding, true},
        {"Authorization", &request->authorization, false},
        {"Cookie", &request->cookie, false},
        {"Origin", &head->from.origin, false},
        {"Referer", &head->from.referer, false},
        {"Sec-Fetch-Site", &head->from.fetch_site, false},
        {"Content-Type", &request->content_type, false},
        {"If-Match", &request->if_match, false},
        {"If-None-Match", &request->if_none_match, false},
        {"Expect", &request->expect, false},
        {"Idempotency-Key", &head->idempotency_key, false},
        {"X-Request-Id", &head->request_id, false},
        {"traceparent", &head->traceparent, false},
    };
    const char *kept = value != NULL ? value : "";
    bool secret = strcasecmp(name, "Authorization") == 0 || strcasecmp(name, "Cookie") == 0;
    if (!secret)
        kept = head_copy(head, name, kept);
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++) {
        /* The first letter decides for nearly all of the many other headers. */
        if ((name[0] | 0x20) != (once[i].name[0] | 0x20) || strcasecmp(name, once[i].name) != 0)
            continue;
        if (*once[i].at != NULL) {
            head->twice = once[i].name;
            head->twice_closes = head->twice_closes || once[i].framing;
        }
        *once[i].at = kept;
        break;
    }
    return MHD_YES;
}

/* The caller's id, else the trace-id (W3C Trace Context 3.2), else the random one stays. */
static void head_id(const struct head *head, char out[HTTP_REQUEST_ID_SIZE])
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-";
    const char *id = head->request_id;
    if (id != NULL) {
        size_t len = strspn(id, letters);
        if (len >= 1 && len <= 36 && id[len] == '\0') {
            memcpy(out, id, len + 1);
            return;
        }
    }
    const char *trace = head->traceparent;
    if (trace == NULL || strlen(trace) < 55 || trace[2] != '-' || trace[35] != '-')
        return;
    size_t hex = strspn(trace + 3, "0123456789abcdef");
    if (hex == 32 && strspn(trace + 3, "0") < 32)
        snprintf(out, HTTP_REQUEST_ID_SIZE, "%.32s", trace + 3);
}

/* Where one reader may see another body than the next, the connection is not used again. */
static bool head_framing(struct request *request, const struct head *head)
{
    if (head->twice != NULL) {
        request->close = head->twice_closes;
        http_refuse(request, 400, "bad-request", "the header %s stands twice", head->twice);
        return false;
    }
    const char *coding = head->transfer_encoding;
    if (coding != NULL && head->content_length != NULL) {
        request->close = true;
        http_refuse(request, 400, "bad-request", "Content-Length and Transfer-Encoding together");
        return false;
    }
    if (coding != NULL && strcasecmp(coding, "chunked") != 0) {
        request->close = true;
        http_refuse(request, 501, "not-implemented", "only Transfer-Encoding: chunked is known");
        return false;
    }
    if (coding != NULL) {
        request->content_length = UINT64_MAX;
    } else if (head->content_length != NULL) {
        /* The library has refused what is no number; over 18 digits is too large for any route. */
        const char *digits = head->content_length + strspn(head->content_length, "0");
        unsigned long long length = 0;
        if (strlen(digits) > 18)
            length = UINT64_MAX - 1;
        else if (digits[0] != '\0')
            sscanf(digits, "%llu", &length);
        request->content_length = length;
    }
    return true;
}

static bool head_url(struct request *request)
{
    struct err err = ERR_INIT;
    size_t kept = strlen(request->text);
    enum err_code code =
        http_url_parse(request->text, request->raw_len > HTTP_URL_MAX ? request->raw_len : kept,
                       request->text + kept + 1, &request->url, &err);
    if (code == ERR_LIMIT) {
        http_refuse(request, 414, "url-too-long", "%s", err.text);
        return false;
    }
    if (code != ERR_OK) {
        http_refuse(request, 400, "bad-request", "%s", err.text);
        return false;
    }
    /* A misspelt value must not turn a rehearsal into the real thing. */
    const char *dry_run = request_query(request, "dry_run");
    if (dry_run != NULL && strcmp(dry_run, "true") != 0 && strcmp(dry_run, "1") != 0 &&
        strcmp(dry_run, "false") != 0 && strcmp(dry_run, "0") != 0) {
        http_refuse(request, 400, "invalid-query", "dry_run=%s is neither true nor false", dry_run);
        return false;
    }
    return true;
}

/* Pages are no routes: any path may be one, and none of them may hide a route. */
static bool head_fallback(struct request *request)
{
    const struct http_config *config = &request->server->config;
    bool reads = request->method == ROUTE_GET || request->method == ROUTE_HEAD;
    if (config->fallback == NULL || !config->fallback_owns(request)) {
        http_refuse(request, 404, "not-found", "there is nothing at %s", request->url.path);
        return false;
    }
    request->route = config->fallback;
    if (reads)
        return true;
    request_set_header(request, "Allow", "GET, HEAD, OPTIONS");
    if (request->method == ROUTE_OPTIONS)
        http_reply_empty(request, 204);
    else
        http_refuse(request, 405, "method-not-allowed", "%s takes GET, HEAD, OPTIONS",
                    request->url.path);
    return false;
}

static bool head_route(struct request *request)
{
    struct route_match match;
    route_tree_match(request->server->tree, request->method, request->url.segments,
                     request->url.segment_count, &match);
    if (match.allowed == 0)
        return head_fallback(request);
    if (match.route == NULL) {
        char allow[ROUTE_ALLOW_MAX];
        route_allow_format(match.allowed, allow);
        request_set_header(request, "Allow", allow);
        if (match.allowed & (1u << ROUTE_PATCH))
            request_set_header(request, "Accept-Patch",
                               HTTP_TYPE_JSON_PATCH ", " HTTP_TYPE_MERGE_PATCH);
        if (request->method == ROUTE_OPTIONS)
            http_reply_empty(request, 204);
        else
            http_refuse(request, 405, "method-not-allowed", "%s takes %s", request->url.path,
                        allow);
        return false;
    }
    request->route = match.route;
    char *room = request->text + strlen(request->text) + 1;
    room += HTTP_URL_ROOM((size_t)(room - request->text) - 1);
    for (size_t i = 0; i < match.param_count; i++) {
        request->params[i] = room;
        http_segment_decode(&match.params[i], room);
        room += match.params[i].len + 1;
    }
    request->param_count = match.param_count;
    return true;
}

static bool head_query(struct request *request)
{
    const char *const *queries = request->route->queries;
    return queries == NULL || request_queries_known(request, queries);
}

bool http_type_is(const char *type, const char *wanted)
{
    size_t len = strlen(wanted);
    if (type == NULL || strncasecmp(type, wanted, len) != 0)
        return false;
    const char *p = type + len;
    p += strspn(p, " \t");
    if (*p == '\0')
        return true;
    if (*p++ != ';')
        return false;
    p += strspn(p, " \t");
    return strcasecmp(p, "charset=utf-8") == 0 || strcasecmp(p, "charset=\"utf-8\"") == 0;
}

/* Only a PUT can make something, so only it may ask that nothing is there yet. */
static bool head_precondition(struct request *request)
{
    if (!(request->route->flags & ROUTE_IF_MATCH) || request->if_match != NULL)
        return true;
    if (request->method == ROUTE_DELETE || request->method == ROUTE_PATCH) {
        http_refuse(request, 428, "precondition-required",
                    "send If-Match with the ETag you have read");
        return false;
    }
    if (request->if_none_match != NULL && strcmp(request->if_none_match, "*") == 0)
        return true;
    http_refuse(request, 428, "precondition-required",
                "send If-Match with the ETag you have read, or If-None-Match: * to create");
    return false;
}

static bool head_type(struct request *request)
{
    const char *type = request->content_type;
    uint32_t flags = request->route->flags;
    if ((flags & ROUTE_JSON) && !http_type_is(type, HTTP_TYPE_JSON)) {
        http_refuse(request, 415, "unsupported-media-type", "needs Content-Type: " HTTP_TYPE_JSON);
        return false;
    }
    if ((flags & (ROUTE_STREAM | ROUTE_BINARY)) &&
        !http_type_is(type, "application/octet-stream")) {
        http_refuse(request, 415, "unsupported-media-type",
                    "needs Content-Type: application/octet-stream");
        return false;
    }
    if ((flags & ROUTE_PATCH_BODY) && !http_type_is(type, HTTP_TYPE_JSON_PATCH) &&
        !http_type_is(type, HTTP_TYPE_MERGE_PATCH)) {
        request_set_header(request, "Accept-Patch",
                           HTTP_TYPE_JSON_PATCH ", " HTTP_TYPE_MERGE_PATCH);
        http_refuse(request, 415, "unsupported-media-type",
                    "needs Content-Type: " HTTP_TYPE_JSON_PATCH " or " HTTP_TYPE_MERGE_PATCH);
        return false;
    }
    return true;
}

static bool head_body(struct request *request)
{
    const struct route *route = request->route;
    uint64_t length = request->content_length;
    if (!head_precondition(request))
        return false;
    if ((request->method == ROUTE_GET || request->method == ROUTE_HEAD) && length > 0) {
        http_refuse(request, 400, "bad-request", "a %s has no body", request_method(request));
        return false;
    }
    if (!head_type(request))
        return false;
    request->body_max = route->flags & ROUTE_STREAM  ? HTTP_BODY_STREAM_MAX
                        : route->flags & ROUTE_LARGE ? HTTP_BODY_LARGE_MAX
                                                     : HTTP_BODY_MAX;
    if ((route->flags & ROUTE_STREAM) && length == UINT64_MAX) {
        http_refuse(request, 411, "length-required", "needs a Content-Length, no chunks");
        return false;
    }
    if (length != UINT64_MAX && length > request->body_max) {
        http_refuse(request, 413, "too-large", "the body has %llu bytes, more than %zu",
                    (unsigned long long)length, request->body_max);
        return false;
    }
    return true;
}

static bool head_read(struct request *request, struct head *head)
{
    MHD_get_connection_values(request->con, MHD_HEADER_KIND, head_measure, head);
    request->headers = malloc(head->size + 1);
    if (request->headers == NULL) {
        request->close = true;
        http_refuse(request, 503, "unavailable", "no memory for the head; try again");
        return false;
    }
    head->room = request->headers;
    MHD_get_connection_values(request->con, MHD_HEADER_KIND, head_take, head);
    *head->room = '\0';
    request->has_authorization = request->authorization != NULL;
    return true;
}

bool http_head_check(struct request *request, const char *method)
{
    struct head head = {.request = request};
    request->method = route_method_parse(method);
    if (!head_read(request, &head))
        return false;
    head_id(&head, request->id);
    if (!head_framing(request, &head))
        return false;
    if (atomic_load_explicit(&request->server->stopping, memory_order_relaxed)) {
        http_refuse(request, 503, "stopping", "the server is stopping; try again soon");
        return false;
    }
    if (request->method == ROUTE_OPTIONS && strcmp(request->text, "*") == 0) {
        request_set_header(request, "Allow", "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS");
        http_reply_empty(request, 204);
        return false;
    }
    return head_url(request) && head_route(request) && http_auth_check(request, &head.from) &&
           head_query(request) && head_body(request);
}
