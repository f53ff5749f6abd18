#pragma once
/*
 * base/sse.h - reads a text/event-stream (WHATWG HTML, "Server-sent events") as it comes, in pieces
 * of any size. Pure; nothing is ever held but one line and one event, both bounded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SSE_ID_MAX    128
#define SSE_KIND_MAX  64
#define SSE_LINE_MAX  (256 * 1024)
#define SSE_DATA_MAX  (256 * 1024) /* all data lines of one event */
#define SSE_RETRY_MAX 3600000      /* ms; larger ones are not believed */

struct sse_event {
    const char *kind; /* "message" when the stream names none */
    const char *id;   /* the last id that was seen, "" = none yet */
    const char *data; /* its lines, with \n between */
    size_t data_len;
};

/* false = enough: sse_feed() takes nothing more. */
typedef bool sse_event_fn(void *arg, const struct sse_event *event);

struct sse {
    sse_event_fn *fn;
    void *arg;
    char *line, *data;
    size_t line_len, data_len;
    char id[SSE_ID_MAX], kind[SSE_KIND_MAX];
    int64_t retry_ms; /* as the stream asked; -1 = it did not */
    bool has_data, after_cr, started;
    bool failed;  /* over a limit or out of memory; `why` says it */
    bool stopped; /* fn said enough */
    const char *why;
};

void sse_init(struct sse *sse, sse_event_fn *fn, void *arg);
/* For a new connection: forgets a half line and a half event, keeps the last id. */
void sse_restart(struct sse *sse);
void sse_release(struct sse *sse);
/* false = failed or stopped. */
bool sse_feed(struct sse *sse, const char *data, size_t len);
