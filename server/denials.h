#pragma once
/*
 * server/denials.h - refused calls in the audit: who tried what, from where.
 *
 * Anybody may cause refusals at any rate, so a caller gets DENIALS_CALLER_MAX rows a minute and all
 * callers together DENIALS_ALL_MAX; what is over is counted, and told in one row a minute
 * ("request.denied" of "denied") and by /metrics. Calls with a credential and failed logins have
 * budgets of their own: strangers cannot hide what a known caller tries. A row of a tenant's caller
 * stands below "tenant/T/", where its admin sees it, and nobody else's does.
 *
 * Callers are told apart by a hash: two that meet share their rows, never their names.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "server/http.h"

#define DENIALS_CALLER_MAX 10
#define DENIALS_ALL_MAX    300
#define DENIALS_CALLERS    4096 /* places for counts */
#define DENIALS_PATH_MAX   256  /* bytes of a path that are kept */

struct app;
struct denials;

enum denial_kind { DENIAL_CALL, DENIAL_LOGIN, DENIAL_KINDS };

ERR_MUST_CHECK enum err_code denials_new(struct clock *clock, struct denials **out,
                                         struct err *err);
void denials_free(struct denials *denials);
OWN_DEFINE(denials, struct denials *, denials_free)

/* Any thread, like the rest. True: write a row; false: it was counted instead. */
bool denials_take(struct denials *denials, enum denial_kind kind, const char *caller);
/* Those that got no row since the last call; the sum is as it was before when they get none. */
uint64_t denials_untold(struct denials *denials);
void denials_count(struct denials *denials, uint64_t n);
/* All that got no row since the start. */
uint64_t denials_total(struct denials *denials);

/* A change that the caller may not make was refused with this code: queues its row. Does not block
 * and does not fail: what cannot be queued is counted. */
void denial_call(struct app *app, const struct request *request, int status, const char *code);
/* A login failed; user "" = nobody's name. */
void denial_login(struct app *app, const struct request *request, const char *user,
                  const char *tenant);
/* Once a minute: queues the row of those that got none. */
void denials_flush(struct app *app);
