/*
 * tests/unit/datapath/test_solar_wire.c - packets and handshake: what is sealed opens again, and
 * nothing else does.
 */
#include "tests/unit/test.h"

#include "datapath/solar/hello.h"
#include "datapath/solar/wire.h"

static const struct wire_keys keys = {.header = "header key 16 b", .payload = "payload key 16b"};
static const struct wire_keys other = {.header = "another key 16b", .payload = "payload key 16b"};
static const unsigned char job_key[MAC_KEY_SIZE] = "the key of a job, 32 bytes long";

static uint8_t payload[2048];

struct datagram {
    uint8_t bytes[4096];
    size_t len;
};

static struct wire_packet write_packet(size_t payload_len)
{
    return (struct wire_packet){.type = WIRE_WRITE,
                                .flags = WIRE_F_LAST,
                                .path = 3,
                                .priority = 5,
                                .tensor = 2,
                                .attempt = 1,
                                .label = 0x12345678,
                                .qp = 77,
                                .id = 9,
                                .offset = WIRE_OFFSET_MAX,
                                .sent_ticks = WIRE_TICKS - 1,
                                .psn = (UINT64_C(7) << 32) + 5,
                                .payload = payload,
                                .payload_len = payload_len};
}

static struct datagram sealed(const struct wire_packet *packet)
{
    struct datagram d;
    uint8_t head[WIRE_HEAD_MAX];
    size_t head_len = wire_seal(&keys, packet, head);
    memcpy(d.bytes, head, head_len);
    if (packet->payload_len > 0)
        memcpy(d.bytes + head_len, packet->payload, packet->payload_len);
    d.len = head_len + packet->payload_len;
    return d;
}

static const struct wire_near near = {
    .data_psn = UINT64_C(7) << 32, .control_psn = 10, .acked_psn = 1000};

static enum err_code opens(const struct datagram *d, struct wire_packet *out, struct err *err)
{
    return wire_open(&keys, &near, d->bytes, d->len, out, err);
}

static void a_packet_opens_as_it_was_sealed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct wire_packet in = write_packet(1440), out;
    in.flags = WIRE_F_START | WIRE_F_IMMEDIATE | WIRE_F_LAST;
    in.start = (struct wire_start){WIRE_MESSAGE_MAX, 0xfeedface, WIRE_DEMAND_MAX, UINT8_MAX};
    struct datagram d = sealed(&in);
    assert_int_equal(d.len, WIRE_HEADER_SIZE + WIRE_START_SIZE + 1440);
    assert_ok(opens(&d, &out, &err));
    assert_ptr_equal(out.payload, d.bytes + WIRE_HEADER_SIZE + WIRE_START_SIZE);
    out.payload = payload;
    assert_memory_equal(&in, &out, sizeof(in));
}

static void an_absence_is_told_in_units(void **state)
{
    (void)state;
    assert_int_equal(wire_away(-1), 0);
    assert_int_equal(wire_away(WIRE_AWAY_NS - 1), 0);
    assert_int_equal(wire_away(7 * WIRE_AWAY_NS), 7);
    assert_int_equal(wire_away(INT64_MAX), UINT8_MAX);
}

static void an_acknowledgement_opens_as_it_was_sealed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct wire_packet in = {.type = WIRE_ACK, .qp = 1, .psn = 12}, out;
    in.ack = (struct wire_ack){.next_psn = 1001,
                               .sack_base = 1024,
                               .sack = UINT64_C(0x8000000000000001),
                               .echo_psn = 1087,
                               .echo_attempt = 7,
                               .echo_duplicate = true,
                               .echo_ticks = 0xabcdef,
                               .hold_ns = 1,
                               .queue_ns = 2,
                               .arrived = 3,
                               .marked = 4,
                               .credit_bytes = UINT64_MAX,
                               .weight_total = 5};
    struct datagram d = sealed(&in);
    assert_int_equal(d.len, WIRE_HEADER_SIZE + WIRE_ACK_SIZE);
    assert_ok(opens(&d, &out, &err));
    assert_memory_equal(&in.ack, &out.ack, sizeof(in.ack));
}

static void credit_alone_opens_as_it_was_sealed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct wire_packet in = {.type = WIRE_CREDIT, .qp = 1, .psn = 12}, out;
    in.ack = (struct wire_ack){.credit_bytes = UINT64_MAX - 1, .weight_total = 5};
    struct datagram d = sealed(&in);
    assert_int_equal(d.len, WIRE_HEADER_SIZE + WIRE_CREDIT_SIZE);
    assert_ok(opens(&d, &out, &err));
    assert_memory_equal(&in.ack, &out.ack, sizeof(in.ack));
}

static void a_full_packet_of_1514_bytes_carries_95_percent(void **state)
{
    (void)state;
    int payload_len = 1500 - 20 - 8 - WIRE_HEADER_SIZE; /* IPv4, UDP */
    assert_true(payload_len * 100 >= 1514 * 95);
}

static void each_changed_bit_is_refused(void **state)
{
    (void)state;
    struct wire_packet in = write_packet(WIRE_COVER_MAX), out;
    struct datagram d = sealed(&in);
    for (size_t bit = 0; bit < d.len * 8; bit++) {
        d.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (opens(&d, &out, NULL) == ERR_OK)
            fail_msg("bit %zu may be changed", bit);
        d.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    struct err err = ERR_INIT;
    d.len--;
    assert_fails(opens(&d, &out, &err), ERR_DENIED);
}

static void a_payload_over_the_limit_is_covered_only_on_request(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct wire_keys strict = keys;
    strict.cover = true;
    struct wire_packet in = write_packet(WIRE_COVER_MAX + 1), out;
    struct datagram d = sealed(&in);
    assert_fails(wire_open(&strict, &near, d.bytes, d.len, &out, &err), ERR_INVALID);
    assert_contains(err.text, "does not cover");
    d.bytes[d.len - 1] ^= 1;
    assert_ok(opens(&d, &out, &err));

    in.flags |= WIRE_F_COVER;
    d = sealed(&in);
    assert_ok(wire_open(&strict, &near, d.bytes, d.len, &out, &err));
    d.bytes[d.len - 1] ^= 1;
    assert_fails(opens(&d, &out, &err), ERR_DENIED);
}

static void another_connections_key_does_not_fit(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct wire_packet in = write_packet(64), out;
    struct datagram d = sealed(&in);
    assert_fails(wire_open(&other, &near, d.bytes, d.len, &out, &err), ERR_DENIED);
}

static void a_packet_of_the_last_turn_of_psn_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct wire_packet in = write_packet(64), out;
    in.psn -= UINT64_C(1) << 32;
    struct datagram d = sealed(&in);
    assert_fails(opens(&d, &out, &err), ERR_DENIED);
}

static void what_a_broken_peer_says_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const struct {
        size_t at;
        uint8_t value;
        enum err_code code;
        const char *text;
    } rows[] = {
        {0, 1 << 5 | WIRE_WRITE, ERR_INVALID, "version 1"},
        {0, WIRE_VERSION << 5, ERR_INVALID, "unknown type 0"},
        {0, WIRE_VERSION << 5 | 31, ERR_INVALID, "unknown type 31"},
        {0, WIRE_VERSION << 5 | WIRE_PROBE, ERR_DENIED, "tag"},
        {1, 0x80, ERR_DENIED, "tag"},
    };
    struct wire_packet in = write_packet(64), out;
    struct datagram good = sealed(&in);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct datagram d = good;
        d.bytes[rows[i].at] = rows[i].value;
        assert_fails(opens(&d, &out, &err), rows[i].code);
        assert_contains(err.text, rows[i].text);
    }
    good.len = WIRE_HEADER_SIZE - 1;
    assert_fails(opens(&good, &out, &err), ERR_INVALID);
    good.len = 0;
    assert_fails(opens(&good, &out, &err), ERR_INVALID);
    uint16_t qp;
    assert_fails(wire_peek(good.bytes, WIRE_PACKET_MAX + 1, &qp, &err), ERR_INVALID);
    assert_ok(wire_peek(good.bytes, WIRE_PACKET_MAX, &qp, &err));
    assert_int_equal(qp, 77);
}

static void psn_grows_over_the_turn_of_the_wire(void **state)
{
    (void)state;
    assert_true(wire_expand(5, 0) == 5);
    assert_true(wire_expand(0xfffffff0, 5) == 0xfffffff0); /* never negative */
    assert_true(wire_expand(2, 0xfffffffe) == UINT64_C(0x100000002));
    assert_true(wire_expand(0xfffffffe, UINT64_C(0x100000002)) == 0xfffffffe);
    assert_true(wire_expand(7, UINT64_C(9) << 32) == (UINT64_C(9) << 32) + 7);
}

static void ticks_measure_half_a_turn(void **state)
{
    (void)state;
    int64_t now_ns = INT64_C(123456789) * WIRE_TICK_NS;
    uint32_t sent = wire_ticks(now_ns);
    assert_int_equal(wire_ticks_since(sent, now_ns), 0);
    assert_int_equal(wire_ticks_since(sent, now_ns + 5 * WIRE_TICK_NS), 5 * WIRE_TICK_NS);
    int64_t half_ns = INT64_C(1) * WIRE_TICKS / 2 * WIRE_TICK_NS;
    assert_int_equal(wire_ticks_since(sent, now_ns + half_ns - WIRE_TICK_NS),
                     half_ns - WIRE_TICK_NS);
    assert_int_equal(wire_ticks_since(sent, now_ns + half_ns), 0);
    assert_int_equal(wire_ticks_since(sent, now_ns - WIRE_TICK_NS), 0);
}

static void the_window_passes_each_number_once(void **state)
{
    (void)state;
    struct wire_window w = {0};
    assert_true(wire_window_pass(&w, 0));
    assert_false(wire_window_pass(&w, 0));
    assert_true(wire_window_pass(&w, 63));
    assert_true(wire_window_pass(&w, 1));
    assert_false(wire_window_pass(&w, 63));
    assert_true(wire_window_pass(&w, 64 + 2000)); /* further than the window is wide */
    assert_false(wire_window_pass(&w, 64));
    assert_true(wire_window_pass(&w, 2064 - (WIRE_WINDOW_BITS - 65)));
    assert_false(wire_window_pass(&w, 2064 - WIRE_WINDOW_BITS));
    assert_true(wire_window_pass(&w, UINT64_MAX - 1));
    assert_false(wire_window_pass(&w, UINT64_MAX));
    assert_false(wire_window_pass(&w, 2065));
}

static void the_window_agrees_with_a_plain_list(void **state)
{
    (void)state;
    enum { N = 6000 };
    static bool seen[N];
    struct wire_window w = {0};
    uint64_t x = 1, highest = 0;
    for (int i = 0; i < 20000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t number = (uint64_t)i * N / 20000 * 9 / 10 + (x >> 33) % 500;
        if (number >= N || number + WIRE_WINDOW_BITS - 64 <= highest)
            continue;
        assert_int_equal(wire_window_pass(&w, number), !seen[number]);
        seen[number] = true;
        highest = number > highest ? number : highest;
    }
}

static struct hello ask(void)
{
    return (struct hello){.type = HELLO_ASK,
                          .paths = HELLO_PATHS_MAX,
                          .label = 42,
                          .qp_from = 7,
                          .payload_max = HELLO_PAYLOAD_MIN,
                          .epoch = 3,
                          .nonce_initiator = "nonce of asker.",
                          .credit_bytes = 65536};
}

static struct hello answer_to(const struct hello *h)
{
    struct hello a = *h;
    a.type = (enum hello_type)(h->type + 1);
    a.qp_to = h->qp_from;
    a.qp_from = h->type == HELLO_ASK ? 8 : h->qp_to;
    memcpy(a.nonce_responder, "nonce of other.", HELLO_NONCE_SIZE);
    return a;
}

static void a_handshake_gives_both_sides_the_same_keys(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct hello a = ask(), at_b, at_a;
    uint8_t bytes[HELLO_SIZE];
    hello_seal(job_key, &a, bytes);
    assert_ok(hello_open(job_key, bytes, sizeof(bytes), &at_b, &err));
    assert_memory_equal(&a, &at_b, sizeof(a));
    struct hello w = answer_to(&at_b);
    hello_seal(job_key, &w, bytes);
    assert_ok(hello_open(job_key, bytes, sizeof(bytes), &at_a, &err));
    assert_true(hello_answers(&at_a, &a));
    struct hello r = answer_to(&at_a);
    assert_true(hello_answers(&r, &w));

    struct wire_keys of_a, of_b, back;
    hello_keys(job_key, &at_a, true, &of_a);
    hello_keys(job_key, &r, true, &of_b);
    hello_keys(job_key, &r, false, &back);
    assert_memory_equal(&of_a, &of_b, sizeof(of_a));
    assert_memory_not_equal(of_a.header, back.header, SIP_KEY_SIZE);
    assert_memory_not_equal(of_a.header, of_a.payload, SIP_KEY_SIZE);
    w.nonce_responder[0] ^= 1;
    hello_keys(job_key, &w, true, &of_b);
    assert_memory_not_equal(of_a.header, of_b.header, SIP_KEY_SIZE);
}

static void a_recorded_answer_is_none(void **state)
{
    (void)state;
    struct hello a = ask(), w = answer_to(&a), r = answer_to(&w);
    struct hello fresh = a, fresh_w = w;
    fresh.nonce_initiator[0] ^= 1;
    fresh_w.nonce_responder[0] ^= 1;
    assert_true(hello_answers(&w, &a));
    assert_false(hello_answers(&w, &fresh));
    assert_false(hello_answers(&r, &fresh_w));
    assert_false(hello_answers(&r, &a));
    w.qp_to++;
    assert_false(hello_answers(&w, &a));
    w = answer_to(&a);
    w.epoch++;
    assert_false(hello_answers(&w, &a));
}

static void a_handshake_without_the_key_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct hello a = ask(), out;
    uint8_t bytes[HELLO_SIZE];
    hello_seal(job_key, &a, bytes);
    for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (hello_open(job_key, bytes, sizeof(bytes), &out, NULL) == ERR_OK)
            fail_msg("bit %zu may be changed", bit);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    bytes[0] = (uint8_t)(1 << 5 | HELLO_ASK);
    assert_fails(hello_open(job_key, bytes, sizeof(bytes), &out, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "version 1");
    assert_fails(hello_open(job_key, bytes, sizeof(bytes) - 1, &out, &err), ERR_INVALID);
}

static void another_version_is_refused_by_name(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct hello a = ask(), out;
    uint8_t asked[HELLO_SIZE], refusal[HELLO_SIZE];
    int version = -1;
    hello_seal(job_key, &a, asked);
    assert_false(hello_refuse(asked, sizeof(asked), refusal)); /* it is of ours */
    for (int type = 0; type < 32; type++) {
        asked[0] = (uint8_t)(1 << 5 | type);
        assert_int_equal(hello_refuse(asked, sizeof(asked), refusal), type == HELLO_ASK);
        assert_false(hello_refuse(asked, sizeof(asked) - 1, refusal));
    }
    assert_true(hello_is(refusal, sizeof(refusal)));
    assert_false(hello_refuse(refusal, sizeof(refusal), asked)); /* no refusal of a refusal */
    assert_fails(hello_open(job_key, refusal, sizeof(refusal), &out, &err), ERR_INVALID);
    assert_false(hello_is_refused(refusal, sizeof(refusal), a.nonce_initiator, &version));
    refusal[0] = 7 << 5 | HELLO_REFUSE; /* as one of version 7 makes it */
    assert_false(hello_is_refused(refusal, sizeof(refusal) - 1, a.nonce_initiator, &version));
    assert_true(hello_is_refused(refusal, sizeof(refusal), a.nonce_initiator, &version));
    assert_int_equal(version, 7);
    assert_fails(hello_open(job_key, refusal, sizeof(refusal), &out, &err), ERR_UNSUPPORTED);
    a.nonce_initiator[15] ^= 1;
    assert_false(hello_is_refused(refusal, sizeof(refusal), a.nonce_initiator, &version));
}

/* Seals bytes that hello_seal() would refuse to make. */
static enum err_code open_with(size_t at, uint8_t value, struct err *err)
{
    struct hello a = ask(), out;
    uint8_t bytes[HELLO_SIZE];
    hello_seal(job_key, &a, bytes);
    bytes[at] = value;
    mac_sha256(job_key, bytes, HELLO_SIZE - MAC_SIZE, bytes + HELLO_SIZE - MAC_SIZE);
    return hello_open(job_key, bytes, sizeof(bytes), &out, err);
}

static void a_handshake_out_of_range_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(open_with(2, 1, &err));
    assert_fails(open_with(1, 2, &err), ERR_INVALID);
    assert_fails(open_with(2, 0, &err), ERR_INVALID);
    assert_fails(open_with(2, HELLO_PATHS_MAX + 1, &err), ERR_INVALID);
    assert_fails(open_with(3, 1, &err), ERR_INVALID);
    assert_fails(open_with(12, HELLO_PAYLOAD_MIN / 256 - 1, &err), ERR_INVALID);
    assert_fails(open_with(12, HELLO_PAYLOAD_MAX / 256 + 1, &err), ERR_INVALID);
    assert_fails(open_with(40, 1, &err), ERR_INVALID); /* a HELLO with two nonces */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_opens_as_it_was_sealed),
        cmocka_unit_test(an_absence_is_told_in_units),
        cmocka_unit_test(an_acknowledgement_opens_as_it_was_sealed),
        cmocka_unit_test(credit_alone_opens_as_it_was_sealed),
        cmocka_unit_test(a_full_packet_of_1514_bytes_carries_95_percent),
        cmocka_unit_test(each_changed_bit_is_refused),
        cmocka_unit_test(a_payload_over_the_limit_is_covered_only_on_request),
        cmocka_unit_test(another_connections_key_does_not_fit),
        cmocka_unit_test(a_packet_of_the_last_turn_of_psn_is_refused),
        cmocka_unit_test(what_a_broken_peer_says_is_refused),
        cmocka_unit_test(psn_grows_over_the_turn_of_the_wire),
        cmocka_unit_test(ticks_measure_half_a_turn),
        cmocka_unit_test(the_window_passes_each_number_once),
        cmocka_unit_test(the_window_agrees_with_a_plain_list),
        cmocka_unit_test(a_handshake_gives_both_sides_the_same_keys),
        cmocka_unit_test(a_recorded_answer_is_none),
        cmocka_unit_test(a_handshake_without_the_key_is_refused),
        cmocka_unit_test(another_version_is_refused_by_name),
        cmocka_unit_test(a_handshake_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
