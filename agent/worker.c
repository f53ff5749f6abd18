/*
 * agent/worker.c - see worker.h. A thread a job: they are rare and long. It shares one small object
 * with its owner, which the last of the two frees.
 */
#include "agent/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

#define STACK_BYTES (512 * 1024)

struct shared {
    pthread_mutex_t lock;
    bool given_up; /* the owner is gone: the thread frees everything */
    bool ended;    /* the thread is gone: the owner does */
    int fd;        /* the owner's, not to be used once it is gone */
    struct worker_job *job;
    void *arg;
};

struct worker {
    int fd; /* becomes readable when a job ended */
    struct loop_fd *lfd;
    struct shared *running; /* NULL = idle */
};

static void shared_free(struct shared *shared)
{
    if (shared->job != NULL)
        shared->job->free(shared->job);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

static void on_ended(void *arg, uint32_t events)
{
    struct worker *worker = arg;
    struct shared *shared = worker->running;
    uint64_t count;
    (void)events;
    if (read(worker->fd, &count, sizeof(count)) < 0 || shared == NULL)
        return;
    pthread_mutex_lock(&shared->lock); /* the thread may still be on its way out of it */
    pthread_mutex_unlock(&shared->lock);
    struct worker_job *job = shared->job;
    void *job_arg = shared->arg;
    shared->job = NULL;
    worker->running = NULL;
    shared_free(shared);
    job->done(job_arg, job);
}

static void *thread_run(void *arg)
{
    const uint64_t one = 1;
    struct shared *shared = arg;
    shared->job->run(shared->job);
    pthread_mutex_lock(&shared->lock);
    bool given_up = shared->given_up;
    shared->ended = true;
    /* A counter that is 0 takes a 1. */
    if (!given_up && write(shared->fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
        abort();
    pthread_mutex_unlock(&shared->lock);
    if (given_up)
        shared_free(shared);
    return NULL;
}

enum err_code worker_new(struct loop *loop, struct worker **out, struct err *err)
{
    OWN(worker) struct worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL)
        return err_nomem(err);
    worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot make an event descriptor");
    enum err_code code =
        loop_fd_add(loop, worker->fd, EPOLLIN, on_ended, worker, &worker->lfd, err);
    if (code == ERR_OK)
        *out = GIVE(worker);
    return code;
}

void worker_free(struct worker *worker)
{
    if (worker == NULL)
        return;
    struct shared *shared = worker->running;
    if (shared != NULL) {
        (void)poll(&(struct pollfd){.fd = worker->fd, .events = POLLIN}, 1, WORKER_GRACE_MS);
        pthread_mutex_lock(&shared->lock);
        bool ended = shared->ended;
        shared->given_up = true;
        pthread_mutex_unlock(&shared->lock);
        if (ended)
            shared_free(shared);
    }
    loop_fd_del(worker->lfd);
    if (worker->fd >= 0)
        close(worker->fd);
    free(worker);
}

enum err_code worker_start(struct worker *worker, struct worker_job *job, void *arg,
                           struct err *err)
{
    struct shared *shared = worker->running == NULL ? calloc(1, sizeof(*shared)) : NULL;
    if (shared == NULL) {
        job->free(job);
        return worker->running == NULL
                   ? err_nomem(err)
                   : err_set(err, ERR_CONFLICT, "an earlier job has not come back yet");
    }
    *shared = (struct shared){.fd = worker->fd, .job = job, .arg = arg};
    pthread_mutex_init(&shared->lock, NULL);
    int error = thread_begin(NULL, STACK_BYTES, thread_run, shared);
    if (error != 0) {
        shared_free(shared);
        return err_set_errno(err, ERR_IO, error, "cannot start a thread");
    }
    worker->running = shared;
    return ERR_OK;
}

bool worker_is_busy(const struct worker *worker)
{
    return worker->running != NULL;
}
