/*
 * server/passwords.c - see passwords.h.
 */
#include "server/passwords.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const size_t lane_max[PASSWORD_LANES] = {
    [PASSWORD_LOGIN] = PASSWORDS_QUEUE_MAX,
    [PASSWORD_NEW] = PASSWORDS_NEW_MAX,
};

struct lane {
    struct password_job *first, **last;
    size_t queued;
};

struct worker {
    struct passwords *passwords;
    enum password_lane own; /* that it takes from first */
    pthread_t thread;
    const struct password_job *job; /* being hashed; guarded by the lock */
};

struct passwords {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct lane lanes[PASSWORD_LANES];
    bool end;
    struct worker workers[PASSWORDS_THREADS];
    size_t worker_count;
};

static void wipe(struct password_job *job)
{
    explicit_bzero(job->given, sizeof(job->given));
    explicit_bzero(job->chosen, sizeof(job->chosen));
}

static enum err_code work(struct password_job *job, struct err *err)
{
    enum err_code code = ERR_OK;
    job->right = true;
    if (job->compare)
        code = password_verify(job->old_hash[0] != '\0' ? job->old_hash : NULL, job->given,
                               &job->right, err);
    if (code == ERR_OK && job->right && job->chosen[0] != '\0')
        code = password_hash(job->chosen, job->new_hash, err);
    wipe(job);
    return code;
}

static struct lane *next_lane(struct passwords *passwords, enum password_lane own)
{
    for (size_t i = 0; i < PASSWORD_LANES; i++) {
        struct lane *lane = &passwords->lanes[(own + i) % PASSWORD_LANES];
        if (lane->first != NULL)
            return lane;
    }
    return NULL;
}

static struct password_job *take(struct worker *worker)
{
    struct passwords *passwords = worker->passwords;
    struct password_job *job = NULL;
    struct lane *lane;
    pthread_mutex_lock(&passwords->lock);
    while ((lane = next_lane(passwords, worker->own)) == NULL && !passwords->end)
        pthread_cond_wait(&passwords->wake, &passwords->lock);
    if (lane != NULL) {
        job = lane->first;
        lane->first = job->next;
        if (lane->first == NULL)
            lane->last = &lane->first;
        lane->queued--;
    }
    worker->job = job;
    pthread_mutex_unlock(&passwords->lock);
    return job;
}

static void *serve(void *arg)
{
    struct worker *worker = arg;
    struct password_job *job;
    while ((job = take(worker)) != NULL) {
        struct err err = ERR_INIT;
        enum err_code code = work(job, &err);
        pthread_mutex_lock(&worker->passwords->lock);
        worker->job = NULL; /* its owner frees it */
        pthread_mutex_unlock(&worker->passwords->lock);
        job->done(job, code, &err);
    }
    return NULL;
}

enum err_code passwords_new(struct passwords **out, struct err *err)
{
    OWN(passwords) struct passwords *passwords = calloc(1, sizeof(*passwords));
    if (passwords == NULL)
        return err_nomem(err);
    pthread_mutex_init(&passwords->lock, NULL);
    pthread_cond_init(&passwords->wake, NULL);
    for (size_t i = 0; i < PASSWORD_LANES; i++)
        passwords->lanes[i].last = &passwords->lanes[i].first;
    for (; passwords->worker_count < PASSWORDS_THREADS; passwords->worker_count++) {
        struct worker *worker = &passwords->workers[passwords->worker_count];
        worker->passwords = passwords;
        worker->own = (enum password_lane)(passwords->worker_count % PASSWORD_LANES);
        int error = pthread_create(&worker->thread, NULL, serve, worker);
        if (error != 0)
            return err_set_errno(err, ERR_IO, error, "cannot start a thread for passwords");
    }
    *out = GIVE(passwords);
    return ERR_OK;
}

void passwords_free(struct passwords *passwords)
{
    if (passwords == NULL)
        return;
    pthread_mutex_lock(&passwords->lock);
    passwords->end = true;
    pthread_cond_broadcast(&passwords->wake);
    pthread_mutex_unlock(&passwords->lock);
    for (size_t i = 0; i < passwords->worker_count; i++)
        pthread_join(passwords->workers[i].thread, NULL);
    pthread_cond_destroy(&passwords->wake);
    pthread_mutex_destroy(&passwords->lock);
    free(passwords);
}

struct count {
    size_t caller, tenant;
};

static void count_one(struct count *count, const struct password_job *job,
                      const struct password_job *other)
{
    if (other == NULL || other->lane != PASSWORD_NEW)
        return;
    count->caller += strcmp(job->caller, other->caller) == 0;
    count->tenant += job->tenant[0] != '\0' && strcmp(job->tenant, other->tenant) == 0;
}

/* With the lock. */
static enum err_code check_share(const struct passwords *passwords, const struct password_job *job,
                                 struct err *err)
{
    struct count count = {0};
    if (job->lane != PASSWORD_NEW)
        return ERR_OK;
    for (const struct password_job *j = passwords->lanes[PASSWORD_NEW].first; j != NULL;
         j = j->next)
        count_one(&count, job, j);
    for (size_t i = 0; i < passwords->worker_count; i++)
        count_one(&count, job, passwords->workers[i].job);
    if (count.caller < PASSWORDS_CALLER_MAX && count.tenant < PASSWORDS_TENANT_MAX)
        return ERR_OK;
    return err_set(err, ERR_LIMIT,
                   "%s new passwords wait already: at most %d of one caller and %d of one tenant; "
                   "send them one after the other, the next in %d s",
                   count.caller < PASSWORDS_CALLER_MAX ? "the tenant's" : "your",
                   PASSWORDS_CALLER_MAX, PASSWORDS_TENANT_MAX, PASSWORDS_RETRY_S);
}

/* With the lock. */
static enum err_code add(struct passwords *passwords, struct password_job *job, struct err *err)
{
    struct lane *lane = &passwords->lanes[job->lane];
    enum err_code code = check_share(passwords, job, err);
    if (code != ERR_OK)
        return code;
    if (lane->queued >= lane_max[job->lane] || passwords->end)
        return err_set(err, ERR_UNAVAILABLE, "%zu passwords wait already; try again in %d s",
                       lane_max[job->lane], PASSWORDS_RETRY_S);
    job->next = NULL;
    *lane->last = job;
    lane->last = &job->next;
    lane->queued++;
    pthread_cond_signal(&passwords->wake);
    return ERR_OK;
}

enum err_code passwords_submit(struct passwords *passwords, struct password_job *job,
                               struct err *err)
{
    pthread_mutex_lock(&passwords->lock);
    enum err_code code = add(passwords, job, err);
    pthread_mutex_unlock(&passwords->lock);
    if (code != ERR_OK)
        wipe(job);
    return code;
}
