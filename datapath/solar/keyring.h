#pragma once
/*
 * datapath/solar/keyring.h - the keys of a job as the agent gives them to the job's processes: the
 * file "key" in the job's folder (control.h).
 *
 *   stellar-keys 1
 *   EPOCH HEX        a line a key: the epoch in decimal, 64 hexadecimal digits; the first is the
 *   ...              one to open queue pairs under, the others still count, or will soon
 *
 * The file is the secret of the job. It is of the folder's owner and group, and nobody else may
 * read it; one that is not so is not taken: it may be another tenant's doing. A new one takes its
 * place by a rename, so that a reader has the old or the new one, whole.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mac.h"

#define KEYRING_FILE     "key"
#define KEYRING_KEYS_MAX 4
#define KEYRING_TEXT_MAX 512 /* bytes of a file */

struct keyring {
    size_t count; /* 1 to KEYRING_KEYS_MAX of what was read */
    struct keyring_key {
        uint64_t epoch; /* from 1 */
        unsigned char key[MAC_KEY_SIZE];
    } keys[KEYRING_KEYS_MAX];
};

/* Pure. ERR_INVALID names the line, never what is in it; ERR_LIMIT. */
ERR_MUST_CHECK enum err_code keyring_parse(const char *text, size_t len, struct keyring *out,
                                           struct err *err);
/* Of 1 to KEYRING_KEYS_MAX keys (asserted); returns the length. */
size_t keyring_text(const struct keyring *ring, char out[KEYRING_TEXT_MAX]);
const struct keyring_key *keyring_find(const struct keyring *ring, uint64_t epoch);

/* From the job's folder. Never blocks, follows no link. ERR_NOT_FOUND: no folder or no file;
 * ERR_DENIED: not readable for this process, of another owner than the folder, or readable for
 * everybody; ERR_INVALID; ERR_IO. The caller wipes *out. */
ERR_MUST_CHECK enum err_code keyring_read(const char *folder, struct keyring *out, struct err *err);
/* Writes it there. ERR_NOT_FOUND: no folder; ERR_DENIED: the folder is not this process's own, or
 * everybody may write to it; ERR_IO. */
ERR_MUST_CHECK enum err_code keyring_write(const char *folder, const struct keyring *ring,
                                           struct err *err);
/* Takes it away; not there is good too. */
void keyring_drop(const char *folder);
