#pragma once
/*
 * tests/unit/agent/flash_test.h - a firmware worker over the simulator, with a server that we play:
 * images lie on the node's disk already, reports are kept.
 */

#include "agent_test.h"

#include "agent/flash.h"
#include "agent/flash_record.h"
#include "base/sha256.h"
#include "datapath/sim_flash.h"

#define DEVICE      "sim.0"
#define IMAGE_ID    "i1"
#define TARGET      "2.1.9"
#define IMAGE       "sim-firmware " TARGET " " SIM_PSID "\n"
#define REPORTS_MAX 256
#define END_MS      20000

struct flash_site {
    struct link link; /* first */
    char dir[TEST_PATH_MAX];
    struct loop *loop;
    struct clock_fake fake;
    struct clock *clock;
    struct dp *dp;
    struct flash *flash;
    struct flash_report reports[REPORTS_MAX];
    size_t report_count;
    char known[FLASH_TAG_SIZE];
    bool out_of_sync;
    int rechecks, changes;
    int asked, kill_at;
    char url[64]; /* of images; "" = nobody has any */
};

static inline void site_known(struct link *link, const char *tag)
{
    snprintf(((struct flash_site *)link)->known, FLASH_TAG_SIZE, "%s", tag);
}

static inline void site_report(struct link *link, const char *task, const json_t *document)
{
    struct flash_site *site = (struct flash_site *)link;
    struct err err = ERR_INIT;
    assert_true(site->report_count < REPORTS_MAX);
    struct flash_report *report = &site->reports[site->report_count++];
    assert_ok(flash_report_from_json(document, report, &err));
    assert_string_equal(report->task, task);
}

static inline enum err_code site_image(struct link *link, const char *id, struct link_image *out,
                                       struct err *err)
{
    const struct flash_site *site = (const struct flash_site *)link;
    (void)id;
    (void)err;
    *out = (struct link_image){.url = "http://127.0.0.1:9/"}; /* discard: nobody listens there */
    if (site->url[0] != '\0')
        snprintf(out->url, sizeof(out->url), "%s", site->url);
    return ERR_OK;
}

static const struct link_ops site_ops = {
    .flash_known = site_known,
    .flash_report = site_report,
    .image = site_image,
};

static inline bool site_recheck(void *arg, char why[ERR_TEXT_MAX])
{
    struct flash_site *site = arg;
    site->rechecks++;
    snprintf(why, ERR_TEXT_MAX, "policy: dcb.pfc differs");
    return !site->out_of_sync;
}

static inline void site_changed(void *arg)
{
    ((struct flash_site *)arg)->changes++;
}

static inline bool site_killed(void *arg)
{
    struct flash_site *site = arg;
    return site->kill_at > 0 && ++site->asked >= site->kill_at;
}

static inline void put_file(const char *folder, const char *name, const char *text)
{
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(file_mkdirs(folder, 0700, &err));
    assert_ok(keep_path(folder, name, path, &err));
    assert_ok(file_write_atomic(path, text, strlen(text), 0600, &err));
}

static inline void site_put_image(struct flash_site *site, const char *text)
{
    char folder[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(keep_path(site->dir, "flash", folder, &err));
    put_file(folder, IMAGE_ID ".bin", text);
}

static inline void sha256_of(const char *text, char out[SHA256_HEX_SIZE])
{
    OWN(sha256) struct sha256 *hash = sha256_new();
    assert_non_null(hash);
    sha256_add(hash, text, strlen(text));
    sha256_end(hash, out);
}

static inline void site_wake(struct flash_site *site)
{
    struct err err = ERR_INIT;
    struct flasher *flasher = NULL;
    struct flash_config config = {
        .node = NODE,
        .state_dir = site->dir,
        .loop = site->loop,
        .clock = site->clock,
        .link = &site->link,
        .look_ns = 2 * NS_PER_MS,
        .recheck = site_recheck,
        .changed = site_changed,
        .arg = site,
        .killed = site_killed,
        .killed_arg = site,
    };
    assert_ok(flash_sim_new(site->dp, &flasher, &err));
    assert_ok(flash_new(&config, flasher, &site->flash, &err));
    flash_start(site->flash);
    site_put_image(site, IMAGE);
}

static inline void site_open(struct flash_site *site)
{
    struct err err = ERR_INIT;
    memset(site, 0, sizeof(*site));
    test_folder(site->dir);
    site->link.ops = &site_ops;
    site->clock = clock_system();
    assert_ok(loop_new(&site->loop, &err));
    site->dp = make_sim();
    site_wake(site);
}

static inline void site_sleep(struct flash_site *site)
{
    flash_free(site->flash);
    site->flash = NULL;
}

static inline void site_close(struct flash_site *site)
{
    site_sleep(site);
    dp_free(site->dp);
    loop_free(site->loop);
    remove_folder(site->dir);
}

static inline void fault(struct flash_site *site, const char *text)
{
    struct err err = ERR_INIT;
    assert_ok(dp_sim_fault(site->dp, text, &err));
}

static inline struct flash_task make_task(const char *id)
{
    struct flash_task task = {
        .campaign = "c1",
        .device = DEVICE,
        .image = {.id = IMAGE_ID,
                  .component = SIM_DRIVER,
                  .version = TARGET,
                  .psids = {"OTHER", SIM_PSID},
                  .psid_count = 2,
                  .size_bytes = sizeof(IMAGE) - 1},
        .activate = FLASH_ACTIVATE_RELOAD,
        .deadline_s = 60,
    };
    snprintf(task.id, sizeof(task.id), "%s", id);
    sha256_of(IMAGE, task.image.sha256);
    return task;
}

static inline bool give(struct flash_site *site, const struct flash_task *task)
{
    OWN(json) json_t *document = flash_task_to_json(task);
    size_t len;
    OWN(str) char *text = json_canonical(document, &len);
    return flash_take(site->flash, text, len);
}

static inline const struct flash_report *last(const struct flash_site *site)
{
    assert_true(site->report_count > 0);
    return &site->reports[site->report_count - 1];
}

static inline bool ended(const struct flash_site *site)
{
    return site->report_count > 0 && last(site)->outcome != FLASH_OPEN;
}

static inline void turn_once(struct flash_site *site)
{
    struct err err = ERR_INIT;
    assert_ok(loop_turn(site->loop, 5, &err));
}

static inline bool until(struct flash_site *site, bool (*is)(const struct flash_site *site))
{
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + END_MS * NS_PER_MS;
    while (!is(site) && clock->mono_ns(clock) < end_ns)
        turn_once(site);
    return is(site);
}

/* The last task's end. */
static inline const struct flash_report *run_to_end(struct flash_site *site)
{
    if (!until(site, ended))
        fail_msg("it has not ended: phase %s, %s",
                 site->report_count == 0 ? "none" : flash_phase_name(last(site)->phase),
                 site->report_count == 0 ? "" : last(site)->message);
    return last(site);
}

static inline void assert_versions(struct flash_site *site, const char *running, const char *stored)
{
    OWN(json) json_t *inventory = NULL;
    struct err err = ERR_INIT;
    assert_ok(dp_inventory(site->dp, &inventory, &err));
    const json_t *port = json_array_get(json_object_get(inventory, "ports"), 0);
    assert_string_equal(json_string_value(json_object_get(port, "firmware")), running);
    assert_string_equal(json_string_value(json_object_get(port, "firmware_stored")), stored);
}
