/*
 * server/auth.c - see auth.h.
 */
#include "server/auth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define AUTH_BUCKETS 4096

struct auth {
    pthread_rwlock_t lock;
    struct auth_token *buckets[AUTH_BUCKETS];
};

static const char *const role_names[] = {
    [ROLE_NONE] = "none",
    [ROLE_ADMIN] = "admin",
    [ROLE_OPERATOR] = "operator",
    [ROLE_AUDITOR] = "auditor",
    [ROLE_TENANT_ADMIN] = "tenant-admin",
    [ROLE_TENANT_USER] = "tenant-user",
    [ROLE_AGENT] = "agent",
};

const char *role_name(enum role role)
{
    return role_names[role];
}

bool role_from_name(const char *name, enum role *out)
{
    for (enum role role = ROLE_ADMIN; role <= ROLE_AGENT; role++)
        if (strcmp(name, role_names[role]) == 0) {
            *out = role;
            return true;
        }
    return false;
}

static size_t bucket_of(const char hash[DIGEST_TEXT_MAX])
{
    char digits[9] = {0};
    memcpy(digits, hash + strlen("sha256:"), 8);
    return strtoul(digits, NULL, 16) % AUTH_BUCKETS;
}

enum err_code auth_new(struct auth **out, struct err *err)
{
    struct auth *auth = calloc(1, sizeof(*auth));
    if (auth == NULL)
        return err_nomem(err);
    pthread_rwlock_init(&auth->lock, NULL);
    *out = auth;
    return ERR_OK;
}

/* Unlinks and frees every token that `ends` says so for; the caller holds the lock. */
static void sweep(struct auth *auth, bool (*ends)(const struct auth_token *, const char *),
                  const char *arg)
{
    for (size_t i = 0; i < AUTH_BUCKETS; i++)
        for (struct auth_token **at = &auth->buckets[i]; *at != NULL;) {
            struct auth_token *token = *at;
            if (ends(token, arg)) {
                *at = token->next;
                free(token);
            } else {
                at = &token->next;
            }
        }
}

static bool any(const struct auth_token *token, const char *arg)
{
    (void)token;
    (void)arg;
    return true;
}

static bool has_name(const struct auth_token *token, const char *name)
{
    return strcmp(token->principal.name, name) == 0;
}

static bool has_tenant(const struct auth_token *token, const char *tenant)
{
    return strcmp(token->principal.tenant, tenant) == 0;
}

void auth_free(struct auth *auth)
{
    if (auth == NULL)
        return;
    sweep(auth, any, NULL);
    pthread_rwlock_destroy(&auth->lock);
    free(auth);
}

void auth_put(struct auth *auth, struct auth_token *token, bool replace)
{
    struct auth_token **at = &auth->buckets[bucket_of(token->hash)];
    pthread_rwlock_wrlock(&auth->lock);
    if (replace)
        sweep(auth, has_name, token->principal.name);
    token->next = *at;
    *at = token;
    pthread_rwlock_unlock(&auth->lock);
}

void auth_end(struct auth *auth, const char *principal_name)
{
    pthread_rwlock_wrlock(&auth->lock);
    sweep(auth, has_name, principal_name);
    pthread_rwlock_unlock(&auth->lock);
}

void auth_end_tenant(struct auth *auth, const char *tenant)
{
    pthread_rwlock_wrlock(&auth->lock);
    sweep(auth, has_tenant, tenant);
    pthread_rwlock_unlock(&auth->lock);
}

/* The digests of two tokens: the same time wherever they differ. */
static bool digest_equal(const char a[DIGEST_TEXT_MAX], const char b[DIGEST_TEXT_MAX])
{
    unsigned differences = 0;
    for (size_t i = 0; i < DIGEST_TEXT_MAX - 1; i++)
        differences |= (unsigned char)a[i] ^ (unsigned char)b[i];
    return differences == 0;
}

bool auth_check(struct auth *auth, const char *token, int64_t now_us, struct principal *out)
{
    char hash[DIGEST_TEXT_MAX] = "";
    bytes_digest(token, strlen(token), hash);
    bool known = false;
    pthread_rwlock_rdlock(&auth->lock);
    for (const struct auth_token *t = auth->buckets[bucket_of(hash)]; t != NULL; t = t->next)
        if (digest_equal(t->hash, hash) && (t->expires_us == 0 || t->expires_us > now_us)) {
            *out = t->principal;
            known = true;
        }
    pthread_rwlock_unlock(&auth->lock);
    return known;
}

void token_make(const char *prefix, char out[TOKEN_TEXT_MAX], char out_hash[DIGEST_TEXT_MAX])
{
    unsigned char secret[32];
    char digits[2 * sizeof(secret) + 1];
    random_bytes(secret, sizeof(secret));
    hex_encode(secret, sizeof(secret), digits);
    snprintf(out, TOKEN_TEXT_MAX, "%s%s", prefix, digits);
    bytes_digest(out, strlen(out), out_hash);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(digits, sizeof(digits));
}
