#pragma once
/*
 * server/auth.h - who a secret stands for: "st_..." of people and programs, "sa_..." of agents,
 * "ss_..." in the cookie of a session.
 *
 * Only SHA-256 digests are kept, here and in the file. Secrets hold 256 random bits, so a plain
 * digest is enough (nothing to guess), the place in the table tells nothing about a token, and the
 * last comparison takes the same time for every wrong one. Changes are made after their commit.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "fleet/ip_prefix.h"
#include "server/http.h"
#include "server/limit.h"

#define TOKEN_TEXT_MAX    80
#define TOKEN_ID_SIZE     24
#define TOKEN_SOURCES_MAX 8
#define SESSION_IDLE_US   INT64_C(1800000000)  /* between two requests of a session */
#define SESSION_MAX_US    INT64_C(43200000000) /* of a session in all */

/* Calls a second; the defaults are above what one server answers on common hardware, so that they
 * bind nobody who did not ask for it. 0 = no limit. Agents get AUTH_RATE_AGENT_MIN at least: what
 * they report must not be lost to a limit meant for people. */
#define AUTH_RATE_TOKEN     100000
#define AUTH_RATE_TENANT    20000
#define AUTH_RATE_AGENT_MIN 100

struct auth;
struct auth_tenant; /* the bucket that a tenant's credentials share */

struct auth_token {
    struct auth_token *next;
    char hash[DIGEST_TEXT_MAX];
    int64_t expires_us; /* 0 = never */
    struct principal principal;
    struct ip_prefix sources[TOKEN_SOURCES_MAX];
    size_t source_count;     /* 0 = from anywhere */
    _Atomic int64_t used_us; /* 0 = not since the start; of a session: last seen */
    int64_t told_us;         /* used_us as auth_used_each() gave it last */
    struct limit limit;
    struct auth_tenant *tenant; /* set by auth_put(); NULL = of no tenant */
};

ERR_MUST_CHECK enum err_code auth_new(struct clock *clock, struct auth **out, struct err *err);
void auth_free(struct auth *auth);
OWN_DEFINE(auth, struct auth *, auth_free)
/* Before the first request; calls a second, 0 = no limit. */
void auth_set_rates(struct auth *auth, uint32_t per_token, uint32_t per_tenant);

/* Takes token. With `replace` the one with the same principal and credential ends. Without memory
 * for its tenant's bucket it is counted by itself only. */
void auth_put(struct auth *auth, struct auth_token *token, bool replace);
/* Every credential of the principal; of the user (sessions and tokens, by name); the one session or
 * token with this public id; all of the tenant's roles. */
void auth_end(struct auth *auth, const char *principal_name);
void auth_end_user(struct auth *auth, const char *user);
void auth_end_credential(struct auth *auth, const char *id);
void auth_end_tenant(struct auth *auth, const char *tenant);

/* Any thread. False = unknown, over, or from another address: all the same to the caller.
 * out->wait_s > 0: known, but over its rate. */
bool auth_check(struct auth *auth, const struct credentials *given, struct principal *out);

/* When a token was last used, 0 = not since the start. Any thread. */
int64_t auth_used(struct auth *auth, const char *hash);
/* Those used since the last call, at most `max`; returns how many. One thread at a time. */
struct auth_use {
    char id[TOKEN_ID_SIZE];
    bool session;
    int64_t used_us;
};
size_t auth_used_each(struct auth *auth, struct auth_use *out, size_t max);
/* Drops what is over. */
void auth_expire(struct auth *auth);

/* Changes whenever tokens ended. */
uint64_t auth_version(const struct auth *auth);
/* Whether the very credential of this principal, which auth_check() gave, still stands. */
bool auth_is_alive(struct auth *auth, const struct principal *who);
/* It is in use without a new request: an open stream. What is over stays over. */
void auth_touch(struct auth *auth, const struct principal *who);

/* A new token with the prefix "st_", "sa_" or "ss_", and its digest. */
void token_make(const char *prefix, char out[TOKEN_TEXT_MAX], char out_hash[DIGEST_TEXT_MAX]);

/* The principal as the audit names it: "token:ID user:NAME" for a token that is somebody's, else
 * its name, which has no blank. */
#define AUDIT_ACTOR_SIZE (sizeof(((struct principal *)0)->name) + 108)
void principal_actor(const struct principal *who, char out[AUDIT_ACTOR_SIZE]);

const char *role_name(enum role role); /* "admin", ... */
bool role_from_name(const char *name, enum role *out);
