/*
 * tests/unit/datapath/test_nlx.c - datapath/nl/nlx: one request, its replies, its ACK, all within a
 * deadline. The kernel is played over a socket pair; its answers are queued before the request.
 */
#include "tests/unit/datapath/nlx_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

struct talker {
    int kernel;
    uint32_t seq;
};

static void a_reply_and_its_ack_are_taken(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer(&pair, TYPE_REPLY, 0, 1, "2a000000");
    answer_ack(&pair, 1, 0);
    assert_ok(nlx_txn(pair.nlx, msg, take, &seen, &err));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last, 0x2a);
    /* what the kernel got: type 99, REQUEST|ACK, sequence 1 */
    uint8_t sent[64];
    assert_int_equal(recv(pair.kernel, sent, sizeof(sent), 0), 20);
    const uint8_t want[] = {20, 0, 0, 0, 99, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
    assert_memory_equal(sent, want, sizeof(want));
    /* the ACK is drained: the next request takes its own */
    answer_ack(&pair, 2, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

static void foreign_sequence_numbers_are_ignored(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer(&pair, TYPE_REPLY, 0, 77, "01000000");
    answer_ack(&pair, 0, EPERM);
    answer_ack(&pair, 77, EIO);
    answer(&pair, TYPE_REPLY, 0, 1, "02000000");
    answer_ack(&pair, 1, 0);
    assert_ok(nlx_txn(pair.nlx, msg, take, &seen, &err));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last, 2);
    pair_close(&pair);
}

static void several_messages_stand_in_one_datagram(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    uint8_t bytes[256];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    size_t len = unhex("11000000 6400 0000 01000000 00000000 07 000000" /* padded to 20 */
                       "14000000 6400 0000 01000000 00000000 08000000"
                       "24000000 0200 0000 01000000 00000000"
                       "00000000 10000000 01000500 00000000 00000000",
                       bytes, sizeof(bytes));
    assert_int_equal(send(pair.kernel, bytes, len, 0), len);
    assert_ok(nlx_txn(pair.nlx, msg, take, &seen, &err));
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.last, 8);
    pair_close(&pair);
}

static void refusals_become_codes(void **state)
{
    (void)state;
    static const struct {
        int sys_errno;
        enum err_code code;
    } cases[] = {
        {EOPNOTSUPP, ERR_UNSUPPORTED}, {EPERM, ERR_DENIED},     {ENOSPC, ERR_LIMIT},
        {ENODEV, ERR_NOT_FOUND},       {ENOENT, ERR_NOT_FOUND}, {EEXIST, ERR_CONFLICT},
        {EBUSY, ERR_CONFLICT},         {EINVAL, ERR_IO},        {EIO, ERR_IO},
    };
    struct pair pair;
    pair_open(&pair);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(nl_msg) struct nl_msg *msg = request();
        answer_ack(&pair, (uint32_t)i + 1, cases[i].sys_errno);
        assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), cases[i].code);
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
    }
    pair_close(&pair);
}

static void the_kernels_own_words_are_kept(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    /* -ENOSPC, capped request header, NLMSGERR_ATTR_MSG "TCAM full" */
    answer(&pair, NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 1,
           "e4ffffff 10000000 01000500 00000000 00000000 0e000100 5443414d 2066756c 6c000000");
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_LIMIT);
    assert_contains(err.text, "TCAM full");
    /* the whole request (20 bytes) comes back in front of the words */
    answer(&pair, NLMSG_ERROR, NLM_F_ACK_TLVS, 2,
           "eaffffff 14000000 01000500 00000000 00000000 01020304 08000100 4e6f2100");
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_IO);
    assert_contains(err.text, "No!");
    /* a warning on success */
    answer(&pair, NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 3,
           "00000000 10000000 01000500 00000000 00000000 08000100 6275740a");
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    assert_string_equal(nlx_warning(pair.nlx), "but?"); /* no line break into a log */
    answer_ack(&pair, 4, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    assert_string_equal(nlx_warning(pair.nlx), "");
    pair_close(&pair);
}

static void broken_acknowledgements_are_survived(void **state)
{
    (void)state;
    static const struct {
        uint16_t flags;
        const char *hex;
        enum err_code code;
    } cases[] = {
        {0, "", ERR_IO},
        {0, "00000000 1000", ERR_IO},
        /* claims words behind a request longer than the message */
        {NLM_F_ACK_TLVS, "eaffffff ffffffff 01000500 00000000 00000000", ERR_IO},
        {NLM_F_ACK_TLVS | NLM_F_CAPPED, "eaffffff 10000000 01000500 00000000 00000000 ffff0100",
         ERR_IO},
        {NLM_F_ACK_TLVS | NLM_F_CAPPED, "eaffffff 10000000 01000500 00000000 00000000 0300",
         ERR_IO},
        /* a positive errno is no success */
        {0, "05000000 10000000 01000500 00000000 00000000", ERR_IO},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pair pair;
        struct err err = ERR_INIT;
        pair_open(&pair);
        OWN(nl_msg) struct nl_msg *msg = request();
        answer(&pair, NLMSG_ERROR, cases[i].flags, 1, cases[i].hex);
        assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), cases[i].code);
        pair_close(&pair);
    }
}

static void a_reply_that_makes_no_sense_is_told_after_the_ack(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {.refuse = true};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer(&pair, TYPE_REPLY, 0, 1, "01000000");
    answer(&pair, TYPE_REPLY, 0, 1, "02000000");
    answer_ack(&pair, 1, 0);
    assert_fails(nlx_txn(pair.nlx, msg, take, &seen, &err), ERR_IO);
    assert_contains(err.text, "makes no sense");
    assert_int_equal(seen.count, 1);
    answer_ack(&pair, 2, 0); /* nothing of the first is left over */
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

static void silence_ends_with_the_deadline(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    int64_t begin = now_ms();
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    assert_in_range(now_ms() - begin, 150, 2000);
    /* the late answer is not taken for the next one's */
    answer_ack(&pair, 1, EIO);
    answer_ack(&pair, 2, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

/* Each answer is there before it is waited for: of other requests, or parts without an end. */
static void *talk_on(void *arg)
{
    const struct talker *talker = arg;
    struct nlmsghdr *msg = message(TYPE_REPLY, "01000000");
    msg->nlmsg_flags = NLM_F_MULTI;
    msg->nlmsg_seq = talker->seq;
    while (send(talker->kernel, msg, msg->nlmsg_len, MSG_NOSIGNAL) > 0)
        continue;
    free(msg);
    return NULL;
}

static void an_answer_without_an_end_ends_with_the_deadline(void **state)
{
    (void)state;
    for (uint32_t seq = 1; seq < 3; seq++) { /* its own, and another one's */
        struct pair pair;
        struct seen seen = {0};
        struct err err = ERR_INIT;
        pthread_t thread;
        pair_open(&pair);
        struct talker talker = {.kernel = pair.kernel, .seq = seq};
        OWN(nl_msg) struct nl_msg *msg = request();
        assert_int_equal(pthread_create(&thread, NULL, talk_on, &talker), 0);
        assert_fails(nlx_dump(pair.nlx, msg, take, restart, &seen, &err), ERR_UNAVAILABLE);
        assert_contains(err.text, "within 200 ms");
        struct nlx_item item = {.request = msg};
        assert_fails(nlx_batch(pair.nlx, &item, 1, &err), ERR_UNAVAILABLE);
        assert_contains(err.text, "within 200 ms");
        shutdown(pair.kernel, SHUT_RDWR);
        pthread_join(thread, NULL);
        pair_close(&pair);
    }
}

static void a_budget_ends_several_requests(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    pair_open(&pair);
    nlx_set_deadline(pair.nlx, 5000);
    nlx_set_budget(pair.nlx, 150);
    OWN(nl_msg) struct nl_msg *msg = request();
    int64_t begin = now_ms();
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    assert_in_range(now_ms() - begin, 100, 2000);
    nlx_set_budget(pair.nlx, 0);
    answer_ack(&pair, 3, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

/* Without time to send in nothing is sent, and the socket stays of use. */
static void no_time_left_sends_nothing(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    nlx_set_deadline(pair.nlx, 0);
    for (int i = 0; i < 100; i++)
        assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    nlx_set_deadline(pair.nlx, 5000);
    answer_ack(&pair, 101, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

/* sendmsg() itself does not come back, as with a driver that hangs: the buffer is full. */
static void a_send_that_hangs_costs_the_deadline_only(void **state)
{
    (void)state;
    int fds[2], size = 4096;
    struct nlx *nlx;
    struct err err = ERR_INIT;
    uint8_t filler[1024] = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    while (send(fds[0], filler, sizeof(filler), MSG_DONTWAIT) > 0)
        continue;
    assert_ok(nlx_attach(fds[0], &nlx, &err));
    nlx_set_deadline(nlx, 200);
    OWN(nl_msg) struct nl_msg *msg = request();
    int64_t begin = now_ms();
    assert_fails(nlx_txn(nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    assert_in_range(now_ms() - begin, 150, 2000);
    begin = now_ms();
    assert_fails(nlx_txn(nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE); /* at once */
    assert_contains(err.text, "still");
    assert_in_range(now_ms() - begin, 0, 150);
    /* It comes back: the socket is of use again. */
    struct nlmsghdr sent = {0};
    while (sent.nlmsg_type != 99)
        assert_true(recv(fds[1], &sent, sizeof(sent), 0) > 0);
    struct pair pair = {.nlx = nlx, .kernel = fds[1]};
    answer_ack(&pair, 3, 0);
    enum err_code code = ERR_UNAVAILABLE;
    for (uint32_t seq = 3; code != ERR_OK && seq < 203; seq++) {
        answer_ack(&pair, seq + 1, 0);
        code = nlx_txn(nlx, msg, NULL, NULL, &err);
        if (code != ERR_OK)
            usleep(20000); /* the sender's thread needs a processor to come back */
    }
    assert_int_equal(code, ERR_OK);
    pair_close(&pair);
}

static void a_stuck_socket_can_be_freed(void **state)
{
    (void)state;
    int fds[2], size = 4096;
    struct nlx *nlx;
    struct err err = ERR_INIT;
    uint8_t filler[1024] = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    while (send(fds[0], filler, sizeof(filler), MSG_DONTWAIT) > 0)
        continue;
    assert_ok(nlx_attach(fds[0], &nlx, &err));
    nlx_set_deadline(nlx, 50);
    OWN(nl_msg) struct nl_msg *msg = request();
    assert_fails(nlx_txn(nlx, msg, NULL, NULL, &err), ERR_UNAVAILABLE);
    nlx_free(nlx);
    close(fds[1]); /* the thread comes back and cleans up */
    usleep(100000);
}

/* Dumps --------------------------------------------------------------------------------------- */

static void a_dump_ends_with_done(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer(&pair, TYPE_REPLY, NLM_F_MULTI, 1, "01000000");
    answer(&pair, TYPE_REPLY, NLM_F_MULTI, 1, "02000000");
    answer(&pair, NLMSG_DONE, NLM_F_MULTI, 1, "00000000");
    assert_ok(nlx_dump(pair.nlx, msg, take, restart, &seen, &err));
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.restarts, 0);
    assert_true(nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP);
    pair_close(&pair);
}

static void an_interrupted_dump_starts_again(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer(&pair, TYPE_REPLY, NLM_F_MULTI | NLM_F_DUMP_INTR, 1, "01000000");
    answer(&pair, NLMSG_DONE, NLM_F_MULTI, 1, "00000000");
    answer(&pair, NLMSG_OVERRUN, 0, 2, "");
    answer(&pair, NLMSG_DONE, NLM_F_MULTI, 2, "00000000");
    answer(&pair, TYPE_REPLY, NLM_F_MULTI, 3, "07000000");
    answer(&pair, NLMSG_DONE, NLM_F_MULTI, 3, "00000000");
    assert_ok(nlx_dump(pair.nlx, msg, take, restart, &seen, &err));
    assert_int_equal(seen.restarts, 2);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last, 7);
    pair_close(&pair);
}

static void a_dump_that_never_holds_still_is_given_up(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    for (uint32_t seq = 1; seq <= NLX_DUMP_TRIES; seq++)
        answer(&pair, NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, seq, "00000000");
    assert_fails(nlx_dump(pair.nlx, msg, take, restart, &seen, &err), ERR_UNAVAILABLE);
    pair_close(&pair);
}

static void a_dump_may_end_with_an_error(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    answer(&pair, TYPE_REPLY, NLM_F_MULTI, 1, "01000000");
    answer(&pair, NLMSG_DONE, NLM_F_MULTI, 1, "a1ffffff"); /* -EOPNOTSUPP */
    assert_fails(nlx_dump(pair.nlx, msg, take, restart, &seen, &err), ERR_UNSUPPORTED);
    pair_close(&pair);
}

static void a_datagram_that_is_no_message_is_an_error(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    uint8_t bytes[64];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    size_t len = unhex("ff000000 6400 0000 01000000 00000000", bytes, sizeof(bytes));
    assert_int_equal(send(pair.kernel, bytes, len, 0), len); /* says 255 bytes, has 16 */
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_IO);
    pair_close(&pair);
}

static void a_closed_socket_is_an_error(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    close(pair.kernel);
    pair.kernel = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_fails(nlx_txn(pair.nlx, msg, NULL, NULL, &err), ERR_IO);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_and_its_ack_are_taken),
        cmocka_unit_test(foreign_sequence_numbers_are_ignored),
        cmocka_unit_test(several_messages_stand_in_one_datagram),
        cmocka_unit_test(refusals_become_codes),
        cmocka_unit_test(the_kernels_own_words_are_kept),
        cmocka_unit_test(broken_acknowledgements_are_survived),
        cmocka_unit_test(a_reply_that_makes_no_sense_is_told_after_the_ack),
        cmocka_unit_test(silence_ends_with_the_deadline),
        cmocka_unit_test(an_answer_without_an_end_ends_with_the_deadline),
        cmocka_unit_test(a_budget_ends_several_requests),
        cmocka_unit_test(no_time_left_sends_nothing),
        cmocka_unit_test(a_send_that_hangs_costs_the_deadline_only),
        cmocka_unit_test(a_stuck_socket_can_be_freed),
        cmocka_unit_test(a_dump_ends_with_done),
        cmocka_unit_test(an_interrupted_dump_starts_again),
        cmocka_unit_test(a_dump_that_never_holds_still_is_given_up),
        cmocka_unit_test(a_dump_may_end_with_an_error),
        cmocka_unit_test(a_datagram_that_is_no_message_is_an_error),
        cmocka_unit_test(a_closed_socket_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
