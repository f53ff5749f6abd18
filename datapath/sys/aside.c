/*
 * datapath/sys/aside.c - see aside.h.
 *
 * A read(2) of a sysfs attribute runs its driver, in a sleep that no signal ends. So the thread
 * that does it is one that can be given up.
 */
#include "datapath/sys/aside.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/thread.h"

struct task {
    struct task *next;
    struct aside *aside;
    char key[ASIDE_KEY_SIZE];
    struct aside_job job;
    bool done;
    bool given_up;
};

struct aside {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *out; /* tasks whose thread has not come back */
    size_t count;
    bool closed; /* the owner is gone: the last thread frees this */
    int back;    /* eventfd: threads that were given up and came back */
};

static void aside_destroy(struct aside *aside)
{
    pthread_cond_destroy(&aside->changed);
    pthread_mutex_destroy(&aside->lock);
    close(aside->back);
    free(aside);
}

static void unlink_task(struct aside *aside, const struct task *task)
{
    struct task **at = &aside->out;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    aside->count--;
}

static void *task_run(void *arg)
{
    struct task *task = arg;
    struct aside *aside = task->aside;
    task->job.run(task->job.arg);
    pthread_mutex_lock(&aside->lock);
    task->done = true;
    bool given_up = task->given_up, last = false;
    if (given_up) {
        unlink_task(aside, task);
        last = aside->closed && aside->count == 0;
        (void)!write(aside->back, &(uint64_t){1}, sizeof(uint64_t));
    }
    pthread_cond_broadcast(&aside->changed);
    pthread_mutex_unlock(&aside->lock);
    if (given_up) {
        task->job.release(task->job.arg);
        free(task);
    }
    if (last)
        aside_destroy(aside);
    return NULL;
}

enum err_code aside_new(struct aside **out, struct err *err)
{
    struct aside *aside = calloc(1, sizeof(*aside));
    if (aside == NULL)
        return err_nomem(err);
    aside->back = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (aside->back < 0) {
        int error = errno;
        free(aside);
        return err_set_errno(err, ERR_IO, error, "cannot make an event descriptor");
    }
    pthread_mutex_init(&aside->lock, NULL);
    cond_init(&aside->changed);
    *out = aside;
    return ERR_OK;
}

void aside_free(struct aside *aside)
{
    if (aside == NULL)
        return;
    pthread_mutex_lock(&aside->lock);
    aside->closed = true;
    bool last = aside->count == 0;
    pthread_mutex_unlock(&aside->lock);
    if (last)
        aside_destroy(aside);
}

int aside_fd(const struct aside *aside)
{
    return aside->back;
}

bool aside_drain(struct aside *aside)
{
    uint64_t count;
    return read(aside->back, &count, sizeof(count)) == sizeof(count);
}

static bool is_out(const struct aside *aside, const char *key)
{
    for (const struct task *task = aside->out; task != NULL; task = task->next)
        if (strcmp(task->key, key) == 0)
            return true;
    return false;
}

/* Puts a task of the job among those that are out; the lock is held. */
static enum err_code admit(struct aside *aside, const char *key, const struct aside_job *job,
                           struct task **out, struct err *err)
{
    if (is_out(aside, key))
        return err_set(err, ERR_UNAVAILABLE, "%s still has not come back from an earlier read",
                       key);
    if (aside->count == ASIDE_STUCK_MAX)
        return err_set(err, ERR_LIMIT, "%d reads already have not come back", ASIDE_STUCK_MAX);
    struct task *task = calloc(1, sizeof(*task));
    if (task == NULL)
        return err_nomem(err);
    task->aside = aside;
    task->job = *job;
    text_copy(task->key, sizeof(task->key), key);
    task->next = aside->out;
    aside->out = task;
    aside->count++;
    int error = thread_begin(NULL, 0, task_run, task);
    if (error != 0) {
        unlink_task(aside, task);
        free(task);
        return err_set_errno(err, ERR_IO, error, "cannot start a thread to read %s", key);
    }
    *out = task;
    return ERR_OK;
}

enum err_code aside_run(struct aside *aside, const char *key, const struct aside_job *job,
                        int wait_ms, struct err *err)
{
    struct task *task = NULL;
    struct timespec until = cond_deadline(wait_ms * NS_PER_MS);
    int rc = 0;
    pthread_mutex_lock(&aside->lock);
    enum err_code code = admit(aside, key, job, &task, err);
    if (code != ERR_OK) {
        pthread_mutex_unlock(&aside->lock);
        job->release(job->arg);
        return code;
    }
    while (!task->done && rc == 0)
        rc = pthread_cond_timedwait(&aside->changed, &aside->lock, &until);
    bool done = task->done;
    if (done)
        unlink_task(aside, task);
    else
        task->given_up = true;
    pthread_mutex_unlock(&aside->lock);
    if (!done)
        return err_set(err, ERR_UNAVAILABLE, "%s did not answer within %d ms", key, wait_ms);
    free(task);
    return ERR_OK;
}
