/*
 * base/http_exchange.c - see http_exchange.h. It sets a transfer up as http_call() does, and
 * changes on its handle what must be other.
 */
#include "base/http_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/http_transfer.h"

struct taking {
    const struct http_exchange *exchange;
    struct http_transfer transfer;
    http_sink_fn *collect;
    char *headers;
    size_t headers_len;
    bool headers_too_big, nomem, began, ended;
    FILE *body;
};

static void body_close(struct taking *taking)
{
    if (taking->body != NULL)
        fclose(taking->body);
    taking->body = NULL;
}

/* Another status line (after 100 Continue) starts over. */
static size_t take_header(char *line, size_t size, size_t count, void *arg)
{
    struct taking *taking = arg;
    size_t len = size * count;
    if (len >= 5 && strncmp(line, "HTTP/", 5) == 0)
        taking->headers_len = 0;
    if (len > HTTP_EXCHANGE_HEADERS_MAX - taking->headers_len) {
        taking->headers_too_big = true;
        return 0;
    }
    char *room = realloc(taking->headers, taking->headers_len + len + 1);
    if (room == NULL) {
        taking->nomem = true;
        return 0;
    }
    taking->headers = room;
    memcpy(room + taking->headers_len, line, len);
    taking->headers_len += len;
    room[taking->headers_len] = '\0';
    return len;
}

/* What is no success is collected, so that the problem can be read. */
static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
    struct taking *taking = arg;
    size_t len = size * count;
    long status = 0;
    curl_easy_getinfo(taking->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    if (taking->exchange->sink == NULL || status < 200 || status > 299)
        return http_transfer_collect(&taking->transfer, data, len);
    if (!taking->began && taking->exchange->began != NULL)
        taking->exchange->began(taking->exchange->sink_arg, status);
    taking->began = true;
    if (taking->exchange->sink(taking->exchange->sink_arg, data, len))
        return len;
    taking->ended = true;
    return 0;
}

static size_t give_body(char *data, size_t size, size_t count, void *arg)
{
    struct taking *taking = arg;
    size_t len = fread(data, 1, size * count, taking->body);
    return ferror(taking->body) ? CURL_READFUNC_ABORT : len;
}

static enum err_code open_body(struct taking *taking, curl_off_t *size, struct err *err)
{
    const char *path = taking->exchange->body_path;
    struct stat st;
    taking->body = fopen(path, "rbe");
    if (taking->body == NULL || fstat(fileno(taking->body), &st) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is no regular file", path);
    if (st.st_size > HTTP_EXCHANGE_FILE_MAX)
        return err_set(err, ERR_LIMIT, "%s has more than %lld bytes", path,
                       (long long)HTTP_EXCHANGE_FILE_MAX);
    *size = st.st_size;
    return ERR_OK;
}

static enum err_code set_body(struct taking *taking, struct err *err)
{
    CURL *easy = taking->transfer.easy;
    curl_off_t size;
    enum err_code code = open_body(taking, &size, err);
    if (code != ERR_OK)
        return code;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, taking->exchange->request.method);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, size);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_READDATA, taking);
    return rc == CURLE_OK ? ERR_OK : err_nomem(err);
}

static enum err_code set_up(struct taking *taking, struct err *err)
{
    const struct http_exchange *exchange = taking->exchange;
    CURL *easy = taking->transfer.easy;
    if (curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, taking) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, taking) != CURLE_OK)
        return err_nomem(err);
    if (exchange->idle_ns > 0) {
        long seconds = (long)((exchange->idle_ns - 1) / NS_PER_S) + 1;
        if (curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 0L) != CURLE_OK ||
            curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, exchange->slow_bytes + 1) != CURLE_OK ||
            curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, seconds) != CURLE_OK)
            return err_nomem(err);
    }
    return exchange->body_path != NULL ? set_body(taking, err) : ERR_OK;
}

/* The request's own content type is set only with a body; a body from a file has one too. */
static enum err_code set_request(struct taking *taking, struct err *err)
{
    struct http_request request = taking->exchange->request;
    char type[256];
    if (taking->exchange->body_path != NULL) {
        size_t at = 0;
        while (at < HTTP_CLIENT_HEADERS_MAX - 1 && request.headers[at] != NULL)
            at++;
        if (at == HTTP_CLIENT_HEADERS_MAX - 1)
            return err_set(err, ERR_LIMIT, "more than %d headers", HTTP_CLIENT_HEADERS_MAX - 2);
        snprintf(type, sizeof(type), "Content-Type: %s",
                 request.content_type ? request.content_type : "application/octet-stream");
        request.headers[at] = type;
        request.body = NULL;
    }
    return http_transfer_init(&taking->transfer, curl_easy_init(), &request, err);
}

static enum err_code hand_over(struct taking *taking, CURLcode result, struct http_answer *out,
                               struct err *err)
{
    struct http_response response;
    if (taking->ended) /* by the sink: what came is right */
        result = CURLE_OK;
    http_transfer_response(&taking->transfer, result, &response);
    if (taking->nomem)
        return err_nomem(err);
    if (taking->headers_too_big)
        return err_set(err, ERR_LIMIT, "%s: the answer's headers have more than %d bytes",
                       taking->transfer.what, HTTP_EXCHANGE_HEADERS_MAX);
    if (response.err.code != ERR_OK) {
        if (err != NULL)
            *err = response.err;
        return response.err.code;
    }
    char *body = taking->transfer.body != NULL ? taking->transfer.body : strdup("");
    char *headers = taking->headers != NULL ? taking->headers : strdup("");
    taking->transfer.body = NULL;
    taking->headers = NULL;
    if (body == NULL || headers == NULL) {
        free(body);
        free(headers);
        return err_nomem(err);
    }
    *out = (struct http_answer){response.status, body, response.body_len, headers};
    return ERR_OK;
}

enum err_code http_exchange(const struct http_exchange *exchange, struct http_answer *out,
                            struct err *err)
{
    struct taking taking = {.exchange = exchange};
    http_transfer_library();
    enum err_code code = set_request(&taking, err);
    if (code == ERR_OK)
        code = set_up(&taking, err);
    if (code == ERR_OK)
        code = hand_over(&taking, curl_easy_perform(taking.transfer.easy), out, err);
    http_transfer_release(&taking.transfer);
    body_close(&taking);
    free(taking.headers);
    return code;
}

void http_answer_release(struct http_answer *answer)
{
    free(answer->body);
    free(answer->headers);
    memset(answer, 0, sizeof(*answer));
}

bool http_answer_header(const struct http_answer *answer, const char *name, char *out, size_t size)
{
    size_t name_len = strlen(name);
    bool found = false;
    const char *line = answer->headers != NULL ? answer->headers : "";
    while (*line != '\0') {
        size_t len = strcspn(line, "\r\n");
        if (len > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
            const char *value = line + name_len + 1;
            size_t value_len = len - name_len - 1;
            while (value_len > 0 && (*value == ' ' || *value == '\t')) {
                value++;
                value_len--;
            }
            while (value_len > 0 && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
                value_len--;
            found = value_len < size;
            if (found) {
                memcpy(out, value, value_len);
                out[value_len] = '\0';
            }
        }
        line += len;
        line += strspn(line, "\r\n");
    }
    return found;
}
