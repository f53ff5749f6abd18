/*
 * datapath/flash_sim.c - firmware of the simulator's devices; see flash.h, and dp_sim.h for faults.
 *
 * An image for it is a text whose first line is "sim-firmware VERSION" or "sim-firmware VERSION
 * PSID": the device refuses anything else, as real ones do.
 */
#include "datapath/flash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "datapath/sim_kind.h"

#define SIM_FLASH_STEPS   16
#define SIM_FLASH_STEP_MS 5
#define SIM_IMAGE_HEAD    256
#define PAUSE_MS          10

struct flash_sim {
    struct flasher base;
    struct dp_sim *sim;
};

void sim_flash_init(struct sim_flash *flash)
{
    pthread_mutex_init(&flash->lock, NULL);
    flash->faults = (struct sim_flash_faults){.fail_percent = -1, .step_ms = SIM_FLASH_STEP_MS};
    for (size_t i = 0; i < INVENTORY_PORTS_MAX; i++)
        flash->devices[i] = (struct sim_flash_device){SIM_FIRMWARE, SIM_FIRMWARE, false};
}

void sim_flash_release(struct sim_flash *flash)
{
    pthread_mutex_destroy(&flash->lock);
}

void sim_flash_get(struct sim_flash *flash, int index, struct sim_flash_device *out)
{
    pthread_mutex_lock(&flash->lock);
    *out = flash->devices[index];
    pthread_mutex_unlock(&flash->lock);
}

static bool read_number(const char *text, const char *name, int max, int *out)
{
    size_t len = strlen(name);
    int value, used = 0;
    if (strncmp(text, name, len) != 0 || sscanf(text + len, "%d%n", &value, &used) != 1 ||
        text[len + (size_t)used] != '\0' || value < 0 || value > max)
        return false;
    *out = value;
    return true;
}

enum err_code sim_flash_fault(struct sim_flash *flash, const char *text, struct err *err)
{
    struct sim_flash_faults *faults = &flash->faults;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"psid", &faults->psid},   {"dead-link", &faults->dead_link},
        {"stuck", &faults->stuck}, {"no-activate", &faults->no_activate},
        {"users", &faults->users}, {"ignore", &faults->ignore},
    };
    enum err_code code = ERR_OK;
    pthread_mutex_lock(&flash->lock);
    size_t i = 0;
    while (i < sizeof(flags) / sizeof(flags[0]) && strcmp(flags[i].name, text) != 0)
        i++;
    if (i < sizeof(flags) / sizeof(flags[0]))
        *flags[i].flag = true;
    else if (strcmp(text, "unstuck") == 0)
        faults->stuck = false;
    else if (strcmp(text, "no-users") == 0)
        faults->users = false;
    else if (!read_number(text, "fail-", 100, &faults->fail_percent) &&
             !read_number(text, "slow-", SIM_FLASH_SLOW_MAX_MS, &faults->step_ms))
        code = err_set(err, ERR_INVALID,
                       "'flash:%.64s' is no fault of a flash: fail-PERCENT, slow-MS, psid, "
                       "dead-link, stuck, unstuck, no-activate, users, no-users or ignore",
                       text);
    pthread_mutex_unlock(&flash->lock);
    return code;
}

/* The device of the name, locked; NULL = none (and not locked). */
static struct sim_flash_device *take(struct flasher *flasher, const char *device, struct err *err)
{
    struct dp_sim *sim = ((struct flash_sim *)flasher)->sim;
    int index, used = 0;
    if (sscanf(device, "sim.%d%n", &index, &used) != 1 || device[used] != '\0' || index < 0 ||
        index >= sim->config.port_count) {
        err_set(err, ERR_NOT_FOUND, "device %s is not there", device);
        return NULL;
    }
    pthread_mutex_lock(&sim->flash.lock);
    return &sim->flash.devices[index];
}

static void give(struct flasher *flasher)
{
    pthread_mutex_unlock(&((struct flash_sim *)flasher)->sim->flash.lock);
}

static const struct sim_flash_faults *faults_of(const struct flasher *flasher)
{
    return &((const struct flash_sim *)flasher)->sim->flash.faults;
}

static enum err_code sim_identify(struct flasher *flasher, const char *device,
                                  struct flash_identity *out, struct err *err)
{
    const struct sim_flash_device *at = take(flasher, device, err);
    if (at == NULL)
        return ERR_NOT_FOUND;
    *out = (struct flash_identity){.driver = SIM_DRIVER};
    snprintf(out->psid, sizeof(out->psid), "%s",
             faults_of(flasher)->psid ? "SIM_9999999999" : SIM_PSID);
    memcpy(out->running, at->running, sizeof(out->running));
    memcpy(out->stored, at->stored, sizeof(out->stored));
    give(flasher);
    return ERR_OK;
}

static enum err_code sim_can_flash(struct flasher *flasher, const char *device, const char *path,
                                   struct err *err)
{
    (void)path; /* as devlink: the device looks at it when it is written */
    if (take(flasher, device, err) == NULL)
        return ERR_NOT_FOUND;
    give(flasher);
    return ERR_OK;
}

static enum err_code sim_users(struct flasher *flasher, const char *device, int *out_count,
                               struct err *err)
{
    if (take(flasher, device, err) == NULL)
        return ERR_NOT_FOUND;
    *out_count = faults_of(flasher)->users ? 3 : 0;
    give(flasher);
    return ERR_OK;
}

static enum err_code sim_links(struct flasher *flasher, const char *device, struct flash_links *out,
                               struct err *err)
{
    const struct sim_flash_device *at = take(flasher, device, err);
    if (at == NULL)
        return ERR_NOT_FOUND;
    *out = (struct flash_links){.count = 1, .items = {{.port = 0, .up = !at->dead}}};
    give(flasher);
    return ERR_OK;
}

static void pause_ms(int ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * NS_PER_MS};
    while (nanosleep(&span, &span) != 0 && errno == EINTR)
        continue;
}

static enum err_code read_image(const char *path, char version[FLASH_VERSION_SIZE], struct err *err)
{
    char line[SIM_IMAGE_HEAD] = "", psid[PSID_SIZE] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    bool good = fgets(line, sizeof(line), file) != NULL &&
                sscanf(line, "sim-firmware %63s %63s", version, psid) >= 1;
    fclose(file);
    if (!good)
        return err_set(err, ERR_IO, "the device refuses the image: it is no firmware of its kind");
    if (psid[0] != '\0' && strcmp(psid, SIM_PSID) != 0)
        return err_set(err, ERR_IO, "the device refuses the image: it is for board %s", psid);
    return ERR_OK;
}

static bool is_stuck(struct flasher *flasher)
{
    struct sim_flash *flash = &((struct flash_sim *)flasher)->sim->flash;
    pthread_mutex_lock(&flash->lock);
    bool stuck = flash->faults.stuck;
    pthread_mutex_unlock(&flash->lock);
    return stuck;
}

static enum err_code hang(struct flasher *flasher, const struct flash_write *write, struct err *err)
{
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + write->deadline_s * NS_PER_S;
    while (clock->mono_ns(clock) < end_ns && is_stuck(flasher))
        pause_ms(PAUSE_MS);
    return err_set(err, ERR_UNAVAILABLE, "%s did not come back within %d s", write->device,
                   write->deadline_s);
}

static enum err_code write_steps(struct flasher *flasher, const struct sim_flash_faults *faults,
                                 const struct flash_write *write, struct err *err)
{
    for (int step = 0; step <= SIM_FLASH_STEPS; step++) {
        struct flash_progress progress = {.message = "Programming",
                                          .component = "fw",
                                          .percent = step * 100 / SIM_FLASH_STEPS,
                                          .timeout_s = 10};
        if (write->progress != NULL)
            write->progress(write->arg, &progress);
        if (faults->fail_percent >= 0 && progress.percent >= faults->fail_percent)
            return err_set(err, ERR_IO, "%s: programming failed at %d %%", write->device,
                           faults->fail_percent);
        if (faults->stuck && step == SIM_FLASH_STEPS / 2)
            return hang(flasher, write, err);
        pause_ms(faults->step_ms);
    }
    return ERR_OK;
}

static enum err_code sim_write(struct flasher *flasher, const struct flash_write *write,
                               struct err *err)
{
    char version[FLASH_VERSION_SIZE] = "";
    if (take(flasher, write->device, err) == NULL)
        return ERR_NOT_FOUND;
    struct sim_flash_faults faults = *faults_of(flasher);
    give(flasher);
    enum err_code code = read_image(write->path, version, err);
    if (code == ERR_OK)
        code = write_steps(flasher, &faults, write, err);
    if (code != ERR_OK || faults.ignore)
        return code;
    struct sim_flash_device *at = take(flasher, write->device, err);
    memcpy(at->stored, version, sizeof(at->stored));
    give(flasher);
    return ERR_OK;
}

static enum err_code sim_activate(struct flasher *flasher, const char *device, int deadline_s,
                                  struct err *err)
{
    (void)deadline_s;
    struct sim_flash_device *at = take(flasher, device, err);
    if (at == NULL)
        return ERR_NOT_FOUND;
    const struct sim_flash_faults *faults = faults_of(flasher);
    enum err_code code = ERR_OK;
    if (faults->no_activate)
        code = err_set(err, ERR_UNSUPPORTED, "%s cannot activate firmware by a reload", device);
    else
        memcpy(at->running, at->stored, sizeof(at->running));
    at->dead = at->dead || (code == ERR_OK && faults->dead_link);
    give(flasher);
    return code;
}

/* What is set is in effect here already, and stays. */
static enum err_code sim_reload(struct flasher *flasher, const char *device, int deadline_s,
                                struct err *err)
{
    (void)deadline_s;
    if (take(flasher, device, err) == NULL)
        return ERR_NOT_FOUND;
    give(flasher);
    return ERR_OK;
}

static void sim_sweep(struct flasher *flasher)
{
    (void)flasher; /* it reads images where they are */
}

static void sim_free(struct flasher *flasher)
{
    free(flasher);
}

enum err_code flash_sim_new(struct dp *sim, struct flasher **out, struct err *err)
{
    static const struct flasher_ops ops = {
        .identify = sim_identify,
        .check = sim_can_flash,
        .users = sim_users,
        .links = sim_links,
        .write = sim_write,
        .activate = sim_activate,
        .reload = sim_reload,
        .sweep = sim_sweep,
        .free = sim_free,
    };
    struct flash_sim *flash = calloc(1, sizeof(*flash));
    if (flash == NULL)
        return err_nomem(err);
    *flash = (struct flash_sim){.base.ops = &ops, .sim = (struct dp_sim *)sim};
    *out = &flash->base;
    return ERR_OK;
}
