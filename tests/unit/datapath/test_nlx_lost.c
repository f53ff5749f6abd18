/*
 * tests/unit/datapath/test_nlx_lost.c - answers that the kernel had no room for (ENOBUFS): one
 * request says so and is not done again, a dump is.
 */
#undef _FORTIFY_SOURCE /* recvfrom() stands here */
#include "tests/unit/datapath/nlx_pair.h"

#include <errno.h>
#include <sys/syscall.h>

/* After so many calls one finds that something was lost; -1 = none does. */
static int good_calls = -1;

ssize_t recvfrom(int fd, void *restrict buffer, size_t size, int flags,
                 struct sockaddr *restrict from, socklen_t *restrict from_len)
{
    if (good_calls >= 0 && good_calls-- == 0) {
        errno = ENOBUFS;
        return -1;
    }
    return syscall(SYS_recvfrom, fd, buffer, size, flags, from, from_len);
}

static void a_lost_answer_is_told_and_the_socket_stays_of_use(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer_ack(&pair, 1, 0); /* what is read first */
    good_calls = 0;
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    assert_int_equal(err.sys_errno, ENOBUFS);
    assert_contains(err.text, "was lost");
    assert_int_equal(good_calls, -1);
    answer_ack(&pair, 2, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

static void a_dump_with_a_lost_part_is_read_again(void **state)
{
    (void)state;
    for (int at = 0; at <= 2; at++) {
        struct pair pair;
        struct seen seen = {0};
        struct err err = ERR_INIT;
        pair_open(&pair);
        OWN(nl_msg) struct nl_msg *msg = request();
        answer(&pair, TYPE_REPLY, NLM_F_MULTI, 1, "01000000");
        answer(&pair, TYPE_REPLY, NLM_F_MULTI, 1, "02000000");
        answer(&pair, NLMSG_DONE, NLM_F_MULTI, 1, "00000000");
        answer(&pair, TYPE_REPLY, NLM_F_MULTI, 2, "03000000");
        answer(&pair, NLMSG_DONE, NLM_F_MULTI, 2, "00000000");
        good_calls = at;
        assert_ok(nlx_dump(pair.nlx, msg, take, restart, &seen, &err));
        assert_int_equal(good_calls, -1);
        assert_int_equal(seen.restarts, 1);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.last, 3);
        pair_close(&pair);
    }
}

static void a_dump_that_loses_a_part_each_time_is_given_up(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    for (uint32_t seq = 1; seq <= NLX_DUMP_TRIES; seq++) {
        answer(&pair, seq == 1 ? NLMSG_OVERRUN : TYPE_REPLY, NLM_F_MULTI | NLM_F_DUMP_INTR, seq,
               "01000000");
        answer(&pair, NLMSG_DONE, NLM_F_MULTI, seq, "00000000");
    }
    good_calls = 1;
    assert_fails(nlx_dump(pair.nlx, msg, take, restart, &seen, &err), ERR_UNAVAILABLE);
    assert_int_equal(good_calls, -1);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_answer_is_told_and_the_socket_stays_of_use),
        cmocka_unit_test(a_dump_with_a_lost_part_is_read_again),
        cmocka_unit_test(a_dump_that_loses_a_part_each_time_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
