/*
 * agent/solar.c - see solar.h.
 */
#include "agent/solar.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/thread.h"
#include "datapath/solar_node.h"

#define FOLDER_SIZE 256

struct solar_shares {
    struct solar_node *node;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
};

static void *divide(void *arg)
{
    struct solar_shares *s = arg;
    struct clock *clock = clock_system();
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        pthread_mutex_unlock(&s->lock);
        size_t told = solar_node_look(s->node, clock->mono_ns(clock));
        struct timespec until =
            cond_deadline((told > 0 ? SOLAR_SHARE_MS : SOLAR_IDLE_MS) * NS_PER_MS);
        pthread_mutex_lock(&s->lock);
        if (!s->stop)
            pthread_cond_timedwait(&s->changed, &s->lock, &until);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

enum err_code solar_shares_new(const char *root, struct solar_shares **out, struct err *err)
{
    char folder[FOLDER_SIZE];
    OWN(solar_node) struct solar_node *node = NULL;
    snprintf(folder, sizeof(folder), "%.*s" SOLAR_FOLDER, FOLDER_SIZE / 2,
             root == NULL ? "" : root);
    enum err_code code = solar_node_new(folder, &node, err);
    if (code != ERR_OK)
        return code;
    struct solar_shares *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return err_nomem(err);
    pthread_mutex_init(&s->lock, NULL);
    cond_init(&s->changed);
    s->node = node;
    int error = thread_begin(&s->thread, 0, divide, s);
    if (error != 0) {
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->lock);
        free(s);
        return err_set_errno(err, ERR_IO, error, "no thread for the shares of Solar-RDMA");
    }
    (void)GIVE(node);
    *out = s;
    return ERR_OK;
}

void solar_shares_free(struct solar_shares *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    solar_node_free(s->node);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
