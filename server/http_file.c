/*
 * server/http_file.c - answers that are files: sent by the library from the descriptor, whole or
 * one range (RFC 9110 14.2), so that a broken download of firmware goes on where it broke.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/http_core.h"

#define NUMBER_DIGITS_MAX 18

struct range {
    uint64_t first, count;
};

enum range_verdict {
    RANGE_NONE, /* no range, or a form that is not served: the whole is right */
    RANGE_ONE,
    RANGE_OUTSIDE,
};

static bool take_number(const char **at, uint64_t *out)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > NUMBER_DIGITS_MAX)
        return false;
    *out = strtoull(*at, NULL, 10);
    *at += digits;
    return true;
}

/* "bytes=0-99", "bytes=100-", "bytes=-100". */
static enum range_verdict range_parse(const char *text, uint64_t size, struct range *out)
{
    uint64_t first = 0, last = size - 1;
    if (text == NULL || strncmp(text, "bytes=", 6) != 0)
        return RANGE_NONE;
    text += 6;
    bool has_first = take_number(&text, &first);
    if (*text++ != '-')
        return RANGE_NONE;
    bool has_last = take_number(&text, &last);
    if (*text != '\0' || (!has_first && !has_last) || (has_first && has_last && last < first))
        return RANGE_NONE;
    if (!has_first) { /* the last bytes */
        if (last == 0)
            return RANGE_OUTSIDE;
        first = last < size ? size - last : 0;
        last = size - 1;
    }
    if (first >= size)
        return RANGE_OUTSIDE;
    if (last >= size)
        last = size - 1;
    *out = (struct range){.first = first, .count = last - first + 1};
    return RANGE_ONE;
}

void request_reply_file(struct request *request, int fd, uint64_t size, const char *etag)
{
    struct range range = {.first = 0, .count = size};
    char text[80];
    const char *wanted =
        request_header(request, "If-Range") == NULL ? request_header(request, "Range") : NULL;
    enum range_verdict verdict = range_parse(wanted, size, &range);
    request_set_header(request, "Accept-Ranges", "bytes");
    if (verdict == RANGE_OUTSIDE) {
        close(fd);
        snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
        request_set_header(request, "Content-Range", text);
        request_reply_problem(request, 416, "range-outside", NULL, NULL,
                              "the file has %" PRIu64 " bytes; the range begins behind its end",
                              size);
        return;
    }
    if (verdict == RANGE_ONE) {
        snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range.first,
                 range.first + range.count - 1, size);
        request_set_header(request, "Content-Range", text);
    }
    struct MHD_Response *response =
        MHD_create_response_from_fd_at_offset64(range.count, fd, range.first);
    if (response == NULL)
        close(fd);
    http_reply_file(request, verdict == RANGE_ONE ? 206 : 200, response, (size_t)range.count, etag);
}
