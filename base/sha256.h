#pragma once
/*
 * base/sha256.h - SHA-256 of what comes in pieces. For bytes at hand: bytes_digest() of json.h.
 */

#include <stddef.h>

#include "base/own.h"

#define SHA256_HEX_SIZE 65 /* 64 digits, lower case, and a NUL */

struct sha256;

struct sha256 *sha256_new(void); /* NULL = no memory */
void sha256_free(struct sha256 *hash);
OWN_DEFINE(sha256, struct sha256 *, sha256_free)

void sha256_add(struct sha256 *hash, const void *data, size_t n);
/* Once, last. */
void sha256_end(struct sha256 *hash, char out[SHA256_HEX_SIZE]);
