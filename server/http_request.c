/*
 * server/http_request.c - one exchange as handlers see it: its memory and its getters.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "server/http_core.h"

#define US_PER_MS       1000
#define RANDOM_POOL     512
#define ID_TIME_BYTES   6
#define ID_RANDOM_BYTES 10

/* 48 bits of milliseconds and 80 random ones as hex. What is stored by it lies in the order of its
 * time: one page of the index takes the ids of a whole group of writes, where random ids would
 * dirty a page each. The system is asked once for many random bytes. */
static void id_new(struct clock *clock, char out[HTTP_REQUEST_ID_SIZE])
{
    static _Thread_local unsigned char pool[RANDOM_POOL];
    static _Thread_local size_t left;
    uint64_t ms = (uint64_t)clock->wall_us(clock) / US_PER_MS;
    unsigned char id[ID_TIME_BYTES + ID_RANDOM_BYTES];
    if (left < ID_RANDOM_BYTES) {
        random_bytes(pool, sizeof(pool));
        left = sizeof(pool);
    }
    left -= ID_RANDOM_BYTES;
    for (size_t i = ID_TIME_BYTES; i-- > 0; ms >>= 8)
        id[i] = (unsigned char)(ms & 0xff);
    memcpy(id + ID_TIME_BYTES, pool + left, ID_RANDOM_BYTES);
    hex_encode(id, sizeof(id), out);
}

struct request *request_new(struct http_server *server, const char *uri)
{
    size_t len = strlen(uri);
    /* What is longer is refused and only its head is kept, for the log. */
    size_t kept = len > HTTP_URL_MAX ? HTTP_URL_MAX : len;
    size_t room = kept + 1 + HTTP_URL_ROOM(kept) + kept + HTTP_PARAMS_MAX;
    struct request *request = malloc(sizeof(*request) + room);
    if (request == NULL)
        return NULL;
    memset(request, 0, offsetof(struct request, text));
    request->server = server;
    request->app = server->config.app;
    atomic_init(&request->refs, 1);
    atomic_init(&request->discharged, true); /* no handler yet that owes a reply */
    request->url.path = "";
    request->raw_len = len;
    memcpy(request->text, uri, kept);
    request->text[kept] = '\0';
    id_new(server->config.clock, request->id);
    return request;
}

static void request_free(struct request *request)
{
    for (size_t i = request->owned_count; i-- > 0;)
        request->owned[i].fn(request->owned[i].data);
    for (size_t i = 0; i < request->extra_count; i++) {
        free(request->extra[i].name);
        free(request->extra[i].value);
    }
    if (request->response != NULL)
        MHD_destroy_response(request->response);
    blob_unref(request->blob);
    json_decref(request->json);
    free(request->body);
    free(request->intake);
    free(request->headers);
    free(request);
}

void request_unref(struct request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) == 1)
        request_free(request);
}

struct request *request_hold(struct request *request)
{
    atomic_fetch_add(&request->refs, 1);
    return request;
}

void request_drop(struct request *request)
{
    if (request != NULL)
        request_unref(request);
}

bool request_is_answered(const struct request *request)
{
    return atomic_load(&request->claimed);
}

bool request_cancelled(const struct request *request)
{
    return atomic_load(&request->claimed) || atomic_load(&request->server->stopping);
}

void *request_app(const struct request *request)
{
    return request->app;
}

const char *request_method(const struct request *request)
{
    return route_method_name(request->method);
}

const char *request_path(const struct request *request)
{
    return request->url.path;
}

const char *request_target(const struct request *request)
{
    return request->text;
}

const char *request_param(const struct request *request, size_t index)
{
    assert(index < request->param_count);
    return request->params[index];
}

const char *request_query(const struct request *request, const char *key)
{
    for (size_t i = 0; i < request->url.query_count; i++)
        if (strcmp(request->url.queries[i].key, key) == 0)
            return request->url.queries[i].value;
    return NULL;
}

const char *request_header(const struct request *request, const char *name)
{
    if (request->headers == NULL)
        return NULL;
    for (const char *p = request->headers; *p != '\0';) {
        const char *value = p + strlen(p) + 1;
        if (strcasecmp(p, name) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

const char *request_peer(const struct request *request)
{
    return request->peer;
}

const struct route *request_route(const struct request *request)
{
    return request->route;
}

const char *request_id(const struct request *request)
{
    return request->id;
}

const struct principal *request_principal(const struct request *request)
{
    return &request->principal;
}

const char *request_body(const struct request *request, size_t *out_len)
{
    if (out_len != NULL)
        *out_len = request->body_len;
    return request->body != NULL ? request->body : "";
}

const json_t *request_json(const struct request *request)
{
    return request->json;
}

bool request_is_merge_patch(const struct request *request)
{
    return http_type_is(request->content_type, HTTP_TYPE_MERGE_PATCH);
}

void request_own(struct request *request, void *data, void (*fn)(void *))
{
    assert(request->owned_count < HTTP_OWNED_MAX);
    request->owned[request->owned_count++] = (struct owned){.data = data, .fn = fn};
}

bool request_is_dry_run(const struct request *request)
{
    /* http_head.c has refused every other value. */
    const char *value = request_query(request, "dry_run");
    return value != NULL && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

bool request_queries_known(struct request *request, const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL)
        count++;
    for (size_t i = 0; i < request->url.query_count; i++) {
        const char *key = request->url.queries[i].key;
        size_t at = 0;
        while (at < count && strcmp(names[at], key) != 0)
            at++;
        if (at < count)
            continue;
        const char *close = text_closest(key, names, count);
        if (close != NULL)
            request_reply_problem(request, 400, "unknown-query", NULL, NULL,
                                  "unknown query parameter '%s'; did you mean '%s'?", key, close);
        else
            request_reply_problem(request, 400, "unknown-query", NULL, NULL,
                                  "unknown query parameter '%s'", key);
        return false;
    }
    return true;
}

enum err_code request_duration(const struct request *request, const char *key, int64_t default_ns,
                               int64_t max_ns, int64_t *out_ns, struct err *err)
{
    const char *text = request_query(request, key);
    if (text == NULL) {
        *out_ns = default_ns;
        return ERR_OK;
    }
    int64_t ns;
    if (!duration_parse(text, &ns))
        return err_set(err, ERR_INVALID, "%s=%s is no duration such as 500ms, 30s, 2m or 1h", key,
                       text);
    if (ns > max_ns)
        return err_set(err, ERR_INVALID, "%s=%s is more than %lld s", key, text,
                       (long long)(max_ns / NS_PER_S));
    *out_ns = ns;
    return ERR_OK;
}
