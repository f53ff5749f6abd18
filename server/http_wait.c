/*
 * server/http_wait.c - the timer thread: ends waits at their deadline, cuts late connections.
 *
 * A heap of the requests that wait, under one lock. Each request that its handler left unanswered
 * is in it, so that a stop finds them all and nothing waits without an end. fn and forced answers
 * run outside the lock, on a reference of the timer's own.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cond.h"
#include "base/log.h"
#include "server/http_core.h"

/* The deadlines stand on a clock that counts during suspend, the condition's does not; and a test
 * may turn the clock by hand. So a long wait looks at the clock this often. */
#define LOOK_NS     (250 * NS_PER_MS)
#define AFTER_FN_NS (30 * NS_PER_S)

static void heap_put(struct http_server *server, size_t at, struct request *request)
{
    server->heap[at] = request;
    request->heap_at = at;
}

static void heap_up(struct http_server *server, size_t at)
{
    struct request *request = server->heap[at];
    while (at > 1 && server->heap[at / 2]->wait_deadline_ns > request->wait_deadline_ns) {
        heap_put(server, at, server->heap[at / 2]);
        at /= 2;
    }
    heap_put(server, at, request);
}

static void heap_down(struct http_server *server, size_t at)
{
    struct request *request = server->heap[at];
    for (size_t child; (child = 2 * at) <= server->heap_count; at = child) {
        if (child < server->heap_count &&
            server->heap[child + 1]->wait_deadline_ns < server->heap[child]->wait_deadline_ns)
            child++;
        if (server->heap[child]->wait_deadline_ns >= request->wait_deadline_ns)
            break;
        heap_put(server, at, server->heap[child]);
    }
    heap_put(server, at, request);
}

static void heap_delete(struct http_server *server, struct request *request)
{
    size_t at = request->heap_at;
    if (at == 0)
        return;
    request->heap_at = 0;
    struct request *last = server->heap[server->heap_count--];
    if (last == request)
        return;
    heap_put(server, at, last);
    heap_up(server, at);
    heap_down(server, last->heap_at);
}

static bool heap_insert(struct http_server *server, struct request *request)
{
    if (server->heap_count + 1 >= server->heap_room) {
        size_t room = server->heap_room == 0 ? 256 : server->heap_room * 2;
        struct request **grown = realloc(server->heap, room * sizeof(struct request *));
        if (grown == NULL)
            return false;
        server->heap = grown;
        server->heap_room = room;
    }
    heap_put(server, ++server->heap_count, request);
    heap_up(server, server->heap_count);
    return true;
}

/* With the lock. A request that is answered already stays out. */
static void wait_put(struct request *request, int64_t deadline_ns,
                     void (*fn)(struct request *, void *), void *arg)
{
    struct http_server *server = request->server;
    if (atomic_load(&request->claimed))
        return;
    if (atomic_load(&server->stopping)) {
        int64_t now_ns = http_now_ns(server);
        int64_t end_ns = fn != NULL ? now_ns : now_ns + server->stop_ns;
        deadline_ns = deadline_ns < end_ns ? deadline_ns : end_ns;
    }
    heap_delete(server, request);
    request->wait_deadline_ns = deadline_ns;
    request->wait_fn = fn;
    request->wait_arg = arg;
    if (!heap_insert(server, request)) {
        log_error("http", "no memory to time the wait of request %s", request->id);
        return;
    }
    if (request->heap_at == 1)
        pthread_cond_signal(&server->wait_cond);
}

void request_wait_until(struct request *request, int64_t deadline_mono_ns,
                        void (*fn)(struct request *request, void *arg), void *arg)
{
    struct http_server *server = request->server;
    request->waits = true;
    /* Before `claimed` is read in wait_put(); reply_finish() reads the two the other way round, so
     * one of us sees the other. */
    atomic_store(&request->wait_used, true);
    pthread_mutex_lock(&server->wait_lock);
    wait_put(request, deadline_mono_ns, fn, arg);
    pthread_mutex_unlock(&server->wait_lock);
}

void http_wait_default(struct request *request)
{
    struct http_server *server = request->server;
    int64_t deadline_ns = http_now_ns(server) + HTTP_ANSWER_MS * NS_PER_MS;
    atomic_store(&request->wait_used, true);
    pthread_mutex_lock(&server->wait_lock);
    if (request->heap_at == 0)
        wait_put(request, deadline_ns, NULL, NULL);
    pthread_mutex_unlock(&server->wait_lock);
}

void http_wait_remove(struct request *request)
{
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->wait_lock);
    heap_delete(server, request);
    pthread_mutex_unlock(&server->wait_lock);
}

size_t http_wait_count(struct http_server *server)
{
    pthread_mutex_lock(&server->wait_lock);
    size_t count = server->heap_count;
    pthread_mutex_unlock(&server->wait_lock);
    return count;
}

void http_wait_wake(struct http_server *server)
{
    pthread_mutex_lock(&server->wait_lock);
    pthread_cond_signal(&server->wait_cond);
    pthread_mutex_unlock(&server->wait_lock);
}

/* With the lock, which it lets go while fn runs. */
static void wait_expire(struct request *request, int64_t now_ns)
{
    struct http_server *server = request->server;
    void (*fn)(struct request *, void *) = request->wait_fn;
    void *arg = request->wait_arg;
    heap_delete(server, request);
    request_hold(request);
    if (fn != NULL) /* should fn not reply, this does */
        wait_put(request, now_ns + AFTER_FN_NS, NULL, NULL);
    pthread_mutex_unlock(&server->wait_lock);
    if (fn != NULL) {
        fn(request, arg);
    } else {
        if (!atomic_load(&server->stopping))
            log_error("http", "no answer in time to %s %s (request %s)", request_method(request),
                      request_path(request), request_id(request));
        http_reply_forced(request, "the answer was not ready in time; try again");
    }
    request_drop(request);
    pthread_mutex_lock(&server->wait_lock);
}

/* With the lock: all waits with a function end now, the others when the stop's time is over. */
static void waits_hurry(struct http_server *server, int64_t now_ns)
{
    int64_t last_ns = now_ns + server->stop_ns;
    for (size_t i = 1; i <= server->heap_count; i++) {
        struct request *request = server->heap[i];
        int64_t end_ns = request->wait_fn != NULL ? now_ns : last_ns;
        if (request->wait_deadline_ns > end_ns)
            request->wait_deadline_ns = end_ns;
    }
    for (size_t i = server->heap_count / 2; i >= 1; i--)
        heap_down(server, i);
}

static void wait_sleep(struct http_server *server, int64_t sleep_ns)
{
    struct timespec until = cond_deadline(sleep_ns);
    pthread_cond_timedwait(&server->wait_cond, &server->wait_lock, &until);
}

/* How often late connections are looked for: an eighth of the deadline is near enough. */
static int64_t sweep_period_ns(const struct http_server *server)
{
    int64_t least_ns = server->request_deadline_ns < server->idle_ns ? server->request_deadline_ns
                                                                     : server->idle_ns;
    least_ns /= 8;
    if (least_ns > NS_PER_S)
        return NS_PER_S;
    return least_ns < 10 * NS_PER_MS ? 10 * NS_PER_MS : least_ns;
}

static void *timer_run(void *arg)
{
    struct http_server *server = arg;
    int64_t period_ns = sweep_period_ns(server), sweep_ns = 0;
    bool hurried = false;
    pthread_mutex_lock(&server->wait_lock);
    while (!server->timer_end) {
        int64_t now_ns = http_now_ns(server);
        if (now_ns >= sweep_ns) {
            pthread_mutex_unlock(&server->wait_lock);
            http_conns_sweep(server, now_ns, false);
            pthread_mutex_lock(&server->wait_lock);
            sweep_ns = now_ns + period_ns;
        }
        if (atomic_load(&server->stopping) && !hurried) {
            hurried = true;
            waits_hurry(server, now_ns);
        }
        if (server->heap_count > 0 && server->heap[1]->wait_deadline_ns <= now_ns) {
            wait_expire(server->heap[1], now_ns);
            continue;
        }
        int64_t sleep_ns = sweep_ns - now_ns;
        if (server->heap_count > 0) {
            int64_t left_ns = server->heap[1]->wait_deadline_ns - now_ns;
            sleep_ns = left_ns < sleep_ns ? left_ns : sleep_ns;
            sleep_ns = sleep_ns < LOOK_NS ? sleep_ns : LOOK_NS;
        }
        wait_sleep(server, sleep_ns);
    }
    pthread_mutex_unlock(&server->wait_lock);
    return NULL;
}

enum err_code http_wait_start(struct http_server *server, struct err *err)
{
    cond_init(&server->wait_cond);
    pthread_mutex_init(&server->wait_lock, NULL);
    int rc = pthread_create(&server->timer, NULL, timer_run, server);
    if (rc != 0) {
        pthread_cond_destroy(&server->wait_cond);
        pthread_mutex_destroy(&server->wait_lock);
        return err_set_errno(err, ERR_IO, rc, "the timer thread of the HTTP server");
    }
    return ERR_OK;
}

void http_wait_end(struct http_server *server)
{
    pthread_mutex_lock(&server->wait_lock);
    server->timer_end = true;
    pthread_cond_signal(&server->wait_cond);
    pthread_mutex_unlock(&server->wait_lock);
    pthread_join(server->timer, NULL);
    pthread_cond_destroy(&server->wait_cond);
    pthread_mutex_destroy(&server->wait_lock);
    free(server->heap);
}
