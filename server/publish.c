/*
 * server/publish.c - see publish.h. Shards with a reader-writer lock each; chains, so that a put
 * after the commit cannot fail (growing is tried and may be left out).
 */
#include "server/publish.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define PUBLISH_SHARDS  16
#define PUBLISH_BUCKETS 64 /* a shard, at first */

struct publish_entry {
    struct publish_entry *next;
    uint64_t hash;
    struct blob *blob;
    char tag[PUBLISH_TAG_SIZE];
    char key[];
};

struct shard {
    pthread_rwlock_t lock;
    struct publish_entry **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
};

struct publish {
    struct shard shards[PUBLISH_SHARDS];
};

static struct shard *shard_of(struct publish *publish, uint64_t hash)
{
    return &publish->shards[hash % PUBLISH_SHARDS];
}

static size_t bucket_of(const struct shard *shard, uint64_t hash)
{
    return (size_t)(hash / PUBLISH_SHARDS) & (shard->bucket_count - 1);
}

static struct publish_entry **find(struct shard *shard, uint64_t hash, const char *key)
{
    struct publish_entry **at = &shard->buckets[bucket_of(shard, hash)];
    while (*at != NULL && ((*at)->hash != hash || strcmp((*at)->key, key) != 0))
        at = &(*at)->next;
    return at;
}

static void grow(struct shard *shard)
{
    struct shard more = {.bucket_count = shard->bucket_count * 2};
    more.buckets = calloc(more.bucket_count, sizeof(struct publish_entry *));
    if (more.buckets == NULL)
        return;
    for (size_t i = 0; i < shard->bucket_count; i++)
        while (shard->buckets[i] != NULL) {
            struct publish_entry *entry = shard->buckets[i];
            shard->buckets[i] = entry->next;
            struct publish_entry **to = &more.buckets[bucket_of(&more, entry->hash)];
            entry->next = *to;
            *to = entry;
        }
    free(shard->buckets);
    shard->buckets = more.buckets;
    shard->bucket_count = more.bucket_count;
}

enum err_code publish_new(struct publish **out, struct err *err)
{
    OWN(publish) struct publish *publish = calloc(1, sizeof(*publish));
    if (publish == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < PUBLISH_SHARDS; i++)
        pthread_rwlock_init(&publish->shards[i].lock, NULL);
    for (size_t i = 0; i < PUBLISH_SHARDS; i++) {
        struct shard *shard = &publish->shards[i];
        shard->buckets = calloc(PUBLISH_BUCKETS, sizeof(struct publish_entry *));
        if (shard->buckets == NULL)
            return err_nomem(err);
        shard->bucket_count = PUBLISH_BUCKETS;
    }
    *out = GIVE(publish);
    return ERR_OK;
}

void publish_free(struct publish *publish)
{
    if (publish == NULL)
        return;
    for (size_t i = 0; i < PUBLISH_SHARDS; i++) {
        struct shard *shard = &publish->shards[i];
        for (size_t j = 0; j < shard->bucket_count; j++)
            while (shard->buckets[j] != NULL) {
                struct publish_entry *entry = shard->buckets[j];
                shard->buckets[j] = entry->next;
                publish_entry_free(entry);
            }
        free(shard->buckets);
        pthread_rwlock_destroy(&shard->lock);
    }
    free(publish);
}

enum err_code publish_entry_new(const char *key, struct blob *blob, const char *tag,
                                struct publish_entry **out, struct err *err)
{
    size_t size = strlen(key) + 1;
    struct publish_entry *entry = blob == NULL ? NULL : calloc(1, sizeof(*entry) + size);
    if (entry == NULL) {
        blob_unref(blob);
        return err_nomem(err);
    }
    memcpy(entry->key, key, size);
    entry->hash = text_hash(key);
    entry->blob = blob;
    snprintf(entry->tag, sizeof(entry->tag), "%s", tag);
    *out = entry;
    return ERR_OK;
}

void publish_entry_free(struct publish_entry *entry)
{
    if (entry == NULL)
        return;
    blob_unref(entry->blob);
    free(entry);
}

void publish_put(struct publish *publish, struct publish_entry *entry)
{
    struct shard *shard = shard_of(publish, entry->hash);
    pthread_rwlock_wrlock(&shard->lock);
    struct publish_entry **at = find(shard, entry->hash, entry->key), *old = *at;
    entry->next = old == NULL ? NULL : old->next;
    *at = entry;
    if (old == NULL && ++shard->count > shard->bucket_count)
        grow(shard);
    pthread_rwlock_unlock(&shard->lock);
    publish_entry_free(old);
}

void publish_remove(struct publish *publish, const char *key)
{
    uint64_t hash = text_hash(key);
    struct shard *shard = shard_of(publish, hash);
    pthread_rwlock_wrlock(&shard->lock);
    struct publish_entry **at = find(shard, hash, key), *old = *at;
    if (old != NULL) {
        *at = old->next;
        shard->count--;
    }
    pthread_rwlock_unlock(&shard->lock);
    publish_entry_free(old);
}

struct blob *publish_get(struct publish *publish, const char *key, char tag[PUBLISH_TAG_SIZE])
{
    uint64_t hash = text_hash(key);
    struct shard *shard = shard_of(publish, hash);
    struct blob *blob = NULL;
    pthread_rwlock_rdlock(&shard->lock);
    struct publish_entry *entry = *find(shard, hash, key);
    if (entry != NULL) {
        blob = blob_ref(entry->blob);
        if (tag != NULL)
            memcpy(tag, entry->tag, PUBLISH_TAG_SIZE);
    }
    pthread_rwlock_unlock(&shard->lock);
    return blob;
}
