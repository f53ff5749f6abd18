/*
 * tests/unit/datapath/test_nlx_run.c - nlx_run: a long list of changes in batches, against a socket
 * pair whose other end plays the kernel. Change i has the number i+1; batches are of 1, 2, 4, ...
 */
#include "tests/unit/datapath/nlx_pair.h"

#include <errno.h>

#include "datapath/nl/nlx_run.h"

#define LONG_MS 60000 /* time enough for batches to grow, however slow this machine is */

struct source {
    size_t size;    /* of each payload */
    size_t missing; /* there is no memory for this one */
    size_t made;
};

static struct nl_msg *make(void *arg, size_t i)
{
    struct source *source = arg;
    static const uint8_t payload[48 * 1024] = {1};
    source->made++;
    return i == source->missing ? NULL : nlx_msg_new(99, 0, payload, source->size, source->size);
}

static struct source small(void)
{
    return (struct source){.size = 4, .missing = SIZE_MAX};
}

static enum err_code run_of(struct pair *pair, struct source *source, size_t count, int wait_ms,
                            struct nlx_run *out, struct err *err)
{
    const struct nlx_changes changes = {.make = make, .arg = source, .count = count};
    return nlx_run(pair->nlx, &changes, wait_ms, out, err);
}

static void answer_all(struct pair *pair, uint32_t from, uint32_t to)
{
    for (uint32_t seq = from; seq <= to; seq++)
        answer_ack(pair, seq, 0);
}

/* The next datagram's size; 0 = there is none. */
static size_t next_sent(struct pair *pair)
{
    static uint8_t bytes[128 * 1024];
    ssize_t n = recv(pair->kernel, bytes, sizeof(bytes), MSG_DONTWAIT);
    return n < 0 ? 0 : (size_t)n;
}

static void a_run_is_sent_in_batches_that_grow(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = small();
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_all(&pair, 1, 9);
    assert_ok(run_of(&pair, &source, 9, LONG_MS, &run, &err));
    assert_int_equal(run.begun, 9);
    assert_int_equal(run.failed, 9);
    static const size_t batches[] = {1, 2, 4, 2};
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
        assert_int_equal(next_sent(&pair), 20 * batches[i]);
    assert_int_equal(next_sent(&pair), 0);
    pair_close(&pair);
}

static void no_batch_is_over_its_limit(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = small();
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_all(&pair, 1, 191);
    assert_ok(run_of(&pair, &source, 191, LONG_MS, &run, &err));
    for (size_t size = 1; size <= NLX_BATCH_MAX; size *= 2)
        assert_int_equal(next_sent(&pair), 20 * size); /* 1 + 2 + ... + 64 = 127 */
    assert_int_equal(next_sent(&pair), 20 * NLX_BATCH_MAX);
    assert_int_equal(next_sent(&pair), 0);
    pair_close(&pair);
}

static void large_requests_go_alone(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = {.size = 40 * 1024, .missing = SIZE_MAX};
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_all(&pair, 1, 3);
    assert_ok(run_of(&pair, &source, 3, LONG_MS, &run, &err));
    assert_int_equal(run.begun, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_sent(&pair), 16 + 40 * 1024);
    assert_int_equal(next_sent(&pair), 0);
    pair_close(&pair);
}

static void the_first_refusal_ends_the_run_and_names_its_change(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = small();
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_all(&pair, 1, 3);
    answer_ack(&pair, 4, 0);
    answer(&pair, NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 5,
           "e4ffffff 10000000 01000500 00000000 00000000 0e000100 5443414d 2066756c 6c000000");
    answer_ack(&pair, 6, EEXIST); /* a later one: what the first says counts */
    answer_ack(&pair, 7, 0);
    assert_fails(run_of(&pair, &source, 100, LONG_MS, &run, &err), ERR_LIMIT);
    assert_contains(err.text, "TCAM full");
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_int_equal(run.failed, 4);
    assert_int_equal(run.begun, 7); /* changes 5 and 6 may stand */
    for (size_t size = 1; size <= 4; size *= 2)
        assert_int_equal(next_sent(&pair), 20 * size);
    assert_int_equal(next_sent(&pair), 0); /* and nothing more was begun */
    pair_close(&pair);
}

static void a_lost_ack_is_a_failure_of_its_change(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = small();
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_ack(&pair, 1, 0);
    answer_ack(&pair, 3, 0);
    assert_fails(run_of(&pair, &source, 100, LONG_MS, &run, &err), ERR_UNAVAILABLE);
    assert_int_equal(run.failed, 1);
    assert_int_equal(run.begun, 3);
    pair_close(&pair);
}

static void foreign_numbers_do_not_count_in_a_run(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = small();
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_ack(&pair, 0, EPERM);
    answer_ack(&pair, 77, EIO);
    answer_ack(&pair, 1, 0);
    answer_ack(&pair, 1, EIO); /* was answered */
    answer_all(&pair, 2, 3);
    assert_ok(run_of(&pair, &source, 3, LONG_MS, &run, &err));
    assert_int_equal(run.begun, 3);
    pair_close(&pair);
}

static void a_run_ends_with_its_time_but_does_one_at_least(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = small();
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_all(&pair, 1, 3);
    assert_ok(run_of(&pair, &source, 3, 0, &run, &err));
    assert_int_equal(run.begun, 1);
    assert_int_equal(run.failed, 1);
    assert_int_equal(next_sent(&pair), 20);
    assert_int_equal(next_sent(&pair), 0);
    pair_close(&pair);
}

static void without_memory_nothing_of_the_batch_is_sent(void **state)
{
    (void)state;
    struct pair pair;
    struct source source = {.size = 4, .missing = 2};
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_ack(&pair, 1, 0);
    assert_fails(run_of(&pair, &source, 3, LONG_MS, &run, &err), ERR_NOMEM);
    assert_int_equal(run.begun, 1);
    assert_int_equal(next_sent(&pair), 20);
    assert_int_equal(next_sent(&pair), 0);
    pair_close(&pair);
}

static struct nl_msg *make_small(void *arg, size_t i)
{
    (void)arg;
    (void)i;
    return request();
}

static void replies_to_every_change_are_taken(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    const struct nlx_changes changes = {
        .make = make_small, .on_reply = take, .arg = &seen, .count = 3};
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    for (uint32_t seq = 1; seq <= 3; seq++) {
        answer(&pair, TYPE_REPLY, 0, seq, seq == 3 ? "07" : "05");
        answer_ack(&pair, seq, 0);
    }
    assert_ok(nlx_run(pair.nlx, &changes, LONG_MS, &run, &err));
    assert_int_equal(run.failed, 3);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.last, 7);
    struct nlmsghdr sent;
    assert_int_equal(recv(pair.kernel, &sent, sizeof(sent), MSG_DONTWAIT), sizeof(sent));
    assert_true(sent.nlmsg_flags & NLM_F_ECHO); /* it is asked for them */
    pair_close(&pair);
}

static void a_reply_that_makes_no_sense_is_a_failure_of_its_change(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {.refuse = true};
    const struct nlx_changes changes = {
        .make = make_small, .on_reply = take, .arg = &seen, .count = 3};
    struct nlx_run run;
    struct err err = ERR_INIT;
    pair_open(&pair);
    answer_ack(&pair, 1, 0);
    answer_ack(&pair, 2, 0);
    answer(&pair, TYPE_REPLY, 0, 3, "05");
    answer_ack(&pair, 3, 0);
    assert_fails(nlx_run(pair.nlx, &changes, LONG_MS, &run, &err), ERR_IO);
    assert_contains(err.text, "makes no sense");
    assert_int_equal(run.failed, 2);
    assert_int_equal(run.begun, 3);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_sent_in_batches_that_grow),
        cmocka_unit_test(no_batch_is_over_its_limit),
        cmocka_unit_test(large_requests_go_alone),
        cmocka_unit_test(the_first_refusal_ends_the_run_and_names_its_change),
        cmocka_unit_test(a_lost_ack_is_a_failure_of_its_change),
        cmocka_unit_test(foreign_numbers_do_not_count_in_a_run),
        cmocka_unit_test(a_run_ends_with_its_time_but_does_one_at_least),
        cmocka_unit_test(without_memory_nothing_of_the_batch_is_sent),
        cmocka_unit_test(replies_to_every_change_are_taken),
        cmocka_unit_test(a_reply_that_makes_no_sense_is_a_failure_of_its_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
