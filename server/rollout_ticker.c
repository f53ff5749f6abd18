/*
 * server/rollout_ticker.c - wakes the writer thread while a rollout or a campaign is under way, so
 * that its deadlines are seen and nodes that were heard count. Sleeps for good when there is none.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cond.h"
#include "server/campaigns.h"
#include "server/verifications.h"
#include "server/rollouts.h"

#define TICK_NS (200 * NS_PER_MS)

struct rollout_ticker {
    struct app *app;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool active, ended;
    bool queued; /* a look is on its way */
};

/* Marks in the world what the time and the agents' requests have changed. */
static bool look_at(struct app *app, struct rollout *r, int64_t now_ns)
{
    bool due = rollout_due_ns(r) <= now_ns || now_ns - r->saved_ns >= ROLLOUT_SAVE_NS;
    for (size_t i = 0; i < r->node_count; i++) {
        struct world_node *node = world_node_get(app->world, r->nodes[i].name);
        uint64_t heard = node == NULL ? 0 : status_heard(app->status, node->name);
        if (node == NULL || heard == node->heard)
            continue;
        node->heard = heard;
        due |= rollout_heard(r, i, now_ns);
    }
    return due;
}

static enum err_code look(struct db_tx *tx, void *arg, struct err *err)
{
    struct rollout_ticker *ticker = arg;
    struct app *app = ticker->app;
    int64_t now_ns = app->clock->mono_ns(app->clock);
    (void)tx;
    (void)err;
    for (size_t i = 0; i < app->world->rollout_count; i++)
        app->world->rollouts_due |= look_at(app, app->world->rollouts[i], now_ns);
    rollouts_poke(app);
    campaigns_look(app);
    verifications_look(app);
    return ERR_OK;
}

static void looked(void *arg, enum err_code code, const struct err *err)
{
    struct rollout_ticker *ticker = arg;
    (void)code;
    (void)err;
    pthread_mutex_lock(&ticker->lock);
    ticker->queued = false;
    pthread_cond_broadcast(&ticker->changed); /* who stops it waits for this */
    pthread_mutex_unlock(&ticker->lock);
}

/* With the lock. */
static void sleep_a_tick(struct rollout_ticker *ticker)
{
    struct timespec end = cond_deadline(TICK_NS);
    int rc = 0;
    while (!ticker->ended && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&ticker->changed, &ticker->lock, &end);
}

static void *run(void *arg)
{
    struct rollout_ticker *ticker = arg;
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->ended) {
        if (!ticker->active) {
            pthread_cond_wait(&ticker->changed, &ticker->lock);
            continue;
        }
        bool queue = !ticker->queued;
        ticker->queued = true;
        pthread_mutex_unlock(&ticker->lock);
        /* A full queue is no loss: the next tick comes. */
        if (queue && db_run(ticker->app->db, look, looked, ticker, NULL) != ERR_OK)
            looked(ticker, ERR_OK, NULL);
        pthread_mutex_lock(&ticker->lock);
        sleep_a_tick(ticker);
    }
    pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

enum err_code rollout_ticker_start(struct app *app, struct rollout_ticker **out, struct err *err)
{
    struct rollout_ticker *ticker = calloc(1, sizeof(*ticker));
    if (ticker == NULL)
        return err_nomem(err);
    ticker->app = app;
    ticker->active = true; /* one look at what the start found */
    pthread_mutex_init(&ticker->lock, NULL);
    cond_init(&ticker->changed);
    int rc = pthread_create(&ticker->thread, NULL, run, ticker);
    if (rc != 0) {
        pthread_mutex_destroy(&ticker->lock);
        pthread_cond_destroy(&ticker->changed);
        free(ticker);
        return err_set_errno(err, ERR_IO, rc, "cannot start the thread that times rollouts");
    }
    *out = ticker;
    return ERR_OK;
}

void rollout_ticker_set(struct rollout_ticker *ticker, bool active)
{
    if (ticker == NULL)
        return;
    pthread_mutex_lock(&ticker->lock);
    if (ticker->active != active) {
        ticker->active = active;
        pthread_cond_signal(&ticker->changed);
    }
    pthread_mutex_unlock(&ticker->lock);
}

void rollout_ticker_stop(struct rollout_ticker *ticker)
{
    if (ticker == NULL)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->ended = true;
    pthread_cond_broadcast(&ticker->changed);
    pthread_mutex_unlock(&ticker->lock);
    pthread_join(ticker->thread, NULL);
    pthread_mutex_lock(&ticker->lock);
    while (ticker->queued)
        pthread_cond_wait(&ticker->changed, &ticker->lock);
    pthread_mutex_unlock(&ticker->lock);
    pthread_mutex_destroy(&ticker->lock);
    pthread_cond_destroy(&ticker->changed);
    free(ticker);
}
