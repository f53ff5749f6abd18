/*
 * tests/unit/agent/test_peers.c - agent/peers: what is concluded from who answered before a plan
 * and after it, and whom the simulator's peers leave without an answer.
 */
#include "tests/unit/agent/agent_test.h"

#include "agent/peers.h"

static const struct peer_list two_ports = {
    .items = {{"sim.0/0", "n2", "10.1.0.2"},
              {"sim.0/0", "n3", "10.1.0.3"},
              {"sim.1/0", "n2", "10.1.1.2"}},
    .count = 3,
};

static struct peers_heard heard(enum peers_port a, enum peers_port b)
{
    struct peers_heard out = {.ports = {a, a, b}};
    out.answered[0] = a == PEERS_ANSWERED;
    out.answered[2] = b == PEERS_ANSWERED;
    if (a != PEERS_ANSWERED || b != PEERS_ANSWERED)
        snprintf(out.why, sizeof(out.why), "n9 is silent");
    return out;
}

#define U PEERS_UNASKED
#define S PEERS_SILENT
#define A PEERS_ANSWERED

static void only_who_answered_before_can_fail(void **state)
{
    (void)state;
    static const struct {
        enum peers_port before[2], after[2];
        bool ok, not_possible;
    } rows[] = {
        {{A, A}, {A, A}, true, false},  {{A, A}, {A, S}, false, false},
        {{A, A}, {S, S}, false, false}, {{A, S}, {A, S}, true, false},
        {{S, S}, {A, S}, true, false},  {{S, S}, {S, S}, false, true},
        {{U, U}, {U, U}, false, true},  {{U, U}, {S, S}, false, true},
        {{A, A}, {U, U}, false, true}, /* there was no time to ask */
        {{A, S}, {A, U}, true, false},  {{U, A}, {A, S}, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct peers_heard before = heard(rows[i].before[0], rows[i].before[1]);
        struct peers_heard after = heard(rows[i].after[0], rows[i].after[1]);
        struct receipt_probe probe = {.detail = ""};
        peers_judge(&two_ports, &before, &after, &probe);
        assert_int_equal(probe.ok, rows[i].ok);
        assert_int_equal(probe.not_possible, rows[i].not_possible);
        assert_true(probe.detail[0] != '\0');
    }
}

static void nobody_to_ask_is_not_possible(void **state)
{
    (void)state;
    static const struct peer_list none = {.count = 0};
    const struct peers_heard nothing = {.why = ""};
    struct receipt_probe probe = {.ok = true};
    peers_judge(&none, &nothing, &nothing, &probe);
    assert_true(!probe.ok && probe.not_possible);
    assert_contains(probe.detail, "names no peer");
}

static void a_port_is_silent_when_none_of_its_peers_answers(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = make_sim();
    struct peer_list peers = two_ports;
    struct peers_heard out;
    snprintf(peers.items[0].address, sizeof(peers.items[0].address), DP_SIM_SILENT_PEER);
    snprintf(peers.items[2].address, sizeof(peers.items[2].address), DP_SIM_SILENT_PEER);
    peers_ask(dp, &peers, &out);
    assert_int_equal(out.ports[0], PEERS_ANSWERED);
    assert_true(!out.answered[0] && out.answered[1] && !out.answered[2]);
    assert_int_equal(out.ports[2], PEERS_SILENT);
    assert_contains(out.why, "n2 (" DP_SIM_SILENT_PEER ") through sim.0/0: no answer");
}

static void a_port_that_is_not_there_was_not_asked(void **state)
{
    (void)state;
    OWN(dp) struct dp *dp = make_sim();
    const struct peer_list peers = {.items = {{"sim.77/0", "n2", "10.1.0.2"}}, .count = 1};
    struct peers_heard out;
    peers_ask(dp, &peers, &out);
    assert_int_equal(out.ports[0], PEERS_UNASKED);
    assert_contains(out.why, "there is no port sim.77/0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_who_answered_before_can_fail),
        cmocka_unit_test(nobody_to_ask_is_not_possible),
        cmocka_unit_test(a_port_is_silent_when_none_of_its_peers_answers),
        cmocka_unit_test(a_port_that_is_not_there_was_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
