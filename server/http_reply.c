/*
 * server/http_reply.c - answers: who may give one, what each carries, and how it gets back to the
 * connection from any thread. The states are drawn in http_core.h.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "server/http_core.h"

/* For pages of the web UI: only our own files, nothing inline, no frames (clickjacking), no
 * plug-ins, and text becomes markup by one policy alone: that of the framework's own templates. */
#define CSP_HTML                                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "   \
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "               \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; "                                 \
    "trusted-types svelte-trusted-html"

/* Of everything else: nothing of it is a page. */
#define CSP_DATA "default-src 'none'; frame-ancestors 'none'"
/* RFC 6797 7.2: sent over TLS only; a year. */
#define HSTS "max-age=31536000"

/* Paths and SQL of our inside are for the operator's log. */
#define FULL_DETAIL                                                                                \
    "the server's disk has no room: nothing was stored. Delete backups and images that are not "   \
    "needed, or give the data folder more room"
#define INTERNAL_DETAIL "the server failed; its log has the reason under this request id"

/* What every answer carries. Nothing here or elsewhere lets another origin's page read one. */
static const struct {
    const char *name, *value;
} strict_headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

struct answer {
    int status;
    const char *content_type, *etag, *location;
    bool cacheable;
    bool is_page; /* of HTML; a 304 too, since its headers replace those that are kept */
    struct MHD_Response *response; /* NULL = no memory */
    size_t len;
};

/* The winner fills the answer; a loser only lets go of the obligation if it is still there, which
 * is so after a forced answer. */
static bool reply_claim(struct request *request)
{
    if (!atomic_exchange(&request->claimed, true))
        return true;
    if (!atomic_exchange(&request->discharged, true))
        request_unref(request);
    return false;
}

static void reply_finish(struct request *request, bool forced)
{
    struct http_server *server = request->server;
    struct MHD_Connection *con = request->con;
    if (atomic_load(&request->wait_used))
        http_wait_remove(request);
    bool discharges = !forced && !atomic_exchange(&request->discharged, true);
    atomic_fetch_add(&server->resumers, 1);
    if (atomic_exchange(&request->state, STATE_ANSWERED) == STATE_SUSPENDED)
        MHD_resume_connection(con);
    atomic_fetch_sub(&server->resumers, 1);
    if (discharges)
        request_unref(request);
}

static bool has_extra(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->extra_count; i++)
        if (strcasecmp(request->extra[i].name, name) == 0)
            return true;
    return false;
}

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_warning("http", "the header %s could not be added to an answer", name);
}

static void add_by_status(struct request *request, struct MHD_Response *response, int status)
{
    if (status == 401)
        add(response, "WWW-Authenticate",
            request->has_authorization ? "Bearer realm=\"stellar\", error=\"invalid_token\""
                                       : "Bearer realm=\"stellar\"");
    if ((status == 503 || status == 429) && !has_extra(request, "Retry-After"))
        add(response, "Retry-After", "1");
}

static bool is_html(const char *type)
{
    return type != NULL && strncmp(type, "text/html", 9) == 0;
}

static void add_headers(struct request *request, const struct answer *answer)
{
    struct MHD_Response *response = answer->response;
    const char *type = answer->content_type;
    if (type != NULL)
        add(response, "Content-Type", type);
    add(response, "X-Request-Id", request->id);
    for (size_t i = 0; i < sizeof(strict_headers) / sizeof(strict_headers[0]); i++)
        add(response, strict_headers[i].name, strict_headers[i].value);
    if (request->conn->identity != NULL)
        add(response, "Strict-Transport-Security", HSTS);
    bool html = answer->is_page || is_html(type);
    if (!has_extra(request, "Content-Security-Policy"))
        add(response, "Content-Security-Policy", html ? CSP_HTML : CSP_DATA);
    if (!has_extra(request, "Cache-Control"))
        add(response, "Cache-Control", answer->cacheable ? "private, no-cache" : "no-store");
    if (answer->etag != NULL && answer->etag[0] != '\0')
        add(response, "ETag", answer->etag);
    if (answer->location != NULL)
        add(response, "Location", answer->location);
    add_by_status(request, response, answer->status);
    for (size_t i = 0; i < request->extra_count; i++)
        add(response, request->extra[i].name, request->extra[i].value);
}

/* After reply_claim(). Without memory for an answer the connection is cut. */
static void reply_give(struct request *request, const struct answer *answer, bool forced)
{
    if (answer->response != NULL)
        add_headers(request, answer);
    else
        log_error("http", "no memory for the answer %d to %s", answer->status, request->id);
    request->response = answer->response;
    request->status = answer->status;
    request->response_len = answer->len;
    reply_finish(request, forced);
}

static struct MHD_Response *response_empty(void)
{
    return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

/* RFC 9110 13.1.2: a list of tags or *; weak comparison. */
static bool etag_listed(const char *list, const char *etag)
{
    size_t len = strlen(etag);
    for (const char *p = list; *p != '\0';) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, ",");
        while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
            n--;
        if (n == 1 && *p == '*')
            return true;
        const char *tag = p;
        if (n > 2 && tag[0] == 'W' && tag[1] == '/') {
            tag += 2;
            n -= 2;
        }
        if (n == len && memcmp(tag, etag, len) == 0)
            return true;
        p = tag + n;
        p += strcspn(p, ",");
    }
    return false;
}

/* Gives 304 and returns true when the caller has this version already. blob: NULL = a value in
 * memory, which is not kept. */
static bool reply_not_modified(struct request *request, int status, const char *etag,
                               const struct blob *blob)
{
    if (status != 200 || etag == NULL || etag[0] == '\0' || request->if_none_match == NULL ||
        (request->method != ROUTE_GET && request->method != ROUTE_HEAD) ||
        !etag_listed(request->if_none_match, etag))
        return false;
    struct answer answer = {
        .status = 304,
        .etag = etag,
        .cacheable = blob != NULL,
        .is_page = blob != NULL && is_html(blob->content_type),
        .response = response_empty(),
    };
    reply_give(request, &answer, false);
    return true;
}

void http_reply_empty(struct request *request, int status)
{
    if (!reply_claim(request))
        return;
    struct answer answer = {.status = status, .response = response_empty()};
    reply_give(request, &answer, false);
}

/* Fills response and len from a JSON value, which it takes. */
static void answer_json(struct answer *answer, json_t *body)
{
    char *text = json_canonical(body, &answer->len);
    json_decref(body);
    if (text == NULL)
        return;
    answer->response = MHD_create_response_from_buffer(answer->len, text, MHD_RESPMEM_MUST_FREE);
    if (answer->response == NULL)
        free(text);
}

static void blob_release(void *cls)
{
    blob_unref(cls);
}

/* The response is made by the thread that sends it: its headers are a dozen small pieces of memory,
 * which the writer thread would take and the other give back, under one lock of the allocator. */
void request_reply_blob(struct request *request, int status, struct blob *blob)
{
    if (!reply_claim(request) || reply_not_modified(request, status, blob->etag, blob))
        return;
    request->blob = blob_ref(blob);
    request->status = status;
    request->response_len = blob->len;
    reply_finish(request, false);
}

struct MHD_Response *http_blob_response(struct request *request)
{
    struct blob *blob = request->blob;
    request->blob = NULL;
    /* A response object of its own, since a shared one could not carry X-Request-Id. The bytes are
     * not copied; all we do for a GET is about 2 us beside the library's 9 (wrk, 64 connections).
     */
    struct answer answer = {
        .status = request->status,
        .etag = blob->etag,
        .content_type = blob->content_type,
        .cacheable = true,
        .response = MHD_create_response_from_buffer_with_free_callback_cls(blob->len, blob->data,
                                                                           blob_release, blob),
    };
    if (answer.response == NULL) {
        log_error("http", "no memory for the answer %d to %s", answer.status, request->id);
        blob_unref(blob);
        return NULL;
    }
    add_headers(request, &answer);
    return answer.response;
}

void request_reply_text(struct request *request, int status, const char *content_type,
                        const char *text, size_t len)
{
    if (!reply_claim(request))
        return;
    struct answer answer = {.status = status, .content_type = content_type, .len = len};
    answer.response =
        MHD_create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    reply_give(request, &answer, false);
}

void http_reply_response(struct request *request, struct MHD_Response *response,
                         const char *content_type)
{
    if (!reply_claim(request)) {
        MHD_destroy_response(response);
        return;
    }
    struct answer answer = {.status = 200, .content_type = content_type, .response = response};
    reply_give(request, &answer, false);
}

void http_reply_file(struct request *request, int status, struct MHD_Response *response, size_t len,
                     const char *etag)
{
    if (!reply_claim(request)) {
        if (response != NULL)
            MHD_destroy_response(response);
        return;
    }
    struct answer answer = {.status = status,
                            .etag = etag,
                            .content_type = "application/octet-stream",
                            .cacheable = true,
                            .response = response,
                            .len = len};
    reply_give(request, &answer, false);
}

struct problem {
    int status;
    const char *code, *detail, *etag;
    const char *logged; /* what the log says instead of the detail; NULL = the detail */
    const struct finding_list *findings;
};

/* After reply_claim(). */
static void give_problem(struct request *request, const struct problem *problem, bool forced)
{
    int status = problem->status;
    /* 501 is the caller's doing, 503 a state of the server that comes in thousands at a stop. */
    if (status >= 500)
        log_line(status == 500 || status == 507 ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG, "http",
                 "%s %s: %d %s: %s (request %s)", request_method(request), request->url.path,
                 status, problem->code, problem->logged != NULL ? problem->logged : problem->detail,
                 request->id);
    struct answer answer = {
        .status = status, .etag = problem->etag, .content_type = PROBLEM_CONTENT_TYPE};
    json_t *body = problem_to_json(status, MHD_get_reason_phrase_for((unsigned)status),
                                   problem->code, problem->detail, request->id, problem->findings);
    if (body != NULL)
        answer_json(&answer, body);
    reply_give(request, &answer, forced);
}

/* A value that could not be made is no empty one: only 204 says that there is nothing to say. */
static void give_json(struct request *request, struct answer *answer, json_t *body)
{
    if (body == NULL && answer->status != 204) {
        const struct problem problem = {.status = 500,
                                        .code = "internal",
                                        .detail = INTERNAL_DETAIL,
                                        .logged = "no memory for the answer's body"};
        give_problem(request, &problem, false);
        return;
    }
    if (body != NULL) {
        answer->content_type = "application/json";
        answer_json(answer, body);
    } else {
        answer->response = response_empty();
    }
    reply_give(request, answer, false);
}

void request_reply_json(struct request *request, int status, json_t *body, const char *etag,
                        const char *location)
{
    if (!reply_claim(request) || reply_not_modified(request, status, etag, NULL)) {
        json_decref(body);
        return;
    }
    struct answer answer = {.status = status, .etag = etag, .location = location};
    give_json(request, &answer, body);
}

void request_reply_cookie(struct request *request, int status, json_t *body, const char *cookie)
{
    if (!reply_claim(request)) {
        json_decref(body);
        return;
    }
    request_set_header(request, "Set-Cookie", cookie);
    struct answer answer = {.status = status};
    give_json(request, &answer, body);
}

static void format_detail(char out[PROBLEM_DETAIL_MAX], const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void format_detail(char out[PROBLEM_DETAIL_MAX], const char *fmt, va_list ap)
{
    if (vsnprintf(out, PROBLEM_DETAIL_MAX, fmt, ap) < 0)
        out[0] = '\0';
    text_sanitize(out); /* bytes of a stranger, or a character that the cut went through */
}

void request_reply_problem(struct request *request, int status, const char *code,
                           const struct finding_list *findings, const char *etag, const char *fmt,
                           ...)
{
    if (!reply_claim(request))
        return;
    char detail[PROBLEM_DETAIL_MAX];
    va_list ap;
    va_start(ap, fmt);
    format_detail(detail, fmt, ap);
    va_end(ap);
    struct problem problem = {
        .status = status, .code = code, .detail = detail, .etag = etag, .findings = findings};
    give_problem(request, &problem, false);
}

void request_reply_err(struct request *request, const struct err *err)
{
    static const int statuses[] = {
        [ERR_OK] = 500,     [ERR_INVALID] = 422, [ERR_NOT_FOUND] = 404,   [ERR_CONFLICT] = 409,
        [ERR_DENIED] = 403, [ERR_LIMIT] = 422,   [ERR_UNSUPPORTED] = 422, [ERR_UNAVAILABLE] = 503,
        [ERR_IO] = 500,     [ERR_NOMEM] = 500,
    };
    if (!reply_claim(request))
        return;
    int status =
        (size_t)err->code < sizeof(statuses) / sizeof(statuses[0]) ? statuses[err->code] : 500;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct problem problem = {
        .status = status, .code = err_code_name(err->code), .detail = err->text};
    if (err_is_full(err)) {
        problem.status = 507;
        problem.code = "storage-full";
        problem.logged = err->text;
        problem.detail = FULL_DETAIL;
    } else if (status == 500) {
        problem.code = "internal";
        problem.logged = err->text;
        problem.detail = INTERNAL_DETAIL;
    } else if (err->pointer[0] != '\0') {
        finding_addf(&findings, problem.code, FINDING_ERROR, err->pointer, "%s", err->text);
        problem.findings = &findings;
    }
    give_problem(request, &problem, false);
}

void request_set_header(struct request *request, const char *name, const char *value)
{
    assert(request->extra_count < HTTP_HEADERS_EXTRA_MAX);
    struct header_extra extra = {.name = strdup(name), .value = strdup(value)};
    if (extra.name == NULL || extra.value == NULL) {
        free(extra.name);
        free(extra.value);
        return;
    }
    request->extra[request->extra_count++] = extra;
}

void http_refuse(struct request *request, int status, const char *code, const char *fmt, ...)
{
    if (!reply_claim(request))
        return;
    char detail[PROBLEM_DETAIL_MAX];
    va_list ap;
    va_start(ap, fmt);
    format_detail(detail, fmt, ap);
    va_end(ap);
    struct problem problem = {.status = status, .code = code, .detail = detail};
    give_problem(request, &problem, false);
}

void http_reply_forced(struct request *request, const char *detail)
{
    struct problem problem = {.status = 503, .code = "unavailable", .detail = detail};
    if (!atomic_exchange(&request->claimed, true))
        give_problem(request, &problem, true);
}

void request_reply_no_tenant(struct request *request, const char *tenant)
{
    request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no tenant '%s'", tenant);
}
