#pragma once
/*
 * base/x509.h - keys, signing requests and certificates as PEM texts: what a client of our own
 * authority needs (the agent, tests). The authority itself is server/tls_ca.
 *
 * Keys are ECDSA on P-256. Texts are malloc'ed and NUL-terminated; free a key with x509_key_free(),
 * which wipes it. All functions may be called from any thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

#define X509_PEM_MAX          (64 * 1024) /* of a file or text with certificates */
#define X509_FINGERPRINT_SIZE 65          /* SHA-256 of the DER form as 64 hex digits */
#define X509_SERIAL_SIZE      48
#define X509_NAME_SIZE        128

/* A new private key, PKCS #8. ERR_NOMEM, ERR_IO (no randomness). */
ERR_MUST_CHECK enum err_code x509_key_new(char **out_pem, struct err *err);
void x509_key_free(char *key_pem); /* NULL is legal */
OWN_DEFINE(x509_key, char *, x509_key_free)

/* A PKCS #10 request for `name` (CN), signed with the key. */
ERR_MUST_CHECK enum err_code x509_request_new(const char *key_pem, const char *name, char **out_pem,
                                              struct err *err);

struct x509_facts {
    char fingerprint[X509_FINGERPRINT_SIZE];
    char key[X509_FINGERPRINT_SIZE]; /* SHA-256 of the public key */
    char serial[X509_SERIAL_SIZE];   /* hex */
    char name[X509_NAME_SIZE];       /* CN of the subject, "" = none, or longer */
    int64_t not_before_us, not_after_us;
};
/* Of the first certificate in the text. ERR_INVALID: there is none that reads. */
ERR_MUST_CHECK enum err_code x509_facts(const char *pem, struct x509_facts *out, struct err *err);

/* Whether the first certificate is of this key: ERR_INVALID says what is wrong. */
ERR_MUST_CHECK enum err_code x509_pair_check(const char *cert_pem, const char *key_pem,
                                             struct err *err);
