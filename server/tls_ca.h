#pragma once
/*
 * server/tls_ca.h - the small certificate authority of one stellard. It signs two kinds of
 * certificates and nothing else: nodes' (CN = the node's name, TLS client) and its own server's.
 *
 * DATA/ca.key (mode 0600) and DATA/ca.crt are made at the first start; one without the other stops
 * the start. Everything is ECDSA on P-256 with SHA-256. Any thread may issue.
 */

#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "base/x509.h"

#define TLS_CA_DAYS     7300 /* 20 years */
#define TLS_NODE_DAYS   90
#define TLS_SERVER_DAYS 90
#define TLS_BACKDATE_S  3600 /* nodes' clocks may be late */
#define TLS_NAMES_MAX   32   /* of one server certificate */

struct tls_ca;

ERR_MUST_CHECK enum err_code tls_ca_open(const char *data_dir, int64_t now_us, struct tls_ca **out,
                                         struct err *err);
void tls_ca_free(struct tls_ca *ca);
OWN_DEFINE(tls_ca, struct tls_ca *, tls_ca_free)

const char *tls_ca_pem(const struct tls_ca *ca);         /* the certificate */
const char *tls_ca_fingerprint(const struct tls_ca *ca); /* 64 hex digits */

struct tls_issued {
    char *pem; /* owned */
    struct x509_facts facts;
};
void tls_issued_release(struct tls_issued *issued);

/* A node's certificate for the key of its signing request; the request was read by tls_csr_read()
 * before, or is read now. */
ERR_MUST_CHECK enum err_code tls_ca_issue_node(struct tls_ca *ca, const char *csr_pem,
                                               const char *node, int64_t now_us,
                                               struct tls_issued *out, struct err *err);
/* The server's own, for the key; names are DNS names and addresses, ended by NULL. */
ERR_MUST_CHECK enum err_code tls_ca_issue_server(struct tls_ca *ca, const char *key_pem,
                                                 const char *const *names, int64_t now_us,
                                                 struct tls_issued *out, struct err *err);
