/*
 * server/tls_csr.c - see tls_csr.h.
 */
#include "server/tls_csr.h"

#include <string.h>

#include <gnutls/x509.h>

#include "base/text.h"

OWN_DEFINE(crq, gnutls_x509_crq_t, gnutls_x509_crq_deinit)

static void datum_release(gnutls_datum_t *datum)
{
    gnutls_free(datum->data);
}
#define OWN_DATUM __attribute__((cleanup(datum_release)))

/* The two names in use: RFC 7468 section 7, and what GnuTLS itself writes. */
static const char *const labels[] = {"CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"};

/* Nothing may stand before or behind the block: GnuTLS would look for it anywhere. */
static const char *label_of(const char *pem, size_t len)
{
    char line[64];
    while (len > 0 && (pem[len - 1] == '\n' || pem[len - 1] == '\r'))
        len--;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        size_t begin = (size_t)snprintf(line, sizeof(line), "-----BEGIN %s-----", labels[i]);
        if (len < begin || memcmp(pem, line, begin) != 0)
            continue;
        size_t end = (size_t)snprintf(line, sizeof(line), "-----END %s-----", labels[i]);
        const char *first = memmem(pem, len, "-----END", 8);
        return len >= begin + end && first == pem + len - end && memcmp(first, line, end) == 0
                   ? labels[i]
                   : NULL;
    }
    return NULL;
}

static enum err_code refuse(struct err *err, int rc, const char *what)
{
    return rc == GNUTLS_E_MEMORY_ERROR
               ? err_nomem(err)
               : err_set(err, ERR_INVALID, "%s: %s", what, gnutls_strerror(rc));
}

/* A form that we would write otherwise is a form that two readers may read differently. */
static enum err_code check_form(gnutls_x509_crq_t crq, const gnutls_datum_t *der, struct err *err)
{
    OWN_DATUM gnutls_datum_t again = {0};
    int rc = gnutls_x509_crq_export2(crq, GNUTLS_X509_FMT_DER, &again);
    if (rc != 0)
        return refuse(err, rc, "the request does not read");
    if (again.size != der->size || memcmp(again.data, der->data, der->size) != 0)
        return err_set(err, ERR_INVALID, "the request is no plain DER, or bytes follow it");
    return ERR_OK;
}

static enum err_code check_key(gnutls_pubkey_t key, struct err *err)
{
    gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
    unsigned bits = 0;
    int kind = gnutls_pubkey_get_pk_algorithm(key, &bits);
    if (kind == GNUTLS_PK_EDDSA_ED25519)
        return ERR_OK;
    if (kind == GNUTLS_PK_ECDSA && gnutls_pubkey_export_ecc_raw2(key, &curve, NULL, NULL, 0) == 0 &&
        (curve == GNUTLS_ECC_CURVE_SECP256R1 || curve == GNUTLS_ECC_CURVE_SECP384R1))
        return ERR_OK;
    const char *name = gnutls_pk_algorithm_get_name((gnutls_pk_algorithm_t)kind);
    return err_set(err, ERR_INVALID,
                   "the request's key is %s with %u bits; it must be ECDSA on P-256 or P-384, or "
                   "Ed25519",
                   name != NULL ? name : "unknown", bits);
}

enum err_code tls_csr_read(const char *pem, size_t len, gnutls_pubkey_t *out, struct err *err)
{
    OWN(crq) gnutls_x509_crq_t crq = NULL;
    OWN(pubkey) gnutls_pubkey_t key = NULL;
    OWN_DATUM gnutls_datum_t der = {0};
    gnutls_datum_t text = {.data = (unsigned char *)pem, .size = (unsigned)len};
    if (len > TLS_CSR_MAX)
        return err_set(err, ERR_LIMIT, "the request has %zu bytes, more than %d", len, TLS_CSR_MAX);
    const char *label = label_of(pem, len);
    if (label == NULL)
        return err_set(err, ERR_INVALID, "no PEM block of a CERTIFICATE REQUEST, and nothing else");
    int rc = gnutls_pem_base64_decode2(label, &text, &der);
    if (rc == 0)
        rc = gnutls_x509_crq_init(&crq);
    if (rc == 0)
        rc = gnutls_x509_crq_import(crq, &der, GNUTLS_X509_FMT_DER);
    if (rc != 0)
        return refuse(err, rc, "the request does not read");
    enum err_code code = check_form(crq, &der, err);
    if (code != ERR_OK)
        return code;
    rc = gnutls_pubkey_init(&key);
    if (rc == 0)
        rc = gnutls_pubkey_import_x509_crq(key, crq, 0);
    if (rc != 0)
        return refuse(err, rc, "the request's key does not read");
    code = check_key(key, err);
    if (code != ERR_OK)
        return code;
    /* Who asks has the key: else a stranger's key could be bound to this node. */
    rc = gnutls_x509_crq_verify(crq, 0);
    if (rc != 0)
        return refuse(err, rc, "the request's signature is not by its own key");
    *out = GIVE(key);
    return ERR_OK;
}
