/*
 * base/http_transfer.c - see http_transfer.h; http_call() of http_client.h.
 */
#include "base/http_transfer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#define DEADLINE_DEFAULT_NS (30 * NS_PER_S)
#define METHOD_MAX          16

static void library_start(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort(); /* no memory at the very start */
}

void http_transfer_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, library_start);
}

size_t http_transfer_collect(struct http_transfer *transfer, const char *data, size_t len)
{
    if (len > HTTP_CLIENT_BODY_MAX - transfer->body_len) {
        transfer->too_big = true;
        return 0; /* curl ends the transfer */
    }
    if (transfer->body_room - transfer->body_len <= len) {
        size_t room = 2 * transfer->body_room;
        if (room <= transfer->body_len + len)
            room = transfer->body_len + len + 1;
        char *body = realloc(transfer->body, room);
        if (body == NULL) {
            transfer->nomem = true;
            return 0;
        }
        transfer->body = body;
        transfer->body_room = room;
    }
    memcpy(transfer->body + transfer->body_len, data, len);
    transfer->body_len += len;
    transfer->body[transfer->body_len] = '\0';
    return len;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    return http_transfer_collect(arg, data, size * count);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A header of that name ("etag:"), in small letters, is kept when it fits. */
static void keep_header(const char *name, const char *line, size_t len, char *out, size_t size)
{
    size_t name_len = strlen(name);
    if (len <= name_len || strncasecmp(line, name, name_len) != 0)
        return;
    line += name_len;
    len -= name_len;
    while (len > 0 && is_blank(line[len - 1]))
        len--;
    while (len > 0 && is_blank(*line)) {
        line++;
        len--;
    }
    if (len < size) {
        memcpy(out, line, len);
        out[len] = '\0';
    }
}

/* A new status line (after 100 Continue) starts over. */
static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    struct http_kept *kept = &((struct http_transfer *)arg)->kept;
    size_t len = size * count;
    if (len >= 5 && strncmp(line, "HTTP/", 5) == 0)
        memset(kept, 0, sizeof(*kept));
    keep_header("etag:", line, len, kept->etag, sizeof(kept->etag));
    keep_header("stellar-store:", line, len, kept->store, sizeof(kept->store));
    keep_header("location:", line, len, kept->location, sizeof(kept->location));
    return len;
}

/* A line end or another control character would begin a header that nobody asked for. */
static bool is_header_text(const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
            return false;
    return true;
}

static bool is_method(const char *method)
{
    size_t len = strlen(method);
    return len > 0 && len <= METHOD_MAX && strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == len;
}

static bool is_http_url(const char *url)
{
    bool http = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    return http && is_header_text(url) && strpbrk(url, " \t") == NULL;
}

static enum err_code check_request(const struct http_request *request, struct err *err)
{
    char quoted[HTTP_WHAT_MAX];
    if (!is_method(request->method)) {
        text_quote(request->method, strlen(request->method), quoted, sizeof(quoted));
        return err_set(err, ERR_INVALID, "'%s' is no HTTP method", quoted);
    }
    if (!is_http_url(request->url)) {
        text_quote(request->url, strlen(request->url), quoted, sizeof(quoted));
        return err_set(err, ERR_INVALID, "'%s' is no http:// or https:// URL", quoted);
    }
    if (request->bearer != NULL && !is_header_text(request->bearer))
        return err_set(err, ERR_INVALID, "the token holds a control character");
    if (request->content_type != NULL && !is_header_text(request->content_type))
        return err_set(err, ERR_INVALID, "the content type holds a control character");
    for (size_t i = 0; i < HTTP_CLIENT_HEADERS_MAX && request->headers[i] != NULL; i++) {
        const char *header = request->headers[i];
        if (header[0] == ':' || strchr(header, ':') == NULL || !is_header_text(header)) {
            text_quote(header, strlen(header), quoted, sizeof(quoted));
            return err_set(err, ERR_INVALID, "'%s' is no \"Name: value\" header", quoted);
        }
    }
    return ERR_OK;
}

/* libcurl opens what it is given as it is: a pipe would hold the whole process, and of a missing
 * one it says no name. */
static enum err_code check_files(const struct http_request *request, struct err *err)
{
    const char *const paths[] = {request->ca_file, request->cert_file, request->key_file};
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && code == ERR_OK; i++) {
        int fd = -1;
        if (paths[i] != NULL)
            code = file_open_regular(paths[i], &fd, err);
        if (fd >= 0)
            close(fd);
    }
    return code;
}

static bool add_header(struct http_transfer *transfer, const char *name, const char *value)
{
    OWN(str) char *line = NULL;
    if (asprintf(&line, "%s%s", name, value) < 0) {
        line = NULL;
        return false;
    }
    struct curl_slist *headers = curl_slist_append(transfer->headers, line);
    if (headers == NULL)
        return false;
    transfer->headers = headers;
    return true;
}

static bool add_headers(struct http_transfer *transfer, const struct http_request *request)
{
    /* Without this, curl waits a second for "100 Continue" before a large body. */
    bool good = add_header(transfer, "Expect:", "");
    if (request->bearer != NULL)
        good = good && add_header(transfer, "Authorization: Bearer ", request->bearer);
    const char *type = request->content_type;
    if (request->body != NULL)
        good = good && add_header(transfer, "Content-Type: ", type ? type : "application/json");
    else
        good = good && add_header(transfer, "Content-Type:", ""); /* curl's default off */
    for (size_t i = 0; i < HTTP_CLIENT_HEADERS_MAX && request->headers[i] != NULL; i++)
        good = good && add_header(transfer, "", request->headers[i]);
    return good &&
           curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers) == CURLE_OK;
}

/* Methods that carry a body say so with a Content-Length, even of 0. */
static CURLcode set_method(CURL *easy, const struct http_request *request)
{
    CURLcode rc = CURLE_OK;
    bool wants_body = strcmp(request->method, "POST") == 0 || strcmp(request->method, "PUT") == 0 ||
                      strcmp(request->method, "PATCH") == 0;
    if (request->body != NULL || wants_body) {
        curl_off_t len = request->body != NULL ? (curl_off_t)request->body_len : 0;
        rc = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, len);
        if (rc == CURLE_OK)
            rc = curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS,
                                  request->body != NULL ? request->body : "");
    } else if (strcmp(request->method, "HEAD") == 0) {
        rc = curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    if (rc == CURLE_OK && strcmp(request->method, "GET") != 0)
        rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    else if (rc == CURLE_OK && request->body != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "GET");
    return rc;
}

static CURLcode set_tls(CURL *easy, const struct http_request *request)
{
    CURLcode rc = CURLE_OK;
    if (request->ca_file != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_CAINFO, request->ca_file);
    if (rc == CURLE_OK && request->ca_file != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_CAPATH, NULL); /* this authority and no other */
    if (rc == CURLE_OK && request->cert_file != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_SSLCERT, request->cert_file);
    if (rc == CURLE_OK && request->key_file != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_SSLKEY, request->key_file);
    return rc;
}

/* What holds for every request: no redirects, no proxy, no signals, only HTTP. */
static CURLcode set_common(struct http_transfer *transfer, int64_t deadline_ns)
{
    CURL *easy = transfer->easy;
    if (deadline_ns <= 0)
        deadline_ns = DEADLINE_DEFAULT_NS;
    long deadline_ms = (long)((deadline_ns - 1) / NS_PER_MS) + 1;
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_TIMEOUT_MS, deadline_ms},
        {CURLOPT_TCP_NODELAY, 1},
        {CURLOPT_NETRC, CURL_NETRC_IGNORED},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
    };
    CURLcode rc = CURLE_OK;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && rc == CURLE_OK; i++)
        rc = curl_easy_setopt(easy, numbers[i].option, numbers[i].value);
    const struct {
        CURLoption option;
        const char *value;
    } texts[] = {
        {CURLOPT_PROXY, ""},
        {CURLOPT_PROTOCOLS_STR, "http,https"},
        {CURLOPT_USERAGENT, "stellar/" STELLAR_VERSION},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && rc == CURLE_OK; i++)
        rc = curl_easy_setopt(easy, texts[i].option, texts[i].value);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->curl_error);
    return rc;
}

enum err_code http_transfer_init(struct http_transfer *transfer, CURL *easy,
                                 const struct http_request *request, struct err *err)
{
    memset(transfer, 0, sizeof(*transfer));
    transfer->easy = easy;
    if (easy == NULL)
        return err_nomem(err);
    enum err_code code = check_request(request, err);
    if (code == ERR_OK)
        code = check_files(request, err);
    if (code != ERR_OK)
        return code;
    /* Without a query: it may name things that do not belong into a log. */
    snprintf(transfer->what, sizeof(transfer->what), "%s %.*s", request->method,
             (int)strcspn(request->url, "?#"), request->url);
    snprintf(transfer->ca_file, sizeof(transfer->ca_file), "%s",
             request->ca_file != NULL ? request->ca_file : "");
    CURLcode rc = set_common(transfer, request->deadline_ns);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_URL, request->url);
    if (rc == CURLE_OK)
        rc = set_method(easy, request);
    if (rc == CURLE_OK)
        rc = set_tls(easy, request);
    if (rc == CURLE_OUT_OF_MEMORY || (rc == CURLE_OK && !add_headers(transfer, request)))
        return err_nomem(err);
    if (rc != CURLE_OK)
        return err_set(err, ERR_UNSUPPORTED, "%s: %s", transfer->what, curl_easy_strerror(rc));
    return ERR_OK;
}

void http_transfer_release(struct http_transfer *transfer)
{
    if (transfer->easy != NULL)
        curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    free(transfer->body);
    memset(transfer, 0, sizeof(*transfer));
}

void http_transfer_borrow(const struct http_kept *kept, struct http_response *out)
{
    out->etag = kept->etag;
    out->store = kept->store;
    out->location = kept->location;
}

void http_transfer_response(struct http_transfer *transfer, CURLcode result,
                            struct http_response *out)
{
    memset(out, 0, sizeof(*out));
    http_transfer_borrow(&transfer->kept, out);
    out->body = transfer->body != NULL ? transfer->body : "";
    out->body_len = transfer->body_len;
    if (result == CURLE_OK) {
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &out->status);
        return;
    }
    out->body = "";
    out->body_len = 0;
    if (transfer->too_big)
        err_set(&out->err, ERR_LIMIT, "%s: the answer has more than %d bytes", transfer->what,
                HTTP_CLIENT_BODY_MAX);
    else if (transfer->nomem)
        err_nomem(&out->err);
    /* curl says so of a header line that is too long, too. */
    else if (result == CURLE_OUT_OF_MEMORY)
        err_set(&out->err, ERR_UNAVAILABLE,
                "%s: a line of the answer's head is too long, or memory ran out", transfer->what);
    else if (result == CURLE_SSL_CACERT_BADFILE && transfer->ca_file[0] != '\0')
        err_set(&out->err, ERR_UNAVAILABLE, "%s: %s holds no certificates that can be read",
                transfer->what, transfer->ca_file);
    else
        err_set(&out->err, ERR_UNAVAILABLE, "%s: %s", transfer->what,
                transfer->curl_error[0] != '\0' ? transfer->curl_error
                                                : curl_easy_strerror(result));
}

void http_location_host(const char *location, char *out, size_t size)
{
    const char *begin = location + strcspn(location, ":/?#");
    out[0] = '\0';
    if (*begin == ':')
        begin++;
    if (strncmp(begin, "//", 2) != 0)
        return;
    begin += 2;
    size_t len = strcspn(begin, "/?#\\");
    for (size_t i = len; i > 0; i--)
        if (begin[i - 1] == '@') { /* a user and a password may stand before it */
            begin += i;
            len -= i;
            break;
        }
    text_quote(begin, len, out, size);
}

/* Runs a request that is set up; releases the transfer. */
static enum err_code perform(struct http_transfer *transfer, long *out_status, char **out_body,
                             size_t *out_len, struct err *err)
{
    struct http_response response;
    http_transfer_response(transfer, curl_easy_perform(transfer->easy), &response);
    char *body = NULL;
    enum err_code code = response.err.code;
    if (code != ERR_OK && err != NULL)
        *err = response.err;
    else if (code == ERR_OK && (body = transfer->body) == NULL && (body = strdup("")) == NULL)
        code = err_nomem(err);
    if (code == ERR_OK) {
        *out_status = response.status;
        *out_len = response.body_len;
        *out_body = body;
        transfer->body = NULL;
    }
    return code;
}

enum err_code http_call(const struct http_request *request, long *out_status, char **out_body,
                        size_t *out_len, struct err *err)
{
    http_transfer_library();
    struct http_transfer transfer;
    enum err_code code = http_transfer_init(&transfer, curl_easy_init(), request, err);
    if (code == ERR_OK)
        code = perform(&transfer, out_status, out_body, out_len, err);
    http_transfer_release(&transfer);
    return code;
}

enum err_code http_fetch_unverified(const char *url, long *out_status, char **out_body,
                                    size_t *out_len, struct err *err)
{
    http_transfer_library();
    struct http_transfer transfer;
    const struct http_request request = {.method = "GET", .url = url};
    enum err_code code = http_transfer_init(&transfer, curl_easy_init(), &request, err);
    if (code == ERR_OK &&
        (curl_easy_setopt(transfer.easy, CURLOPT_SSL_VERIFYPEER, 0L) != CURLE_OK ||
         curl_easy_setopt(transfer.easy, CURLOPT_SSL_VERIFYHOST, 0L) != CURLE_OK))
        code = err_nomem(err);
    if (code == ERR_OK)
        code = perform(&transfer, out_status, out_body, out_len, err);
    http_transfer_release(&transfer);
    return code;
}
