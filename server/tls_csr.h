#pragma once
/*
 * server/tls_csr.h - reads the signing request that a node sends: hostile until proven. Of it only
 * the public key is used; names, extensions and attributes are looked at by nobody.
 */

#include <stddef.h>

#include <gnutls/abstract.h>

#include "base/err.h"
#include "base/own.h"

#define TLS_CSR_MAX 4096 /* bytes of PEM */

OWN_DEFINE(pubkey, gnutls_pubkey_t, gnutls_pubkey_deinit)

/*
 * One PEM block of a PKCS #10 request in DER and nothing else, signed with its own key, which is
 * ECDSA on P-256 or P-384, or Ed25519. ERR_LIMIT: more than TLS_CSR_MAX; ERR_INVALID: what is
 * wrong. The caller frees *out (gnutls_pubkey_deinit).
 */
ERR_MUST_CHECK enum err_code tls_csr_read(const char *pem, size_t len, gnutls_pubkey_t *out,
                                          struct err *err);
