#pragma once
/*
 * server/certs.h - the client certificates that count: fingerprint -> node, in memory, as the table
 * `certificates` has them. What is not here is revoked. Changes are made after their commit.
 *
 * A fingerprint is public, so finding it needs no constant time: who shows one has proved in the
 * handshake to hold its key.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "base/x509.h"
#include "fleet/name.h"

struct certs;

struct cert { /* of one node */
    struct cert *next;
    char fingerprint[X509_FINGERPRINT_SIZE];
    char node[NAME_SIZE];
    int64_t expires_us;
    bool renewal; /* not used yet: the older ones of the node end with its first use */
};

ERR_MUST_CHECK enum err_code certs_new(struct certs **out, struct err *err);
void certs_free(struct certs *certs);
OWN_DEFINE(certs, struct certs *, certs_free)

/* Takes cert, malloc'ed. */
void certs_put(struct certs *certs, struct cert *cert);
void certs_end_node(struct certs *certs, const char *node);
/* All of its node's but this one. */
void certs_end_others(struct certs *certs, const char *fingerprint);

/* Any thread. False: unknown or expired. *out_first: true for one caller, at the first use of a
 * renewal. */
bool certs_check(struct certs *certs, const char *fingerprint, int64_t now_us, char node[NAME_SIZE],
                 bool *out_first);
/* What the first use should have led to failed: the next use is the first. */
void certs_first_again(struct certs *certs, const char *fingerprint);
