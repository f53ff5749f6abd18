/*
 * base/sse.c - see sse.h.
 */
#include "base/sse.h"

#include <stdlib.h>
#include <string.h>

void sse_init(struct sse *sse, sse_event_fn *fn, void *arg)
{
    memset(sse, 0, sizeof(*sse));
    sse->fn = fn;
    sse->arg = arg;
    sse->retry_ms = -1;
}

void sse_restart(struct sse *sse)
{
    sse->line_len = sse->data_len = 0;
    sse->kind[0] = '\0';
    sse->has_data = sse->after_cr = sse->started = sse->failed = sse->stopped = false;
}

void sse_release(struct sse *sse)
{
    free(sse->line);
    free(sse->data);
    sse->line = sse->data = NULL;
}

static bool fail(struct sse *sse, const char *why)
{
    sse->failed = true;
    sse->why = why;
    return false;
}

/* The room is taken once, at its maximum: memory that is not touched costs nothing. */
static bool append(struct sse *sse, char **room, size_t *used, size_t max, const char *text,
                   size_t len)
{
    if (*room == NULL && (*room = malloc(max + 1)) == NULL)
        return fail(sse, "out of memory");
    if (len > max - *used)
        return fail(sse, "the stream has a line or an event that is too long");
    memcpy(*room + *used, text, len);
    *used += len;
    (*room)[*used] = '\0';
    return true;
}

static bool dispatch(struct sse *sse)
{
    bool more = true;
    if (sse->has_data) {
        struct sse_event event = {
            .kind = sse->kind[0] != '\0' ? sse->kind : "message",
            .id = sse->id,
            .data = sse->data_len > 0 ? sse->data : "",
            .data_len = sse->data_len,
        };
        more = sse->fn(sse->arg, &event);
        sse->stopped = !more;
    }
    sse->has_data = false;
    sse->data_len = 0;
    sse->kind[0] = '\0';
    return more;
}

static void set_retry(struct sse *sse, const char *value)
{
    char *end;
    if (*value < '0' || *value > '9')
        return;
    long long ms = strtoll(value, &end, 10);
    if (*end == '\0' && ms <= SSE_RETRY_MAX)
        sse->retry_ms = ms;
}

/* What does not fit is cut (kind) or left as it was (id): both only name things. */
static bool take_field(struct sse *sse, const char *name, const char *value, size_t len)
{
    if (strcmp(name, "data") == 0) {
        bool good =
            !sse->has_data || append(sse, &sse->data, &sse->data_len, SSE_DATA_MAX, "\n", 1);
        sse->has_data = true;
        return good && append(sse, &sse->data, &sse->data_len, SSE_DATA_MAX, value, len);
    }
    if (strcmp(name, "id") == 0 && len < sizeof(sse->id) && strlen(value) == len)
        memcpy(sse->id, value, len + 1);
    else if (strcmp(name, "event") == 0 && len < sizeof(sse->kind))
        memcpy(sse->kind, value, len + 1);
    else if (strcmp(name, "retry") == 0)
        set_retry(sse, value);
    return true;
}

static bool take_line(struct sse *sse)
{
    char *line = sse->line;
    size_t len = sse->line_len;
    sse->line_len = 0;
    if (len == 0)
        return dispatch(sse);
    if (!sse->started && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3; /* a byte order mark may stand at the very start */
        len -= 3;
    }
    sse->started = true;
    char *colon = memchr(line, ':', len);
    if (colon == line)
        return true; /* a comment, such as a heartbeat */
    char *value = colon != NULL ? colon + 1 : line + len;
    if (colon != NULL)
        *colon = '\0';
    if (*value == ' ')
        value++;
    return take_field(sse, line, value, (size_t)(line + len - value));
}

bool sse_feed(struct sse *sse, const char *data, size_t len)
{
    while (len > 0 && !sse->failed && !sse->stopped) {
        if (sse->after_cr && *data == '\n') { /* CR LF is one line end */
            data++;
            len--;
            sse->after_cr = false;
            continue;
        }
        sse->after_cr = false;
        size_t part = 0;
        while (part < len && data[part] != '\r' && data[part] != '\n')
            part++;
        if (!append(sse, &sse->line, &sse->line_len, SSE_LINE_MAX, data, part))
            return false;
        if (part < len) {
            sse->after_cr = data[part] == '\r';
            if (!take_line(sse))
                return false;
            part++;
        }
        data += part;
        len -= part;
    }
    return !sse->failed && !sse->stopped;
}
