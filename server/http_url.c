/*
 * server/http_url.c - see http_url.h.
 */
#include "server/http_url.h"

#include <string.h>

#include "base/text.h"

/* Ends out with a NUL and sets *out_len; false at a broken escape. */
static bool decode(const char *text, size_t len, bool plus_is_space, char *out, size_t *out_len)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < len ? hex_value(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        out[used++] = c;
    }
    out[used] = '\0';
    *out_len = used;
    return true;
}

/* One segment: kept raw in out, decoded to *room, which moves on. */
static enum err_code parse_segment(const char *text, size_t len, char **room, struct http_url *out,
                                   struct err *err)
{
    size_t decoded = 0;
    if (len == 0)
        return err_set(err, ERR_INVALID, "the path has an empty segment (\"//\")");
    if (!decode(text, len, false, *room, &decoded))
        return err_set(err, ERR_INVALID, "the path has a broken %%-escape");
    if (memchr(*room, '/', decoded) != NULL)
        return err_set(err, ERR_INVALID, "the path has an encoded slash (%%2F)");
    if (strcmp(*room, ".") == 0 || strcmp(*room, "..") == 0)
        return err_set(err, ERR_INVALID, "the path has a \".\" or \"..\" segment");
    if (text_find_hidden(*room, decoded, NULL))
        return err_set(err, ERR_INVALID,
                       "the path has a control or invisible character or is "
                       "no UTF-8");
    if (out->segment_count == ROUTE_SEGMENTS_MAX)
        return err_set(err, ERR_INVALID, "the path has more than %d segments", ROUTE_SEGMENTS_MAX);
    out->segments[out->segment_count++] = (struct route_segment){.text = text, .len = len};
    *room += decoded;
    return ERR_OK;
}

/* A slash at the end is an empty segment too, so that "/v1/x" and "/v1/x/" are never two names. */
static enum err_code parse_path(const char *raw, size_t len, char **room, struct http_url *out,
                                struct err *err)
{
    out->path = *room;
    for (size_t i = 0; i < len;) {
        const char *start = raw + i + 1;
        const char *slash = memchr(start, '/', len - i - 1);
        size_t seg = slash != NULL ? (size_t)(slash - start) : len - i - 1;
        *(*room)++ = '/';
        **room = '\0';
        if (len > 1 && parse_segment(start, seg, room, out, err) != ERR_OK)
            return ERR_INVALID;
        i += 1 + seg;
    }
    *(*room)++ = '\0';
    return ERR_OK;
}

/* Decodes a key or a value to *room and moves it on. */
static enum err_code parse_query_part(const char *text, size_t len, char **room, const char **out,
                                      struct err *err)
{
    size_t decoded = 0;
    if (!decode(text, len, true, *room, &decoded))
        return err_set(err, ERR_INVALID, "the query has a broken %%-escape");
    if (text_find_hidden(*room, decoded, NULL))
        return err_set(err, ERR_INVALID,
                       "the query has a control or invisible character or is "
                       "no UTF-8");
    *out = *room;
    *room += decoded + 1;
    return ERR_OK;
}

static enum err_code parse_query(const char *text, size_t len, char **room, struct http_url *out,
                                 struct err *err)
{
    const char *end = text + len;
    while (text < end) {
        const char *amp = memchr(text, '&', (size_t)(end - text));
        const char *stop = amp != NULL ? amp : end;
        const char *equal = memchr(text, '=', (size_t)(stop - text));
        const char *key_end = equal != NULL ? equal : stop;
        struct http_query query = {.value = ""};
        if (key_end == text)
            return err_set(err, ERR_INVALID, "the query has an empty key");
        if (out->query_count == HTTP_QUERIES_MAX)
            return err_set(err, ERR_INVALID, "the query has more than %d keys", HTTP_QUERIES_MAX);
        if (parse_query_part(text, (size_t)(key_end - text), room, &query.key, err) != ERR_OK)
            return ERR_INVALID;
        if (equal != NULL && parse_query_part(equal + 1, (size_t)(stop - equal - 1), room,
                                              &query.value, err) != ERR_OK)
            return ERR_INVALID;
        for (size_t i = 0; i < out->query_count; i++)
            if (strcmp(out->queries[i].key, query.key) == 0)
                return err_set(err, ERR_INVALID, "the query has the key '%s' twice", query.key);
        out->queries[out->query_count++] = query;
        text = stop + 1;
    }
    return ERR_OK;
}

enum err_code http_url_parse(const char *raw, size_t raw_len, char *room, struct http_url *out,
                             struct err *err)
{
    out->segment_count = 0;
    out->query_count = 0;
    out->path = "";
    if (raw_len > HTTP_URL_MAX)
        return err_set(err, ERR_LIMIT, "the URL has %zu bytes, more than %d", raw_len,
                       HTTP_URL_MAX);
    if (raw_len == 0 || raw[0] != '/')
        return err_set(err, ERR_INVALID, "the request target must be a path that starts with /");
    for (size_t i = 0; i < raw_len; i++) {
        unsigned char c = (unsigned char)raw[i];
        if (c <= ' ' || c == 0x7f || c == '#')
            return err_set(err, ERR_INVALID, "the URL has a character that must be %%-escaped");
    }
    const char *mark = memchr(raw, '?', raw_len);
    size_t path_len = mark != NULL ? (size_t)(mark - raw) : raw_len;
    if (parse_path(raw, path_len, &room, out, err) != ERR_OK)
        return ERR_INVALID;
    if (mark == NULL)
        return ERR_OK;
    return parse_query(mark + 1, raw_len - path_len - 1, &room, out, err);
}

void http_segment_decode(const struct route_segment *segment, char *room)
{
    size_t len;
    if (!decode(segment->text, segment->len, false, room, &len))
        room[0] = '\0';
}
