#pragma once
/* A stellarctl in memory: its streams are texts, its server is a table of answers. */

#include "tests/unit/test.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"

#define SCRIPT_MAX 16

/* What the server says to the next requests, in order; after the last one it is away. */
struct scripted {
    long status;
    char headers[300];
    const char *body;
};

static struct scripted script[SCRIPT_MAX];
static size_t script_count, script_at;
static char asked[16384]; /* a line each: method, path, [headers], body */
static char *out_text, *err_text;

static void server_says(long status, const char *etag, const char *body) __attribute__((unused));
static void server_says(long status, const char *etag, const char *body)
{
    assert_true(script_count < SCRIPT_MAX);
    struct scripted *now = &script[script_count++];
    now->status = status;
    now->body = body;
    snprintf(now->headers, sizeof(now->headers),
             "HTTP/1.1 %ld x\r\nContent-Type: application/%sjson\r\n%s%s\r\n\r\n", status,
             status >= 400 ? "problem+" : "",
             etag != NULL ? "ETag: " : "X: ", etag != NULL ? etag : "");
}

static enum err_code fake_exchange(const struct http_exchange *exchange, struct http_answer *out,
                                   struct err *err)
{
    const struct http_request *request = &exchange->request;
    const char *path = strstr(request->url, "/v1");
    size_t len = strlen(asked);
    len += (size_t)snprintf(asked + len, sizeof(asked) - len, "%s %s", request->method,
                            path != NULL ? path : request->url);
    for (size_t i = 0; i < HTTP_CLIENT_HEADERS_MAX && request->headers[i] != NULL; i++)
        len += (size_t)snprintf(asked + len, sizeof(asked) - len, " [%s]", request->headers[i]);
    if (request->bearer != NULL)
        len += (size_t)snprintf(asked + len, sizeof(asked) - len, " (%s)", request->bearer);
    snprintf(asked + len, sizeof(asked) - len, "%s%.*s\n", request->body_len > 0 ? " " : "",
             (int)request->body_len, request->body != NULL ? (const char *)request->body : "");
    if (script_at == script_count)
        return err_set(err, ERR_UNAVAILABLE, "no answer");
    const struct scripted *now = &script[script_at++];
    *out = (struct http_answer){now->status, strdup(now->body), strlen(now->body),
                                strdup(now->headers)};
    return ERR_OK;
}

/* Runs one command line; words end with NULL. The texts live until the next run. */
static enum exit_code run_ctl(const char *input, ...) __attribute__((unused));
static enum exit_code run_ctl(const char *input, ...)
{
    char *argv[64] = {(char *)(uintptr_t) "stellarctl"};
    int argc = 1;
    size_t out_len, err_len;
    struct context context;
    va_list words;
    va_start(words, input);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;)
        argv[argc++] = (char *)(uintptr_t)word;
    va_end(words);
    free(out_text);
    free(err_text);
    if (input[0] == '\0')
        input = "\n";
    FILE *in = fmemopen((void *)(uintptr_t)input, strlen(input), "r");
    FILE *out = open_memstream(&out_text, &out_len), *err = open_memstream(&err_text, &err_len);
    context_init(&context, in, out, err);
    context.exchange = fake_exchange;
    asked[0] = '\0';
    enum exit_code code = command_main(argc, argv, &context);
    context_release(&context);
    fclose(in);
    fclose(out);
    fclose(err);
    return code;
}
#define CTL(...) run_ctl("", __VA_ARGS__, NULL)

static void config_path(char out[300]) __attribute__((unused));
static void config_path(char out[300])
{
    snprintf(out, 300, "%s/stellar/config.json", getenv("XDG_CONFIG_HOME"));
}

/* A configuration folder without a file, an environment without a server, no answers. */
static int ctl_setup(void **state)
{
    static char folder[] = "/tmp/stellar-cli-XXXXXX";
    static const char *const names[] = {"STELLAR_SERVER", "STELLAR_TOKEN", "STELLAR_TOKEN_FILE",
                                        "STELLAR_CA", "STELLAR_PROFILE"};
    char path[300];
    (void)state;
    if (strstr(folder, "XXXXXX") != NULL && mkdtemp(folder) == NULL)
        return -1;
    setenv("XDG_CONFIG_HOME", folder, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    config_path(path);
    unlink(path);
    script_count = script_at = 0;
    return 0;
}

static int ctl_end(void **state)
{
    char path[300];
    ctl_setup(state);
    config_path(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(getenv("XDG_CONFIG_HOME"));
    free(out_text);
    free(err_text);
    out_text = err_text = NULL;
    return 0;
}
