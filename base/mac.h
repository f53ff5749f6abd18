#pragma once
/*
 * base/mac.h - HMAC-SHA-256 (RFC 2104), and comparing secrets. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#define MAC_KEY_SIZE 32
#define MAC_SIZE     32

void mac_sha256(const unsigned char key[MAC_KEY_SIZE], const void *data, size_t len,
                unsigned char out[MAC_SIZE]);
/* In a time that does not depend on where they differ. */
bool bytes_equal_secret(const void *a, const void *b, size_t len);
