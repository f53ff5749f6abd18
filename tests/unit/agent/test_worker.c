/*
 * tests/unit/agent/test_worker.c - jobs on a thread: one at a time, their end on the loop, and one
 * whose owner went away.
 */
#include "tests/unit/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/worker.h"
#include "base/clock.h"

struct job {
    struct worker_job base; /* first */
    sem_t *wait;            /* NULL = do not */
    pthread_t thread;
};

static atomic_int freed;
static int done_count;
static pthread_t done_thread;
static bool was_other_thread;

static void job_run(struct worker_job *base)
{
    struct job *job = (struct job *)base;
    job->thread = pthread_self();
    while (job->wait != NULL && sem_wait(job->wait) != 0)
        continue;
}

static void job_free(struct worker_job *base)
{
    free(base);
    atomic_fetch_add(&freed, 1);
}

static void job_done(void *arg, struct worker_job *base)
{
    (void)arg;
    done_count++;
    done_thread = pthread_self();
    was_other_thread = !pthread_equal(((struct job *)base)->thread, done_thread);
    job_free(base);
}

static struct worker_job *make_job(sem_t *wait)
{
    struct job *job = calloc(1, sizeof(*job));
    assert_non_null(job);
    job->base = (struct worker_job){.run = job_run, .done = job_done, .free = job_free};
    job->wait = wait;
    return &job->base;
}

static int setup(void **state)
{
    (void)state;
    atomic_store(&freed, 0);
    done_count = 0;
    return 0;
}

static void a_job_runs_elsewhere_and_ends_here(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(loop) struct loop *loop = NULL;
    OWN(worker) struct worker *worker = NULL;
    assert_ok(loop_new(&loop, &err));
    assert_ok(worker_new(loop, &worker, &err));
    for (int i = 1; i <= 3; i++) {
        assert_ok(worker_start(worker, make_job(NULL), NULL, &err));
        assert_true(worker_is_busy(worker));
        for (int turns = 0; done_count < i && turns < 1000; turns++)
            assert_ok(loop_turn(loop, 10, &err));
        assert_int_equal(done_count, i);
        assert_true(was_other_thread);
        assert_true(pthread_equal(done_thread, pthread_self()));
        assert_false(worker_is_busy(worker));
    }
    assert_int_equal(atomic_load(&freed), 3);
}

static void a_second_job_is_refused_and_freed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    sem_t wait;
    OWN(loop) struct loop *loop = NULL;
    OWN(worker) struct worker *worker = NULL;
    assert_int_equal(sem_init(&wait, 0, 0), 0);
    assert_ok(loop_new(&loop, &err));
    assert_ok(worker_new(loop, &worker, &err));
    assert_ok(worker_start(worker, make_job(&wait), NULL, &err));
    assert_fails(worker_start(worker, make_job(NULL), NULL, &err), ERR_CONFLICT);
    assert_int_equal(atomic_load(&freed), 1);
    sem_post(&wait);
    for (int turns = 0; done_count < 1 && turns < 1000; turns++)
        assert_ok(loop_turn(loop, 10, &err));
    assert_int_equal(done_count, 1);
    sem_destroy(&wait);
}

/* Its end comes after everything else is gone. */
static void a_job_that_is_given_up_frees_itself(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    sem_t wait;
    struct loop *loop = NULL;
    struct worker *worker = NULL;
    assert_int_equal(sem_init(&wait, 0, 0), 0);
    assert_ok(loop_new(&loop, &err));
    assert_ok(worker_new(loop, &worker, &err));
    assert_ok(worker_start(worker, make_job(&wait), NULL, &err));
    worker_free(worker);
    loop_free(loop);
    assert_int_equal(atomic_load(&freed), 0);
    sem_post(&wait);
    for (int tries = 0; atomic_load(&freed) == 0 && tries < 2000; tries++)
        usleep(5000);
    assert_int_equal(atomic_load(&freed), 1);
    assert_int_equal(done_count, 0);
    sem_destroy(&wait);
}

static void a_job_that_ended_unseen_is_freed_with_the_worker(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct loop *loop = NULL;
    struct worker *worker = NULL;
    assert_ok(loop_new(&loop, &err));
    assert_ok(worker_new(loop, &worker, &err));
    assert_ok(worker_start(worker, make_job(NULL), NULL, &err));
    worker_free(worker); /* waits for it, up to its grace */
    for (int tries = 0; atomic_load(&freed) == 0 && tries < 2000; tries++)
        usleep(5000);
    assert_int_equal(atomic_load(&freed), 1);
    assert_int_equal(done_count, 0);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_job_runs_elsewhere_and_ends_here, setup),
        cmocka_unit_test_setup(a_second_job_is_refused_and_freed, setup),
        cmocka_unit_test_setup(a_job_that_is_given_up_frees_itself, setup),
        cmocka_unit_test_setup(a_job_that_ended_unseen_is_freed_with_the_worker, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
