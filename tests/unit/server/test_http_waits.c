/*
 * tests/unit/server/test_http_waits.c - answers from other threads, deadlines; who wins.
 */
#include "tests/unit/server/test_http_owner.h"

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
    struct blob *made = blob_new(data, len, NULL, "text/plain");
    atomic_store(&big, made);
    int fd = raw_open(port);
    send_get(fd, "/big", 0);
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    sleep_ms(1200);
    assert_int_equal(fixture_connections(server), 1);
    assert_int_equal(atomic_load(&made->refs), 2);
    atomic_store(&skew_ns, 2000 * NS_PER_S);
    assert_soon(fixture_connections(server) == 0);
    assert_soon(atomic_load(&made->refs) == 1);
    blob_unref(made);
    close(fd);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
