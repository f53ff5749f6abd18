#pragma once
/*
 * server/tls_names.h - the names that the server's own certificate bears, and the one that clients
 * are told.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "server/tls_ca.h"

#define TLS_GIVEN_MAX 16 /* names that the operator gives */
#define TLS_NAME_SIZE 254
#define TLS_URL_SIZE  320

struct tls_names {
    const char *list[TLS_NAMES_MAX + 1]; /* ended by NULL; borrowed, or points into hostname */
    size_t count;
    char hostname[TLS_NAME_SIZE];
};

/* "host-1.example" or an address. ERR_INVALID says what is wrong. */
ERR_MUST_CHECK enum err_code tls_name_check(const char *name, struct err *err);
bool address_is_any(const char *address); /* "0.0.0.0", "::" */

/* The given ones (at most TLS_GIVEN_MAX, ended by NULL), the address that is listened on, the
 * host's name, and loopback. */
void tls_names_fill(struct tls_names *names, const char *const *given, const char *address);

/* Where clients elsewhere find the server: the first given name, else the address, else the host.
 */
void tls_names_url(const struct tls_names *names, bool tls, unsigned port, char out[TLS_URL_SIZE]);
