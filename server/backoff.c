/*
 * server/backoff.c - see backoff.h.
 */
#include "server/backoff.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define SETS     (BACKOFF_SLOTS / BACKOFF_WAY)
#define KEY_SIZE 16

enum count_kind { COUNT_PAIR, COUNT_ACCOUNT, COUNT_ADDRESS, COUNT_KINDS };

static const struct {
    uint32_t free;
    int64_t max_s;
} kinds[COUNT_KINDS] = {
    [COUNT_PAIR] = {BACKOFF_PAIR_FREE, BACKOFF_PAIR_S},
    [COUNT_ACCOUNT] = {BACKOFF_ACCOUNT_FREE, BACKOFF_ACCOUNT_S},
    [COUNT_ADDRESS] = {BACKOFF_ADDRESS_FREE, BACKOFF_ADDRESS_S},
};

struct slot {
    unsigned char key[KEY_SIZE]; /* all 0 = empty */
    uint32_t failures;
    int64_t last_ns;  /* of a failure, or of what was right */
    int64_t until_ns; /* no attempt before it */
    int64_t known_ns; /* of a pair: the owner came from there until then */
};

struct backoff {
    pthread_mutex_t lock;
    struct clock *clock;
    char secret[33]; /* so that nobody can choose whose slots to fill */
    struct slot slots[BACKOFF_SLOTS];
};

enum err_code backoff_new(struct clock *clock, struct backoff **out, struct err *err)
{
    unsigned char secret[16];
    struct backoff *backoff = calloc(1, sizeof(*backoff));
    if (backoff == NULL)
        return err_nomem(err);
    pthread_mutex_init(&backoff->lock, NULL);
    backoff->clock = clock;
    random_bytes(secret, sizeof(secret));
    hex_encode(secret, sizeof(secret), backoff->secret);
    *out = backoff;
    return ERR_OK;
}

void backoff_free(struct backoff *backoff)
{
    if (backoff == NULL)
        return;
    pthread_mutex_destroy(&backoff->lock);
    free(backoff);
}

/* One who has an IPv6 address has a /64 of them. */
static void address_key(const char *address, char out[INET6_ADDRSTRLEN])
{
    struct in6_addr v6;
    snprintf(out, INET6_ADDRSTRLEN, "%s", address);
    if (inet_pton(AF_INET6, address, &v6) != 1 || IN6_IS_ADDR_V4MAPPED(&v6))
        return;
    memset(v6.s6_addr + 8, 0, 8);
    inet_ntop(AF_INET6, &v6, out, INET6_ADDRSTRLEN);
}

static void make_key(const struct backoff *backoff, enum count_kind kind, const char *account,
                     const char *address, unsigned char out[KEY_SIZE])
{
    char text[512], digest[DIGEST_TEXT_MAX], net[INET6_ADDRSTRLEN];
    address_key(address, net);
    int n = snprintf(text, sizeof(text), "%s %d %s %.400s", backoff->secret, (int)kind,
                     kind == COUNT_ACCOUNT ? "" : net, kind == COUNT_ADDRESS ? "" : account);
    bytes_digest(text, (size_t)n, digest);
    memcpy(out, digest + strlen("sha256:"), KEY_SIZE);
}

/* The key's slot; with `make` an empty one, or the one that was used longest ago, becomes it. */
static struct slot *find(struct backoff *backoff, const unsigned char key[KEY_SIZE], bool make)
{
    static const unsigned char none[KEY_SIZE];
    uint32_t hash;
    memcpy(&hash, key, sizeof(hash));
    /* The key is of hex digits: mixed, or most sets stay empty. */
    struct slot *set = &backoff->slots[(hash * 0x9e3779b1u >> 16) % SETS * BACKOFF_WAY];
    struct slot *oldest = set;
    for (size_t i = 0; i < BACKOFF_WAY; i++) {
        if (memcmp(set[i].key, key, KEY_SIZE) == 0)
            return &set[i];
        bool empty = memcmp(set[i].key, none, KEY_SIZE) == 0;
        if (empty || (set[i].last_ns < oldest->last_ns && memcmp(oldest->key, none, KEY_SIZE) != 0))
            oldest = &set[i];
    }
    if (!make)
        return NULL;
    /* Not the oldest, or the next key of the set would take its place at once. */
    *oldest = (struct slot){.last_ns = backoff->clock->mono_ns(backoff->clock)};
    memcpy(oldest->key, key, KEY_SIZE);
    return oldest;
}

static struct slot *slot_of(struct backoff *backoff, enum count_kind kind, const char *account,
                            const char *address, bool make)
{
    unsigned char key[KEY_SIZE];
    make_key(backoff, kind, account, address, key);
    return find(backoff, key, make);
}

static void fail(struct slot *slot, enum count_kind kind, int64_t now_ns)
{
    if (now_ns - slot->last_ns > BACKOFF_FORGET_S * NS_PER_S)
        slot->failures = 0;
    slot->failures++;
    slot->last_ns = now_ns;
    if (slot->failures <= kinds[kind].free)
        return;
    uint32_t over = slot->failures - kinds[kind].free - 1;
    int64_t wait_s = over >= 20 ? kinds[kind].max_s : INT64_C(1) << over;
    wait_s = wait_s > kinds[kind].max_s ? kinds[kind].max_s : wait_s;
    slot->until_ns = now_ns + wait_s * NS_PER_S;
}

bool backoff_try(struct backoff *backoff, const char *account, const char *address,
                 int64_t *out_wait_s)
{
    int64_t now_ns = backoff->clock->mono_ns(backoff->clock), until_ns = 0;
    struct slot *slots[COUNT_KINDS];
    pthread_mutex_lock(&backoff->lock);
    for (int k = 0; k < COUNT_KINDS; k++)
        slots[k] = slot_of(backoff, (enum count_kind)k, account, address, true);
    bool known = slots[COUNT_PAIR]->known_ns > now_ns;
    for (int k = 0; k < COUNT_KINDS; k++)
        if (slots[k]->until_ns > until_ns && !(k != COUNT_PAIR && known))
            until_ns = slots[k]->until_ns;
    bool good = until_ns <= now_ns;
    if (good)
        for (int k = 0; k < COUNT_KINDS; k++)
            fail(slots[k], (enum count_kind)k, now_ns);
    pthread_mutex_unlock(&backoff->lock);
    if (!good)
        *out_wait_s = (until_ns - now_ns + NS_PER_S - 1) / NS_PER_S;
    return good;
}

static void take_back(struct slot *slot, enum count_kind kind)
{
    if (slot == NULL || slot->failures == 0)
        return;
    slot->failures--;
    if (slot->failures <= kinds[kind].free)
        slot->until_ns = 0;
}

void backoff_undo(struct backoff *backoff, const char *account, const char *address)
{
    pthread_mutex_lock(&backoff->lock);
    for (int k = 0; k < COUNT_KINDS; k++)
        take_back(slot_of(backoff, (enum count_kind)k, account, address, false),
                  (enum count_kind)k);
    pthread_mutex_unlock(&backoff->lock);
}

void backoff_right(struct backoff *backoff, const char *account, const char *address)
{
    int64_t now_ns = backoff->clock->mono_ns(backoff->clock);
    backoff_undo(backoff, account, address);
    pthread_mutex_lock(&backoff->lock);
    struct slot *pair = slot_of(backoff, COUNT_PAIR, account, address, true);
    pair->failures = 0;
    pair->until_ns = 0;
    pair->last_ns = now_ns;
    pair->known_ns = now_ns + BACKOFF_KNOWN_S * NS_PER_S;
    pthread_mutex_unlock(&backoff->lock);
}
