/*
 * tests/unit/datapath/test_nlx_batch.c - nlx_batch: several requests in one call, against a socket
 * pair whose other end plays the kernel.
 */
#include "tests/unit/datapath/nlx_pair.h"

#include <errno.h>

static void a_batch_is_sent_in_one_datagram(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *first = nlx_msg_new(98, 0, "\1\2\3\4\5", 5, 64);
    OWN(nl_msg) struct nl_msg *second = request();
    assert_non_null(first);
    nlmsg_hdr(first)->nlmsg_len = 21; /* not a multiple of four */
    struct nlx_item items[] = {{.request = first, .on_reply = take, .arg = &seen},
                               {.request = second}};
    answer(&pair, TYPE_REPLY, 0, 1, "2a000000");
    answer_ack(&pair, 1, 0);
    answer_ack(&pair, 2, 0);
    assert_ok(nlx_batch(pair.nlx, items, 2, &err));
    assert_int_equal(items[0].code, ERR_OK);
    assert_int_equal(items[1].code, ERR_OK);
    assert_int_equal(seen.last, 0x2a);
    uint8_t sent[128];
    assert_int_equal(recv(pair.kernel, sent, sizeof(sent), 0), 24 + 20);
    const uint8_t want[] = {21, 0, 0,  0, 98, 0, 5,  0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 0,
                            0,  0, 20, 0, 0,  0, 99, 0, 5, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
    assert_memory_equal(sent, want, sizeof(want));
    answer_ack(&pair, 3, 0); /* nothing is left over */
    assert_ok(nlx_txn(pair.nlx, first, NULL, NULL, &err));
    pair_close(&pair);
}

static void batch_of(struct nlx_item *items, struct nl_msg *msg, size_t count)
{
    for (size_t i = 0; i < count; i++)
        items[i] = (struct nlx_item){.request = msg};
}

static void a_refusal_in_the_middle_of_a_batch_is_named_and_the_rest_is_known(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    struct nlx_item items[4];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    batch_of(items, msg, 4);
    answer_ack(&pair, 1, 0);
    answer(&pair, NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 2,
           "e4ffffff 10000000 01000500 00000000 00000000 0e000100 5443414d 2066756c 6c000000");
    answer_ack(&pair, 3, 0);
    answer_ack(&pair, 4, EEXIST);
    assert_fails(nlx_batch(pair.nlx, items, 4, &err), ERR_LIMIT);
    assert_contains(err.text, "request 2 of 4");
    assert_contains(err.text, "TCAM full");
    assert_int_equal(items[0].code, ERR_OK);
    assert_int_equal(items[1].code, ERR_LIMIT);
    assert_int_equal(items[1].err.sys_errno, ENOSPC);
    assert_int_equal(items[2].code, ERR_OK);
    assert_int_equal(items[3].code, ERR_CONFLICT);
    pair_close(&pair);
}

static void a_lost_ack_leaves_only_its_request_unknown(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    struct nlx_item items[3];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    batch_of(items, msg, 3);
    answer_ack(&pair, 1, 0);
    answer_ack(&pair, 3, 0);
    int64_t begin = now_ms();
    assert_fails(nlx_batch(pair.nlx, items, 3, &err), ERR_UNAVAILABLE);
    assert_in_range(now_ms() - begin, 150, 2000);
    assert_contains(err.text, "request 2 of 3");
    assert_int_equal(items[0].code, ERR_OK);
    assert_int_equal(items[1].code, ERR_UNAVAILABLE);
    assert_int_equal(items[2].code, ERR_OK);
    /* the late answer is not taken for another's */
    answer_ack(&pair, 2, EIO);
    batch_of(items, msg, 1);
    answer_ack(&pair, 4, 0);
    assert_ok(nlx_batch(pair.nlx, items, 1, &err));
    pair_close(&pair);
}

static void foreign_and_repeated_numbers_do_not_count_in_a_batch(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {0};
    struct err err = ERR_INIT;
    struct nlx_item items[2];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    batch_of(items, msg, 2);
    items[1].on_reply = take;
    items[1].arg = &seen;
    answer(&pair, TYPE_REPLY, 0, 0, "01000000");
    answer_ack(&pair, 0, EPERM);
    answer_ack(&pair, 3, EIO);
    answer_ack(&pair, 1, 0);
    answer_ack(&pair, 1, EIO); /* it has been answered */
    answer(&pair, TYPE_REPLY, 0, 1, "03000000");
    answer(&pair, TYPE_REPLY, 0, 2, "02000000");
    answer_ack(&pair, 2, 0);
    assert_ok(nlx_batch(pair.nlx, items, 2, &err));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last, 2);
    pair_close(&pair);
}

static void the_acks_of_a_batch_come_in_any_order(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    struct nlx_item items[NLX_BATCH_MAX];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    batch_of(items, msg, NLX_BATCH_MAX);
    for (uint32_t i = NLX_BATCH_MAX; i > 0; i--)
        answer_ack(&pair, i, 0);
    assert_ok(nlx_batch(pair.nlx, items, NLX_BATCH_MAX, &err));
    pair_close(&pair);
}

static void a_broken_ack_or_reply_in_a_batch_is_that_requests(void **state)
{
    (void)state;
    struct pair pair;
    struct seen seen = {.refuse = true};
    struct err err = ERR_INIT;
    struct nlx_item items[3];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    batch_of(items, msg, 3);
    items[1].on_reply = take;
    items[1].arg = &seen;
    answer(&pair, NLMSG_ERROR, 0, 1, "00000000 1000");
    answer(&pair, TYPE_REPLY, 0, 2, "01000000");
    answer_ack(&pair, 2, 0);
    answer_ack(&pair, 3, 0);
    assert_fails(nlx_batch(pair.nlx, items, 3, &err), ERR_IO);
    assert_int_equal(items[0].code, ERR_IO);
    assert_contains(items[0].err.text, "cut short");
    assert_int_equal(items[1].code, ERR_IO);
    assert_contains(items[1].err.text, "makes no sense");
    assert_int_equal(items[2].code, ERR_OK);
    pair_close(&pair);
}

static void a_batch_without_time_leaves_all_unknown_and_the_socket_of_use(void **state)
{
    (void)state;
    struct pair pair;
    struct err err = ERR_INIT;
    struct nlx_item items[2];
    pair_open(&pair);
    OWN(nl_msg) struct nl_msg *msg = request();
    batch_of(items, msg, 2);
    nlx_set_deadline(pair.nlx, 0);
    assert_fails(nlx_batch(pair.nlx, items, 2, &err), ERR_UNAVAILABLE);
    assert_int_equal(items[0].code, ERR_UNAVAILABLE);
    assert_int_equal(items[1].code, ERR_UNAVAILABLE);
    nlx_set_deadline(pair.nlx, 5000);
    answer_ack(&pair, 3, 0);
    assert_ok(nlx_txn(pair.nlx, msg, NULL, NULL, &err));
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_sent_in_one_datagram),
        cmocka_unit_test(a_refusal_in_the_middle_of_a_batch_is_named_and_the_rest_is_known),
        cmocka_unit_test(a_lost_ack_leaves_only_its_request_unknown),
        cmocka_unit_test(foreign_and_repeated_numbers_do_not_count_in_a_batch),
        cmocka_unit_test(the_acks_of_a_batch_come_in_any_order),
        cmocka_unit_test(a_broken_ack_or_reply_in_a_batch_is_that_requests),
        cmocka_unit_test(a_batch_without_time_leaves_all_unknown_and_the_socket_of_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
