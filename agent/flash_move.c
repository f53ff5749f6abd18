/*
 * agent/flash_move.c - how a flash moves from phase to phase, begins a phase's work and ends; the
 * picture stands in flash_phase.c. Every move is on disk before its work begins.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/flash_private.h"
#include "base/log.h"
#include "base/text.h"

/* The device's own deadline comes first: its words say more than ours. */
#define SLACK_NS (5 * NS_PER_S)

#define TO(phase) (1u << (phase))
static const unsigned moves[FLASH_PHASE_COUNT] = {
    [FLASH_OFFERED] = TO(FLASH_FETCHING) | TO(FLASH_DRAINING) | TO(FLASH_FLASHED) | TO(FLASH_DONE),
    [FLASH_FETCHING] = TO(FLASH_CHECKING),
    [FLASH_CHECKING] = TO(FLASH_DRAINING) | TO(FLASH_FLASHED) | TO(FLASH_DONE),
    [FLASH_DRAINING] = TO(FLASH_FLASHING) | TO(FLASH_FLASHED),
    [FLASH_FLASHING] = TO(FLASH_FLASHED),
    [FLASH_FLASHED] = TO(FLASH_ACTIVATING) | TO(FLASH_VERIFYING),
    [FLASH_ACTIVATING] = TO(FLASH_VERIFYING),
    [FLASH_VERIFYING] = TO(FLASH_DONE),
    [FLASH_DONE] = 0,
};

/* On disk; false: it is not, or we are dead. */
static bool save(struct flash *flash, struct err *err)
{
    const struct flash_config *config = &flash->config;
    flash->dead = flash->dead || (config->killed != NULL && config->killed(config->killed_arg));
    if (flash->dead)
        return false;
    enum err_code code = flash_record_write(flash->state_dir, flash->node, &flash->record, err);
    flash->dead = config->killed != NULL && config->killed(config->killed_arg);
    return code == ERR_OK && !flash->dead;
}

static void start_work(struct flash *flash);

static void say_changed(const struct flash *flash)
{
    if (flash->config.changed != NULL && !flash->dead)
        flash->config.changed(flash->config.arg);
}

static void log_end(const struct flash *flash)
{
    const struct flash_record *record = &flash->record;
    bool good = record->outcome == FLASH_SUCCESS || record->outcome == FLASH_PENDING_RESET ||
                record->outcome == FLASH_CANCELLED;
    log_line(good ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, "agent",
             "node %s: flash task %s of %s: %s in phase %s%s%s", flash->node, record->task.id,
             record->task.device, flash_outcome_name(record->outcome),
             flash_phase_name(record->phase), record->problem[0] == '\0' ? "" : ": ",
             record->problem);
}

void flash_end(struct flash *flash, enum flash_outcome outcome, const char *fmt, ...)
{
    struct flash_record *record = &flash->record;
    struct err err = ERR_INIT;
    assert(flash_is_open(flash) && outcome != FLASH_OPEN);
    assert(flash_outcome_fits(record->phase, outcome));
    va_list args;
    va_start(args, fmt);
    vsnprintf(record->problem, sizeof(record->problem), fmt, args);
    va_end(args);
    record->outcome = outcome;
    flash->wants_job = false;
    flash->waits_for[0] = '\0';
    atomic_store(&flash->tools->stop, true);
    loop_timer_set(flash->look, -1);
    if (!save(flash, &err) && !flash->dead)
        log_error("agent", "node %s: the end of a flash is not on disk: %s", flash->node, err.text);
    if (flash->dead)
        return;
    if (!worker_is_busy(flash->worker)) {
        flash_folder_sweep(flash->folder, NULL);
        flash->tools->flasher->ops->sweep(flash->tools->flasher);
    }
    log_end(flash);
    flash_tell(flash);
    say_changed(flash);
}

/* The phase is on disk, or nothing of it begins: before the write that ends the task, after it the
 * disk's trouble is only logged. */
void flash_move(struct flash *flash, enum flash_phase to)
{
    struct flash_record *record = &flash->record;
    struct err err = ERR_INIT;
    enum flash_phase from = record->phase;
    assert(flash_is_open(flash) && (moves[from] & TO(to)) != 0);
    record->phase = to;
    if (to == FLASH_DONE) {
        flash_end(flash, FLASH_SUCCESS, "%s", "");
        return;
    }
    flash->waits_for[0] = '\0';
    if (!save(flash, &err)) {
        if (flash->dead)
            return;
        if (flash_is_before_write(from) && to <= FLASH_FLASHING) {
            record->phase = from;
            flash_end(flash, FLASH_ABORTED, "the node's state cannot be kept: %s", err.text);
            return;
        }
        log_error("agent", "node %s: flash phase %s is not on disk: %s", flash->node,
                  flash_phase_name(to), err.text);
    }
    log_info("agent", "node %s: flash task %s of %s: %s", flash->node, record->task.id,
             record->task.device, flash_phase_name(to));
    int64_t now_ns = flash_now_ns(flash);
    if (to >= FLASH_FLASHING && flash_is_before_write(from))
        flash->deadline_ns = now_ns + record->task.deadline_s * NS_PER_S;
    if (to == FLASH_DRAINING)
        flash->drain_ns = now_ns + record->task.drain_timeout_s * NS_PER_S;
    if (to == FLASH_VERIFYING)
        flash->verify_ns = now_ns + FLASH_VERIFY_NS;
    flash->wants_job = to != FLASH_FLASHED;
    flash->only_look = false;
    flash->retry_ns = 0;
    flash_tell(flash);
    say_changed(flash);
    if (to == FLASH_FLASHED)
        flash_flashed(flash, true);
    else
        start_work(flash);
}

void flash_wait(struct flash *flash, int64_t delay_ns, const char *why)
{
    if (flash->config.look_ns < FLASH_LOOK_NS) /* as much shorter as the looks are */
        delay_ns = delay_ns / (FLASH_LOOK_NS / flash->config.look_ns);
    text_copy(flash->waits_for, sizeof(flash->waits_for), why);
    flash->wants_job = true;
    flash->retry_ns = flash_now_ns(flash) + delay_ns;
    flash_tell(flash);
}

static void on_job(void *arg, struct worker_job *base)
{
    struct flash *flash = arg;
    struct flash_job *job = (struct flash_job *)base;
    bool ours = flash_is_open(flash) && !flash->dead && job->phase == flash->record.phase &&
                strcmp(job->task.id, flash->record.task.id) == 0;
    if (ours) {
        flash_ended(flash, job);
    } else if (!flash->dead) {
        say_changed(flash); /* the device is free again */
    }
    flash_job_free(job);
}

static struct flash_job *make_job(struct flash *flash, struct err *err)
{
    const struct flash_record *record = &flash->record;
    struct link *link = flash->config.link;
    struct flash_job *job = flash_job_new(flash->tools, &record->task, record->phase, on_job);
    if (job == NULL) {
        err_nomem(err);
        return NULL;
    }
    int64_t left_s = (flash->deadline_ns - flash_now_ns(flash)) / NS_PER_S;
    job->task.deadline_s = left_s < 1 ? 1 : (int)left_s;
    job->only_look = flash->only_look;
    memcpy(job->folder, flash->folder, sizeof(job->folder));
    if (record->phase == FLASH_FETCHING &&
        (link == NULL ? err_set(err, ERR_UNAVAILABLE, "there is no server to fetch images from")
                      : link->ops->image(link, record->task.image.id, &job->from, err)) != ERR_OK) {
        flash_job_free(job);
        return NULL;
    }
    return job;
}

static void start_work(struct flash *flash)
{
    struct err err = ERR_INIT;
    if (worker_is_busy(flash->worker)) {
        flash_wait(flash, FLASH_LOOK_NS, "an earlier write has not come back yet");
        return;
    }
    if (flash->record.phase == FLASH_OFFERED) { /* not before: a download of the last one stops */
        atomic_store(&flash->tools->stop, false);
        atomic_store(&flash->tools->have_bytes, 0);
    }
    struct flash_job *job = make_job(flash, &err);
    if (job == NULL || worker_start(flash->worker, &job->base, flash, &err) != ERR_OK) {
        flash_wait(flash, FLASH_LOOK_NS, err.text);
        return;
    }
    flash->wants_job = false;
    flash->job_phase = flash->record.phase;
    memcpy(flash->job_device, flash->record.task.device, sizeof(flash->job_device));
}

static void too_late(struct flash *flash)
{
    const struct flash_record *record = &flash->record;
    const char *waits = flash->waits_for;
    bool before = flash_is_before_write(record->phase);
    flash_end(flash, before ? FLASH_ABORTED : FLASH_FAILED, "deadline: not ended within %d s%s%s%s",
              record->task.deadline_s, before ? "" : " of the beginning of the write",
              waits[0] == '\0' ? "" : ": ", waits);
}

void flash_look(struct flash *flash)
{
    if (!flash_is_open(flash) || flash->dead)
        return;
    int64_t now_ns = flash_now_ns(flash);
    bool before = flash_is_before_write(flash->record.phase);
    if (now_ns >= flash->deadline_ns + (before ? 0 : SLACK_NS))
        too_late(flash);
    else if (flash->wants_job && now_ns >= flash->retry_ns)
        start_work(flash);
    if (!flash_is_open(flash) || flash->dead)
        return;
    flash_tell(flash);
    loop_timer_set(flash->look, flash->config.look_ns);
}

void flash_begin(struct flash *flash)
{
    struct flash_record *record = &flash->record;
    struct err err = ERR_INIT;
    flash->deadline_ns = flash_now_ns(flash) + record->task.deadline_s * NS_PER_S;
    flash->only_look = false;
    flash->waits_for[0] = '\0';
    pthread_mutex_lock(&flash->tools->lock);
    flash->tools->progress_count = 0;
    pthread_mutex_unlock(&flash->tools->lock);
    log_info("agent", "node %s: flash task %s of campaign %s: %s to %s", flash->node,
             record->task.id, record->task.campaign, record->task.device,
             record->task.image.version);
    if (!save(flash, &err)) {
        if (!flash->dead)
            flash_end(flash, FLASH_ABORTED, "the node's state cannot be kept: %s", err.text);
        return;
    }
    if (record->task.cancelled) {
        flash_end(flash, FLASH_CANCELLED, "%s", "cancelled before it was begun");
        return;
    }
    flash_tell(flash);
    start_work(flash);
    if (flash_is_open(flash))
        loop_timer_set(flash->look, flash->config.look_ns);
}

void flash_go_on(struct flash *flash)
{
    struct flash_record *record = &flash->record;
    if (flash_is_before_write(record->phase)) {
        record->phase = FLASH_OFFERED; /* nothing was written: all of it again */
        flash_begin(flash);
        return;
    }
    log_info("agent", "node %s: flash task %s goes on in phase %s", flash->node, record->task.id,
             flash_phase_name(record->phase));
    flash->deadline_ns = flash_now_ns(flash) + record->task.deadline_s * NS_PER_S;
    flash->verify_ns = flash_now_ns(flash) + FLASH_VERIFY_NS;
    flash->drain_ns = flash_now_ns(flash) + record->task.drain_timeout_s * NS_PER_S;
    flash->only_look = record->phase == FLASH_FLASHING || record->phase == FLASH_ACTIVATING;
    loop_timer_set(flash->look, flash->config.look_ns);
    if (record->phase == FLASH_FLASHED)
        flash_flashed(flash, false);
    else
        start_work(flash);
}

void flash_cancel(struct flash *flash)
{
    struct flash_record *record = &flash->record;
    record->task.cancelled = true;
    if (!flash_is_open(flash))
        return;
    if (flash_is_before_write(record->phase)) {
        flash_end(flash, FLASH_CANCELLED, "%s", "cancelled before anything was written");
        return;
    }
    log_warning("agent", "node %s: flash task %s cannot be cancelled any more: it is %s",
                flash->node, record->task.id, flash_phase_name(record->phase));
    flash_tell(flash);
}
