#pragma once
/*
 * tests/unit/server/test_http_owner.h - handlers that give their requests to an owner: a queue that
 * one other thread replies from, with or without a deadline, in time, late or never.
 */

#include "tests/unit/server/test_http_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define CROWD 2000

/* An owner as the API has it: a queue of requests, each replied by one other thread. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct request *items[CROWD];
    size_t count;
    bool end;
    pthread_t thread;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static struct http_server *server;
static uint16_t port;
static atomic_int freed, fired, late;

static inline void count_up(void *counter)
{
    atomic_fetch_add((atomic_int *)counter, 1);
}

static inline void queue_put(struct request *request)
{
    pthread_mutex_lock(&queue.lock);
    assert_true(queue.count < CROWD);
    queue.items[queue.count++] = request;
    pthread_cond_signal(&queue.cond);
    pthread_mutex_unlock(&queue.lock);
}

static inline struct request *queue_take(void)
{
    struct request *request = NULL;
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0 && !queue.end)
        pthread_cond_wait(&queue.cond, &queue.lock);
    if (queue.count > 0)
        request = queue.items[--queue.count];
    pthread_mutex_unlock(&queue.lock);
    return request;
}

/* True when it was there: the caller replies. */
static inline bool queue_remove(const struct request *request)
{
    bool found = false;
    pthread_mutex_lock(&queue.lock);
    for (size_t i = 0; i < queue.count && !found; i++) {
        if (queue.items[i] == request) {
            queue.items[i] = queue.items[--queue.count];
            found = true;
        }
    }
    pthread_mutex_unlock(&queue.lock);
    return found;
}

static inline size_t queue_count(void)
{
    pthread_mutex_lock(&queue.lock);
    size_t count = queue.count;
    pthread_mutex_unlock(&queue.lock);
    return count;
}

static inline void *queue_run(void *arg)
{
    (void)arg;
    for (struct request *request; (request = queue_take()) != NULL;) {
        const char *mark = request_header(request, "X-Mark");
        request_reply_json(request, 200, json_pack("{s:s}", "mark", mark != NULL ? mark : ""), NULL,
                           NULL);
    }
    return NULL;
}

static inline void queue_start(void)
{
    queue.end = false;
    assert_int_equal(pthread_create(&queue.thread, NULL, queue_run, NULL), 0);
}

static inline void queue_end(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.end = true;
    pthread_cond_broadcast(&queue.cond);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(queue.thread, NULL);
}

/* The system's clock, and what a test adds to it. */
static _Atomic int64_t skew_ns;

static inline int64_t skewed_mono_ns(struct clock *clock)
{
    (void)clock;
    return clock_system()->mono_ns(clock_system()) + atomic_load(&skew_ns);
}

static inline int64_t skewed_wall_us(struct clock *clock)
{
    (void)clock;
    return clock_system()->wall_us(clock_system());
}

static struct clock skewed = {.mono_ns = skewed_mono_ns, .wall_us = skewed_wall_us};

/* Handlers ------------------------------------------------------------------------------------ */

static inline int64_t mono_ns(void)
{
    return skewed_mono_ns(&skewed);
}

static inline void hand_over(struct request *request)
{
    request_own(request, &freed, count_up);
    queue_put(request);
}

static inline void on_late(struct request *request, void *arg)
{
    count_up(arg);
    if (queue_remove(request))
        request_reply_problem(request, 503, "late", NULL, NULL, "nothing came");
}

/* Waits in the queue for ?wait=; the queue's thread may not run. */
static inline void wait_for(struct request *request)
{
    struct err err = ERR_INIT;
    int64_t wait_ns = 0;
    if (request_duration(request, "wait", NS_PER_S, 600 * NS_PER_S, &wait_ns, &err) != ERR_OK) {
        request_reply_err(request, &err);
        return;
    }
    request_own(request, &freed, count_up);
    /* Under the owner's lock, so that nobody replies before the deadline is set. */
    pthread_mutex_lock(&queue.lock);
    assert_true(queue.count < CROWD);
    queue.items[queue.count++] = request;
    request_wait_until(request, mono_ns() + wait_ns, on_late, &fired);
    pthread_cond_signal(&queue.cond);
    pthread_mutex_unlock(&queue.lock);
}

static inline void reply_late(struct request *request, void *arg)
{
    count_up(arg);
    request_reply_text(request, 200, "text/plain", "timer", 5);
}

/* The deadline is now: the timer and the owner both reply, on a reference of the owner's. */
static inline void race(struct request *request)
{
    request_own(request, &freed, count_up);
    request_hold(request);
    request_wait_until(request, mono_ns(), reply_late, &fired);
    request_reply_text(request, 200, "text/plain", "owner", 5);
    assert_true(request_is_answered(request));
    assert_true(request_cancelled(request));
    request_drop(request);
}

static inline void *race_other(void *arg)
{
    struct request *request = arg;
    request_reply_text(request, 200, "text/plain", "owner", 5);
    request_drop(request);
    count_up(&late);
    return NULL;
}

static inline void race_threads(struct request *request)
{
    pthread_t thread;
    request_own(request, &freed, count_up);
    request_hold(request);
    request_wait_until(request, mono_ns() + 50000, reply_late, &fired);
    assert_int_equal(pthread_create(&thread, NULL, race_other, request), 0);
    pthread_detach(thread);
}

static inline void ignore(struct request *request, void *arg)
{
    (void)request;
    count_up(arg);
}

/* The owner forgets about it, and its callback too. */
static inline void forget(struct request *request)
{
    hand_over(request);
    request_wait_until(request, mono_ns() + 1000 * NS_PER_S, ignore, &fired);
}

static struct blob *_Atomic big; /* made while the server runs */

static inline void send_big(struct request *request)
{
    request_reply_blob(request, 200, atomic_load(&big));
}

static const struct route table[] = {
    {"GET", "/queue", 0, ROUTE_OPEN, hand_over, "queue", NULL},
    {"POST", "/queue", 0, ROUTE_OPEN, hand_over, "queue_post", NULL},
    {"GET", "/wait", 0, ROUTE_OPEN, wait_for, "wait", NULL},
    {"GET", "/race", 0, ROUTE_OPEN, race, "race", NULL},
    {"GET", "/threads", 0, ROUTE_OPEN, race_threads, "threads", NULL},
    {"GET", "/big", 0, ROUTE_OPEN, send_big, "big", NULL},
    {"GET", "/forget", 0, ROUTE_OPEN, forget, "forget", NULL},
};

static inline int setup(void **state)
{
    (void)state;
    atomic_store(&freed, 0);
    atomic_store(&fired, 0);
    atomic_store(&late, 0);
    atomic_store(&skew_ns, 0);
    queue.count = 0;
    server = fixture_start((struct http_config){
        .routes = table, .route_count = COUNT(table), .clock = &skewed, .stop_ms = 500});
    port = http_server_port(server);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    http_server_stop(server);
    return 0;
}

static inline void send_get(int fd, const char *target, int mark)
{
    char text[256];
    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nX-Mark: %d\r\n\r\n", target, mark);
    assert_true(raw_send(fd, text));
}

/* Clients that each wait for their answer. */
static inline void open_waiters(int *fds, size_t count, const char *target)
{
    for (size_t i = 0; i < count; i++) {
        fds[i] = raw_open(port);
        send_get(fds[i], target, (int)i);
    }
    assert_soon(fixture_waiting(server) == count);
}

static inline void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}
