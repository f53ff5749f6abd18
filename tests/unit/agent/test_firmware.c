/*
 * tests/unit/agent/test_firmware.c - a whole agent whose device is written: that device is left
 * alone, the others go on, and afterwards everything is as its plan says.
 */
#include "agent_site.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/sha256.h"
#include "datapath/sim_flash.h"

#define IMAGE "sim-firmware 2.1.9\n"

struct plane {
    struct site *site;
    int reports;
    enum flash_phase phase;
    enum flash_outcome outcome;
};
static struct plane plane; /* of the one agent of a test */

static void plane_known(struct link *link, const char *tag)
{
    (void)link;
    (void)tag;
}

static void plane_report(struct link *link, const char *task, const json_t *document)
{
    struct flash_report report;
    struct err err = ERR_INIT;
    (void)link;
    (void)task;
    assert_ok(flash_report_from_json(document, &report, &err));
    plane.phase = report.phase;
    plane.outcome = report.outcome;
    plane.reports++;
}

static enum err_code plane_image(struct link *link, const char *id, struct link_image *out,
                                 struct err *err)
{
    (void)link;
    (void)id;
    (void)err;
    *out = (struct link_image){.url = "http://127.0.0.1:9/"};
    return ERR_OK;
}

static void plane_open_with(struct site *site, const struct agent_reboot *reboot)
{
    static struct link_ops ops;
    struct err err = ERR_INIT;
    site_open(site);
    sleep_agent(site);
    ops = fake_ops;
    ops.flash_known = plane_known;
    ops.flash_report = plane_report;
    ops.image = plane_image;
    struct fake_link *link = calloc(1, sizeof(*link));
    assert_non_null(link);
    link->base.ops = &ops;
    link->site = site;
    plane = (struct plane){.site = site};
    struct agent_config config = {
        .node = NODE, .state_dir = site->dir, .boot_id = "boot", .clock = clock_system()};
    config.reboot = reboot;
    config.check_ns = reboot == NULL ? 0 : 20 * NS_PER_MS;
    assert_ok(flash_sim_new(site->dp, &config.flasher, &err));
    assert_ok(agent_new(site->loop, &config, site->dp, &link->base, &site->agent, &err));
    agent_start(site->agent);
}

static void plane_open(struct site *site)
{
    plane_open_with(site, NULL);
}

static void put_image(const struct site *site)
{
    char folder[KEEP_PATH_MAX], path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(keep_path(site->dir, "flash", folder, &err));
    assert_ok(keep_path(folder, "i1.bin", path, &err));
    assert_ok(file_mkdirs(folder, 0700, &err));
    assert_ok(file_write_atomic(path, IMAGE, strlen(IMAGE), 0600, &err));
}

static void give_task(struct site *site)
{
    struct flash_task task = {.id = "t1",
                              .campaign = "c1",
                              .device = "sim.0",
                              .image = {.id = "i1",
                                        .component = SIM_DRIVER,
                                        .version = "2.1.9",
                                        .size_bytes = sizeof(IMAGE) - 1},
                              .activate = FLASH_ACTIVATE_RELOAD,
                              .deadline_s = 600};
    OWN(sha256) struct sha256 *hash = sha256_new();
    sha256_add(hash, IMAGE, strlen(IMAGE));
    sha256_end(hash, task.image.sha256);
    put_image(site);
    OWN(json) json_t *document = flash_task_to_json(&task);
    size_t len;
    OWN(str) char *text = json_canonical(document, &len);
    assert_true(site->events.flash(site->events.arg, text, len));
}

static bool turn_until(struct site *site, bool (*is)(struct site *site))
{
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + 30 * NS_PER_S;
    while (!is(site) && clock->mono_ns(clock) < end_ns)
        turn(site, 10);
    return is(site);
}

static bool is_writing(struct site *site)
{
    (void)site;
    return plane.phase == FLASH_FLASHING;
}

static bool is_over(struct site *site)
{
    (void)site;
    return plane.outcome != FLASH_OPEN;
}

static bool shows(struct site *site, const char *kind, const char *subject, const char *want)
{
    OWN_STATE struct state state;
    struct err err = ERR_INIT;
    state_init(&state);
    assert_ok(dp_observe(site->dp, NULL, &state, &err));
    const struct state_knob *knob = state_get(&state, knob_kind_get(kind), subject, "");
    assert_non_null(knob);
    OWN(str) char *live = knob->live == NULL ? strdup("") : json_canonical(knob->live, NULL);
    return strcmp(live, want) == 0;
}

static const struct row two_ports[] = {
    {"link.mtu", "sim.0/0", "", "4200", false, false},
    {"link.mtu", "sim.1/0", "", "4200", false, false},
    {NULL, NULL, NULL, NULL, false, false},
};

static bool other_is_repaired(struct site *site)
{
    return shows(site, "link.mtu", "sim.1/0", "4200");
}

static bool both_are_repaired(struct site *site)
{
    return other_is_repaired(site) && shows(site, "link.mtu", "sim.0/0", "4200");
}

static void a_device_that_is_written_is_left_alone_and_others_go_on(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    plane_open(&site);
    assert_ok(dp_sim_fault(site.dp, "flash:stuck", &err));
    assert_true(send_plan(&site, NODE, 1, two_ports));
    assert_string_equal(last_result(&site), "applied");
    acknowledge(&site);
    give_task(&site);
    assert_true(turn_until(&site, is_writing));
    int inventories = site.inventories;
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    poke(site.dp, "link.mtu", "sim.1/0", "", "1500");
    assert_true(turn_until(&site, other_is_repaired));
    assert_string_equal(last_result(&site), "drift");
    assert_true(shows(&site, "link.mtu", "sim.0/0", "1500"));
    /* A new plan is applied whole, later. */
    static const struct row next[] = {{"link.mtu", "sim.0/0", "", "4000", false, false},
                                      {"link.mtu", "sim.1/0", "", "4000", false, false},
                                      {NULL, NULL, NULL, NULL, false, false}};
    assert_true(send_plan(&site, NODE, 2, next));
    assert_true(shows(&site, "link.mtu", "sim.1/0", "4200"));
    assert_int_equal(site.inventories, inventories);
    assert_ok(dp_sim_fault(site.dp, "flash:unstuck", &err));
    assert_true(turn_until(&site, is_over));
    assert_int_equal(plane.outcome, FLASH_FAILED);
    turn(&site, 300);
    assert_true(shows(&site, "link.mtu", "sim.0/0", "4000"));
    assert_true(shows(&site, "link.mtu", "sim.1/0", "4000"));
    sleep_agent(&site);
    site_close(&site);
}

static void the_policy_is_checked_before_it_is_a_success(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    plane_open(&site);
    assert_true(send_plan(&site, NODE, 1, two_ports));
    acknowledge(&site);
    assert_ok(dp_sim_fault(site.dp, "flash:slow-30", &err));
    int inventories = site.inventories;
    give_task(&site);
    assert_true(turn_until(&site, is_writing));
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500"); /* as a device does that was reset */
    assert_true(turn_until(&site, is_over));
    assert_int_equal(plane.outcome, FLASH_SUCCESS);
    assert_true(both_are_repaired(&site));
    assert_true(site.inventories > inventories); /* it runs another version now */
    site.events.event(site.events.arg, LINK_FLASH_DONE);
    sleep_agent(&site);
    site_close(&site);
}

static atomic_int hold, reloads, reboots;

static enum err_code no_users(void *arg, const char *device, int *out_count, struct err *err)
{
    (void)arg;
    (void)device;
    (void)err;
    *out_count = 0;
    return ERR_OK;
}

static enum err_code reload(void *arg, const char *device, struct err *err)
{
    (void)arg;
    (void)device;
    (void)err;
    atomic_fetch_add(&reloads, 1);
    while (atomic_load(&hold) != 0)
        usleep(1000);
    return ERR_OK;
}

static enum err_code reboot(void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    atomic_fetch_add(&reboots, 1);
    return ERR_OK;
}

static const struct agent_reboot in_window = {.rules = {.mode = REBOOT_WINDOW, .a_day = 1},
                                              .users = no_users,
                                              .reboot = reboot,
                                              .reload = reload};

static bool has_begun(struct site *site)
{
    (void)site;
    return atomic_load(&reloads) + atomic_load(&reboots) > 0;
}

static bool is_draining(struct site *site)
{
    (void)site;
    return plane.phase == FLASH_DRAINING;
}

static void nothing_is_written_while_a_driver_reloads(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"devlink.param", "sim.1/0", "enable_roce", "{\"driverinit\":false}", false, false},
        {NULL, NULL, NULL, NULL, false, false}};
    struct site site;
    atomic_store(&hold, 1);
    atomic_store(&reloads, 0);
    plane_open_with(&site, &in_window);
    assert_true(send_plan(&site, NODE, 1, rows));
    acknowledge(&site);
    assert_true(turn_until(&site, has_begun));
    give_task(&site);
    assert_true(turn_until(&site, is_draining));
    turn(&site, 300);
    assert_int_equal(plane.phase, FLASH_DRAINING);
    atomic_store(&hold, 0);
    assert_true(turn_until(&site, is_over));
    assert_int_equal(plane.outcome, FLASH_SUCCESS);
    sleep_agent(&site);
    site_close(&site);
}

/* The worst moment to lose power is the middle of a write. */
static void nothing_is_written_while_the_node_goes_down(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"host.modparam", "host", "solar_rdma.max_sge", "\"256\"", false, false},
        {NULL, NULL, NULL, NULL, false, false}};
    struct site site;
    atomic_store(&reboots, 0);
    atomic_store(&reloads, 0);
    plane_open_with(&site, &in_window);
    assert_true(send_plan(&site, NODE, 1, rows));
    acknowledge(&site);
    assert_true(turn_until(&site, has_begun));
    give_task(&site);
    assert_true(turn_until(&site, is_draining));
    turn(&site, 1500); /* it asked again */
    assert_int_equal(plane.phase, FLASH_DRAINING);
    assert_int_equal(plane.outcome, FLASH_OPEN);
    sleep_agent(&site);
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_written_is_left_alone_and_others_go_on),
        cmocka_unit_test(the_policy_is_checked_before_it_is_a_success),
        cmocka_unit_test(nothing_is_written_while_a_driver_reloads),
        cmocka_unit_test(nothing_is_written_while_the_node_goes_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
