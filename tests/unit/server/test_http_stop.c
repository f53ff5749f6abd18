/*
 * tests/unit/server/test_http_stop.c - a server that stops, whatever its clients and owners do.
 */
#include "tests/unit/server/test_http_owner.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_amid_a_flood_ends),
        cmocka_unit_test_setup(a_stop_answers_all_that_wait, setup),
        cmocka_unit_test(a_stop_without_half_requests_is_quick),
        cmocka_unit_test_setup(a_stop_does_not_wait_for_an_owner_that_forgot, setup),
        cmocka_unit_test_setup(requests_during_a_stop_are_refused, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
