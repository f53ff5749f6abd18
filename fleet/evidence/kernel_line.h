#pragma once
/*
 * fleet/evidence/kernel_line.h - one line of a kernel log, however it was taken. Private to
 * fleet/evidence/.
 *
 * dmesg ("[ 12.345678] text"), dmesg -T ("[Sun Feb 23 16:24:18 2025] text"), --time-format=iso,
 * -x ("kern  :warn  : "), -H ("[  +0.000012] "), -r ("<6>"), the caller ("[ T3491]"), syslog and
 * journalctl ("Feb 23 16:24:18 host kernel: ", ISO dates), and a line that lost its first bracket.
 */

#include <stdbool.h>

#include "fleet/evidence/slice.h"

struct kernel_line {
    struct slice time;    /* as it stands there; empty = none */
    struct slice message; /* without all that stands before it */
    bool kernel;          /* false = another program's line in the same log */
};

/* True when the line has the form of a log's; *out is always set, with the whole line as the
 * message when it is none. */
bool kernel_line_read(struct slice line, struct kernel_line *out);

/* "[12.345678] [node1:1234 :0]  perftest.c:793  UCX  WARN  text": a message of UCX, which has a
 * kernel's time before it and is none. */
bool ucx_message(struct slice line);
