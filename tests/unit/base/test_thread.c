#include "tests/unit/test.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>

#include "base/thread.h"

struct seen {
    sigset_t blocked;
    sem_t done;
};

static void *look(void *arg)
{
    struct seen *seen = arg;
    pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
    sem_post(&seen->done);
    return seen;
}

static void a_thread_takes_no_signals_and_its_maker_still_does(void **state)
{
    sigset_t before, after;
    (void)state;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    for (int joined = 0; joined < 2; joined++) {
        struct seen seen;
        pthread_t thread;
        void *result = NULL;
        sem_init(&seen.done, 0, 0);
        assert_int_equal(thread_begin(joined ? &thread : NULL, 256 * 1024, look, &seen), 0);
        while (sem_wait(&seen.done) != 0)
            continue;
        if (joined)
            assert_int_equal(pthread_join(thread, &result), 0);
        assert_true(!joined || result == &seen);
        assert_true(sigismember(&seen.blocked, SIGTERM) && sigismember(&seen.blocked, SIGHUP));
        sem_destroy(&seen.done);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

static void a_stack_that_no_thread_can_have_is_an_error(void **state)
{
    pthread_t thread;
    sigset_t after;
    (void)state;
    assert_int_equal(thread_begin(&thread, 1, look, NULL), EINVAL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_false(sigismember(&after, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_takes_no_signals_and_its_maker_still_does),
        cmocka_unit_test(a_stack_that_no_thread_can_have_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
