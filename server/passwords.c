/*
 * server/passwords.c - see passwords.h.
 */
#include "server/passwords.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct passwords {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct password_job *first, **last;
    size_t queued;
    bool end;
    pthread_t threads[PASSWORDS_THREADS];
    size_t thread_count;
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

static struct password_job *take(struct passwords *passwords)
{
    pthread_mutex_lock(&passwords->lock);
    while (passwords->first == NULL && !passwords->end)
        pthread_cond_wait(&passwords->wake, &passwords->lock);
    struct password_job *job = passwords->first;
    if (job != NULL) {
        passwords->first = job->next;
        if (passwords->first == NULL)
            passwords->last = &passwords->first;
        passwords->queued--;
    }
    pthread_mutex_unlock(&passwords->lock);
    return job;
}

static void *serve(void *arg)
{
    struct password_job *job;
    while ((job = take(arg)) != NULL) {
        struct err err = ERR_INIT;
        enum err_code code = work(job, &err);
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
    passwords->last = &passwords->first;
    for (; passwords->thread_count < PASSWORDS_THREADS; passwords->thread_count++) {
        int error =
            pthread_create(&passwords->threads[passwords->thread_count], NULL, serve, passwords);
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
    for (size_t i = 0; i < passwords->thread_count; i++)
        pthread_join(passwords->threads[i], NULL);
    pthread_cond_destroy(&passwords->wake);
    pthread_mutex_destroy(&passwords->lock);
    free(passwords);
}

enum err_code passwords_submit(struct passwords *passwords, struct password_job *job,
                               struct err *err)
{
    pthread_mutex_lock(&passwords->lock);
    bool room = passwords->queued < PASSWORDS_QUEUE_MAX && !passwords->end;
    if (room) {
        job->next = NULL;
        *passwords->last = job;
        passwords->last = &job->next;
        passwords->queued++;
        pthread_cond_signal(&passwords->wake);
    }
    pthread_mutex_unlock(&passwords->lock);
    if (room)
        return ERR_OK;
    wipe(job);
    return err_set(err, ERR_UNAVAILABLE,
                   "%d passwords wait to be checked already; try again in %d s",
                   PASSWORDS_QUEUE_MAX, PASSWORDS_RETRY_S);
}
