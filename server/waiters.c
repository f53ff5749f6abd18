/*
 * server/waiters.c - see waiters.h. The deadline's callback knows a waiter by number, not by
 * address: when it comes late, the number is simply not there any more.
 */
#include "server/waiters.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define WAITERS_BUCKETS 4096 /* a power of two */

struct waiter {
    struct waiter *next_key, *next_id;
    uint64_t id;
    struct request *request;
    waiter_fn *fn;
    char key[];
};

struct waiters {
    pthread_mutex_t lock;
    struct waiter *by_key[WAITERS_BUCKETS];
    struct waiter *by_id[WAITERS_BUCKETS];
    uint64_t last_id;
    size_t count;
};

static size_t key_bucket(const char *key)
{
    return (size_t)text_hash(key) & (WAITERS_BUCKETS - 1);
}

static size_t id_bucket(uint64_t id)
{
    return (size_t)id & (WAITERS_BUCKETS - 1);
}

static void unlink_key(struct waiters *waiters, const struct waiter *waiter)
{
    struct waiter **at = &waiters->by_key[key_bucket(waiter->key)];
    while (*at != waiter)
        at = &(*at)->next_key;
    *at = waiter->next_key;
}

static void unlink_id(struct waiters *waiters, const struct waiter *waiter)
{
    struct waiter **at = &waiters->by_id[id_bucket(waiter->id)];
    while (*at != waiter)
        at = &(*at)->next_id;
    *at = waiter->next_id;
    waiters->count--;
}

enum err_code waiters_new(struct waiters **out, struct err *err)
{
    struct waiters *waiters = calloc(1, sizeof(*waiters));
    if (waiters == NULL)
        return err_nomem(err);
    pthread_mutex_init(&waiters->lock, NULL);
    *out = waiters;
    return ERR_OK;
}

void waiters_free(struct waiters *waiters)
{
    if (waiters == NULL)
        return;
    for (size_t i = 0; i < WAITERS_BUCKETS; i++)
        while (waiters->by_id[i] != NULL) {
            struct waiter *waiter = waiters->by_id[i];
            waiters->by_id[i] = waiter->next_id;
            free(waiter);
        }
    pthread_mutex_destroy(&waiters->lock);
    free(waiters);
}

struct lateness { /* what the deadline's callback needs; freed with the request */
    struct waiters *waiters;
    uint64_t id;
};

static void on_deadline(struct request *request, void *arg)
{
    const struct lateness *late = arg;
    struct waiters *waiters = late->waiters;
    pthread_mutex_lock(&waiters->lock);
    struct waiter *waiter = waiters->by_id[id_bucket(late->id)];
    while (waiter != NULL && waiter->id != late->id)
        waiter = waiter->next_id;
    if (waiter != NULL) {
        unlink_id(waiters, waiter);
        unlink_key(waiters, waiter);
    }
    pthread_mutex_unlock(&waiters->lock);
    if (waiter != NULL)
        waiter->fn(request, true);
    free(waiter);
}

enum err_code waiters_add(struct waiters *waiters, const char *key, struct request *request,
                          int64_t deadline_mono_ns, waiter_fn *fn, struct err *err)
{
    size_t key_size = strlen(key) + 1;
    struct waiter *waiter = calloc(1, sizeof(*waiter) + key_size);
    struct lateness *late = calloc(1, sizeof(*late));
    if (waiter == NULL || late == NULL) {
        free(waiter);
        free(late);
        return err_nomem(err);
    }
    request_own(request, late, free);
    waiter->request = request;
    waiter->fn = fn;
    memcpy(waiter->key, key, key_size);
    /* Under the lock, so that nobody replies before the deadline is set; its callback comes on
     * another thread and takes the lock itself. */
    pthread_mutex_lock(&waiters->lock);
    waiter->id = ++waiters->last_id;
    *late = (struct lateness){.waiters = waiters, .id = waiter->id};
    struct waiter **by_key = &waiters->by_key[key_bucket(key)];
    struct waiter **by_id = &waiters->by_id[id_bucket(waiter->id)];
    waiter->next_key = *by_key;
    waiter->next_id = *by_id;
    *by_key = *by_id = waiter;
    waiters->count++;
    request_wait_until(request, deadline_mono_ns, on_deadline, late);
    pthread_mutex_unlock(&waiters->lock);
    return ERR_OK;
}

void waiters_wake(struct waiters *waiters, const char *key)
{
    struct waiter *taken = NULL;
    pthread_mutex_lock(&waiters->lock);
    for (struct waiter **at = &waiters->by_key[key_bucket(key)]; *at != NULL;) {
        struct waiter *waiter = *at;
        if (strcmp(waiter->key, key) != 0) {
            at = &waiter->next_key;
            continue;
        }
        *at = waiter->next_key;
        unlink_id(waiters, waiter);
        waiter->next_key = taken;
        taken = waiter;
    }
    pthread_mutex_unlock(&waiters->lock);
    while (taken != NULL) {
        struct waiter *waiter = taken;
        taken = waiter->next_key;
        waiter->fn(waiter->request, false);
        free(waiter);
    }
}

size_t waiters_count(struct waiters *waiters)
{
    pthread_mutex_lock(&waiters->lock);
    size_t count = waiters->count;
    pthread_mutex_unlock(&waiters->lock);
    return count;
}
