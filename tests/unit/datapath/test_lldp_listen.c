/*
 * tests/unit/datapath/test_lldp_listen.c - datapath/lldp_listen: who stands at the other end, and
 * for how long. The wire is a socket pair, time is turned by hand.
 */
#include "tests/unit/fleet/lldp_test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "datapath/lldp_listen.h"

#define PORT 7

struct wire {
    struct lldp_listen *listen;
    struct clock_fake clock;
    int peer;
};

static void wire_open(struct wire *wire)
{
    struct err err = ERR_INIT;
    int fds[2];
    clock_fake_init(&wire->clock, 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
    wire->peer = fds[1];
    assert_ok(lldp_listen_attach(fds[0], PORT, &wire->clock.base, &wire->listen, &err));
}

static void wire_close(struct wire *wire)
{
    lldp_listen_close(wire->listen);
    close(wire->peer);
}

/* A neighbour speaks; whether that is news. */
static bool speak(struct wire *wire, const char *port, const char *system, unsigned ttl_s)
{
    struct unit unit = {.len = 0};
    unit_text(&unit, 1, 7, "chassis");
    unit_text(&unit, 2, 5, port);
    unit_ttl(&unit, ttl_s);
    unit_text(&unit, 5, -1, system);
    assert_int_equal(send(wire->peer, unit.data, unit.len, 0), unit.len);
    return lldp_listen_drain(wire->listen);
}

static void assert_neighbour(const struct wire *wire, const char *port, const char *system)
{
    const struct lldp_neighbour *is = lldp_listen_get(wire->listen, PORT);
    assert_non_null(is);
    assert_string_equal(is->port, port);
    assert_string_equal(is->system, system);
}

static void a_neighbour_is_news_once(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire);
    assert_null(lldp_listen_get(wire.listen, PORT));
    assert_false(lldp_listen_drain(wire.listen));
    assert_true(speak(&wire, "swp1", "leaf1", 120));
    assert_neighbour(&wire, "swp1", "leaf1");
    assert_null(lldp_listen_get(wire.listen, PORT + 1));
    assert_false(speak(&wire, "swp1", "leaf1", 120));
    assert_true(speak(&wire, "swp1", "leaf2", 120)); /* it was renamed */
    assert_neighbour(&wire, "swp1", "leaf2");
    wire_close(&wire);
}

static void a_silent_neighbour_is_gone_after_its_time(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire);
    assert_true(speak(&wire, "swp1", "leaf1", 120));
    clock_fake_advance(&wire.clock, 100 * INT64_C(1000000000));
    assert_false(speak(&wire, "swp1", "leaf1", 120)); /* and goes on for 120 s */
    clock_fake_advance(&wire.clock, 120 * INT64_C(1000000000) - 1);
    assert_neighbour(&wire, "swp1", "leaf1");
    clock_fake_advance(&wire.clock, 1);
    assert_null(lldp_listen_get(wire.listen, PORT));
    assert_true(speak(&wire, "swp1", "leaf1", 120)); /* it is back */
    wire_close(&wire);
}

static void a_good_bye_is_the_end(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire);
    assert_false(speak(&wire, "swp1", "leaf1", 0)); /* of nobody */
    assert_true(speak(&wire, "swp1", "leaf1", 120));
    assert_true(speak(&wire, "swp1", "leaf1", 0));
    assert_null(lldp_listen_get(wire.listen, PORT));
    wire_close(&wire);
}

/* On a shared cable two speak: what is told does not change with each of them. */
static void a_second_speaker_waits_until_the_first_is_silent(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire);
    assert_true(speak(&wire, "swp1", "leaf1", 120));
    assert_false(speak(&wire, "swp2", "leaf2", 120));
    assert_false(speak(&wire, "swp2", "leaf2", 0)); /* and says good bye for itself alone */
    assert_neighbour(&wire, "swp1", "leaf1");
    clock_fake_advance(&wire.clock, 120 * INT64_C(1000000000));
    assert_true(speak(&wire, "swp2", "leaf2", 120));
    assert_neighbour(&wire, "swp2", "leaf2");
    wire_close(&wire);
}

static void what_makes_no_sense_changes_nothing(void **state)
{
    (void)state;
    struct wire wire;
    static const uint8_t noise[LLDP_BYTES_MAX + 100] = {0x02, 0x07, 0x04};
    wire_open(&wire);
    assert_true(speak(&wire, "swp1", "leaf1", 120));
    for (size_t len = 0; len <= sizeof(noise); len += 100)
        assert_int_equal(send(wire.peer, noise, len, 0), len);
    assert_false(lldp_listen_drain(wire.listen));
    assert_neighbour(&wire, "swp1", "leaf1");
    wire_close(&wire);
}

static void one_drain_reads_so_many_and_no_more(void **state)
{
    (void)state;
    struct wire wire;
    int size = 4 * 1024 * 1024;
    wire_open(&wire);
    setsockopt(wire.peer, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
    int sent = 0;
    while (sent <= LLDP_DRAIN_MAX && send(wire.peer, "x", 1, MSG_DONTWAIT) == 1)
        sent++;
    if (sent <= LLDP_DRAIN_MAX) {
        print_message("skipped: this kernel queues %d datagrams (net.unix.max_dgram_qlen)\n", sent);
        wire_close(&wire);
        skip();
    }
    assert_false(lldp_listen_drain(wire.listen));
    uint8_t left;
    assert_int_equal(recv(lldp_listen_fd(wire.listen), &left, 1, MSG_DONTWAIT), 1);
    wire_close(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_neighbour_is_news_once),
        cmocka_unit_test(a_silent_neighbour_is_gone_after_its_time),
        cmocka_unit_test(a_good_bye_is_the_end),
        cmocka_unit_test(a_second_speaker_waits_until_the_first_is_silent),
        cmocka_unit_test(what_makes_no_sense_changes_nothing),
        cmocka_unit_test(one_drain_reads_so_many_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
