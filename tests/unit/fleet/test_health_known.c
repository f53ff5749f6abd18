/*
 * tests/unit/fleet/test_health_known.c - what the server knows of a node, as facts of its health.
 */
#include "tests/unit/fleet/fleet_test.h"

#include "fleet/health_known.h"

struct site {
    struct health_book *book;
    struct health *health;
    struct fabric *fabric;
    struct health_peers *peers;
    bool moved;
};

static void site_init(struct site *site)
{
    struct err err = ERR_INIT;
    memset(site, 0, sizeof(*site));
    assert_ok(health_book_new(&site->book, &err));
    assert_ok(health_new(site->book, &site->health, &err));
    assert_ok(health_peers_new(&site->peers, &err));
}

static void site_release(struct site *site)
{
    health_free(site->health);
    health_book_free(site->book);
    fabric_free(site->fabric);
    health_peers_free(site->peers);
}

#define PORT "solar_rdma.0/0"

/* more: members of the port, each with a comma before it. */
static void know(struct site *site, const char *more, const char *devices)
{
    struct err err = ERR_INIT;
    char text[2048];
    snprintf(text, sizeof(text),
             "{'version':1,'node':'n1','ports':[{'id':'" PORT "','ifname':'sol0',"
             "'driver':'solar_rdma'%s}]%s}",
             more, devices);
    OWN(json) json_t *document = json_of(text);
    OWN(inventory) struct inventory *inventory = NULL;
    assert_ok(inventory_from_json(document, &inventory, NULL, &err));
    const struct health_known known = {.inventory = inventory,
                                       .fabric = site->fabric,
                                       .peers = site->peers,
                                       .moved = &site->moved};
    site->moved = false;
    assert_ok(health_know(site->health, &known, &err));
}

static int64_t fact(const struct site *site, int kind, const char *device, uint32_t number,
                    const char *input)
{
    struct health_subject subject = {.kind = kind, .number = number};
    snprintf(subject.device, sizeof(subject.device), "%s", device);
    return health_fact(site->health, &subject, input);
}
#define OF_PORT(input) fact(&site, TELEMETRY_PORT, PORT, 0, input)

static void queue_pairs_are_on_the_port_of_their_device_or_interface(void **state)
{
    static const struct {
        const char *device, *port;
    } rows[] = {{"mlx5_0", PORT}, {"solar/sol0", PORT}, {"solar/sol1", ""}, {"sol0", ""}};
    struct site site;
    (void)state;
    site_init(&site);
    know(&site, ",'rdma_device':'mlx5_0'",
         ",'rdma_devices':[{'name':'mlx5_0','ports':[{'port':1}]}]");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct health_subject subject = {.kind = TELEMETRY_QP, .number = 17};
        char port[PORT_ID_SIZE];
        snprintf(subject.device, sizeof(subject.device), "%s", rows[i].device);
        health_port_of(site.health, &subject, port);
        assert_string_equal(port, rows[i].port);
    }
    know(&site, "", "");
    struct health_subject subject = {.kind = TELEMETRY_QP, .device = "mlx5_0"};
    char port[PORT_ID_SIZE];
    health_port_of(site.health, &subject, port);
    assert_string_equal(port, "");
    site_release(&site);
}

static void what_the_inventory_does_not_tell_is_unknown(void **state)
{
    static const char *const inputs[] = {
        "is_down",          "mtu_differs",      "gid_missing",
        "gid_moved",        "chains_broken",    "firmware_staged",
        "firmware_differs", "dscp_not_trusted", "link_share_percent"};
    struct site site;
    (void)state;
    site_init(&site);
    know(&site, ",'rdma_device':'mlx5_0'", "");
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        assert_true(OF_PORT(inputs[i]) == HEALTH_NONE);
    assert_true(OF_PORT("firmware_below_minimum") == HEALTH_NONE);
    site_release(&site);
}

static void links_firmware_and_pcie_are_facts(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    know(&site,
         ",'rdma_device':'mlx5_0','link':{'state':'down'},'firmware':'2.1.8',"
         "'firmware_stored':'2.1.9','pcie':{'current_gen':3,'max_gen':4,'current_width':8,"
         "'max_width':16}",
         "");
    assert_int_equal(OF_PORT("is_down"), 1);
    assert_int_equal(OF_PORT("firmware_staged"), 1);
    assert_int_equal(OF_PORT("link_share_percent"), 25);
    know(&site,
         ",'rdma_device':'mlx5_0','link':{'state':'up'},'firmware':'2.1.8',"
         "'firmware_stored':'2.1.8'",
         "");
    assert_int_equal(OF_PORT("is_down"), 0);
    assert_int_equal(OF_PORT("firmware_staged"), 0);
    assert_true(OF_PORT("link_share_percent") == HEALTH_NONE); /* not told this time */
    know(&site, ",'link':{'state':'down'}", "");               /* no RDMA device */
    assert_true(OF_PORT("is_down") == HEALTH_NONE);
    site_release(&site);
}

#define GID(index, gid)                                                                            \
    ",'rdma_devices':[{'name':'mlx5_0','ports':[{'port':1,'gids':[{'index':" index ",'gid':'" gid  \
    "','type':'rocev2','netdev':'sol0'}]}]}]"

static void an_address_is_missing_local_or_moved(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    know(&site, ",'rdma_device':'mlx5_0'", GID("3", "::ffff:10.9.0.1"));
    assert_int_equal(OF_PORT("gid_missing"), 0);
    assert_true(OF_PORT("gid_moved") == HEALTH_NONE); /* nothing to compare with */
    know(&site, ",'rdma_device':'mlx5_0'", GID("3", "::ffff:10.9.0.1"));
    assert_int_equal(OF_PORT("gid_moved"), 0);
    know(&site, ",'rdma_device':'mlx5_0'", GID("5", "::ffff:10.9.0.1"));
    assert_int_equal(OF_PORT("gid_moved"), 1);
    know(&site, ",'rdma_device':'mlx5_0'", GID("1", "fe80::1"));
    assert_int_equal(OF_PORT("gid_missing"), 1);
    know(&site, ",'rdma_device':'mlx5_0'",
         ",'rdma_devices':[{'name':'mlx5_0','ports':[{'port':1,'gids':[]}]}]");
    assert_int_equal(OF_PORT("gid_missing"), 1);
    site_release(&site);
}

static void the_profile_says_which_priorities_are_lossless_and_which_nobody_uses(void **state)
{
    struct err err = ERR_INIT;
    struct site site;
    (void)state;
    site_init(&site);
    OWN(json)
    json_t *profile =
        json_of("{'fabric_profile':{'trust':'dscp','priorities':["
                "{'priority':3,'dscps':[26],'traffic_class':3,'lossless':true,'ets_weight':50},"
                "{'priority':6,'dscps':[48],'traffic_class':6,'ets_weight':10}],"
                "'cnp':{'dscp':48,'priority':6}}}");
    assert_ok(fabric_from_json(profile, &site.fabric, NULL, &err));
    know(&site, ",'rdma_device':'mlx5_0'", GID("3", "::ffff:10.9.0.1"));
    assert_int_equal(fact(&site, TELEMETRY_PRIORITY, PORT, 3, "is_lossless"), 1);
    assert_int_equal(fact(&site, TELEMETRY_PRIORITY, PORT, 6, "is_lossless"), 0);
    assert_int_equal(fact(&site, TELEMETRY_PRIORITY, PORT, 0, "is_unplanned"), 0);
    assert_int_equal(fact(&site, TELEMETRY_PRIORITY, PORT, 3, "is_unplanned"), 0);
    assert_int_equal(fact(&site, TELEMETRY_PRIORITY, PORT, 5, "is_unplanned"), 1);
    assert_int_equal(fact(&site, TELEMETRY_NODE, "", 0, "cnp_lossless"), 0);
    assert_int_equal(fact(&site, TELEMETRY_RDMA, "mlx5_0", 1, "ecn_configured"), 0);
    char port[PORT_ID_SIZE];
    struct health_subject rdma = {.kind = TELEMETRY_RDMA, .device = "mlx5_0", .number = 1};
    health_port_of(site.health, &rdma, port);
    assert_string_equal(port, PORT);
    rdma.number = 2;
    health_port_of(site.health, &rdma, port);
    assert_string_equal(port, "");
    site_release(&site);
}

static void most_of_three_decide_and_most_of_two_do_not(void **state)
{
    struct err err = ERR_INIT;
    struct site site;
    (void)state;
    site_init(&site);
    assert_int_equal(health_peers_differs(site.peers, "a", "1500"), -1);
    assert_ok(health_peers_add(site.peers, "a", "9000", &err));
    assert_ok(health_peers_add(site.peers, "a", "9000", &err));
    assert_int_equal(health_peers_differs(site.peers, "a", "1500"), -1);
    assert_ok(health_peers_add(site.peers, "a", "1500", &err));
    assert_int_equal(health_peers_differs(site.peers, "a", "1500"), 1);
    assert_int_equal(health_peers_differs(site.peers, "a", "9000"), 0);
    assert_int_equal(health_peers_differs(site.peers, "b", "1500"), -1);
    assert_ok(health_peers_add(site.peers, "a", "1500", &err)); /* two against two */
    assert_int_equal(health_peers_differs(site.peers, "a", "1500"), -1);
    for (int i = 0; i < 500; i++) {
        char group[32];
        snprintf(group, sizeof(group), "g%d", i);
        assert_ok(health_peers_add(site.peers, group, "9000", &err));
    }
    assert_ok(health_peers_add(site.peers, "a", "9000", &err));
    assert_int_equal(health_peers_differs(site.peers, "a", "1500"), 1);
    site_release(&site);
}

static void a_port_is_held_against_its_rail(void **state)
{
    struct err err = ERR_INIT;
    struct site site;
    (void)state;
    site_init(&site);
    for (int i = 0; i < 3; i++)
        assert_ok(health_peers_add(site.peers, "slot " PORT, "9000", &err));
    know(&site, ",'rdma_device':'mlx5_0','mtu_bytes':1500", "");
    know(&site, ",'rdma_device':'mlx5_0','mtu_bytes':1500", "");
    assert_int_equal(OF_PORT("mtu_differs"), 1);
    know(&site, ",'rdma_device':'mlx5_0','mtu_bytes':9000", "");
    know(&site, ",'rdma_device':'mlx5_0','mtu_bytes':9000", "");
    assert_int_equal(OF_PORT("mtu_differs"), 0);
    know(&site, ",'mtu_bytes':1500", ""); /* no RDMA device, no rail */
    assert_true(OF_PORT("mtu_differs") == HEALTH_NONE);
    site_release(&site);
}

/* A profile gives all ports another MTU at once, a campaign a card another firmware: the peers were
 * counted before. */
static void what_is_new_on_a_port_is_held_against_its_peers_a_look_later(void **state)
{
    static const char *const changes[][3] = {
        {"mtu_differs", "'mtu_bytes':9000", "'mtu_bytes':4200"},
        {"firmware_differs", "'firmware':'2.1.8'", "'firmware':'2.2.0'"}};
    struct err err = ERR_INIT;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct site site;
        char before[200], after[200];
        site_init(&site);
        for (int j = 0; j < 3; j++) {
            assert_ok(health_peers_add(site.peers, "slot " PORT, "9000", &err));
            assert_ok(health_peers_add(site.peers, "board B_1", "2.1.8", &err));
        }
        snprintf(before, sizeof(before), ",'rdma_device':'mlx5_0','psid':'B_1',%s", changes[i][1]);
        snprintf(after, sizeof(after), ",'rdma_device':'mlx5_0','psid':'B_1',%s", changes[i][2]);
        know(&site, before, "");
        assert_true(site.moved);
        assert_true(OF_PORT(changes[i][0]) == HEALTH_NONE);
        know(&site, before, "");
        assert_false(site.moved);
        assert_int_equal(OF_PORT(changes[i][0]), 0);
        know(&site, after, "");
        assert_true(site.moved);
        assert_true(OF_PORT(changes[i][0]) == HEALTH_NONE);
        know(&site, after, "");
        assert_false(site.moved);
        assert_int_equal(OF_PORT(changes[i][0]), 1);
        site_release(&site);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_pairs_are_on_the_port_of_their_device_or_interface),
        cmocka_unit_test(what_the_inventory_does_not_tell_is_unknown),
        cmocka_unit_test(links_firmware_and_pcie_are_facts),
        cmocka_unit_test(an_address_is_missing_local_or_moved),
        cmocka_unit_test(the_profile_says_which_priorities_are_lossless_and_which_nobody_uses),
        cmocka_unit_test(most_of_three_decide_and_most_of_two_do_not),
        cmocka_unit_test(a_port_is_held_against_its_rail),
        cmocka_unit_test(what_is_new_on_a_port_is_held_against_its_peers_a_look_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
