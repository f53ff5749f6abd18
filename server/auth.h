#pragma once
/*
 * server/auth.h - bearer tokens: "st_..." of people and programs, "sa_..." of agents.
 *
 * Only SHA-256 digests are kept, here and in the file. Tokens hold 256 random bits, so a plain
 * digest is enough (nothing to guess), the place in the table tells nothing about a token, and the
 * last comparison takes the same time for every wrong one. Changes are made after their commit.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "server/http.h"

#define TOKEN_TEXT_MAX 80
#define TOKEN_ID_SIZE  24

struct auth;

struct auth_token {
    struct auth_token *next;
    char hash[DIGEST_TEXT_MAX];
    int64_t expires_us; /* 0 = never */
    struct principal principal;
};

ERR_MUST_CHECK enum err_code auth_new(struct auth **out, struct err *err);
void auth_free(struct auth *auth);
OWN_DEFINE(auth, struct auth *, auth_free)

/* Takes token. With `replace` the token that the same principal had ends. */
void auth_put(struct auth *auth, struct auth_token *token, bool replace);
void auth_end(struct auth *auth, const char *principal_name);
/* Ends every token of the tenant's roles. */
void auth_end_tenant(struct auth *auth, const char *tenant);

/* Any thread. */
bool auth_check(struct auth *auth, const char *token, int64_t now_us, struct principal *out);

/* A new token with the prefix "st_" or "sa_" and its digest. */
void token_make(const char *prefix, char out[TOKEN_TEXT_MAX], char out_hash[DIGEST_TEXT_MAX]);

const char *role_name(enum role role); /* "admin", ... */
bool role_from_name(const char *name, enum role *out);
