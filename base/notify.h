#pragma once
/*
 * base/notify.h - what a service manager hears and hands over: sd_notify(3) messages to
 * $NOTIFY_SOCKET, the watchdog's period, and a listening socket given by LISTEN_FDS
 * (sd_listen_fds(3)). Outside of a service manager all of it is silence.
 */

#include <stdint.h>

#include "base/err.h"

/* One message of "NAME=value" lines ("READY=1", "STATUS=...", "WATCHDOG=1"). ERR_OK when nobody
 * listens; ERR_INVALID: the socket's name is no path and no abstract name; ERR_IO. Never blocks. */
ERR_MUST_CHECK enum err_code notify_send(const char *lines, struct err *err);

/* The period in which WATCHDOG=1 must come ($WATCHDOG_USEC, when $WATCHDOG_PID is us or not set);
 * 0 = no watchdog. */
int64_t notify_watchdog_ns(void);

/* The one listening stream socket that was handed over, close-on-exec; *out -1 = none. ERR_INVALID:
 * it is no listening stream socket; ERR_LIMIT: more than one. Forgets the variables, so that
 * children do not see them. */
ERR_MUST_CHECK enum err_code notify_listen_fd(int *out, struct err *err);
