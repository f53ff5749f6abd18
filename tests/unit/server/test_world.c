/*
 * Swaps change the view and change it back; marks and counts follow.
 */
#include "tests/unit/test.h"

#include "server/world.h"

static struct world *world;

static int setup(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    assert_ok(world_new(&world, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_free(world);
    return 0;
}

static void add_tenant(const char *name)
{
    struct err err = ERR_INIT;
    struct world_tenant *tenant = calloc(1, sizeof(*tenant));
    assert_non_null(tenant);
    snprintf(tenant->name, sizeof(tenant->name), "%s", name);
    assert_ok(world_reserve(world, &err));
    world_swap_tenant(world, name, &tenant);
    assert_null(tenant);
}

static struct world_node *add_node(const char *name, const char *rack)
{
    struct err err = ERR_INIT;
    struct world_node *node = calloc(1, sizeof(*node)), *made = node;
    assert_non_null(node);
    snprintf(node->name, sizeof(node->name), "%s", name);
    node->document.labels = calloc(1, sizeof(struct label_pair));
    node->document.label_count = 1;
    strcpy(node->document.labels[0].key, "rack");
    strcpy(node->document.labels[0].value, rack);
    assert_ok(world_reserve(world, &err));
    world_swap_node(world, name, &node);
    assert_null(node);
    return made;
}

static struct world_placement *new_placement(const char *tenant, const char *job, const char *text)
{
    struct err err = ERR_INIT;
    struct world_placement *placement = calloc(1, sizeof(*placement));
    assert_non_null(placement);
    OWN(json) json_t *document = json_loads(text, 0, NULL);
    assert_ok(placement_from_json(document, tenant, job, 1, &placement->value, NULL, &err));
    return placement;
}

static void add_placement(const char *tenant, const char *job, const char *text)
{
    struct err err = ERR_INIT;
    struct world_placement *placement = new_placement(tenant, job, text);
    assert_ok(world_reserve(world, &err));
    world_swap_placement(world, tenant, job, &placement);
    assert_null(placement);
}

static void entries_are_sorted_by_name_whatever_their_order(void **state)
{
    char name[16];
    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "t%02d", i * 37 % 100);
        add_tenant(name);
        add_node(name, "a");
        add_placement(name, "job", "{\"nodes\":[\"t00\"]}");
    }
    assert_int_equal(world->view.tenant_count, 100);
    for (size_t i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "t%02zu", i);
        assert_string_equal(world->view.tenants[i].name, name);
        assert_string_equal(world->view.nodes[i].name, name);
        assert_string_equal(world->view.placements[i]->tenant, name);
        assert_ptr_equal(world_tenant_get(world, name), world->tenants[i]);
    }
    assert_null(world_tenant_get(world, "t"));
    assert_null(world_node_get(world, "t100"));
}

static void a_swap_done_twice_changes_nothing(void **state)
{
    (void)state;
    add_tenant("a");
    add_tenant("c");
    add_placement("a", "j1", "{\"nodes\":[\"n1\"]}");
    struct world_placement *placement = new_placement("a", "j2", "{\"nodes\":[\"n2\"]}");
    struct world_tenant *tenant = calloc(1, sizeof(*tenant));
    struct err err = ERR_INIT;
    strcpy(tenant->name, "b");
    assert_ok(world_reserve(world, &err));

    world_swap_tenant(world, "b", &tenant);
    world_swap_placement(world, "a", "j2", &placement);
    assert_int_equal(world->view.tenant_count, 3);
    assert_int_equal(world->view.placement_count, 2);
    assert_string_equal(world->view.tenants[1].name, "b");

    world_swap_tenant(world, "b", &tenant);
    world_swap_placement(world, "a", "j2", &placement);
    assert_int_equal(world->view.tenant_count, 2);
    assert_int_equal(world->view.placement_count, 1);
    assert_string_equal(world->view.tenants[1].name, "c");
    assert_string_equal(tenant->name, "b");
    world_tenant_free(tenant);
    world_placement_free(placement);
}

static void a_policy_swap_is_seen_by_the_view(void **state)
{
    struct err err = ERR_INIT;
    struct policy *policy = NULL;
    (void)state;
    add_tenant("a");
    OWN(json)
    json_t *document = json_loads("{\"qos_policy\":{\"j\":{\"priority\":3}}}", 0, NULL);
    assert_ok(policy_from_json(document, &policy, NULL, &err));
    const struct policy *given = policy;
    world_swap_policy(world, "a", &policy);
    assert_null(policy);
    assert_ptr_equal(world->view.tenants[0].policy, given);
    world_swap_policy(world, "a", &policy);
    assert_null(world->view.tenants[0].policy);
    assert_ptr_equal(policy, given);
    policy_free(policy);
}

static void remember(void *arg, struct world_node *node)
{
    char *names = arg;
    strcat(names, node->name);
    strcat(names, " ");
}

static void nodes_of_a_placement_are_the_named_and_the_selected(void **state)
{
    char names[64] = "";
    (void)state;
    add_node("n1", "a");
    add_node("n2", "b");
    add_node("n3", "b");
    add_tenant("t");
    add_placement("t", "j", "{\"nodes\":[\"n1\",\"gone\"],\"selector\":{\"rack\":\"b\"}}");
    world_each_of_tenant(world, "t", remember, names);
    assert_non_null(strstr(names, "n1"));
    assert_non_null(strstr(names, "n2"));
    assert_non_null(strstr(names, "n3"));
    names[0] = '\0';
    world_each_of_tenant(world, "other", remember, names);
    assert_string_equal(names, "");
}

static void placements_of_a_tenant_follow_each_other(void **state)
{
    size_t count;
    (void)state;
    for (const char *tenant = "acb"; *tenant != '\0'; tenant++) {
        char name[2] = {*tenant, '\0'};
        add_placement(name, "j2", "{\"nodes\":[\"n1\"]}");
        add_placement(name, "j1", "{\"nodes\":[\"n1\"]}");
    }
    size_t first = world_placements_of(world, "b", &count);
    assert_int_equal(first, 2);
    assert_int_equal(count, 2);
    assert_string_equal(world->view.placements[first]->job, "j1");
    world_placements_of(world, "bb", &count);
    assert_int_equal(count, 0);
}

static void plan(struct world_node *node, size_t knobs, const char *digest)
{
    node->planned = true;
    node->plan_knobs = knobs;
    strcpy(node->plan_digest, digest);
    world_clear_dirty(world, node);
}

static void only_equal_digests_are_in_sync(void **state)
{
    (void)state;
    struct world_node *node = add_node("n1", "a");
    assert_int_equal(world->sync_counts[NODE_IDLE], 1);
    world_mark_dirty(world, node);
    world_mark_dirty(world, node);
    assert_int_equal(world->dirty_count, 1);
    assert_int_equal(world->sync_counts[NODE_PLANNING], 1);
    plan(node, 0, "d1");
    assert_int_equal(world->dirty_count, 0);
    assert_int_equal(node->sync, NODE_IDLE);
    plan(node, 3, "d1");
    assert_int_equal(node->sync, NODE_PENDING);

    node->receipt =
        (struct receipt_note){.id = 1, .result = RECEIPT_APPLIED, .digest = "d1", .observed = "d1"};
    world_node_resync(world, node);
    assert_int_equal(node->sync, NODE_IN_SYNC);
    node->drifted = true;
    world_node_resync(world, node);
    assert_int_equal(node->sync, NODE_PENDING);
    node->drifted = false;
    strcpy(node->receipt.observed, "");
    world_node_resync(world, node);
    assert_int_equal(node->sync, NODE_FAILED);
    strcpy(node->receipt.observed, "d1");
    node->receipt.result = RECEIPT_ROLLED_BACK;
    world_node_resync(world, node);
    assert_int_equal(node->sync, NODE_FAILED);
    plan(node, 3, "d2");
    assert_int_equal(node->sync, NODE_PENDING);
    assert_int_equal(world->sync_counts[NODE_PENDING], 1);
    assert_int_equal(world->sync_counts[NODE_IN_SYNC] + world->sync_counts[NODE_FAILED], 0);
}

static void a_removed_node_leaves_no_count(void **state)
{
    struct world_node *node = NULL;
    (void)state;
    world_mark_dirty(world, add_node("n1", "a"));
    world_swap_node(world, "n1", &node);
    assert_int_equal(world->dirty_count, 0);
    for (int i = 0; i < NODE_SYNC_COUNT; i++)
        assert_int_equal(world->sync_counts[i], 0);
    world_node_free(node);
}

static void check_tenant(const char *text, enum err_code wanted)
{
    struct err err = ERR_INIT;
    struct tenant_quota quota;
    OWN(json) json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    if (wanted == ERR_OK)
        assert_ok(tenant_document_read(document, "a", &quota, NULL, &err));
    else
        assert_fails(tenant_document_read(document, "a", &quota, NULL, &err), wanted);
}

static void quotas_are_read_at_their_limits(void **state)
{
    (void)state;
    check_tenant("{}", ERR_OK);
    check_tenant("{\"name\":\"a\"}", ERR_OK);
    check_tenant("{\"name\":\"b\"}", ERR_INVALID);
    check_tenant("{\"quota\":{\"jobs_max\":1}}", ERR_OK);
    check_tenant("{\"quota\":{\"jobs_max\":0}}", ERR_INVALID);
    check_tenant("{\"quota\":{\"jobs_max\":4096}}", ERR_OK);
    check_tenant("{\"quota\":{\"jobs_max\":4097}}", ERR_INVALID);
    check_tenant("{\"quota\":{\"labels_max\":65533}}", ERR_OK);
    check_tenant("{\"quota\":{\"labels_max\":65534}}", ERR_INVALID);
    check_tenant("{\"quota\":{\"guarantee_max\":\"100%\"}}", ERR_OK);
    check_tenant("{\"quota\":{\"guarantee_max\":\"100.01%\"}}", ERR_INVALID);
    check_tenant("{\"quota\":{\"guarantee_max\":\"10Gbps\"}}", ERR_INVALID);
    check_tenant("{\"quota\":{\"job_max\":1}}", ERR_INVALID);
}

static void check_node(const json_t *document, enum err_code wanted)
{
    struct err err = ERR_INIT;
    struct node_document read = {0};
    if (wanted == ERR_OK)
        assert_ok(node_document_read(document, "n1", &read, NULL, &err));
    else
        assert_fails(node_document_read(document, "n1", &read, NULL, &err), wanted);
    node_document_release(&read);
}

static void a_nodes_metrics_address_is_a_host_and_a_port(void **state)
{
    static const struct {
        const char *text;
        enum err_code wanted;
    } rows[] = {
        {"10.0.0.7:1", ERR_OK},
        {"10.0.0.7:65535", ERR_OK},
        {"node-7.example:9100", ERR_OK},
        {"[fd00::7]:9100", ERR_OK},
        {"10.0.0.7:0", ERR_INVALID},
        {"10.0.0.7:65536", ERR_INVALID},
        {"10.0.0.7:99999999999999999999", ERR_INVALID},
        {"10.0.0.7:+1", ERR_INVALID},
        {"10.0.0.7:9100/x", ERR_INVALID},
        {"10.0.0.7", ERR_INVALID},
        {":9100", ERR_INVALID},
        {"fd00::7:9100", ERR_INVALID},
        {"[10.0.0.7]:9100", ERR_INVALID},
        {"[fd00::7:9100", ERR_INVALID},
        {"0.0.0.0:9100", ERR_INVALID},
        {"a b:9100", ERR_INVALID},
        {"user@host:9100", ERR_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(json) json_t *document = json_pack("{ss}", "metrics_address", rows[i].text);
        check_node(document, rows[i].wanted);
    }
}

static void a_node_has_at_most_32_labels(void **state)
{
    char key[16];
    (void)state;
    OWN(json) json_t *document = json_pack("{s{}}", "labels");
    json_t *labels = json_object_get(document, "labels");
    for (int i = 0; i < LABELS_MAX; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        json_object_set_new(labels, key, json_string("v"));
    }
    check_node(document, ERR_OK);
    json_object_set_new(labels, "more", json_string("v"));
    check_node(document, ERR_INVALID);
    json_object_clear(labels);
    json_object_set_new(labels, "k", json_string(""));
    check_node(document, ERR_OK);
    json_object_set_new(labels, "k", json_integer(1));
    check_node(document, ERR_INVALID);
    json_object_clear(labels);
    json_object_set_new(labels, "a key", json_string("v"));
    check_node(document, ERR_INVALID);
}

static void who_looked_before_sees_what_changed_since(void **state)
{
    struct err err = ERR_INIT;
    struct inventory *inventory = NULL;
    struct policy *policy = NULL;
    (void)state;
    add_tenant("a");
    struct world_node *one = add_node("n1", "a"), *two = add_node("n2", "a");
    uint64_t seen = world->changes;
    assert_true(one->changed <= seen && two->changed <= seen && world->changed <= seen);
    world_swap_inventory(world, "n2", &inventory);
    assert_true(two->changed > seen);
    assert_true(one->changed <= seen && world->changed <= seen);
    seen = world->changes;
    world_swap_policy(world, "a", &policy);
    assert_true(world->changed > seen);
    assert_true(two->changed <= seen);
    OWN(world) struct world *other = NULL;
    assert_ok(world_new(&other, &err));
    assert_int_not_equal(other->serial, world->serial);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(entries_are_sorted_by_name_whatever_their_order),
        TEST(a_swap_done_twice_changes_nothing),
        TEST(a_policy_swap_is_seen_by_the_view),
        TEST(nodes_of_a_placement_are_the_named_and_the_selected),
        TEST(placements_of_a_tenant_follow_each_other),
        TEST(only_equal_digests_are_in_sync),
        TEST(a_removed_node_leaves_no_count),
        TEST(quotas_are_read_at_their_limits),
        TEST(a_nodes_metrics_address_is_a_host_and_a_port),
        TEST(a_node_has_at_most_32_labels),
        TEST(who_looked_before_sees_what_changed_since),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
