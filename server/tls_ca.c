/*
 * server/tls_ca.c - see tls_ca.h.
 */
#include "server/tls_ca.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#include "base/file.h"
#include "base/log.h"
#include "server/tls_csr.h"

#define CA_PATH_MAX 4096
#define SERIAL_LEN  16
#define DAY_S       INT64_C(86400)
#define US_PER_S    INT64_C(1000000)

OWN_DEFINE(crt, gnutls_x509_crt_t, gnutls_x509_crt_deinit)
OWN_DEFINE(key, gnutls_x509_privkey_t, gnutls_x509_privkey_deinit)

struct tls_ca {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    char *pem;
    struct x509_facts facts;
};

void tls_ca_free(struct tls_ca *ca)
{
    if (ca == NULL)
        return;
    if (ca->crt != NULL)
        gnutls_x509_crt_deinit(ca->crt);
    if (ca->key != NULL)
        gnutls_x509_privkey_deinit(ca->key); /* wipes it */
    free(ca->pem);
    free(ca);
}

const char *tls_ca_pem(const struct tls_ca *ca)
{
    return ca->pem;
}

const char *tls_ca_fingerprint(const struct tls_ca *ca)
{
    return ca->facts.fingerprint;
}

void tls_issued_release(struct tls_issued *issued)
{
    free(issued->pem);
    issued->pem = NULL;
}

static enum err_code failed(struct err *err, int rc, const char *what)
{
    return rc == GNUTLS_E_MEMORY_ERROR ? err_nomem(err)
                                       : err_set(err, ERR_IO, "%s: %s", what, gnutls_strerror(rc));
}

/* Version, serial, lifetime and name: what every certificate has. */
static int crt_begin(gnutls_x509_crt_t crt, const char *name, int64_t now_us, int64_t days)
{
    unsigned char serial[SERIAL_LEN];
    random_bytes(serial, sizeof(serial));
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40); /* positive, of full length */
    int64_t now_s = now_us / US_PER_S;
    int rc = gnutls_x509_crt_set_version(crt, 3);
    if (rc == 0)
        rc = gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
    if (rc == 0)
        rc = gnutls_x509_crt_set_activation_time(crt, (time_t)(now_s - TLS_BACKDATE_S));
    if (rc == 0)
        rc = gnutls_x509_crt_set_expiration_time(crt, (time_t)(now_s + days * DAY_S));
    if (rc == 0)
        rc = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                           (unsigned)strlen(name));
    return rc;
}

static int set_key_id(gnutls_x509_crt_t crt)
{
    unsigned char id[32];
    size_t len = sizeof(id);
    int rc = gnutls_x509_crt_get_key_id(crt, 0, id, &len);
    return rc == 0 ? gnutls_x509_crt_set_subject_key_id(crt, id, len) : rc;
}

static enum err_code copy_pem(gnutls_x509_crt_t crt, char **out, struct err *err)
{
    gnutls_datum_t text;
    int rc = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &text);
    if (rc != 0)
        return failed(err, rc, "a certificate");
    *out = strndup((const char *)text.data, text.size);
    gnutls_free(text.data);
    return *out != NULL ? ERR_OK : err_nomem(err);
}

/* The authority itself ------------------------------------------------------------------------ */

/* Its name is its own, so that the authorities of two servers are told apart. */
static enum err_code make_crt(gnutls_x509_privkey_t key, int64_t now_us, char **out,
                              struct err *err)
{
    OWN(crt) gnutls_x509_crt_t crt = NULL;
    unsigned char id[4];
    char digits[2 * sizeof(id) + 1], name[64];
    random_bytes(id, sizeof(id));
    hex_encode(id, sizeof(id), digits);
    snprintf(name, sizeof(name), "Stellar authority %s", digits);
    int rc = gnutls_x509_crt_init(&crt);
    if (rc == 0)
        rc = crt_begin(crt, name, now_us, TLS_CA_DAYS);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key(crt, key);
    if (rc == 0)
        rc = gnutls_x509_crt_set_basic_constraints(crt, 1, 0); /* no authority below it */
    if (rc == 0)
        rc = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_KEY_CERT_SIGN);
    if (rc == 0)
        rc = set_key_id(crt);
    if (rc == 0)
        rc = gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
    return rc != 0 ? failed(err, rc, "the authority's certificate") : copy_pem(crt, out, err);
}

static enum err_code key_import(const char *pem, gnutls_x509_privkey_t *out, struct err *err)
{
    OWN(key) gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t text = {.data = (unsigned char *)pem, .size = (unsigned)strlen(pem)};
    int rc = gnutls_x509_privkey_init(&key);
    if (rc == 0)
        rc = gnutls_x509_privkey_import(key, &text, GNUTLS_X509_FMT_PEM);
    if (rc != 0)
        return failed(err, rc, "a private key");
    *out = GIVE(key);
    return ERR_OK;
}

/* The certificate is written last: what is without it never signed anything. */
static enum err_code make_files(const char *key_path, const char *crt_path, int64_t now_us,
                                struct err *err)
{
    OWN(x509_key) char *key_pem = NULL;
    OWN(str) char *crt_pem = NULL;
    OWN(key) gnutls_x509_privkey_t key = NULL;
    enum err_code code = x509_key_new(&key_pem, err);
    if (code == ERR_OK)
        code = key_import(key_pem, &key, err);
    if (code == ERR_OK)
        code = make_crt(key, now_us, &crt_pem, err);
    if (code == ERR_OK)
        code = file_write_atomic(key_path, key_pem, strlen(key_pem), 0600, err);
    if (code == ERR_OK)
        code = file_write_atomic(crt_path, crt_pem, strlen(crt_pem), 0644, err);
    if (code == ERR_OK)
        log_info("tls", "first start: made the certificate authority in %s", crt_path);
    return code;
}

static enum err_code ca_read(const char *key_path, const char *crt_path, struct tls_ca *ca,
                             struct err *err)
{
    OWN(x509_key) char *key_pem = NULL;
    size_t len;
    enum err_code code = file_read(crt_path, X509_PEM_MAX, &ca->pem, &len, err);
    if (code == ERR_OK)
        code = file_read(key_path, X509_PEM_MAX, &key_pem, &len, err);
    if (code == ERR_OK)
        code = x509_pair_check(ca->pem, key_pem, err);
    if (code == ERR_OK)
        code = x509_facts(ca->pem, &ca->facts, err);
    if (code == ERR_OK)
        code = key_import(key_pem, &ca->key, err);
    if (code != ERR_OK)
        return code;
    if (file_is_open_to_others(key_path))
        return err_set(err, ERR_DENIED,
                       "the authority's key can be read by others than its owner; chmod 0600 it");
    gnutls_datum_t text = {.data = (unsigned char *)ca->pem, .size = (unsigned)strlen(ca->pem)};
    int rc = gnutls_x509_crt_init(&ca->crt);
    if (rc == 0)
        rc = gnutls_x509_crt_import(ca->crt, &text, GNUTLS_X509_FMT_PEM);
    return rc == 0 ? ERR_OK : failed(err, rc, "the authority's certificate");
}

enum err_code tls_ca_open(const char *data_dir, int64_t now_us, struct tls_ca **out,
                          struct err *err)
{
    char key_path[CA_PATH_MAX], crt_path[CA_PATH_MAX];
    OWN(tls_ca) struct tls_ca *ca = calloc(1, sizeof(*ca));
    if (ca == NULL)
        return err_nomem(err);
    snprintf(key_path, sizeof(key_path), "%s/ca.key", data_dir);
    snprintf(crt_path, sizeof(crt_path), "%s/ca.crt", data_dir);
    bool has_crt = access(crt_path, F_OK) == 0;
    enum err_code code = has_crt ? ERR_OK : make_files(key_path, crt_path, now_us, err);
    if (code == ERR_OK)
        code = ca_read(key_path, crt_path, ca, err);
    if (code != ERR_OK)
        return err_context(err, "the certificate authority in %s", data_dir);
    *out = GIVE(ca);
    return ERR_OK;
}

/* What it signs ------------------------------------------------------------------------------- */

static enum err_code finish(struct tls_ca *ca, gnutls_x509_crt_t crt, const char *purpose,
                            struct tls_issued *out, struct err *err)
{
    unsigned char id[32];
    size_t id_len = sizeof(id);
    int rc = gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key_purpose_oid(crt, purpose, 0);
    if (rc == 0)
        rc = set_key_id(crt);
    if (rc == 0)
        rc = gnutls_x509_crt_get_subject_key_id(ca->crt, id, &id_len, NULL);
    if (rc == 0)
        rc = gnutls_x509_crt_set_authority_key_id(crt, id, id_len);
    if (rc == 0)
        rc = gnutls_x509_crt_sign2(crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0);
    if (rc != 0)
        return failed(err, rc, "a certificate");
    struct tls_issued issued = {.pem = NULL};
    enum err_code code = copy_pem(crt, &issued.pem, err);
    if (code == ERR_OK)
        code = x509_facts(issued.pem, &issued.facts, err);
    if (code != ERR_OK)
        tls_issued_release(&issued);
    else
        *out = issued;
    return code;
}

enum err_code tls_ca_issue_node(struct tls_ca *ca, const char *csr_pem, const char *node,
                                int64_t now_us, struct tls_issued *out, struct err *err)
{
    OWN(pubkey) gnutls_pubkey_t key = NULL;
    OWN(crt) gnutls_x509_crt_t crt = NULL;
    enum err_code code = tls_csr_read(csr_pem, strlen(csr_pem), &key, err);
    if (code != ERR_OK)
        return code;
    int rc = gnutls_x509_crt_init(&crt);
    if (rc == 0)
        rc = crt_begin(crt, node, now_us, TLS_NODE_DAYS);
    if (rc == 0)
        rc = gnutls_x509_crt_set_pubkey(crt, key);
    if (rc != 0)
        return failed(err, rc, "a node's certificate");
    return finish(ca, crt, GNUTLS_KP_TLS_WWW_CLIENT, out, err);
}

static int add_name(gnutls_x509_crt_t crt, const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    unsigned len = inet_pton(AF_INET, name, address) == 1    ? 4
                   : inet_pton(AF_INET6, name, address) == 1 ? 16
                                                             : 0;
    if (len > 0)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, len,
                                                    GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name,
                                                (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

enum err_code tls_ca_issue_server(struct tls_ca *ca, const char *key_pem, const char *const *names,
                                  int64_t now_us, struct tls_issued *out, struct err *err)
{
    OWN(key) gnutls_x509_privkey_t key = NULL;
    OWN(crt) gnutls_x509_crt_t crt = NULL;
    enum err_code code = key_import(key_pem, &key, err);
    if (code != ERR_OK)
        return code;
    int rc = gnutls_x509_crt_init(&crt);
    if (rc == 0)
        rc = crt_begin(crt, "stellard", now_us, TLS_SERVER_DAYS);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key(crt, key);
    for (size_t i = 0; rc == 0 && names[i] != NULL; i++)
        rc = add_name(crt, names[i]);
    if (rc != 0)
        return failed(err, rc, "the server's certificate");
    return finish(ca, crt, GNUTLS_KP_TLS_WWW_SERVER, out, err);
}
