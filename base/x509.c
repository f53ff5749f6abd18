/*
 * base/x509.c - see x509.h.
 */
#include "base/x509.h"

#include <stdlib.h>
#include <string.h>

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#include "base/file.h"

OWN_DEFINE(crt, gnutls_x509_crt_t, gnutls_x509_crt_deinit)
OWN_DEFINE(crq, gnutls_x509_crq_t, gnutls_x509_crq_deinit)
OWN_DEFINE(key, gnutls_x509_privkey_t, gnutls_x509_privkey_deinit)

/* GnuTLS's codes as ours; the text is the library's. */
static enum err_code failed(struct err *err, enum err_code code, int rc, const char *what)
{
    if (rc == GNUTLS_E_MEMORY_ERROR)
        return err_nomem(err);
    return err_set(err, code, "%s: %s", what, gnutls_strerror(rc));
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

/* Gives the library's text as ours, and wipes the library's. */
static enum err_code give_text(gnutls_datum_t *from, char **out, struct err *err)
{
    char *text = malloc(from->size + 1);
    if (text != NULL) {
        memcpy(text, from->data, from->size);
        text[from->size] = '\0';
    }
    explicit_bzero(from->data, from->size);
    gnutls_free(from->data);
    if (text == NULL)
        return err_nomem(err);
    *out = text;
    return ERR_OK;
}

void x509_key_free(char *key_pem)
{
    if (key_pem == NULL)
        return;
    explicit_bzero(key_pem, strlen(key_pem));
    free(key_pem);
}

enum err_code x509_key_new(char **out_pem, struct err *err)
{
    OWN(key) gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t text;
    int rc = gnutls_x509_privkey_init(&key);
    if (rc == 0)
        rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (rc == 0)
        rc = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                               &text);
    if (rc != 0)
        return failed(err, ERR_IO, rc, "a new private key");
    return give_text(&text, out_pem, err);
}

static enum err_code key_read(const char *pem, gnutls_x509_privkey_t *out, struct err *err)
{
    OWN(key) gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t text = datum_of(pem);
    int rc = gnutls_x509_privkey_init(&key);
    if (rc == 0)
        rc = gnutls_x509_privkey_import(key, &text, GNUTLS_X509_FMT_PEM);
    if (rc != 0)
        return failed(err, ERR_INVALID, rc, "no private key that reads");
    *out = GIVE(key);
    return ERR_OK;
}

enum err_code x509_request_new(const char *key_pem, const char *name, char **out_pem,
                               struct err *err)
{
    OWN(key) gnutls_x509_privkey_t key = NULL;
    OWN(crq) gnutls_x509_crq_t crq = NULL;
    gnutls_datum_t text;
    enum err_code code = key_read(key_pem, &key, err);
    if (code != ERR_OK)
        return code;
    int rc = gnutls_x509_crq_init(&crq);
    if (rc == 0)
        rc = gnutls_x509_crq_set_version(crq, 1);
    if (rc == 0)
        rc = gnutls_x509_crq_set_dn_by_oid(crq, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                           (unsigned)strlen(name));
    if (rc == 0)
        rc = gnutls_x509_crq_set_key(crq, key);
    if (rc == 0)
        rc = gnutls_x509_crq_sign2(crq, key, GNUTLS_DIG_SHA256, 0);
    if (rc == 0)
        rc = gnutls_x509_crq_export2(crq, GNUTLS_X509_FMT_PEM, &text);
    if (rc != 0)
        return failed(err, ERR_INVALID, rc, "a signing request");
    return give_text(&text, out_pem, err);
}

static enum err_code crt_read(const char *pem, gnutls_x509_crt_t *out, struct err *err)
{
    OWN(crt) gnutls_x509_crt_t crt = NULL;
    gnutls_datum_t text = datum_of(pem);
    int rc = gnutls_x509_crt_init(&crt);
    if (rc == 0)
        rc = gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM);
    if (rc != 0)
        return failed(err, ERR_INVALID, rc, "no certificate that reads");
    *out = GIVE(crt);
    return ERR_OK;
}

static int64_t time_us(time_t seconds)
{
    return seconds <= 0 ? 0 : (int64_t)seconds * INT64_C(1000000);
}

enum err_code x509_facts(const char *pem, struct x509_facts *out, struct err *err)
{
    OWN(crt) gnutls_x509_crt_t crt = NULL;
    enum err_code code = crt_read(pem, &crt, err);
    if (code != ERR_OK)
        return code;
    struct x509_facts facts = {.not_before_us = time_us(gnutls_x509_crt_get_activation_time(crt)),
                               .not_after_us = time_us(gnutls_x509_crt_get_expiration_time(crt))};
    unsigned char digest[32], key[32], serial[X509_SERIAL_SIZE / 2 - 1];
    size_t digest_len = sizeof(digest), key_len = sizeof(key), serial_len = sizeof(serial);
    size_t name_len = sizeof(facts.name);
    int rc = gnutls_x509_crt_get_fingerprint(crt, GNUTLS_DIG_SHA256, digest, &digest_len);
    if (rc == 0)
        rc = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, key, &key_len);
    if (rc == 0)
        rc = gnutls_x509_crt_get_serial(crt, serial, &serial_len);
    if (rc != 0)
        return failed(err, ERR_INVALID, rc, "the certificate does not read");
    hex_encode(digest, digest_len, facts.fingerprint);
    hex_encode(key, key_len, facts.key);
    hex_encode(serial, serial_len, facts.serial);
    if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, facts.name,
                                      &name_len) != 0)
        facts.name[0] = '\0';
    *out = facts;
    return ERR_OK;
}

enum err_code x509_pair_check(const char *cert_pem, const char *key_pem, struct err *err)
{
    OWN(crt) gnutls_x509_crt_t crt = NULL;
    OWN(key) gnutls_x509_privkey_t key = NULL;
    unsigned char of_crt[32], of_key[32];
    size_t crt_len = sizeof(of_crt), key_len = sizeof(of_key);
    enum err_code code = crt_read(cert_pem, &crt, err);
    if (code == ERR_OK)
        code = key_read(key_pem, &key, err);
    if (code != ERR_OK)
        return code;
    int rc = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, of_crt, &crt_len);
    if (rc == 0)
        rc = gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, of_key, &key_len);
    if (rc != 0)
        return failed(err, ERR_INVALID, rc, "the certificate or the key does not read");
    if (crt_len != key_len || memcmp(of_crt, of_key, crt_len) != 0)
        return err_set(err, ERR_INVALID, "the private key is not the certificate's");
    return ERR_OK;
}
