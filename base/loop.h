#pragma once
/*
 * base/loop.h - one epoll loop: descriptors, timers, signals, and wake-ups from other threads.
 *
 * Everything but loop_post() and loop_stop() belongs to the thread that runs the loop. Callbacks
 * may add and remove anything, themselves included.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

struct loop;
struct loop_timer;
struct loop_fd;

typedef void loop_fn(void *arg);
typedef void loop_fd_fn(void *arg, uint32_t events); /* EPOLLIN | ... */

ERR_MUST_CHECK enum err_code loop_new(struct loop **out, struct err *err);
/* Frees descriptors' handles and timers that are still there (do not free them later); calls that
 * were posted but have not run are dropped. Signals stay blocked. */
void loop_free(struct loop *loop);
OWN_DEFINE(loop, struct loop *, loop_free)

/* Runs until loop_stop(); a stop that came before makes it return at once. */
ERR_MUST_CHECK enum err_code loop_run(struct loop *loop, struct err *err);
/* One turn: waits at most wait_ms (-1 = for ever) and runs what is due. For tests. */
ERR_MUST_CHECK enum err_code loop_turn(struct loop *loop, int wait_ms, struct err *err);
void loop_stop(struct loop *loop); /* from any thread or from a callback */

ERR_MUST_CHECK enum err_code loop_fd_add(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn,
                                         void *arg, struct loop_fd **out, struct err *err);
ERR_MUST_CHECK enum err_code loop_fd_mod(struct loop_fd *lfd, uint32_t events, struct err *err);
/* Call it before close(fd), which it leaves to you. NULL is legal. */
void loop_fd_del(struct loop_fd *lfd);

/* Fires once, delay_ns (monotonic, in steps of 1 ms) after loop_timer_set(), never early; set it
 * again to re-arm. A new timer is not armed; -1 disarms. */
ERR_MUST_CHECK enum err_code loop_timer_new(struct loop *loop, loop_fn *fn, void *arg,
                                            struct loop_timer **out, struct err *err);
void loop_timer_set(struct loop_timer *timer, int64_t delay_ns);
void loop_timer_free(struct loop_timer *timer); /* NULL is legal */

/* SIGINT/SIGTERM/SIGHUP through signalfd; blocks the signal in the calling thread, so call it
 * before other threads start. One handler a signal: ERR_CONFLICT. */
ERR_MUST_CHECK enum err_code loop_signal_add(struct loop *loop, int signo, loop_fn *fn, void *arg,
                                             struct err *err);

/* A service's first call: SIGHUP and SIGUSR1, orders to a running service, wait until
 * loop_signal_add() takes them; without it one that comes during the start ends the process. */
void loop_signals_hold(void);

#define LOOP_POSTS_MAX 65536 /* calls that wait; more: ERR_LIMIT */
/* Thread-safe: fn(arg) runs on the loop's thread, in order. */
ERR_MUST_CHECK enum err_code loop_post(struct loop *loop, loop_fn *fn, void *arg, struct err *err);
