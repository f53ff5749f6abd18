/*
 * server/page_token.c - see page_token.h. 128 bits of the code are enough: a guess has to be tried
 * against the server.
 */
#include "server/page_token.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define CODE_BYTES 16

/* HMAC over HMAC(bound) and the key of the item: both of fixed or known length, so that no two
 * pairs read the same. */
static void code_of(const unsigned char key[MAC_KEY_SIZE], const char *bound, const char *last,
                    unsigned char out[MAC_SIZE])
{
    unsigned char text[MAC_SIZE + PAGE_KEY_SIZE];
    size_t len = strnlen(last, PAGE_KEY_SIZE);
    mac_sha256(key, bound, strlen(bound), text);
    memcpy(text + MAC_SIZE, last, len);
    mac_sha256(key, text, MAC_SIZE + len, out);
}

void page_token_seal(const unsigned char key[MAC_KEY_SIZE], const char *bound, const char *last,
                     char out[PAGE_TOKEN_SIZE])
{
    unsigned char code[MAC_SIZE];
    size_t len = strnlen(last, PAGE_KEY_SIZE - 1);
    code_of(key, bound, last, code);
    hex_encode(code, CODE_BYTES, out);
    hex_encode(last, len, out + 2 * CODE_BYTES);
}

bool page_token_open(const unsigned char key[MAC_KEY_SIZE], const char *bound, const char *token,
                     char out_last[PAGE_KEY_SIZE])
{
    unsigned char given[CODE_BYTES], code[MAC_SIZE];
    char head[2 * CODE_BYTES + 1];
    size_t len = strlen(token);
    if (len <= 2 * CODE_BYTES || len % 2 != 0 || len / 2 - CODE_BYTES >= PAGE_KEY_SIZE)
        return false;
    memcpy(head, token, 2 * CODE_BYTES);
    head[2 * CODE_BYTES] = '\0';
    len = len / 2 - CODE_BYTES;
    if (!hex_decode(head, given, CODE_BYTES) || !hex_decode(token + 2 * CODE_BYTES, out_last, len))
        return false;
    out_last[len] = '\0';
    code_of(key, bound, out_last, code);
    return bytes_equal_secret(given, code, CODE_BYTES) && strlen(out_last) == len;
}
