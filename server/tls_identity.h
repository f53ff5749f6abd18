#pragma once
/*
 * server/tls_identity.h - what stellard shows to TLS clients: its certificate and key, made by its
 * own authority (in memory, anew at each start) or given by the operator as files. It can be
 * replaced while the server runs; connections keep what they began with.
 *
 * A replacement that does not fit (unreadable, expired, another key) leaves the old one in force.
 */

#include <stdbool.h>

#include <gnutls/gnutls.h>

#include "base/clock.h"
#include "server/tls_ca.h"

struct tls;

struct tls_config {
    const char *cert_file, *key_file; /* PEM, certificate first; NULL = our own */
    const char *const *names;         /* of our own certificate, ended by NULL */
};

/* Everything is borrowed and outlives it. ERR_INVALID: the operator's files do not fit. */
ERR_MUST_CHECK enum err_code tls_new(const struct tls_config *config, struct tls_ca *ca,
                                     struct clock *clock, struct tls **out, struct err *err);
void tls_free(struct tls *tls);
OWN_DEFINE(tls, struct tls *, tls_free)

/* Takes a new certificate at once. On failure the old one stays. */
ERR_MUST_CHECK enum err_code tls_reload(struct tls *tls, struct err *err);
/* Call it about once a minute: takes one if our own is two thirds through its life, or if the
 * operator's files have changed. *out_changed = there is a new one. */
ERR_MUST_CHECK enum err_code tls_tick(struct tls *tls, bool *out_changed, struct err *err);
void tls_facts(struct tls *tls, struct x509_facts *out); /* of the certificate in force */

/* For http_tls.c, any thread. */
struct tls_identity; /* immutable, counted */
struct tls_identity *tls_identity_get(struct tls *tls);
void tls_identity_put(struct tls_identity *identity); /* NULL is legal */
/* Certificate, key, and our authority as the one that may sign clients' certificates. */
gnutls_certificate_credentials_t tls_identity_credentials(const struct tls_identity *identity);
