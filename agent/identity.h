#pragma once
/*
 * agent/identity.h - the agent's key and certificate on disk: STATE_DIR/identity-N.pem (mode 0600)
 * holds both, so that they change together; the highest N that reads counts. STATE_DIR/ca.crt is
 * who signs the server's certificate.
 *
 * A new pair is a new file, written whole before the old one goes: a crash leaves one of the two.
 */

#include <stdint.h>

#include "agent/keep.h"
#include "base/err.h"
#include "base/x509.h"

#define IDENTITY_MAX 999999999

struct identity {
    char path[KEEP_PATH_MAX];
    int64_t number;
    struct x509_facts facts;
};

/* The newest. ERR_NOT_FOUND: none; ERR_INVALID: it is of another node, or none reads. */
ERR_MUST_CHECK enum err_code identity_load(const char *state_dir, const char *node,
                                           struct identity *out, struct err *err);
/* Puts a new one behind `old` (NULL = the first) after checking that certificate, key and node
 * belong together; removes those before old. */
ERR_MUST_CHECK enum err_code identity_store(const char *state_dir, const char *node,
                                            const struct identity *old, const char *key_pem,
                                            const char *cert_pem, struct identity *out,
                                            struct err *err);
