/*
 * tests/unit/server/test_passwords.c - the pool that hashes: bounded, wiped, nothing lost.
 */
#include "tests/unit/test.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "server/passwords.h"

static atomic_int done_count;

static void on_done(struct password_job *job, enum err_code code, const struct err *err)
{
    (void)err;
    assert_int_equal(code, ERR_OK);
    assert_int_equal(job->given[0], '\0');
    assert_int_equal(job->chosen[0], '\0');
    atomic_fetch_add(&done_count, 1);
}

static void submit(struct passwords *passwords, struct password_job *job)
{
    struct err err = ERR_INIT;
    job->done = on_done;
    assert_ok(passwords_submit(passwords, job, &err));
}

static void a_hash_is_made_and_compared(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct passwords *passwords = NULL;
    struct password_job made = {.chosen = "correct horse battery"};
    assert_ok(passwords_new(&passwords, &err));
    submit(passwords, &made);
    passwords_free(passwords);
    assert_true(made.right);

    struct password_job good = {.compare = true, .given = "correct horse battery"};
    struct password_job wrong = {.compare = true, .given = "nope", .chosen = "another password"};
    struct password_job nobody = {.compare = true, .given = "correct horse battery"};
    memcpy(good.old_hash, made.new_hash, sizeof(good.old_hash));
    memcpy(wrong.old_hash, made.new_hash, sizeof(wrong.old_hash));
    assert_ok(passwords_new(&passwords, &err));
    submit(passwords, &good);
    submit(passwords, &wrong);
    submit(passwords, &nobody);
    passwords_free(passwords);
    assert_true(good.right);
    assert_false(wrong.right);
    assert_string_equal(wrong.new_hash, "");
    assert_false(nobody.right);
}

/* More than threads and queue hold: what is refused is refused at once, the rest is done. */
static void a_full_queue_refuses(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(passwords) struct passwords *passwords = NULL;
    static struct password_job jobs[PASSWORDS_QUEUE_MAX + PASSWORDS_THREADS + 1];
    const size_t count = sizeof(jobs) / sizeof(jobs[0]);
    int taken = 0;
    atomic_store(&done_count, 0);
    assert_ok(passwords_new(&passwords, &err));
    for (size_t i = 0; i < count; i++) {
        jobs[i].compare = true;
        strcpy(jobs[i].given, "secret");
        /* No hash at all: refused by its form, at once. */
        strcpy(jobs[i].old_hash, "x");
        jobs[i].done = on_done;
    }
    /* Two that take long hold the threads meanwhile. */
    for (int i = 0; i < PASSWORDS_THREADS; i++)
        jobs[i].old_hash[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (passwords_submit(passwords, &jobs[i], &err) == ERR_OK) {
            taken++;
            continue;
        }
        assert_int_equal(err.code, ERR_UNAVAILABLE);
        assert_string_equal(jobs[i].given, "");
    }
    assert_true(taken >= PASSWORDS_QUEUE_MAX);
    assert_true(taken < (int)count);
    passwords_free(GIVE(passwords));
    assert_int_equal(atomic_load(&done_count), taken);
}

static void prepare(struct password_job *job, const char *caller, const char *tenant)
{
    *job = (struct password_job){.lane = PASSWORD_NEW, .chosen = "correct horse battery"};
    strcpy(job->caller, caller);
    strcpy(job->tenant, tenant);
    job->done = on_done;
}

static sem_t go_on;

static void wait_for_go(struct password_job *job, enum err_code code, const struct err *err)
{
    (void)job;
    (void)code;
    (void)err;
    while (sem_wait(&go_on) != 0)
        ;
}

/* A pool whose threads do nothing more until free_held(). */
static struct passwords *new_held(void)
{
    static struct password_job holders[PASSWORDS_THREADS];
    struct err err = ERR_INIT;
    struct passwords *passwords = NULL;
    assert_ok(passwords_new(&passwords, &err));
    assert_int_equal(sem_init(&go_on, 0, 0), 0);
    for (int i = 0; i < PASSWORDS_THREADS; i++) {
        holders[i] = (struct password_job){.compare = true, .given = "secret", .old_hash = "x"};
        holders[i].done = wait_for_go;
        assert_ok(passwords_submit(passwords, &holders[i], &err));
    }
    for (int i = 0; i < PASSWORDS_THREADS; i++)
        while (holders[i].given[0] != '\0')
            sched_yield();
    return passwords;
}

static void free_held(struct passwords *passwords)
{
    for (int i = 0; i < PASSWORDS_THREADS; i++)
        sem_post(&go_on);
    passwords_free(passwords);
    sem_destroy(&go_on);
}

static void a_caller_and_a_tenant_have_a_few_at_a_time(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct passwords *passwords = new_held();
    static struct password_job jobs[PASSWORDS_NEW_MAX + 4];
    static struct password_job more;
    char caller[16];
    size_t n = 0;
    for (; n < PASSWORDS_CALLER_MAX; n++) {
        prepare(&jobs[n], "ann@a", "a");
        assert_ok(passwords_submit(passwords, &jobs[n], &err));
    }
    prepare(&more, "ann@a", "a");
    assert_fails(passwords_submit(passwords, &more, &err), ERR_LIMIT);
    assert_string_equal(more.chosen, "");
    for (; n < PASSWORDS_TENANT_MAX; n++) {
        snprintf(caller, sizeof(caller), "u%zu@a", n);
        prepare(&jobs[n], caller, "a");
        assert_ok(passwords_submit(passwords, &jobs[n], &err));
    }
    prepare(&more, "eve@a", "a");
    assert_fails(passwords_submit(passwords, &more, &err), ERR_LIMIT);
    prepare(&jobs[n], "bob@b", "b");
    assert_ok(passwords_submit(passwords, &jobs[n++], &err));
    free_held(passwords);
}

/* Whatever waits to be hashed, all the logins' places are theirs. */
static void new_passwords_leave_the_logins_their_places(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct passwords *passwords = new_held();
    static struct password_job jobs[PASSWORDS_NEW_MAX + 1];
    static struct password_job logins[PASSWORDS_QUEUE_MAX];
    const size_t count = sizeof(jobs) / sizeof(jobs[0]);
    char caller[16];
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        snprintf(caller, sizeof(caller), "u%zu", i);
        prepare(&jobs[i], caller, "");
        if (passwords_submit(passwords, &jobs[i], &err) == ERR_OK)
            taken++;
        else
            assert_int_equal(err.code, ERR_UNAVAILABLE);
    }
    assert_int_equal(taken, PASSWORDS_NEW_MAX);
    for (size_t i = 0; i < PASSWORDS_QUEUE_MAX; i++) {
        logins[i] = (struct password_job){.compare = true, .given = "secret", .old_hash = "x"};
        submit(passwords, &logins[i]);
    }
    free_held(passwords);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_is_made_and_compared),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(a_caller_and_a_tenant_have_a_few_at_a_time),
        cmocka_unit_test(new_passwords_leave_the_logins_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
