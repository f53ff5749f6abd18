/*
 * db/db_queue.c - the bounded queues in front of the writer and the readers: a ring, so that a
 * request costs no allocation; see store.h.
 */
#include "db/store.h"

#include <stdlib.h>

#include "base/cond.h"
#include "base/thread.h"
#include "db/db.h"

enum err_code db_queue_init(struct db_queue *queue, struct err *err)
{
    queue->ring = calloc(DB_QUEUE_MAX, sizeof(queue->ring[0]));
    if (queue->ring == NULL)
        return err_nomem(err);
    cond_init(&queue->filled);
    pthread_mutex_init(&queue->lock, NULL);
    return ERR_OK;
}

void db_queue_release(struct db_queue *queue)
{
    if (queue->ring == NULL)
        return;
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->filled);
    free(queue->ring);
    queue->ring = NULL;
}

enum err_code db_queue_push(struct db_queue *queue, const struct db_job *job, struct err *err)
{
    pthread_mutex_lock(&queue->lock);
    bool is_closed = queue->is_closed;
    bool is_full = queue->count == DB_QUEUE_MAX;
    if (!is_closed && !is_full) {
        queue->ring[(queue->first + queue->count) % DB_QUEUE_MAX] = *job;
        queue->count++;
        if (queue->sleeping > 0)
            pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    if (is_closed)
        return err_set(err, ERR_UNAVAILABLE, "the store is closing");
    if (is_full)
        return err_set(err, ERR_UNAVAILABLE, "the store is busy: %d requests wait", DB_QUEUE_MAX);
    return ERR_OK;
}

static void wait_for_job(struct db_queue *queue, int wait_ms)
{
    struct timespec at = {0};
    if (wait_ms > 0)
        at = cond_deadline(wait_ms * NS_PER_MS);
    queue->sleeping++;
    while (queue->count == 0 && !queue->is_closed) {
        if (wait_ms < 0)
            pthread_cond_wait(&queue->filled, &queue->lock);
        else if (pthread_cond_timedwait(&queue->filled, &queue->lock, &at) != 0)
            break;
    }
    queue->sleeping--;
}

size_t db_queue_take(struct db_queue *queue, struct db_job *out, size_t max, int wait_ms,
                     bool *out_ended)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->count == 0 && wait_ms != 0)
        wait_for_job(queue, wait_ms);
    size_t n = queue->count < max ? queue->count : max;
    for (size_t i = 0; i < n; i++)
        out[i] = queue->ring[(queue->first + i) % DB_QUEUE_MAX];
    queue->first = (queue->first + n) % DB_QUEUE_MAX;
    queue->count -= n;
    *out_ended = queue->is_closed && n == 0;
    pthread_mutex_unlock(&queue->lock);
    return n;
}

void db_queue_close(struct db_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

size_t db_queue_depth(struct db_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t depth = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return depth;
}

enum err_code db_thread_start(pthread_t *out, void *(*fn)(void *), void *arg, struct err *err)
{
    int error = thread_begin(out, 0, fn, arg);
    if (error != 0)
        return err_set_errno(err, ERR_UNAVAILABLE, error, "cannot start a thread of the store");
    return ERR_OK;
}
