#pragma once
/*
 * cli/watch.h - goes on looking: events as a stream, other things by asking again.
 */

#include "cli/arguments.h"
#include "cli/kind.h"

#define WATCH_INTERVAL_DEFAULT_S 2
#define WATCH_IDLE_S             60 /* a stream that says nothing for so long is dead */
#define WATCH_FAILURES_MAX       10 /* in a row; then it gives up */

/* Prints a thing or a list whenever it changes, until it is interrupted or the server is away for
 * WATCH_FAILURES_MAX tries. */
enum exit_code watch_kind(struct context *context, const struct kind *kind, const char *name,
                          const struct arguments *arguments);

/* One event as an item of the list of events; false = enough. */
typedef bool watch_event_fn(void *arg, json_t *event);
/* Events after `after` (0 = from now on), as a stream where the server has one; reconnects and
 * resumes by itself. EXIT_DONE when fn said enough. */
enum exit_code watch_events(struct context *context, int64_t after, watch_event_fn *fn, void *arg);

void watch_sleep(int64_t seconds);
