#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"

static struct err err;
static struct loop *loop;
static char trace[256];

static int setup(void **state)
{
    (void)state;
    trace[0] = '\0';
    assert_ok(loop_new(&loop, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

static void note(void *arg)
{
    strcat(trace, arg);
}

static void turn(int wait_ms)
{
    assert_ok(loop_turn(loop, wait_ms, &err));
}

static struct loop_timer *timer(loop_fn *fn, void *arg, int64_t delay_ns)
{
    struct loop_timer *t;
    assert_ok(loop_timer_new(loop, fn, arg, &t, &err));
    loop_timer_set(t, delay_ns);
    return t;
}

static void timers_fire_once_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    timer(note, (void *)"c", 3 * NS_PER_MS);
    timer(note, (void *)"a", 0);
    timer(note, (void *)"b", NS_PER_MS);
    timer(note, (void *)"x", -1);
    for (int i = 0; i < 5 && strlen(trace) < 3; i++)
        turn(100);
    turn(10);
    assert_string_equal(trace, "abc");
}

static void timer_never_fires_early(void **state)
{
    (void)state;
    struct clock *clock = clock_system();
    int64_t before = clock->mono_ns(clock);
    timer(note, (void *)"a", 20 * NS_PER_MS + 1);
    while (trace[0] == '\0')
        turn(-1);
    assert_true(clock->mono_ns(clock) - before >= 20 * NS_PER_MS);
}

static void equal_deadlines_fire_in_the_order_of_arming(void **state)
{
    (void)state;
    static char names[26][2];
    for (int i = 0; i < 26; i++) {
        names[i][0] = (char)('a' + i);
        timer(note, names[i], 0);
    }
    usleep(1000);
    turn(0);
    assert_string_equal(trace, "abcdefghijklmnopqrstuvwxyz");
}

static void freed_and_disarmed_timers_do_not_fire(void **state)
{
    (void)state;
    struct loop_timer *a = timer(note, (void *)"a", 0), *b = timer(note, (void *)"b", 0);
    timer(note, (void *)"c", 0);
    loop_timer_free(a);
    loop_timer_set(b, -1);
    usleep(1000);
    turn(0);
    assert_string_equal(trace, "c");
    loop_timer_set(b, INT64_MAX);
    turn(0);
    loop_timer_free(NULL);
}

static struct loop_timer *self, *victim;

static void free_self_and_victim(void *arg)
{
    note(arg);
    loop_timer_free(self);
    loop_timer_free(victim);
}

static void timer_may_free_itself_and_another_that_is_due(void **state)
{
    (void)state;
    self = timer(free_self_and_victim, (void *)"a", 0);
    victim = timer(note, (void *)"b", 0);
    timer(note, (void *)"c", 0);
    usleep(1000);
    turn(0);
    assert_string_equal(trace, "ac");
}

static void rearm_now(void *arg)
{
    note(arg);
    loop_timer_set(self, 0);
}

static void timer_that_rearms_itself_does_not_starve_the_loop(void **state)
{
    (void)state;
    self = timer(rearm_now, (void *)"a", 0);
    usleep(1000);
    turn(0);
    assert_string_equal(trace, "a");
    usleep(1000);
    turn(0);
    assert_string_equal(trace, "aa");
}

static void many_timers_stay_in_order(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static struct loop_timer *timers[COUNT];
    for (int i = 0; i < COUNT; i++)
        timers[i] = timer(note, (void *)"", (i * 7919 % COUNT) * NS_PER_S);
    for (int i = 0; i < COUNT; i += 2)
        loop_timer_free(timers[i]);
    timer(note, (void *)"z", 0);
    usleep(1000);
    turn(0);
    assert_string_equal(trace, "z");
}

static void on_fd(void *arg, uint32_t events)
{
    assert_true(events & EPOLLIN);
    note(arg);
}

static void descriptor_is_told_until_it_is_removed(void **state)
{
    (void)state;
    int fd = eventfd(1, EFD_CLOEXEC);
    struct loop_fd *lfd;
    assert_ok(loop_fd_add(loop, fd, EPOLLIN, on_fd, (void *)"a", &lfd, &err));
    turn(0);
    turn(0);
    assert_ok(loop_fd_mod(lfd, 0, &err));
    turn(0);
    assert_ok(loop_fd_mod(lfd, EPOLLIN, &err));
    turn(0);
    loop_fd_del(lfd);
    turn(0);
    assert_string_equal(trace, "aaa");
    close(fd);
    loop_fd_del(NULL);
}

static void descriptor_that_cannot_be_watched_is_an_error(void **state)
{
    (void)state;
    struct loop_fd *lfd = NULL;
    assert_fails(loop_fd_add(loop, -1, EPOLLIN, on_fd, NULL, &lfd, &err), ERR_IO);
    assert_null(lfd);
}

static struct loop_fd *pair[2];

static void remove_both(void *arg, uint32_t events)
{
    (void)events;
    note(arg);
    loop_fd_del(pair[0]);
    loop_fd_del(pair[1]);
}

static void callback_may_remove_itself_and_another_of_the_same_batch(void **state)
{
    (void)state;
    int a = eventfd(1, EFD_CLOEXEC), b = eventfd(1, EFD_CLOEXEC);
    assert_ok(loop_fd_add(loop, a, EPOLLIN, remove_both, (void *)"x", &pair[0], &err));
    assert_ok(loop_fd_add(loop, b, EPOLLIN, remove_both, (void *)"x", &pair[1], &err));
    turn(0);
    turn(0);
    assert_string_equal(trace, "x");
    close(a);
    close(b);
}

static void post_again(void *arg)
{
    note(arg);
    if (strlen(trace) < 3)
        assert_ok(loop_post(loop, post_again, arg, &err));
}

static void posted_calls_run_in_order_and_may_post(void **state)
{
    (void)state;
    assert_ok(loop_post(loop, note, (void *)"a", &err));
    assert_ok(loop_post(loop, note, (void *)"b", &err));
    turn(0);
    assert_string_equal(trace, "ab");
    trace[0] = '\0';
    assert_ok(loop_post(loop, post_again, (void *)"c", &err));
    for (int i = 0; i < 3; i++)
        turn(1000);
    assert_string_equal(trace, "ccc");
    assert_ok(loop_post(loop, note, (void *)"never", &err)); /* dropped by loop_free */
}

static void waiting_posts_have_a_limit(void **state)
{
    (void)state;
    for (int i = 0; i < LOOP_POSTS_MAX; i++)
        assert_ok(loop_post(loop, note, (void *)"", &err));
    assert_fails(loop_post(loop, note, (void *)"", &err), ERR_LIMIT);
    turn(0);
    assert_ok(loop_post(loop, note, (void *)"", &err));
}

static int posts_run;

static void count_post(void *arg)
{
    (void)arg;
    if (++posts_run == 4000)
        loop_stop(loop);
}

static void *poster(void *arg)
{
    struct err own = ERR_INIT;
    (void)arg;
    for (int i = 0; i < 1000; i++)
        if (loop_post(loop, count_post, NULL, &own))
            abort();
    return NULL;
}

static void posts_of_four_threads_all_run(void **state)
{
    (void)state;
    pthread_t threads[4];
    posts_run = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, poster, NULL), 0);
    assert_ok(loop_run(loop, &err));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(posts_run, 4000);
}

static void *stopper(void *arg)
{
    usleep(5000);
    loop_stop(arg);
    return NULL;
}

static void stop_ends_run_from_a_thread_and_before_it_starts(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stopper, loop), 0);
    assert_ok(loop_run(loop, &err));
    pthread_join(thread, NULL);
    loop_stop(loop);
    assert_ok(loop_run(loop, &err));
}

static void held_signals_come_when_their_handler_is_there(void **state)
{
    (void)state;
    loop_signals_hold();
    raise(SIGHUP); /* by default it would end this program */
    assert_ok(loop_signal_add(loop, SIGHUP, note, (void *)"h", &err));
    turn(100);
    assert_string_equal(trace, "h");
}

static void signals_come_through_the_loop(void **state)
{
    (void)state;
    assert_ok(loop_signal_add(loop, SIGHUP, note, (void *)"h", &err));
    assert_ok(loop_signal_add(loop, SIGUSR1, note, (void *)"u", &err));
    assert_fails(loop_signal_add(loop, SIGHUP, note, (void *)"h", &err), ERR_CONFLICT);
    assert_fails(loop_signal_add(loop, 0, note, NULL, &err), ERR_INVALID);
    assert_fails(loop_signal_add(loop, 1000, note, NULL, &err), ERR_INVALID);
    raise(SIGHUP);
    turn(100);
    raise(SIGUSR1);
    turn(100);
    assert_string_equal(trace, "hu");
}

static void what_is_left_goes_with_the_loop(void **state)
{
    (void)state;
    struct loop_fd *lfd;
    timer(note, (void *)"a", NS_PER_S);
    assert_ok(loop_fd_add(loop, STDIN_FILENO == 0 ? eventfd(0, EFD_CLOEXEC) : 0, EPOLLIN, on_fd,
                          NULL, &lfd, &err));
    /* teardown frees the loop; the sanitizer tells what leaks */
}

#define LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP(timers_fire_once_in_the_order_of_their_deadlines),
        LOOP(timer_never_fires_early),
        LOOP(equal_deadlines_fire_in_the_order_of_arming),
        LOOP(freed_and_disarmed_timers_do_not_fire),
        LOOP(timer_may_free_itself_and_another_that_is_due),
        LOOP(timer_that_rearms_itself_does_not_starve_the_loop),
        LOOP(many_timers_stay_in_order),
        LOOP(descriptor_is_told_until_it_is_removed),
        LOOP(descriptor_that_cannot_be_watched_is_an_error),
        LOOP(callback_may_remove_itself_and_another_of_the_same_batch),
        LOOP(posted_calls_run_in_order_and_may_post),
        LOOP(waiting_posts_have_a_limit),
        LOOP(posts_of_four_threads_all_run),
        LOOP(stop_ends_run_from_a_thread_and_before_it_starts),
        LOOP(held_signals_come_when_their_handler_is_there),
        LOOP(signals_come_through_the_loop),
        LOOP(what_is_left_goes_with_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
