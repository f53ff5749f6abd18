/*
 * server/tls_identity.c - see tls_identity.h.
 */
#include "server/tls_identity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gnutls/x509.h>

#include "base/file.h"

struct tls_identity {
    atomic_uint refs;
    gnutls_certificate_credentials_t credentials;
    struct x509_facts facts;
};

struct stamp { /* of a file: another one means another content */
    struct timespec changed;
    ino_t inode;
    off_t size;
};

struct tls {
    struct tls_config config;
    struct tls_ca *ca;
    struct clock *clock;
    struct stamp stamps[2]; /* of the operator's files when they were last read */
    pthread_mutex_t lock;
    struct tls_identity *current; /* guarded by lock */
};

gnutls_certificate_credentials_t tls_identity_credentials(const struct tls_identity *identity)
{
    return identity->credentials;
}

struct tls_identity *tls_identity_get(struct tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    struct tls_identity *identity = tls->current;
    atomic_fetch_add(&identity->refs, 1);
    pthread_mutex_unlock(&tls->lock);
    return identity;
}

void tls_identity_put(struct tls_identity *identity)
{
    if (identity == NULL || atomic_fetch_sub(&identity->refs, 1) != 1)
        return;
    if (identity->credentials != NULL)
        gnutls_certificate_free_credentials(identity->credentials);
    free(identity);
}
OWN_DEFINE(identity, struct tls_identity *, tls_identity_put)

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

static enum err_code identity_new(const struct tls *tls, const char *cert_pem, const char *key_pem,
                                  struct tls_identity **out, struct err *err)
{
    OWN(identity) struct tls_identity *identity = calloc(1, sizeof(*identity));
    if (identity == NULL)
        return err_nomem(err);
    atomic_init(&identity->refs, 1);
    enum err_code code = x509_pair_check(cert_pem, key_pem, err);
    if (code == ERR_OK)
        code = x509_facts(cert_pem, &identity->facts, err);
    if (code != ERR_OK)
        return code;
    if (identity->facts.not_after_us <= tls->clock->wall_us(tls->clock))
        return err_set(err, ERR_INVALID, "the certificate has expired");
    gnutls_datum_t cert = datum_of(cert_pem), key = datum_of(key_pem),
                   root = datum_of(tls_ca_pem(tls->ca));
    int rc = gnutls_certificate_allocate_credentials(&identity->credentials);
    if (rc == 0)
        rc = gnutls_certificate_set_x509_key_mem2(identity->credentials, &cert, &key,
                                                  GNUTLS_X509_FMT_PEM, NULL, 0);
    if (rc >= 0) /* the number of authorities */
        rc = gnutls_certificate_set_x509_trust_mem(identity->credentials, &root,
                                                   GNUTLS_X509_FMT_PEM);
    if (rc < 0)
        return rc == GNUTLS_E_MEMORY_ERROR
                   ? err_nomem(err)
                   : err_set(err, ERR_INVALID, "the certificate and its key: %s",
                             gnutls_strerror(rc));
    *out = GIVE(identity);
    return ERR_OK;
}

static enum err_code make_own(const struct tls *tls, struct tls_identity **out, struct err *err)
{
    OWN(x509_key) char *key_pem = NULL;
    struct tls_issued issued = {.pem = NULL};
    enum err_code code = x509_key_new(&key_pem, err);
    if (code == ERR_OK)
        code = tls_ca_issue_server(tls->ca, key_pem, tls->config.names,
                                   tls->clock->wall_us(tls->clock), &issued, err);
    if (code == ERR_OK)
        code = identity_new(tls, issued.pem, key_pem, out, err);
    tls_issued_release(&issued);
    return code;
}

static enum err_code read_given(const struct tls *tls, struct tls_identity **out, struct err *err)
{
    OWN(str) char *cert_pem = NULL;
    OWN(x509_key) char *key_pem = NULL;
    size_t len;
    enum err_code code = file_read(tls->config.cert_file, X509_PEM_MAX, &cert_pem, &len, err);
    if (code == ERR_OK)
        code = file_read(tls->config.key_file, X509_PEM_MAX, &key_pem, &len, err);
    if (code == ERR_OK && identity_new(tls, cert_pem, key_pem, out, err) != ERR_OK)
        code = err_context(err, "%s with %s", tls->config.cert_file, tls->config.key_file);
    return code;
}

static struct stamp stamp_of(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return (struct stamp){.size = -1};
    return (struct stamp){.changed = info.st_mtim, .inode = info.st_ino, .size = info.st_size};
}

/* Takes the files' stamps; true = they are others than the last ones. */
static bool stamps_take(struct tls *tls)
{
    const char *const paths[] = {tls->config.cert_file, tls->config.key_file};
    bool changed = false;
    for (size_t i = 0; i < 2; i++) {
        struct stamp now = stamp_of(paths[i]), *old = &tls->stamps[i];
        changed = changed || now.inode != old->inode || now.size != old->size ||
                  now.changed.tv_sec != old->changed.tv_sec ||
                  now.changed.tv_nsec != old->changed.tv_nsec;
        *old = now;
    }
    return changed;
}

enum err_code tls_reload(struct tls *tls, struct err *err)
{
    struct tls_identity *fresh = NULL;
    bool own = tls->config.cert_file == NULL;
    if (!own)
        stamps_take(tls);
    enum err_code code = own ? make_own(tls, &fresh, err) : read_given(tls, &fresh, err);
    if (code != ERR_OK)
        return code;
    pthread_mutex_lock(&tls->lock);
    struct tls_identity *old = tls->current;
    tls->current = fresh;
    pthread_mutex_unlock(&tls->lock);
    tls_identity_put(old);
    return ERR_OK;
}

enum err_code tls_tick(struct tls *tls, bool *out_changed, struct err *err)
{
    bool due;
    *out_changed = false;
    if (tls->config.cert_file != NULL) {
        due = stamps_take(tls);
    } else {
        const struct x509_facts *facts = &tls->current->facts;
        int64_t life_us = facts->not_after_us - facts->not_before_us;
        due = tls->clock->wall_us(tls->clock) >= facts->not_after_us - life_us / 3;
    }
    if (!due)
        return ERR_OK;
    enum err_code code = tls_reload(tls, err);
    *out_changed = code == ERR_OK;
    return code;
}

void tls_facts(struct tls *tls, struct x509_facts *out)
{
    struct tls_identity *identity = tls_identity_get(tls);
    *out = identity->facts;
    tls_identity_put(identity);
}

enum err_code tls_new(const struct tls_config *config, struct tls_ca *ca, struct clock *clock,
                      struct tls **out, struct err *err)
{
    struct tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL)
        return err_nomem(err);
    tls->config = *config;
    tls->ca = ca;
    tls->clock = clock;
    pthread_mutex_init(&tls->lock, NULL);
    enum err_code code = tls_reload(tls, err);
    if (code != ERR_OK) {
        tls_free(tls);
        return code;
    }
    *out = tls;
    return ERR_OK;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    tls_identity_put(tls->current);
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}
