/*
 * Which devices an image is for, and why the others are left out.
 */
#include "tests/unit/test.h"

#include "fleet/campaign_select.h"

#define PORTS 7

static struct port ports[PORTS];
static struct inventory inventory = {.ports = ports, .port_count = PORTS};
static struct view_node nodes[2];
static struct view view = {.nodes = nodes, .node_count = 2};
static struct campaign_settings settings;
static struct flash_image image;
static struct campaign_wish wish;
static struct campaign_selection found;

static void set_port(size_t i, const char *id, const char *psid, const char *firmware)
{
    ports[i] = (struct port){.speed_bps = -1};
    snprintf(ports[i].id, PORT_ID_SIZE, "%s", id);
    snprintf(ports[i].driver, INVENTORY_TEXT_MAX, "nic");
    snprintf(ports[i].psid, PSID_SIZE, "%s", psid);
    snprintf(ports[i].firmware, INVENTORY_TEXT_MAX, "%s", firmware);
}

static int setup(void **state)
{
    (void)state;
    set_port(0, "0000:01:00.0/0", "B1", "1.0.0");
    set_port(1, "0000:01:00.0/1", "B1", "1.0.0"); /* the same device */
    set_port(2, "0000:02:00.0/0", "B2", "1.0.0");
    set_port(3, "0000:03:00.0/0", "B1", "");
    set_port(4, "0000:04:00.0/0", "B1", "3.0.0");
    set_port(5, "0000:05:00.0/0", "B1", "1.0.0");
    ports[5].virtual_function = true;
    set_port(6, "0000:06:00.0/0", "B1", "1.0.0");
    snprintf(ports[6].driver, INVENTORY_TEXT_MAX, "other");
    nodes[0] = (struct view_node){.name = "n1", .inventory = &inventory};
    nodes[1] = (struct view_node){.name = "n2"}; /* it never reported */
    campaign_settings_init(&settings);
    image = (struct flash_image){
        .component = "nic", .version = "2.0.0", .psids = {"B0", "B1"}, .psid_count = 2};
    wish = (struct campaign_wish){.view = &view,
                                  .document = json_pack("{ss, sb}", "image", "i", "all", 1),
                                  .settings = &settings,
                                  .image = &image};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    campaign_selection_release(&found);
    json_decref((json_t *)wish.document);
    return 0;
}

static void select_all(void)
{
    struct err err = ERR_INIT;
    campaign_selection_release(&found);
    assert_ok(campaign_select(&wish, &found, &err));
}

static void each_device_is_taken_once_or_left_out_with_a_reason(void **state)
{
    static const enum campaign_exclusion wanted[] = {CAMPAIGN_TAKEN, CAMPAIGN_OTHER_BOARD,
                                                     CAMPAIGN_VERSION_UNKNOWN, CAMPAIGN_DOWNGRADE,
                                                     CAMPAIGN_VIRTUAL};
    (void)state;
    select_all();
    assert_int_equal(found.count, 5);
    assert_int_equal(found.taken, 1);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(found.items[i].why, wanted[i]);
    assert_string_equal(found.items[0].device.device, "0000:01:00.0");
    assert_string_equal(found.items[0].device.node, "n1");
    assert_string_equal(found.items[0].device.from, "1.0.0");
    OWN(mem) void *memory = campaign_selection_devices(&found);
    assert_non_null(memory);
}

static void an_image_for_any_board_and_downgrades_are_asked_for(void **state)
{
    (void)state;
    image.psid_count = 0;
    settings.allow_downgrade = true;
    select_all();
    assert_int_equal(found.taken, 3);
    set_port(0, "0000:01:00.0/0", "", "1.0.0"); /* an unknown board */
    ports[1].psid[0] = '\0';
    image.psid_count = 2;
    select_all();
    assert_int_equal(found.items[0].why, CAMPAIGN_OTHER_BOARD);
}

static bool has_it(void *arg, const char *node, const char *device)
{
    (void)node;
    return strcmp(arg, device) == 0;
}

static void a_device_of_another_campaign_is_left_out(void **state)
{
    char other[] = "0000:01:00.0";
    (void)state;
    wish.is_elsewhere = has_it;
    wish.arg = other;
    select_all();
    assert_int_equal(found.items[0].why, CAMPAIGN_ELSEWHERE);
    assert_string_equal(campaign_exclusion_name(found.items[0].why), "in-campaign");
}

static void devices_can_be_named(void **state)
{
    (void)state;
    json_decref((json_t *)wish.document);
    wish.document = json_pack("{ss, sb, s[s]}", "image", "i", "all", 1, "devices", "0000:04:00.0");
    select_all();
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].why, CAMPAIGN_DOWNGRADE);
}

static void what_a_device_runs_is_found_by_its_address(void **state)
{
    (void)state;
    assert_string_equal(campaign_running_of(&inventory, "0000:04:00.0"), "3.0.0");
    assert_string_equal(campaign_running_of(&inventory, "0000:03:00.0"), "");
    assert_null(campaign_running_of(&inventory, "0000:04:00"));
    assert_null(campaign_running_of(NULL, "0000:04:00.0"));
}

static void more_devices_than_a_campaign_takes_are_refused(void **state)
{
    struct err err = ERR_INIT;
    size_t count = CAMPAIGN_DEVICES_MAX + 1;
    struct port *many = calloc(count, sizeof(*many));
    (void)state;
    for (size_t i = 0; i < count; i++) {
        many[i] = ports[0];
        snprintf(many[i].id, PORT_ID_SIZE, "%06zu/0", i);
    }
    const struct inventory large = {.ports = many, .port_count = count};
    nodes[0].inventory = &large;
    assert_fails(campaign_select(&wish, &found, &err), ERR_LIMIT);
    const struct inventory fits = {.ports = many, .port_count = count - 1};
    nodes[0].inventory = &fits;
    select_all();
    assert_int_equal(found.taken, CAMPAIGN_DEVICES_MAX);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_device_is_taken_once_or_left_out_with_a_reason, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_image_for_any_board_and_downgrades_are_asked_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_device_of_another_campaign_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(devices_can_be_named, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_device_runs_is_found_by_its_address, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(more_devices_than_a_campaign_takes_are_refused, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
