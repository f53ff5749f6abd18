/*
 * base/sha256.c - see sha256.h.
 */
#include "base/sha256.h"

#include <stdlib.h>

#include <sodium.h>

#include "base/file.h"

struct sha256 {
    crypto_hash_sha256_state state;
};

struct sha256 *sha256_new(void)
{
    struct sha256 *hash = malloc(sizeof(*hash));
    if (hash != NULL)
        crypto_hash_sha256_init(&hash->state);
    return hash;
}

void sha256_free(struct sha256 *hash)
{
    free(hash);
}

void sha256_add(struct sha256 *hash, const void *data, size_t n)
{
    crypto_hash_sha256_update(&hash->state, data, n);
}

void sha256_end(struct sha256 *hash, char out[SHA256_HEX_SIZE])
{
    unsigned char bytes[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&hash->state, bytes);
    hex_encode(bytes, sizeof(bytes), out);
}
