/*
 * cli/context.c - see context.h.
 */
#include "cli/context.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "cli/problem.h"

#define TIMEOUT_DEFAULT_NS (100 * NS_PER_S)

const char *const output_names[OUTPUT_COUNT + 1] = {
    [OUTPUT_TABLE] = "table", [OUTPUT_JSON] = "json", [OUTPUT_JSONL] = "jsonl",
    [OUTPUT_CSV] = "csv",     [OUTPUT_NAME] = "name", [OUTPUT_COUNT] = NULL,
};

void context_init(struct context *context, FILE *in, FILE *out, FILE *err)
{
    *context = (struct context){
        .in = in,
        .out = out,
        .err = err,
        .headings = true,
        .timeout_ns = TIMEOUT_DEFAULT_NS,
        .exchange = http_exchange,
    };
}

void context_release(struct context *context)
{
    if (context->token != NULL)
        explicit_bzero(context->token, strlen(context->token));
    free(context->server);
    free(context->token);
    free(context->ca_file);
    context->server = context->token = context->ca_file = NULL;
}

bool context_is_json(const struct context *context)
{
    return context->output == OUTPUT_JSON || context->output == OUTPUT_JSONL;
}

void reply_release(struct reply *reply)
{
    http_answer_release(&reply->answer);
    json_decref(reply->json);
    memset(reply, 0, sizeof(*reply));
}

void context_error(struct context *context, const char *fmt, ...)
{
    OWN(str) char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    fputs("stellarctl: ", context->err);
    print_text(context->err, text != NULL ? text : "out of memory");
    fputc('\n', context->err);
}

enum exit_code context_fail(struct context *context, const struct err *err)
{
    if (err->pointer[0] != '\0')
        context_error(context, "%s (at %s)", err->text, err->pointer);
    else
        context_error(context, "%s", err->text);
    return exit_of_err(err->code);
}

static bool is_loopback(const char *server)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    const char *host = server + strlen("http://");
    size_t len = strcspn(host, "/?#");
    if (memchr(host, '@', len) != NULL)
        return false; /* what stands before it is a user name, not the host */
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        size_t name = strlen(hosts[i]);
        if (len >= name && strncasecmp(host, hosts[i], name) == 0 &&
            (len == name || host[name] == ':'))
            return true;
    }
    return false;
}

/* A token in the clear is everybody's on the way. */
static enum err_code check_server(const struct context *context, struct err *err)
{
    if (context->token != NULL && strncasecmp(context->server, "http://", 7) == 0 &&
        !is_loopback(context->server))
        return err_set(err, ERR_INVALID,
                       "a token is not sent over plain HTTP to another machine: use https:// in %s",
                       context->server);
    return ERR_OK;
}

#define HEADER_LINE_MAX 1024

struct header_lines {
    char text[HTTP_CLIENT_HEADERS_MAX][HEADER_LINE_MAX];
    size_t count;
};

static enum err_code add_line(struct header_lines *lines, const char *name, const char *value,
                              struct err *err)
{
    /* One is left for a content type, one for the NULL at the end. */
    if (lines->count >= HTTP_CLIENT_HEADERS_MAX - 2)
        return err_set(err, ERR_LIMIT, "more than %d headers", HTTP_CLIENT_HEADERS_MAX - 2);
    int len = snprintf(lines->text[lines->count++], HEADER_LINE_MAX, "%s: %s", name, value);
    if (len >= HEADER_LINE_MAX)
        return err_set(err, ERR_LIMIT, "the header '%s' has more than %d bytes", name,
                       HEADER_LINE_MAX - 1);
    return ERR_OK;
}

static enum err_code make_headers(const struct call *call, struct header_lines *lines,
                                  struct err *err)
{
    enum err_code code = ERR_OK;
    lines->count = 0;
    if (call->accept != NULL)
        code = add_line(lines, "Accept", call->accept, err);
    for (size_t i = 0; i < call->count && code == ERR_OK; i++)
        if (call->values[i].in == OPERATION_HEADER)
            code = add_line(lines, call->values[i].name, call->values[i].value, err);
    return code;
}

static bool is_secret_header(const char *line)
{
    return strncasecmp(line, "cookie:", 7) == 0 || strncasecmp(line, "authorization:", 14) == 0;
}

/* The bytes that would be sent, but for secrets. */
static void print_request(const struct context *context, const struct http_exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    fprintf(context->out, "%s ", request->method);
    print_text(context->out, request->url);
    fputc('\n', context->out);
    if (request->bearer != NULL)
        fputs("Authorization: Bearer (not shown)\n", context->out);
    for (size_t i = 0; request->headers[i] != NULL; i++) {
        if (is_secret_header(request->headers[i]))
            fprintf(context->out, "%.*s: (not shown)", (int)strcspn(request->headers[i], ":"),
                    request->headers[i]);
        else
            print_text(context->out, request->headers[i]);
        fputc('\n', context->out);
    }
    if (request->body != NULL || exchange->body_path != NULL)
        fprintf(context->out, "Content-Type: %s\n",
                request->content_type != NULL ? request->content_type : "application/json");
    fputc('\n', context->out);
    if (exchange->body_path != NULL)
        fprintf(context->out, "(the content of %s)\n", exchange->body_path);
    else if (request->body_len > 0)
        fwrite(request->body, 1, request->body_len, context->out);
    if (request->body_len > 0)
        fputc('\n', context->out);
}

/* A body that is no JSON stays bytes: metrics, CSV. */
static void read_reply(struct reply *out)
{
    char type[128] = "";
    http_answer_header(&out->answer, "ETag", out->etag, sizeof(out->etag));
    http_answer_header(&out->answer, "Content-Type", type, sizeof(type));
    if (strstr(type, "json") == NULL || out->answer.body_len == 0)
        return;
    if (json_parse_limit(out->answer.body, out->answer.body_len, HTTP_CLIENT_BODY_MAX, true,
                         &out->json, NULL) != ERR_OK)
        out->json = NULL;
}

static enum err_code send_call(struct context *context, const struct call *call,
                               const struct sink *sink, struct reply *out, struct err *err)
{
    OWN(str) char *url = NULL;
    struct header_lines lines;
    enum err_code code = call_check(call, err);
    if (code == ERR_OK)
        code = check_server(context, err);
    if (code == ERR_OK)
        code = call_url(call, context->server, &url, err);
    if (code == ERR_OK)
        code = make_headers(call, &lines, err);
    if (code != ERR_OK)
        return code;
    const struct operation *operation = call->operation;
    struct http_exchange exchange = {
        .request = {.method = operation->method,
                    .url = url,
                    .bearer = context->token,
                    .body = call->body,
                    .body_len = call->body_len,
                    .content_type =
                        call->content_type != NULL ? call->content_type : operation->bodies[0],
                    .deadline_ns = context->timeout_ns,
                    .ca_file = context->ca_file},
        .body_path = call->body_path,
        .sink = sink != NULL ? sink->fn : NULL,
        .sink_arg = sink != NULL ? sink->arg : NULL,
    };
    if (sink != NULL)
        exchange.idle_ns = sink->idle_ns;
    else if (call->body_path != NULL)
        exchange.idle_ns = CONTEXT_IDLE_NS;
    for (size_t i = 0; i < lines.count; i++)
        exchange.request.headers[i] = lines.text[i];
    if (context->print_request) {
        print_request(context, &exchange);
        out->printed = true;
        return ERR_OK;
    }
    code = context->exchange(&exchange, &out->answer, err);
    if (code == ERR_OK)
        read_reply(out);
    return code;
}

enum exit_code context_stream(struct context *context, const struct call *call,
                              const struct sink *sink, struct reply *out, struct err *err)
{
    memset(out, 0, sizeof(*out));
    enum err_code code = send_call(context, call, sink, out, err);
    if (code != ERR_OK)
        return exit_of_err(code);
    return out->printed ? EXIT_DONE : exit_of_status(out->answer.status);
}

enum exit_code context_try(struct context *context, const struct call *call, struct reply *out,
                           struct err *err)
{
    return context_stream(context, call, NULL, out, err);
}

/* What to do about failures that every newcomer meets; NULL = no idea. */
static const char *hint_of(const struct context *context, const struct reply *reply,
                           const struct err *err)
{
    /* libcurl has many codes for it and names the thing in all of their texts. */
    if (err->code == ERR_UNAVAILABLE && strstr(err->text, "certificate") != NULL)
        return context->ca_file == NULL
                   ? "--ca-file FILE (or STELLAR_CA) names the server's authority: its DATA/ca.crt"
                   : "is --ca-file the authority of this server, and does it know this name?";
    if (err->code == ERR_UNAVAILABLE && strncasecmp(context->server, "http://", 7) == 0 &&
        (strstr(err->text, "connect") != NULL || strstr(err->text, "Empty reply") != NULL))
        return "is the server running there, and without TLS? else --server https://HOST:PORT";
    if (err->code == ERR_UNAVAILABLE && strncasecmp(context->server, "https://", 8) == 0 &&
        strstr(err->text, "unexpected TLS packet") != NULL)
        return "does the server there go without TLS? then --server http://HOST:PORT";
    if (err->code == ERR_OK && reply->answer.status == 401 && context->token == NULL)
        return "stellarctl login -u NAME, or --token-file FILE: the first one is in the server's "
               "DATA/admin.token";
    return NULL;
}

void context_explain(struct context *context, const struct reply *reply, const struct err *err)
{
    if (err->code != ERR_OK) {
        context_fail(context, err);
    } else if (json_is_object(reply->json) && context->output == OUTPUT_JSON) {
        struct err ignored = ERR_INIT;
        print_json(context->err, reply->json, 2, &ignored);
    } else if (json_is_object(reply->json)) {
        problem_print(context->err, reply->answer.status, reply->json);
    } else {
        context_error(context, "the server answered with status %ld", reply->answer.status);
    }
    const char *hint = context->output == OUTPUT_JSON ? NULL : hint_of(context, reply, err);
    if (hint != NULL)
        fprintf(context->err, "  hint: %s\n", hint);
}

enum exit_code context_call(struct context *context, const struct call *call, struct reply *out)
{
    struct err err = ERR_INIT;
    enum exit_code code = context_try(context, call, out, &err);
    if (code != EXIT_DONE)
        context_explain(context, out, &err);
    return code;
}
