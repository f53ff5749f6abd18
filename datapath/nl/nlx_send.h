#pragma once
/*
 * datapath/nl/nlx_send.h - sendmsg(2) with a deadline, by a thread of its own; nlx.c's helper.
 */

#include <stddef.h>

#include "base/err.h"

struct nlx_sender;

/* Takes over fd. */
ERR_MUST_CHECK enum err_code nlx_sender_new(int fd, struct nlx_sender **out, struct err *err);
/* When the thread is stuck in the kernel it keeps the descriptor and goes when it comes back. */
void nlx_sender_free(struct nlx_sender *sender);

/* ERR_UNAVAILABLE: not done within wait_ms, or an earlier one still is not. */
ERR_MUST_CHECK enum err_code nlx_sender_send(struct nlx_sender *sender, const void *data,
                                             size_t len, int wait_ms, struct err *err);
