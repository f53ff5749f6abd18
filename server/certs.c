/*
 * server/certs.c - see certs.h.
 */
#include "server/certs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CERTS_BUCKETS 4096

struct certs {
    pthread_mutex_t lock;
    struct cert *buckets[CERTS_BUCKETS];
};

enum err_code certs_new(struct certs **out, struct err *err)
{
    struct certs *certs = calloc(1, sizeof(*certs));
    if (certs == NULL)
        return err_nomem(err);
    pthread_mutex_init(&certs->lock, NULL);
    *out = certs;
    return ERR_OK;
}

static size_t bucket_of(const char *fingerprint)
{
    char digits[9] = {0};
    memcpy(digits, fingerprint, strnlen(fingerprint, 8));
    return strtoul(digits, NULL, 16) % CERTS_BUCKETS;
}

/* The caller holds the lock. */
static struct cert *find(struct certs *certs, const char *fingerprint)
{
    struct cert *cert = certs->buckets[bucket_of(fingerprint)];
    while (cert != NULL && strcmp(cert->fingerprint, fingerprint) != 0)
        cert = cert->next;
    return cert;
}

/* node NULL = every one; keep NULL = none is kept. The caller holds the lock. */
static void sweep(struct certs *certs, const char *node, const struct cert *keep)
{
    for (size_t i = 0; i < CERTS_BUCKETS; i++)
        for (struct cert **at = &certs->buckets[i]; *at != NULL;) {
            struct cert *cert = *at;
            if (cert != keep && (node == NULL || strcmp(cert->node, node) == 0)) {
                *at = cert->next;
                free(cert);
            } else {
                at = &cert->next;
            }
        }
}

void certs_free(struct certs *certs)
{
    if (certs == NULL)
        return;
    sweep(certs, NULL, NULL);
    pthread_mutex_destroy(&certs->lock);
    free(certs);
}

void certs_put(struct certs *certs, struct cert *cert)
{
    struct cert **at = &certs->buckets[bucket_of(cert->fingerprint)];
    pthread_mutex_lock(&certs->lock);
    cert->next = *at;
    *at = cert;
    pthread_mutex_unlock(&certs->lock);
}

void certs_end_node(struct certs *certs, const char *node)
{
    pthread_mutex_lock(&certs->lock);
    sweep(certs, node, NULL);
    pthread_mutex_unlock(&certs->lock);
}

void certs_end_others(struct certs *certs, const char *fingerprint)
{
    pthread_mutex_lock(&certs->lock);
    const struct cert *keep = find(certs, fingerprint);
    if (keep != NULL)
        sweep(certs, keep->node, keep);
    pthread_mutex_unlock(&certs->lock);
}

bool certs_check(struct certs *certs, const char *fingerprint, int64_t now_us, char node[NAME_SIZE],
                 bool *out_first)
{
    pthread_mutex_lock(&certs->lock);
    struct cert *cert = find(certs, fingerprint);
    bool good = cert != NULL && cert->expires_us > now_us;
    *out_first = good && cert->renewal;
    if (good) {
        memcpy(node, cert->node, NAME_SIZE);
        cert->renewal = false;
    }
    pthread_mutex_unlock(&certs->lock);
    return good;
}

void certs_first_again(struct certs *certs, const char *fingerprint)
{
    pthread_mutex_lock(&certs->lock);
    struct cert *cert = find(certs, fingerprint);
    if (cert != NULL)
        cert->renewal = true;
    pthread_mutex_unlock(&certs->lock);
}
