/*
 * base/mac.c - see mac.h.
 */
#include "base/mac.h"

#include <sodium.h>

void mac_sha256(const unsigned char key[MAC_KEY_SIZE], const void *data, size_t len,
                unsigned char out[MAC_SIZE])
{
    crypto_auth_hmacsha256(out, data, len, key);
}

void mac_sip(const unsigned char key[SIP_KEY_SIZE], const void *data, size_t len,
             unsigned char out[SIP_SIZE])
{
    crypto_shorthash(out, data, len, key);
}

bool bytes_equal_secret(const void *a, const void *b, size_t len)
{
    return sodium_memcmp(a, b, len) == 0;
}
