/*
 * tests/unit/server/test_http_waits.c - answers from other threads, deadlines, stops; who wins.
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

static void count_up(void *counter)
{
    atomic_fetch_add((atomic_int *)counter, 1);
}

static void queue_put(struct request *request)
{
    pthread_mutex_lock(&queue.lock);
    assert_true(queue.count < CROWD);
    queue.items[queue.count++] = request;
    pthread_cond_signal(&queue.cond);
    pthread_mutex_unlock(&queue.lock);
}

static struct request *queue_take(void)
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
static bool queue_remove(const struct request *request)
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

static size_t queue_count(void)
{
    pthread_mutex_lock(&queue.lock);
    size_t count = queue.count;
    pthread_mutex_unlock(&queue.lock);
    return count;
}

static void *queue_run(void *arg)
{
    (void)arg;
    for (struct request *request; (request = queue_take()) != NULL;) {
        const char *mark = request_header(request, "X-Mark");
        request_reply_json(request, 200, json_pack("{s:s}", "mark", mark != NULL ? mark : ""), NULL,
                           NULL);
    }
    return NULL;
}

static void queue_start(void)
{
    queue.end = false;
    assert_int_equal(pthread_create(&queue.thread, NULL, queue_run, NULL), 0);
}

static void queue_end(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.end = true;
    pthread_cond_broadcast(&queue.cond);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(queue.thread, NULL);
}

/* The system's clock, and what a test adds to it. */
static _Atomic int64_t skew_ns;

static int64_t skewed_mono_ns(struct clock *clock)
{
    (void)clock;
    return clock_system()->mono_ns(clock_system()) + atomic_load(&skew_ns);
}

static int64_t skewed_wall_us(struct clock *clock)
{
    (void)clock;
    return clock_system()->wall_us(clock_system());
}

static struct clock skewed = {.mono_ns = skewed_mono_ns, .wall_us = skewed_wall_us};

/* Handlers ------------------------------------------------------------------------------------ */

static int64_t mono_ns(void)
{
    return skewed_mono_ns(&skewed);
}

static void hand_over(struct request *request)
{
    request_own(request, &freed, count_up);
    queue_put(request);
}

static void on_late(struct request *request, void *arg)
{
    count_up(arg);
    if (queue_remove(request))
        request_reply_problem(request, 503, "late", NULL, NULL, "nothing came");
}

/* Waits in the queue for ?wait=; the queue's thread may not run. */
static void wait_for(struct request *request)
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

static void reply_late(struct request *request, void *arg)
{
    count_up(arg);
    request_reply_text(request, 200, "text/plain", "timer", 5);
}

/* The deadline is now: the timer and the owner both reply, on a reference of the owner's. */
static void race(struct request *request)
{
    request_own(request, &freed, count_up);
    request_hold(request);
    request_wait_until(request, mono_ns(), reply_late, &fired);
    request_reply_text(request, 200, "text/plain", "owner", 5);
    assert_true(request_is_answered(request));
    assert_true(request_cancelled(request));
    request_drop(request);
}

static void *race_other(void *arg)
{
    struct request *request = arg;
    request_reply_text(request, 200, "text/plain", "owner", 5);
    request_drop(request);
    count_up(&late);
    return NULL;
}

static void race_threads(struct request *request)
{
    pthread_t thread;
    request_own(request, &freed, count_up);
    request_hold(request);
    request_wait_until(request, mono_ns() + 50000, reply_late, &fired);
    assert_int_equal(pthread_create(&thread, NULL, race_other, request), 0);
    pthread_detach(thread);
}

static void ignore(struct request *request, void *arg)
{
    (void)request;
    count_up(arg);
}

/* The owner forgets about it, and its callback too. */
static void forget(struct request *request)
{
    hand_over(request);
    request_wait_until(request, mono_ns() + 1000 * NS_PER_S, ignore, &fired);
}

static struct blob *big;

static void send_big(struct request *request)
{
    request_reply_blob(request, 200, big);
}

static const struct route table[] = {
    {"GET", "/queue", 0, ROUTE_OPEN, hand_over, "queue"},
    {"POST", "/queue", 0, ROUTE_OPEN, hand_over, "queue_post"},
    {"GET", "/wait", 0, ROUTE_OPEN, wait_for, "wait"},
    {"GET", "/race", 0, ROUTE_OPEN, race, "race"},
    {"GET", "/threads", 0, ROUTE_OPEN, race_threads, "threads"},
    {"GET", "/big", 0, ROUTE_OPEN, send_big, "big"},
    {"GET", "/forget", 0, ROUTE_OPEN, forget, "forget"},
};

static int setup(void **state)
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

static int teardown(void **state)
{
    (void)state;
    http_server_stop(server);
    return 0;
}

static void send_get(int fd, const char *target, int mark)
{
    char text[256];
    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nX-Mark: %d\r\n\r\n", target, mark);
    assert_true(raw_send(fd, text));
}

/* Clients that each wait for their answer. */
static void open_waiters(int *fds, size_t count, const char *target)
{
    for (size_t i = 0; i < count; i++) {
        fds[i] = raw_open(port);
        send_get(fds[i], target, (int)i);
    }
    assert_soon(fixture_waiting(server) == count);
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

/* Tests --------------------------------------------------------------------------------------- */

static void another_thread_answers_every_request(void **state)
{
    (void)state;
    static struct answer a;
    int fds[16];
    char want[32];
    queue_start();
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = raw_open(port);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < COUNT(fds); i++)
            send_get(fds[i], "/queue", round * 100 + (int)i);
        for (size_t i = 0; i < COUNT(fds); i++) {
            raw_read(fds[i], &a);
            snprintf(want, sizeof(want), "{\"mark\":\"%d\"}", round * 100 + (int)i);
            assert_string_equal(a.body, want);
        }
    }
    close_all(fds, COUNT(fds));
    assert_soon(atomic_load(&freed) == 200 * (int)COUNT(fds));
    queue_end();
}

static void pipelined_requests_wait_for_the_one_before(void **state)
{
    (void)state;
    static struct answer a;
    char want[32];
    queue_start();
    int fd = raw_open(port);
    for (int i = 0; i < 50; i++)
        send_get(fd, "/queue", i);
    for (int i = 0; i < 50; i++) {
        raw_read(fd, &a);
        snprintf(want, sizeof(want), "{\"mark\":\"%d\"}", i);
        assert_string_equal(a.body, want);
    }
    close(fd);
    queue_end();
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    static struct answer a;
    int fd = raw_open(port);
    int64_t begin = now_ms();
    send_get(fd, "/wait?wait=300ms", 1);
    raw_read(fd, &a);
    int64_t took = now_ms() - begin;
    assert_status(a, 503);
    assert_contains(a.body, "\"code\":\"late\"");
    assert_in_range(took, 299, 1500);
    assert_int_equal(atomic_load(&fired), 1);
    close(fd);
    assert_soon(atomic_load(&freed) == 1);
    assert_int_equal(fixture_waiting(server), 0);
}

static void waits_end_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    static struct answer a;
    static const int waits_ms[] = {700, 100, 500, 300, 900};
    int fds[COUNT(waits_ms)];
    char target[64];
    int64_t begin = now_ms();
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = raw_open(port);
        snprintf(target, sizeof(target), "/wait?wait=%dms", waits_ms[i]);
        send_get(fds[i], target, 0);
    }
    static const size_t order[] = {1, 3, 2, 0, 4};
    for (size_t i = 0; i < COUNT(order); i++) {
        raw_read(fds[order[i]], &a);
        assert_status(a, 503);
        assert_in_range(now_ms() - begin, waits_ms[order[i]] - 1, waits_ms[order[i]] + 1000);
    }
    close_all(fds, COUNT(fds));
}

static void an_answer_in_time_disarms_the_deadline(void **state)
{
    (void)state;
    static struct answer a;
    queue_start();
    int fd = raw_open(port);
    for (int i = 0; i < 300; i++) {
        send_get(fd, "/wait?wait=60s", i);
        raw_read(fd, &a);
        assert_status(a, 200);
    }
    close(fd);
    assert_soon(atomic_load(&freed) == 300);
    assert_int_equal(atomic_load(&fired), 0);
    assert_int_equal(fixture_waiting(server), 0);
    queue_end();
}

static void one_of_two_replies_wins(void **state)
{
    (void)state;
    static struct answer a;
    int fds[8];
    int rounds = 100;
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = raw_open(port);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < COUNT(fds); i++)
            send_get(fds[i], round % 2 == 0 ? "/race" : "/threads", 0);
        for (size_t i = 0; i < COUNT(fds); i++) {
            raw_read(fds[i], &a);
            assert_status(a, 200);
            assert_int_equal(a.body_len, 5);
        }
    }
    close_all(fds, COUNT(fds));
    assert_soon(atomic_load(&freed) == rounds * (int)COUNT(fds));
    assert_soon(atomic_load(&late) == rounds / 2 * (int)COUNT(fds));
    assert_int_equal(fixture_waiting(server), 0);
}

static void two_thousand_wait_at_once(void **state)
{
    (void)state;
    static struct answer a;
    static int fds[CROWD];
    char want[32];
    open_waiters(fds, CROWD, "/wait?wait=300s");
    assert_int_equal(fixture_connections(server), CROWD);
    queue_start();
    for (size_t i = 0; i < CROWD; i++) {
        raw_read(fds[i], &a);
        snprintf(want, sizeof(want), "{\"mark\":\"%zu\"}", i);
        assert_string_equal(a.body, want);
    }
    close_all(fds, CROWD);
    assert_soon(fixture_connections(server) == 0);
    assert_int_equal(atomic_load(&freed), CROWD);
    queue_end();
}

static void clients_that_vanish_while_they_wait_are_let_go(void **state)
{
    (void)state;
    int fds[100];
    open_waiters(fds, COUNT(fds), "/wait?wait=1s");
    for (size_t i = 0; i < COUNT(fds); i++) {
        struct linger hard = {.l_onoff = i % 2};
        setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        close(fds[i]);
    }
    assert_soon(fixture_connections(server) == 0);
    assert_int_equal(atomic_load(&fired), COUNT(fds));
    assert_int_equal(atomic_load(&freed), COUNT(fds));
}

static void a_handler_that_never_replies_is_answered_for(void **state)
{
    (void)state;
    static struct answer a;
    int fds[2] = {raw_open(port), raw_open(port)};
    send_get(fds[0], "/queue", 0);
    send_get(fds[1], "/forget", 0);
    assert_soon(fixture_waiting(server) == 2);
    atomic_store(&skew_ns, 119 * NS_PER_S);
    sleep_ms(600);
    assert_int_equal(fixture_waiting(server), 2);
    atomic_store(&skew_ns, 121 * NS_PER_S);
    raw_read(fds[0], &a);
    assert_status(a, 503);
    assert_contains(a.body, "\"code\":\"unavailable\"");
    /* The other's callback came back without a reply: it has 30 s more. */
    atomic_store(&skew_ns, 1001 * NS_PER_S);
    assert_soon(atomic_load(&fired) == 1);
    atomic_store(&skew_ns, 1040 * NS_PER_S);
    raw_read(fds[1], &a);
    assert_status(a, 503);
    assert_int_equal(atomic_load(&freed), 0);
    queue_start();
    assert_soon(atomic_load(&freed) == 2);
    queue_end();
    close_all(fds, 2);
}

static void a_client_that_does_not_take_its_answer_is_cut(void **state)
{
    (void)state;
    size_t len = (size_t)64 << 20;
    char *data = calloc(1, len);
    assert_non_null(data);
    big = blob_new(data, len, NULL, "text/plain");
    int fd = raw_open(port);
    send_get(fd, "/big", 0);
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    sleep_ms(1200);
    assert_int_equal(fixture_connections(server), 1);
    assert_int_equal(atomic_load(&big->refs), 2);
    atomic_store(&skew_ns, 2000 * NS_PER_S);
    assert_soon(fixture_connections(server) == 0);
    assert_soon(atomic_load(&big->refs) == 1);
    blob_unref(big);
    close(fd);
}

static void a_stop_amid_a_flood_ends(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        server = fixture_start((struct http_config){
            .routes = table, .route_count = COUNT(table), .stop_ms = 300, .connections_max = 16});
        port = http_server_port(server);
        int fds[64];
        for (size_t i = 0; i < COUNT(fds); i++) {
            fds[i] = raw_open(port);
            if (i % 2 == 0)
                raw_send(fds[i], "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        http_server_stop(server);
        close_all(fds, COUNT(fds));
    }
}

static void a_stop_answers_all_that_wait(void **state)
{
    (void)state;
    static struct answer a;
    int fds[100], idle[50], half[20];
    open_waiters(fds, COUNT(fds), "/wait?wait=300s");
    for (size_t i = 0; i < COUNT(idle); i++)
        idle[i] = raw_open(port);
    for (size_t i = 0; i < COUNT(half); i++) {
        half[i] = raw_open(port);
        raw_send(half[i], "POST /queue HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
    }
    int64_t begin = now_ms();
    http_server_stop(server);
    assert_in_range(now_ms() - begin, 0, 3000);
    for (size_t i = 0; i < COUNT(fds); i++) {
        raw_read(fds[i], &a);
        assert_status(a, 503);
        assert_true(a.close);
        assert_true(raw_is_closed(fds[i]));
    }
    assert_int_equal(atomic_load(&fired), COUNT(fds));
    assert_int_equal(atomic_load(&freed), COUNT(fds));
    close_all(fds, COUNT(fds));
    close_all(idle, COUNT(idle));
    close_all(half, COUNT(half));
}

static void a_stop_without_half_requests_is_quick(void **state)
{
    (void)state;
    int fds[100];
    server = fixture_start((struct http_config){.routes = table, .route_count = COUNT(table)});
    port = http_server_port(server);
    open_waiters(fds, COUNT(fds), "/wait?wait=300s");
    int64_t begin = now_ms();
    http_server_stop(server);
    assert_in_range(now_ms() - begin, 0, 3000);
    close_all(fds, COUNT(fds));
}

static void a_stop_does_not_wait_for_an_owner_that_forgot(void **state)
{
    (void)state;
    static struct answer a;
    int fds[10];
    open_waiters(fds, 5, "/forget");
    for (size_t i = 5; i < COUNT(fds); i++) {
        fds[i] = raw_open(port);
        send_get(fds[i], "/queue", 0);
    }
    assert_soon(fixture_waiting(server) == COUNT(fds));
    assert_soon(queue_count() == COUNT(fds));
    int64_t begin = now_ms();
    http_server_stop(server);
    assert_in_range(now_ms() - begin, 400, 3000);
    for (size_t i = 0; i < COUNT(fds); i++) {
        raw_read(fds[i], &a);
        assert_status(a, 503);
    }
    close_all(fds, COUNT(fds));
    /* The owner's pointers are good still; its replies come to nothing and free the requests. */
    assert_int_equal(atomic_load(&freed), 0);
    queue_start();
    assert_soon(atomic_load(&freed) == (int)COUNT(fds));
    queue_end();
}

static void requests_during_a_stop_are_refused(void **state)
{
    (void)state;
    static struct answer a;
    int fd = raw_open(port), half = raw_open(port);
    send_get(fd, "/queue", 0);
    assert_soon(queue_count() == 1);
    raw_send(half, "GET /queue HTTP/1.1\r\nHost: x");
    sleep_ms(50);
    pthread_t stopper;
    assert_int_equal(
        pthread_create(&stopper, NULL, (void *(*)(void *))(void (*)(void))http_server_stop, server),
        0);
    sleep_ms(100);
    raw_send(half, "\r\n\r\n");
    raw_read(half, &a);
    assert_status(a, 503);
    assert_contains(a.body, "\"code\":\"stopping\"");
    assert_true(a.close);
    queue_start();
    raw_read(fd, &a);
    assert_status(a, 200);
    assert_true(a.close);
    pthread_join(stopper, NULL);
    queue_end();
    close(fd);
    close(half);
}

#define wait_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        wait_test(another_thread_answers_every_request),
        wait_test(pipelined_requests_wait_for_the_one_before),
        wait_test(a_wait_ends_at_its_deadline),
        wait_test(waits_end_in_the_order_of_their_deadlines),
        wait_test(an_answer_in_time_disarms_the_deadline),
        wait_test(one_of_two_replies_wins),
        wait_test(two_thousand_wait_at_once),
        wait_test(clients_that_vanish_while_they_wait_are_let_go),
        wait_test(a_handler_that_never_replies_is_answered_for),
        wait_test(a_client_that_does_not_take_its_answer_is_cut),
        cmocka_unit_test(a_stop_amid_a_flood_ends),
        cmocka_unit_test_setup(a_stop_answers_all_that_wait, setup),
        cmocka_unit_test(a_stop_without_half_requests_is_quick),
        cmocka_unit_test_setup(a_stop_does_not_wait_for_an_owner_that_forgot, setup),
        cmocka_unit_test_setup(requests_during_a_stop_are_refused, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
