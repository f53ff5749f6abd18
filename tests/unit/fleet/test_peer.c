/*
 * tests/unit/fleet/test_peer.c - fleet/peer: whom a node asks, and the list as JSON.
 */
#include "fleet_test.h"

#include "fleet/peer.h"
#include "fleet/plan.h"

/* A node with one port; its RoCE address and the switch that it sees. */
static void add(struct fleet *fleet, const char *name, const char *gid, const char *more)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{'version':1,'ports':[{'id':'solar_rdma.0/0','ifname':'solar0',"
             "'rdma_device':'rxe0'%s}],'rdma_devices':[{'name':'rxe0','ports':[{'port':1,'gids':["
             "{'index':0,'gid':'fe80::1','type':'rocev2','netdev':'solar0'},"
             "{'index':1,'gid':'%s','type':'rocev2','netdev':'solar0'}]}]}]}",
             more, gid);
    fleet_node(fleet, name, text);
}

static void choose(const struct fleet *fleet, size_t node, const char *wanted)
{
    struct peer_list peers;
    char text[512] = "";
    peers_choose(&fleet->view, &fleet->nodes[node], &peers);
    for (size_t i = 0; i < peers.count; i++) {
        size_t at = strlen(text);
        assert_string_equal(peers.items[i].port, "solar_rdma.0/0");
        snprintf(text + at, sizeof(text) - at, "%s=%s ", peers.items[i].node,
                 peers.items[i].address);
    }
    assert_string_equal(text, wanted);
}

static void the_next_nodes_in_the_ring_are_asked(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    add(&fleet, "n1", "::ffff:10.1.0.1", "");
    add(&fleet, "n2", "0000:0000:0000:0000:0000:ffff:0a01:0002", "");
    add(&fleet, "n3", "::ffff:10.1.0.3", "");
    fleet_node(&fleet, "n4", NULL);
    choose(&fleet, 0, "n2=10.1.0.2 n3=10.1.0.3 ");
    choose(&fleet, 1, "n3=10.1.0.3 n1=10.1.0.1 ");
    choose(&fleet, 2, "n1=10.1.0.1 n2=10.1.0.2 ");
    choose(&fleet, 3, "");
    fleet_release(&fleet);
}

static void without_an_address_that_reaches_there_is_no_peer(void **unused)
{
    (void)unused;
    struct fleet fleet;
    fleet_init(&fleet);
    add(&fleet, "n1", "::ffff:10.1.0.1", "");
    add(&fleet, "n2", "fe80::2", "");
    add(&fleet, "n3", "no address", "");
    add(&fleet, "n4", "2001:db8::4", "");
    add(&fleet, "n5", "::ffff:10.1.0.1", ""); /* this node's own */
    add(&fleet, "n6", "::ffff:10.1.0.6", ",'link':{'state':'down'}");
    choose(&fleet, 0, "");
    choose(&fleet, 1, "");
    fleet_release(&fleet);
    fleet_init(&fleet);
    add(&fleet, "n1", "2001:db8::1", "");
    add(&fleet, "n2", "2001:db8::2", "");
    choose(&fleet, 0, "n2=2001:db8::2 ");
    fleet_release(&fleet);
}

static void a_rail_is_a_switch_or_a_place_in_the_host(void **unused)
{
    (void)unused;
    static const struct {
        const char *id, *at, *other_id, *other_at;
        bool same;
    } rows[] = {
        {"a/0", "", "a/0", "", true},           {"a/0", "", "b/0", "", false},
        {"a/0", "leaf1", "b/0", "leaf1", true}, {"a/0", "leaf1", "a/0", "leaf2", false},
        {"a/0", "leaf1", "a/0", "", true},      {"a/0", "", "b/0", "leaf1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct port a = {.ifname = ""}, b = {.ifname = ""};
        snprintf(a.id, sizeof(a.id), "%s", rows[i].id);
        snprintf(b.id, sizeof(b.id), "%s", rows[i].other_id);
        snprintf(a.switch_name, sizeof(a.switch_name), "%s", rows[i].at);
        snprintf(b.switch_name, sizeof(b.switch_name), "%s", rows[i].other_at);
        assert_int_equal(peer_is_on_rail(&a, &b), rows[i].same);
    }
}

static void a_large_fleet_gives_two_peers_a_port(void **unused)
{
    (void)unused;
    static struct fleet fleet;
    static char names[FLEET_MAX][8];
    struct peer_list peers;
    fleet_init(&fleet);
    for (int i = 0; i < FLEET_MAX; i++) {
        char gid[32];
        snprintf(names[i], sizeof(names[i]), "n%03d", i);
        snprintf(gid, sizeof(gid), "::ffff:10.1.0.%d", i + 1);
        add(&fleet, names[i], gid, "");
    }
    peers_choose(&fleet.view, &fleet.nodes[FLEET_MAX - 1], &peers);
    assert_int_equal(peers.count, PEERS_A_PORT_MAX);
    assert_string_equal(peers.items[0].node, "n000");
    fleet_release(&fleet);
}

static void who_is_too_far_in_the_ring_is_not_looked_at(void **unused)
{
    (void)unused;
    for (int far = PEERS_LOOK_MAX; far <= PEERS_LOOK_MAX + 1; far++) {
        static struct fleet fleet;
        static char names[FLEET_MAX][8];
        fleet_init(&fleet);
        for (int i = 0; i <= far; i++) {
            snprintf(names[i], sizeof(names[i]), "n%03d", i);
            if (i == 0 || i == far)
                add(&fleet, names[i], i == 0 ? "::ffff:10.1.0.1" : "::ffff:10.1.0.2", "");
            else
                fleet_node(&fleet, names[i], NULL);
        }
        choose(&fleet, 0, far == PEERS_LOOK_MAX ? "n064=10.1.0.2 " : "");
        fleet_release(&fleet);
    }
}

static void a_plan_with_peers_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN(plan) struct plan *again = NULL;
    assert_ok(plan_new("n1", 1, &plan, &err));
    assert_ok(plan_seal(plan, &err));
    char digest[DIGEST_TEXT_MAX];
    memcpy(digest, plan->digest, sizeof(digest));
    for (int i = 0; i < PEERS_MAX; i++)
        plan->peers.items[plan->peers.count++] = (struct peer){"a/0", "n2", "10.1.0.2"};
    OWN(json) json_t *document = plan_to_json(plan);
    assert_ok(plan_from_json(document, &again, &err));
    assert_int_equal(again->peers.count, PEERS_MAX);
    assert_string_equal(again->peers.items[PEERS_MAX - 1].address, "10.1.0.2");
    assert_string_equal(again->digest, digest); /* other peers make no other plan */
    json_t *peers = json_object_get(document, "peers");
    json_array_append(peers, json_array_get(peers, 0));
    plan_free(GIVE(again));
    assert_fails(plan_from_json(document, &again, &err), ERR_INVALID);
}

static void what_is_no_peer_is_refused(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {
        "{'port':'a/0','node':'n2','address':'10.1.0'}",
        "{'port':'a/0','node':'n2','address':'10.1.0.2:1'}",
        "{'port':'a/0','node':'n2','address':''}",
        "{'port':'','node':'n2','address':'10.1.0.2'}",
        "{'port':'a/0','node':'../x','address':'10.1.0.2'}",
        "{'port':'a/0','node':'n2','address':'10.1.0.2','more':1}",
        "{'port':'a/0','node':'n2'}",
        "'10.1.0.2'",
    };
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    assert_ok(plan_new("n1", 1, &plan, &err));
    assert_ok(plan_seal(plan, &err));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        OWN(plan) struct plan *again = NULL;
        OWN(json) json_t *document = plan_to_json(plan);
        json_t *peers = json_array();
        json_array_append_new(peers, json_of(wrong[i]));
        json_object_set_new(document, "peers", peers);
        assert_fails(plan_from_json(document, &again, &err), ERR_INVALID);
        assert_contains(err.pointer, "/peers/0");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_nodes_in_the_ring_are_asked),
        cmocka_unit_test(without_an_address_that_reaches_there_is_no_peer),
        cmocka_unit_test(a_rail_is_a_switch_or_a_place_in_the_host),
        cmocka_unit_test(a_large_fleet_gives_two_peers_a_port),
        cmocka_unit_test(who_is_too_far_in_the_ring_is_not_looked_at),
        cmocka_unit_test(a_plan_with_peers_survives_json),
        cmocka_unit_test(what_is_no_peer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
