/*
 * base/loop.c - see loop.h.
 *
 * A handle that is removed during a turn may still stand in the batch of events that epoll gave:
 * it is only marked dead then, skipped, and freed when the outermost turn ends.
 */
#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop_timer.h"

#define EVENTS_A_TURN 64

struct loop_fd {
    struct loop *loop;
    int fd;
    bool dead;
    loop_fd_fn *fn;
    void *arg;
    struct loop_fd *prev, *next; /* loop->fds, or loop->dead through next */
};

struct post {
    loop_fn *fn;
    void *arg;
    struct post *next;
};

struct signal_handler {
    loop_fn *fn;
    void *arg;
};

struct loop {
    int epoll_fd, wake_fd, signal_fd;
    atomic_bool stop;
    int turns; /* running loop_turn() calls: a callback may turn the loop, too */
    struct loop_fd *fds, *dead;
    struct timers timers;
    sigset_t signals;
    struct signal_handler handlers[_NSIG];
    pthread_mutex_t lock; /* of what follows */
    struct post *posts, **posts_end;
    size_t post_count;
};

static void wake(struct loop *loop)
{
    /* It can fail only when the counter is full; then the loop is awake anyway. */
    uint64_t one = 1;
    ssize_t n = write(loop->wake_fd, &one, sizeof(one));
    (void)n;
}

static void on_wake(void *arg, uint32_t events)
{
    struct loop *loop = arg;
    (void)events;
    uint64_t count;
    ssize_t n = read(loop->wake_fd, &count, sizeof(count));
    (void)n;
}

static void on_signal(void *arg, uint32_t events)
{
    struct loop *loop = arg;
    (void)events;
    struct signalfd_siginfo info;
    while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        struct signal_handler handler = loop->handlers[info.ssi_signo];
        if (handler.fn != NULL)
            handler.fn(handler.arg);
    }
}

static void run_posts(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct post *post = loop->posts;
    loop->posts = NULL;
    loop->posts_end = &loop->posts;
    loop->post_count = 0;
    pthread_mutex_unlock(&loop->lock);
    while (post != NULL) {
        struct post *done = post;
        post = post->next;
        done->fn(done->arg);
        free(done);
    }
}

static void free_dead(struct loop *loop)
{
    while (loop->dead != NULL) {
        struct loop_fd *lfd = loop->dead;
        loop->dead = lfd->next;
        free(lfd);
    }
}

static void loop_destroy(struct loop *loop)
{
    while (loop->fds != NULL)
        loop_fd_del(loop->fds);
    free_dead(loop);
    timers_release(&loop->timers);
    while (loop->posts != NULL) {
        struct post *post = loop->posts;
        loop->posts = post->next;
        free(post);
    }
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

enum err_code loop_new(struct loop **out, struct err *err)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    if (loop == NULL)
        return err_nomem(err);
    loop->signal_fd = -1;
    loop->posts_end = &loop->posts;
    sigemptyset(&loop->signals);
    pthread_mutex_init(&loop->lock, NULL);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum err_code code = ERR_OK;
    struct loop_fd *lfd;
    if (loop->epoll_fd < 0 || loop->wake_fd < 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot make an event loop");
    else
        code = loop_fd_add(loop, loop->wake_fd, EPOLLIN, on_wake, loop, &lfd, err);
    if (code != ERR_OK) {
        loop_destroy(loop);
        return code;
    }
    *out = loop;
    return ERR_OK;
}

void loop_free(struct loop *loop)
{
    if (loop != NULL)
        loop_destroy(loop);
}

enum err_code loop_run(struct loop *loop, struct err *err)
{
    while (!atomic_exchange(&loop->stop, false)) {
        enum err_code code = loop_turn(loop, -1, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

enum err_code loop_turn(struct loop *loop, int wait_ms, struct err *err)
{
    struct epoll_event events[EVENTS_A_TURN];
    int n =
        epoll_wait(loop->epoll_fd, events, EVENTS_A_TURN, timers_wait_ms(&loop->timers, wait_ms));
    if (n < 0 && errno != EINTR)
        return err_set_errno(err, ERR_IO, errno, "epoll_wait");
    loop->turns++;
    for (int i = 0; i < n; i++) {
        struct loop_fd *lfd = events[i].data.ptr;
        if (!lfd->dead)
            lfd->fn(lfd->arg, events[i].events);
    }
    timers_run(&loop->timers);
    run_posts(loop);
    if (--loop->turns == 0)
        free_dead(loop);
    return ERR_OK;
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stop, true);
    wake(loop);
}

enum err_code loop_fd_add(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *arg,
                          struct loop_fd **out, struct err *err)
{
    struct loop_fd *lfd = calloc(1, sizeof(*lfd));
    if (lfd == NULL)
        return err_nomem(err);
    *lfd = (struct loop_fd){.loop = loop, .fd = fd, .fn = fn, .arg = arg};
    struct epoll_event event = {.events = events, .data.ptr = lfd};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        int error = errno;
        free(lfd);
        return err_set_errno(err, ERR_IO, error, "cannot watch descriptor %d", fd);
    }
    lfd->next = loop->fds;
    if (loop->fds != NULL)
        loop->fds->prev = lfd;
    loop->fds = lfd;
    *out = lfd;
    return ERR_OK;
}

enum err_code loop_fd_mod(struct loop_fd *lfd, uint32_t events, struct err *err)
{
    struct epoll_event event = {.events = events, .data.ptr = lfd};
    if (epoll_ctl(lfd->loop->epoll_fd, EPOLL_CTL_MOD, lfd->fd, &event) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot watch descriptor %d", lfd->fd);
    return ERR_OK;
}

void loop_fd_del(struct loop_fd *lfd)
{
    if (lfd == NULL)
        return;
    struct loop *loop = lfd->loop;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, lfd->fd, NULL);
    if (lfd->prev != NULL)
        lfd->prev->next = lfd->next;
    else
        loop->fds = lfd->next;
    if (lfd->next != NULL)
        lfd->next->prev = lfd->prev;
    if (loop->turns == 0) {
        free(lfd);
        return;
    }
    lfd->dead = true;
    lfd->next = loop->dead;
    loop->dead = lfd;
}

enum err_code loop_timer_new(struct loop *loop, loop_fn *fn, void *arg, struct loop_timer **out,
                             struct err *err)
{
    struct loop_timer *timer = timers_add(&loop->timers, fn, arg);
    if (timer == NULL)
        return err_nomem(err);
    *out = timer;
    return ERR_OK;
}

enum err_code loop_signal_add(struct loop *loop, int signo, loop_fn *fn, void *arg, struct err *err)
{
    if (signo <= 0 || signo >= _NSIG)
        return err_set(err, ERR_INVALID, "%d is no signal", signo);
    if (loop->handlers[signo].fn != NULL)
        return err_set(err, ERR_CONFLICT, "signal %d has a handler", signo);
    sigset_t signals = loop->signals;
    sigaddset(&signals, signo);
    int error = pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (error != 0)
        return err_set_errno(err, ERR_IO, error, "cannot block signal %d", signo);
    int fd = signalfd(loop->signal_fd, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot watch signal %d", signo);
    if (loop->signal_fd < 0) {
        struct loop_fd *lfd;
        enum err_code code = loop_fd_add(loop, fd, EPOLLIN, on_signal, loop, &lfd, err);
        if (code != ERR_OK) {
            close(fd);
            return code;
        }
        loop->signal_fd = fd;
    }
    loop->signals = signals;
    loop->handlers[signo] = (struct signal_handler){fn, arg};
    return ERR_OK;
}

void loop_signals_hold(void)
{
    sigset_t orders;
    sigemptyset(&orders);
    sigaddset(&orders, SIGHUP);
    sigaddset(&orders, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &orders, NULL); /* fails for a wrong first argument only */
}

enum err_code loop_post(struct loop *loop, loop_fn *fn, void *arg, struct err *err)
{
    struct post *post = malloc(sizeof(*post));
    if (post == NULL)
        return err_nomem(err);
    *post = (struct post){.fn = fn, .arg = arg};
    pthread_mutex_lock(&loop->lock);
    bool full = loop->post_count >= LOOP_POSTS_MAX;
    bool first = loop->post_count == 0;
    if (!full) {
        *loop->posts_end = post;
        loop->posts_end = &post->next;
        loop->post_count++;
    }
    pthread_mutex_unlock(&loop->lock);
    if (full) {
        free(post);
        return err_set(err, ERR_LIMIT, "%d calls wait for the loop", LOOP_POSTS_MAX);
    }
    if (first)
        wake(loop);
    return ERR_OK;
}
