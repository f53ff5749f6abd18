#pragma once
/*
 * datapath/sys/watch.h - files whose writing is an event: inotify tells of every write(2) through
 * any file system, sysfs, /proc/sys and configfs included. What the kernel changes by itself it
 * does not tell: the timed check finds that. Who wrote is not told either: fanotify would, to
 * whoever has CAP_SYS_ADMIN, which the agent has not.
 *
 * Which files: those that are read while sys_watch_trace() is on, so that a knob that reads a file
 * is watched without a line of its own. Not blocking. Our own writes are announced as well.
 */

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"

#define SYS_WATCH_MAX  512 /* files and folders; what is over is found by the timed check alone */
#define SYS_WATCH_KEEP 8   /* rounds after which what was not read any more is let go */

struct sys_watch;

ERR_MUST_CHECK enum err_code sys_watch_new(struct sys_watch **out, struct err *err);
void sys_watch_free(struct sys_watch *watch);
OWN_DEFINE(sys_watch, struct sys_watch *, sys_watch_free)

/* Readable when something was written. */
int sys_watch_fd(const struct sys_watch *watch);
/* Empties it. Lost announcements count as a change. */
ERR_MUST_CHECK enum err_code sys_watch_drain(struct sys_watch *watch, bool *out_changed,
                                             struct err *err);

/* From now on what this thread reads is watched; NULL = no more. */
void sys_watch_trace(struct sys_watch *watch);
/* A look at everything begins: see SYS_WATCH_KEEP. */
void sys_watch_round(struct sys_watch *watch);

/* Told by whoever reads a file, or the files of a folder (then also new, renamed and removed ones
 * count). A path that is not there is not watched. */
void sys_watch_seen(const char *path);
