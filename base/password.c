/*
 * base/password.c - see password.h.
 */
#include "base/password.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "base/file.h"

/* Of no password that anybody knows: the comparison costs as much as a true one, since the cost
 * stands in the text. */
#define HASH_OF_NOBODY                                                                             \
    "$argon2id$v=19$m=65536,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$"                                       \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

_Static_assert(PASSWORD_HASH_SIZE >= crypto_pwhash_STRBYTES, "room for the text");

/* libsodium must have started; random_bytes() sees to that, once. */
static void start(void)
{
    unsigned char byte;
    random_bytes(&byte, sizeof(byte));
}

static enum err_code no_memory(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE,
                   "there are no %lu MB of memory for a password's hash now; try again",
                   PASSWORD_MEMORY_BYTES >> 20);
}

enum err_code password_hash(const char *password, char out[PASSWORD_HASH_SIZE], struct err *err)
{
    char text[PASSWORD_HASH_SIZE];
    start();
    if (crypto_pwhash_str_alg(text, password, strlen(password), PASSWORD_PASSES,
                              PASSWORD_MEMORY_BYTES, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return no_memory(err);
    memcpy(out, text, PASSWORD_HASH_SIZE);
    return ERR_OK;
}

enum err_code password_verify(const char *hash, const char *password, bool *out_right,
                              struct err *err)
{
    start();
    errno = 0;
    bool right = crypto_pwhash_str_verify(hash != NULL ? hash : HASH_OF_NOBODY, password,
                                          strlen(password)) == 0;
    if (!right && errno == ENOMEM)
        return no_memory(err);
    *out_right = right && hash != NULL;
    return ERR_OK;
}

/* Length is what makes a password strong; rules about its characters do not (NIST SP
 * 800-63B 5.1.1).
 */
enum err_code password_check(const char *password, const char *user, struct err *err)
{
    size_t len = strlen(password), name_len = strcspn(user, "@");
    if (len < PASSWORD_MIN_BYTES || len > PASSWORD_MAX_BYTES)
        return err_set(err, ERR_INVALID, "the password has %zu bytes; %d to %d are wanted", len,
                       PASSWORD_MIN_BYTES, PASSWORD_MAX_BYTES);
    if (strcasecmp(password, user) == 0 ||
        (name_len == len && strncasecmp(password, user, len) == 0))
        return err_set(err, ERR_INVALID, "the password is the user's name; choose another");
    return ERR_OK;
}
