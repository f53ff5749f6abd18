/*
 * server/auth.c - see auth.h.
 */
#include "server/auth.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mac.h"
#include "base/text.h"

#define AUTH_BUCKETS   4096
#define TENANT_BUCKETS 256
#define USED_STEP_US   INT64_C(1000000) /* how exactly the last use is known */

struct auth_tenant {
    struct auth_tenant *next;
    struct limit limit;
    size_t tokens; /* that point here; it goes with the last */
    char name[];
};

struct auth {
    pthread_rwlock_t lock;
    struct clock *clock;
    struct limit_rate token_rate, tenant_rate, agent_rate;
    _Atomic uint64_t version;
    struct auth_token *buckets[AUTH_BUCKETS];
    struct auth_tenant *tenants[TENANT_BUCKETS];
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

void principal_actor(const struct principal *who, char out[AUDIT_ACTOR_SIZE])
{
    bool others = who->user[0] != '\0' && strncmp(who->name, "token:", strlen("token:")) == 0;
    snprintf(out, AUDIT_ACTOR_SIZE, "%s%s%s", who->name, others ? " user:" : "",
             others ? who->user : "");
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

enum err_code auth_new(struct clock *clock, struct auth **out, struct err *err)
{
    struct auth *auth = calloc(1, sizeof(*auth));
    if (auth == NULL)
        return err_nomem(err);
    auth->clock = clock;
    auth_set_rates(auth, AUTH_RATE_TOKEN, AUTH_RATE_TENANT);
    pthread_rwlock_init(&auth->lock, NULL);
    *out = auth;
    return ERR_OK;
}

void auth_set_rates(struct auth *auth, uint32_t per_token, uint32_t per_tenant)
{
    bool low = per_token != 0 && per_token < AUTH_RATE_AGENT_MIN;
    auth->token_rate = limit_rate_of(per_token);
    auth->tenant_rate = limit_rate_of(per_tenant);
    auth->agent_rate = limit_rate_of(low ? AUTH_RATE_AGENT_MIN : per_token);
}

/* Tenants ------------------------------------------------------------------------------------- */

static struct auth_tenant **tenant_place(struct auth *auth, const char *name)
{
    struct auth_tenant **at = &auth->tenants[text_hash(name) % TENANT_BUCKETS];
    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static struct auth_tenant *tenant_take(struct auth *auth, const char *name)
{
    struct auth_tenant **at = tenant_place(auth, name);
    if (*at == NULL && (*at = calloc(1, sizeof(**at) + strlen(name) + 1)) != NULL)
        strcpy((*at)->name, name);
    if (*at != NULL)
        (*at)->tokens++;
    return *at;
}

static void tenant_leave(struct auth *auth, struct auth_tenant *tenant)
{
    if (tenant == NULL || --tenant->tokens > 0)
        return;
    struct auth_tenant **at = tenant_place(auth, tenant->name);
    *at = tenant->next;
    free(tenant);
}

/* Ends ---------------------------------------------------------------------------------------- */

typedef bool ends_fn(const struct auth_token *token, const void *arg);

static void sweep(struct auth *auth, ends_fn *ends, const void *arg)
{
    for (size_t i = 0; i < AUTH_BUCKETS; i++)
        for (struct auth_token **at = &auth->buckets[i]; *at != NULL;) {
            struct auth_token *token = *at;
            if (ends(token, arg)) {
                *at = token->next;
                tenant_leave(auth, token->tenant);
                auth->version++;
                free(token);
            } else {
                at = &token->next;
            }
        }
}

static void sweep_locked(struct auth *auth, ends_fn *ends, const void *arg)
{
    pthread_rwlock_wrlock(&auth->lock);
    sweep(auth, ends, arg);
    pthread_rwlock_unlock(&auth->lock);
}

static bool any(const struct auth_token *token, const void *arg)
{
    (void)token;
    (void)arg;
    return true;
}

static bool has_name(const struct auth_token *token, const void *name)
{
    return strcmp(token->principal.name, name) == 0;
}

static bool is_same(const struct auth_token *token, const void *arg)
{
    const struct principal *other = arg;
    return strcmp(token->principal.name, other->name) == 0 &&
           strcmp(token->principal.credential, other->credential) == 0;
}

static bool has_user(const struct auth_token *token, const void *user)
{
    return strcmp(token->principal.user, user) == 0;
}

static bool has_id(const struct auth_token *token, const void *id)
{
    return strcmp(token->principal.credential, id) == 0;
}

static bool has_tenant(const struct auth_token *token, const void *tenant)
{
    return strcmp(token->principal.tenant, tenant) == 0;
}

/* A session is over when it was idle too long, too. */
static bool is_over(const struct auth_token *token, int64_t now_us)
{
    if (token->expires_us != 0 && token->expires_us <= now_us)
        return true;
    return token->principal.by_cookie &&
           now_us - atomic_load_explicit(&token->used_us, memory_order_relaxed) > SESSION_IDLE_US;
}

static bool has_ended(const struct auth_token *token, const void *now_us)
{
    return is_over(token, *(const int64_t *)now_us);
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
        sweep(auth, is_same, &token->principal);
    token->tenant =
        token->principal.tenant[0] != '\0' ? tenant_take(auth, token->principal.tenant) : NULL;
    token->next = *at;
    *at = token;
    pthread_rwlock_unlock(&auth->lock);
}

void auth_end(struct auth *auth, const char *principal_name)
{
    sweep_locked(auth, has_name, principal_name);
}

void auth_end_user(struct auth *auth, const char *user)
{
    sweep_locked(auth, has_user, user);
}

void auth_end_credential(struct auth *auth, const char *id)
{
    sweep_locked(auth, has_id, id);
}

void auth_end_tenant(struct auth *auth, const char *tenant)
{
    sweep_locked(auth, has_tenant, tenant);
}

void auth_expire(struct auth *auth)
{
    int64_t now_us = auth->clock->wall_us(auth->clock);
    sweep_locked(auth, has_ended, &now_us);
}

/* Checks -------------------------------------------------------------------------------------- */

static bool prefix_of_peer(const struct sockaddr *peer, struct ip_prefix *out)
{
    *out = (struct ip_prefix){.family = AF_INET, .prefix_len = 32};
    if (peer == NULL)
        return false;
    if (peer->sa_family == AF_INET) {
        memcpy(out->addr, &((const struct sockaddr_in *)peer)->sin_addr, 4);
        return true;
    }
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)peer)->sin6_addr;
    if (peer->sa_family != AF_INET6)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(v6)) {
        memcpy(out->addr, v6->s6_addr + 12, 4);
        return true;
    }
    *out = (struct ip_prefix){.family = AF_INET6, .prefix_len = 128};
    memcpy(out->addr, v6->s6_addr, 16);
    return true;
}

static bool is_from(const struct auth_token *token, const struct sockaddr *peer)
{
    struct ip_prefix address;
    if (token->source_count == 0)
        return true;
    if (!prefix_of_peer(peer, &address))
        return false;
    for (size_t i = 0; i < token->source_count; i++)
        if (ip_prefix_covers(&token->sources[i], &address))
            return true;
    return false;
}

/* Seconds to wait, at least 1; 0 = go on. */
static int32_t rate_wait_s(struct auth *auth, struct auth_token *token)
{
    int64_t now_ns = auth->clock->mono_ns(auth->clock), wait_ns = 0;
    const struct limit_rate *rate =
        token->principal.role == ROLE_AGENT ? &auth->agent_rate : &auth->token_rate;
    if (limit_take(&token->limit, rate, now_ns, &wait_ns) &&
        (token->tenant == NULL ||
         limit_take(&token->tenant->limit, &auth->tenant_rate, now_ns, &wait_ns)))
        return 0;
    return (int32_t)((wait_ns + NS_PER_S - 1) / NS_PER_S);
}

static struct auth_token *find(struct auth *auth, const char hash[DIGEST_TEXT_MAX])
{
    struct auth_token *found = NULL;
    for (struct auth_token *t = auth->buckets[bucket_of(hash)]; t != NULL; t = t->next)
        if (bytes_equal_secret(t->hash, hash, DIGEST_TEXT_MAX - 1))
            found = t;
    return found;
}

bool auth_check(struct auth *auth, const struct credentials *given, struct principal *out)
{
    const char *secret = given->bearer != NULL ? given->bearer : given->session;
    char hash[DIGEST_TEXT_MAX] = "";
    if (secret == NULL)
        return false;
    int64_t now_us = auth->clock->wall_us(auth->clock);
    bytes_digest(secret, strlen(secret), hash);
    pthread_rwlock_rdlock(&auth->lock);
    struct auth_token *token = find(auth, hash);
    /* The value of a cookie is no token: it would escape the check of where a change comes from. */
    bool known = token != NULL && token->principal.by_cookie == (given->bearer == NULL) &&
                 !is_over(token, now_us) && is_from(token, given->peer);
    if (known) {
        *out = token->principal;
        out->place = (uint32_t)bucket_of(hash);
        out->wait_s = rate_wait_s(auth, token);
        /* A store for each request would pass the line between processors all the time. */
        if (now_us - atomic_load_explicit(&token->used_us, memory_order_relaxed) >= USED_STEP_US)
            atomic_store_explicit(&token->used_us, now_us, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&auth->lock);
    return known;
}

int64_t auth_used(struct auth *auth, const char *hash)
{
    char whole[DIGEST_TEXT_MAX] = "";
    snprintf(whole, sizeof(whole), "%s", hash);
    pthread_rwlock_rdlock(&auth->lock);
    const struct auth_token *token = find(auth, whole);
    int64_t used_us =
        token == NULL ? 0 : atomic_load_explicit(&token->used_us, memory_order_relaxed);
    pthread_rwlock_unlock(&auth->lock);
    return used_us;
}

size_t auth_used_each(struct auth *auth, struct auth_use *out, size_t max)
{
    size_t count = 0;
    pthread_rwlock_rdlock(&auth->lock);
    for (size_t i = 0; i < AUTH_BUCKETS; i++)
        for (struct auth_token *t = auth->buckets[i]; t != NULL && count < max; t = t->next) {
            int64_t used_us = atomic_load_explicit(&t->used_us, memory_order_relaxed);
            if (used_us == t->told_us || t->principal.credential[0] == '\0')
                continue;
            t->told_us = used_us;
            snprintf(out[count].id, sizeof(out[count].id), "%s", t->principal.credential);
            out[count].session = t->principal.by_cookie;
            out[count++].used_us = used_us;
        }
    pthread_rwlock_unlock(&auth->lock);
    return count;
}

uint64_t auth_version(const struct auth *auth)
{
    return auth->version;
}

/* With the lock. */
static struct auth_token *find_alive(struct auth *auth, const struct principal *who, int64_t now_us)
{
    struct auth_token *token = auth->buckets[who->place % AUTH_BUCKETS];
    while (token != NULL && !(is_same(token, who) && !is_over(token, now_us)))
        token = token->next;
    return token;
}

bool auth_is_alive(struct auth *auth, const struct principal *who)
{
    pthread_rwlock_rdlock(&auth->lock);
    bool alive = find_alive(auth, who, auth->clock->wall_us(auth->clock)) != NULL;
    pthread_rwlock_unlock(&auth->lock);
    return alive;
}

void auth_touch(struct auth *auth, const struct principal *who)
{
    int64_t now_us = auth->clock->wall_us(auth->clock);
    pthread_rwlock_rdlock(&auth->lock);
    struct auth_token *token = find_alive(auth, who, now_us);
    if (token != NULL)
        atomic_store_explicit(&token->used_us, now_us, memory_order_relaxed);
    pthread_rwlock_unlock(&auth->lock);
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
