#pragma once
/*
 * server/backoff.h - slows down those who guess passwords.
 *
 * Failures are counted for an account at an address, for the account from anywhere, and for the
 * address over all accounts; each has failures that are free, then a wait that doubles up to a
 * maximum (the table in backoff.c). An attempt counts as failed from its start, so that many at
 * once are no way around, and is taken back when it was right.
 *
 * Nobody can be locked out for ever by others: the counts that several share (the account's, and
 * the address's of a proxy or an office) wait for a minute at most, and do not bind the owner at an
 * address from which the account was logged in to lately.
 *
 * In memory and bounded: BACKOFF_SLOTS counts, by keyed hash; the oldest of a set makes room.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

#define BACKOFF_SLOTS        8192
#define BACKOFF_WAY          8 /* slots that one key may stand in */
#define BACKOFF_PAIR_FREE    5
#define BACKOFF_PAIR_S       900
#define BACKOFF_ACCOUNT_FREE 50
#define BACKOFF_ACCOUNT_S    60
#define BACKOFF_ADDRESS_FREE 30
#define BACKOFF_ADDRESS_S    60
#define BACKOFF_FORGET_S     3600         /* without a failure */
#define BACKOFF_KNOWN_S      (30 * 86400) /* an address stays the owner's */

struct backoff;

ERR_MUST_CHECK enum err_code backoff_new(struct clock *clock, struct backoff **out,
                                         struct err *err);
void backoff_free(struct backoff *backoff);
OWN_DEFINE(backoff, struct backoff *, backoff_free)

/* Any thread. True = try; false = too many attempts, *out_wait_s (at least 1) until the next one.
 */
bool backoff_try(struct backoff *backoff, const char *account, const char *address,
                 int64_t *out_wait_s);
/* The attempt was right: its pair starts anew and the address is the owner's from now on. */
void backoff_right(struct backoff *backoff, const char *account, const char *address);
/* The attempt was not judged (the server was busy): it does not count. */
void backoff_undo(struct backoff *backoff, const char *account, const char *address);
