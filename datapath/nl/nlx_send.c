/*
 * datapath/nl/nlx_send.c - see nlx_send.h.
 *
 * rtnetlink, dcbnl and devlink do their work inside the sender's sendmsg(2), holding a mutex that
 * no signal interrupts. A driver that hangs would take the whole agent along, so that a thread
 * which can be given up does the call.
 */
#include "datapath/nl/nlx_send.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/thread.h"

/* A thread that just came back from the kernel may still wait for a processor; one that is stuck
 * must not cost a whole deadline again and again. */
#define BUSY_GRACE_MS 50
#define STACK_BYTES   (256 * 1024)

struct nlx_sender {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int fd;
    void *data; /* what is to be sent, owned; NULL = idle */
    size_t len;
    int error;  /* of the last send */
    bool taken; /* the thread is inside send(2) with the data */
    bool stop;  /* the owner is gone: the thread frees everything */
};

static void sender_destroy(struct nlx_sender *sender)
{
    pthread_cond_destroy(&sender->changed);
    pthread_mutex_destroy(&sender->lock);
    close(sender->fd);
    free(sender->data);
    free(sender);
}

static int send_all(int fd, const void *data, size_t len)
{
    ssize_t n;
    do {
        n = send(fd, data, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? errno : (size_t)n == len ? 0 : EMSGSIZE;
}

static void *sender_run(void *arg)
{
    struct nlx_sender *sender = arg;
    pthread_mutex_lock(&sender->lock);
    while (!sender->stop) {
        if (sender->data == NULL) {
            pthread_cond_wait(&sender->changed, &sender->lock);
            continue;
        }
        sender->taken = true;
        pthread_mutex_unlock(&sender->lock);
        int error = send_all(sender->fd, sender->data, sender->len);
        pthread_mutex_lock(&sender->lock);
        free(sender->data);
        sender->data = NULL;
        sender->taken = false;
        sender->error = error;
        pthread_cond_broadcast(&sender->changed);
    }
    pthread_mutex_unlock(&sender->lock);
    sender_destroy(sender);
    return NULL;
}

enum err_code nlx_sender_new(int fd, struct nlx_sender **out, struct err *err)
{
    struct nlx_sender *sender = calloc(1, sizeof(*sender));
    if (sender == NULL) {
        close(fd);
        return err_nomem(err);
    }
    sender->fd = fd;
    pthread_mutex_init(&sender->lock, NULL);
    cond_init(&sender->changed);
    int error = thread_begin(NULL, STACK_BYTES, sender_run, sender);
    if (error != 0) {
        sender_destroy(sender);
        return err_set_errno(err, ERR_IO, error, "cannot start a netlink thread");
    }
    *out = sender;
    return ERR_OK;
}

void nlx_sender_free(struct nlx_sender *sender)
{
    if (sender == NULL)
        return;
    pthread_mutex_lock(&sender->lock);
    sender->stop = true;
    pthread_cond_broadcast(&sender->changed);
    pthread_mutex_unlock(&sender->lock);
}

/* Waits until the thread is idle or the time is over; the lock is held. */
static bool wait_idle(struct nlx_sender *sender, int wait_ms)
{
    struct timespec until = cond_deadline(wait_ms * NS_PER_MS);
    int rc = 0;
    while (sender->data != NULL && rc == 0)
        rc = pthread_cond_timedwait(&sender->changed, &sender->lock, &until);
    return sender->data == NULL;
}

/* Nothing is sent after its caller gave up: what the thread has not begun is taken back. */
static void take_back(struct nlx_sender *sender)
{
    if (sender->taken)
        return;
    free(sender->data);
    sender->data = NULL;
}

enum err_code nlx_sender_send(struct nlx_sender *sender, const void *data, size_t len, int wait_ms,
                              struct err *err)
{
    void *copy = malloc(len);
    if (copy == NULL)
        return err_nomem(err);
    memcpy(copy, data, len);
    pthread_mutex_lock(&sender->lock);
    if (!wait_idle(sender, wait_ms < BUSY_GRACE_MS ? wait_ms : BUSY_GRACE_MS)) {
        pthread_mutex_unlock(&sender->lock);
        free(copy);
        return err_set(err, ERR_UNAVAILABLE,
                       "the kernel still has not come back from an earlier request");
    }
    sender->data = copy;
    sender->len = len;
    pthread_cond_broadcast(&sender->changed);
    bool idle = wait_idle(sender, wait_ms);
    if (!idle)
        take_back(sender);
    int error = sender->error;
    pthread_mutex_unlock(&sender->lock);
    if (!idle)
        return err_set(err, ERR_UNAVAILABLE, "the kernel did not take the request within %d ms",
                       wait_ms);
    if (error != 0)
        return err_set_errno(err, ERR_IO, error, "cannot send to the kernel");
    return ERR_OK;
}
