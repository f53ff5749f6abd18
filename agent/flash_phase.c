/*
 * agent/flash_phase.c - the phases of a flash: what each one's end leads to.
 *
 *   offered --> fetching --> checking --> draining ==> flashing --> flashed --> activating
 *      |  \                   |   |          |            :            |  \         |
 *      |   \__ stored already ____|_________/|            :            |   \        v
 *      |              (draining, or flashed) |  point of no return      |    --> verifying
 *      |                                     |                         |            |
 *      +-> done (it runs already)            +-> flashed (stored)      v            v
 *                                                               pending-reset     done
 *   before "==>": aborted, cancelled; nothing was written      after: failed, pending-reset
 *
 * Every move is on disk before its work begins. flash_move.c holds the whole list of moves and the
 * rule of fleet/flash.h that says which outcome fits which phase.
 */
#include <stdio.h>
#include <string.h>

#include "agent/flash_judge.h"
#include "agent/flash_private.h"

static bool is_target(const struct flash *flash, const char *version)
{
    return flash_same_version(version, flash->record.task.image.version);
}

static void take_versions(struct flash *flash, const struct flash_job *job)
{
    if (!job->has_identity)
        return;
    memcpy(flash->record.running, job->identity.running, sizeof(flash->record.running));
    memcpy(flash->record.stored, job->identity.stored, sizeof(flash->record.stored));
}

/* What the identity leads to, before anything is written. */
static void judge(struct flash *flash, const struct flash_job *job)
{
    char why[ERR_TEXT_MAX];
    bool reloads = flash->record.task.activate == FLASH_ACTIVATE_RELOAD;
    switch (flash_judge(&flash->record.task, &job->identity, why)) {
    case FLASH_STRANGER:
        flash_end(flash, FLASH_ABORTED, "%s", why);
        break;
    case FLASH_RUNS:
        flash_move(flash, FLASH_DONE);
        break;
    case FLASH_STORED:
        flash_move(flash, reloads ? FLASH_DRAINING : FLASH_FLASHED);
        break;
    case FLASH_GO:
        flash_move(flash, job->phase == FLASH_OFFERED ? FLASH_FETCHING : FLASH_DRAINING);
        break;
    }
}

static void offered_ended(struct flash *flash, const struct flash_job *job)
{
    if (job->err.code == ERR_UNAVAILABLE)
        flash_wait(flash, FLASH_LOOK_NS, job->err.text);
    else if (job->err.code != ERR_OK)
        flash_end(flash, FLASH_ABORTED, "%s", job->err.text);
    else {
        flash->record.links = job->links;
        flash->record.has_links = true;
        judge(flash, job);
    }
}

static void fetching_ended(struct flash *flash, const struct flash_job *job)
{
    if (job->err.code == ERR_UNAVAILABLE)
        flash_wait(flash, FLASH_RETRY_NS, job->err.text);
    else if (job->err.code != ERR_OK)
        flash_end(flash, FLASH_ABORTED, "%s", job->err.text);
    else
        flash_move(flash, FLASH_CHECKING);
}

static void checking_ended(struct flash *flash, const struct flash_job *job)
{
    if (job->err.code == ERR_UNAVAILABLE)
        flash_wait(flash, FLASH_LOOK_NS, job->err.text);
    else if (job->err.code != ERR_OK)
        flash_end(flash, FLASH_ABORTED, "%s", job->err.text);
    else
        judge(flash, job);
}

static void draining_ended(struct flash *flash, const struct flash_job *job)
{
    const struct flash_config *config = &flash->config;
    char why[FLASH_MESSAGE_SIZE], busy[ERR_TEXT_MAX];
    bool over = flash_now_ns(flash) >= flash->drain_ns;
    if (job->err.code == ERR_UNAVAILABLE && !over) {
        flash_wait(flash, FLASH_LOOK_NS, job->err.text);
    } else if (job->err.code != ERR_OK) {
        flash_end(flash, FLASH_ABORTED, "whether it is in use cannot be told: %s", job->err.text);
    } else if (job->users == 0 && config->busy != NULL && config->busy(config->arg, busy)) {
        flash_wait(flash, FLASH_LOOK_NS, busy);
    } else if (job->users == 0) {
        flash_move(flash, is_target(flash, flash->record.stored) ? FLASH_FLASHED : FLASH_FLASHING);
    } else if (over) {
        flash_end(flash, FLASH_ABORTED, "drain timeout: %d queue pairs of user programs are on %s",
                  job->users, flash->record.task.device);
    } else {
        snprintf(why, sizeof(why), "%d queue pairs of user programs are left", job->users);
        flash_wait(flash, FLASH_LOOK_NS, why);
    }
}

static void pending(struct flash *flash, const char *why)
{
    const struct flash_record *record = &flash->record;
    flash_end(flash, FLASH_PENDING_RESET, "%s%s%s is stored, %s runs until a reset or a reboot",
              why, why[0] == '\0' ? "" : ": ", record->stored, record->running);
}

/* A crash left the write in the middle: the device says what became of it. */
static void interrupted(struct flash *flash, const struct flash_job *job)
{
    const struct flash_record *record = &flash->record;
    if (job->err.code != ERR_OK) {
        flash_wait(flash, FLASH_LOOK_NS, job->err.text);
    } else if (!is_target(flash, record->stored)) {
        flash_end(flash, FLASH_FAILED,
                  "interrupted: the agent ended during the write; %s stores %s",
                  record->task.device,
                  record->stored[0] == '\0' ? "what it does not say" : record->stored);
    } else if (is_target(flash, record->running)) {
        flash_move(flash, FLASH_FLASHED);
    } else {
        flash->record.phase = FLASH_FLASHED;
        pending(flash, "the agent ended during the write, which came to its end");
    }
}

static void flashing_ended(struct flash *flash, const struct flash_job *job)
{
    const struct flash_record *record = &flash->record;
    bool reloads = record->task.activate == FLASH_ACTIVATE_RELOAD;
    if (job->only_look)
        interrupted(flash, job);
    else if (job->err.code != ERR_OK)
        flash_end(flash, FLASH_FAILED, "%s", job->err.text);
    else if (is_target(flash, record->stored) || (record->stored[0] == '\0' && reloads))
        flash_move(flash, FLASH_FLASHED);
    else
        flash_end(flash, FLASH_FAILED, "%s took the image, but stores %s", record->task.device,
                  record->stored[0] == '\0' ? "what it does not say" : record->stored);
}

void flash_flashed(struct flash *flash, bool drained)
{
    const struct flash_record *record = &flash->record;
    if (is_target(flash, record->running))
        flash_move(flash, FLASH_VERIFYING);
    else if (record->task.activate != FLASH_ACTIVATE_RELOAD)
        pending(flash, "");
    else if (drained)
        flash_move(flash, FLASH_ACTIVATING);
    else
        flash_wait(flash, 0, "");
}

/* A crash lies between the drain and the activation: who came since is not disturbed. */
static void flashed_ended(struct flash *flash, const struct flash_job *job)
{
    const struct flash_config *config = &flash->config;
    char why[ERR_TEXT_MAX] = "";
    if (job->has_identity && is_target(flash, flash->record.running)) {
        flash_move(flash, FLASH_VERIFYING);
        return;
    }
    if (job->err.code != ERR_OK)
        snprintf(why, sizeof(why), "whether it is in use cannot be told: %.400s", job->err.text);
    else if (job->users > 0)
        snprintf(why, sizeof(why), "%d queue pairs of user programs are left", job->users);
    else if (config->busy == NULL || !config->busy(config->arg, why)) {
        flash_move(flash, FLASH_ACTIVATING);
        return;
    }
    if (flash_now_ns(flash) >= flash->drain_ns)
        pending(flash, why);
    else
        flash_wait(flash, FLASH_LOOK_NS, why);
}

static void activating_ended(struct flash *flash, const struct flash_job *job)
{
    const struct flash_record *record = &flash->record;
    char why[ERR_TEXT_MAX] = "";
    bool kept = job->has_links && flash_links_kept(&record->links, &job->links, why);
    bool stored = job->has_identity && is_target(flash, record->stored);
    if (job->only_look && job->err.code != ERR_OK)
        flash_wait(flash, FLASH_LOOK_NS, job->err.text);
    else if ((job->err.code == ERR_OK && !job->only_look) ||
             (job->has_identity && is_target(flash, record->running)))
        flash_move(flash, FLASH_VERIFYING);
    else if (stored && (kept || job->only_look))
        pending(flash, job->only_look ? "the agent ended during the activation" : job->err.text);
    else
        flash_end(flash, FLASH_FAILED, "%s%s%s",
                  job->only_look ? "the agent ended during the activation" : job->err.text,
                  why[0] == '\0' ? "" : "; ", why);
}

static void verifying_ended(struct flash *flash, const struct flash_job *job)
{
    const struct flash_record *record = &flash->record;
    const struct flash_config *config = &flash->config;
    char why[ERR_TEXT_MAX] = "";
    if (job->err.code == ERR_OK && !is_target(flash, record->running)) {
        if (is_target(flash, record->stored))
            pending(flash, "the activation changed nothing");
        else
            flash_end(flash, FLASH_FAILED, "after the activation %s runs %s and stores %s",
                      record->task.device, record->running, record->stored);
        return;
    }
    if (job->err.code != ERR_OK)
        snprintf(why, sizeof(why), "%s", job->err.text);
    else if (flash_links_kept(&record->links, &job->links, why) &&
             (config->recheck == NULL || config->recheck(config->arg, why))) {
        flash_move(flash, FLASH_DONE);
        return;
    }
    if (flash_now_ns(flash) >= flash->verify_ns)
        flash_end(flash, FLASH_FAILED, "%s runs %s, but is not right: %.400s", record->task.device,
                  record->running, why);
    else
        flash_wait(flash, FLASH_LOOK_NS, why);
}

static void (*const ends[FLASH_PHASE_COUNT])(struct flash *flash, const struct flash_job *job) = {
    [FLASH_OFFERED] = offered_ended,
    [FLASH_FETCHING] = fetching_ended,
    [FLASH_CHECKING] = checking_ended,
    [FLASH_DRAINING] = draining_ended,
    [FLASH_FLASHING] = flashing_ended,
    [FLASH_FLASHED] = flashed_ended,
    [FLASH_ACTIVATING] = activating_ended,
    [FLASH_VERIFYING] = verifying_ended,
    [FLASH_DONE] = NULL,
};

void flash_ended(struct flash *flash, const struct flash_job *job)
{
    take_versions(flash, job);
    ends[job->phase](flash, job);
}
