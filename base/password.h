#pragma once
/*
 * base/password.h - passwords as Argon2id hashes (RFC 9106).
 *
 * One hash takes PASSWORD_MEMORY_BYTES and some 100 ms of one processor: who calls decides how many
 * run at a time. Thread-safe, blocking.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define PASSWORD_MIN_BYTES    12
#define PASSWORD_MAX_BYTES    128
#define PASSWORD_PASSES       3
#define PASSWORD_MEMORY_BYTES (64UL * 1024 * 1024)
#define PASSWORD_HASH_SIZE    128 /* of the text with its NUL */

/* "$argon2id$v=19$m=65536,t=3,p=1$SALT$HASH" with a salt of its own. ERR_UNAVAILABLE: the memory is
 * not there now. */
ERR_MUST_CHECK enum err_code password_hash(const char *password, char out[PASSWORD_HASH_SIZE],
                                           struct err *err);
/* *out_right = whether the password is the one of the hash. hash NULL = there is none: takes the
 * time of a comparison and says no. ERR_UNAVAILABLE as above. */
ERR_MUST_CHECK enum err_code password_verify(const char *hash, const char *password,
                                             bool *out_right, struct err *err);
/* ERR_INVALID with the reason: too short, too long, or the user's own name. */
ERR_MUST_CHECK enum err_code password_check(const char *password, const char *user,
                                            struct err *err);
