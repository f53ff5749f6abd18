/*
 * agent/flash_job.c - see flash_job.h.
 */
#include "agent/flash_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flash_tools *flash_tools_new(struct flasher *flasher)
{
    struct flash_tools *tools = calloc(1, sizeof(*tools));
    if (tools == NULL) {
        flasher_free(flasher);
        return NULL;
    }
    atomic_store(&tools->owners, 1);
    pthread_mutex_init(&tools->lock, NULL);
    tools->flasher = flasher;
    return tools;
}

void flash_tools_drop(struct flash_tools *tools)
{
    if (tools == NULL || atomic_fetch_sub(&tools->owners, 1) > 1)
        return;
    flasher_free(tools->flasher);
    pthread_mutex_destroy(&tools->lock);
    free(tools);
}

/* Steps: each ERR_OK, or why the phase's work ends there. ---------------------------------------*/

static enum err_code identify(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    enum err_code code = flasher->ops->identify(flasher, job->task.device, &job->identity, err);
    job->has_identity = code == ERR_OK;
    return code;
}

static enum err_code links(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    enum err_code code = flasher->ops->links(flasher, job->task.device, &job->links, err);
    job->has_links = code == ERR_OK;
    return code;
}

static enum err_code offered(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    enum err_code code = identify(job, err);
    if (code == ERR_OK)
        code = links(job, err);
    return code == ERR_OK ? flasher->ops->check(flasher, job->task.device, NULL, err) : code;
}

static enum err_code fetching(struct flash_job *job, struct err *err)
{
    flash_folder_sweep(job->folder, &job->task.image);
    const struct flash_fetch fetch = {.from = &job->from,
                                      .image = &job->task.image,
                                      .folder = job->folder,
                                      .stop = &job->tools->stop,
                                      .have_bytes = &job->tools->have_bytes};
    return flash_fetch(&fetch, err);
}

static enum err_code checking(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    char path[KEEP_PATH_MAX];
    enum err_code code = flash_image_path(job->folder, &job->task.image, path, err);
    if (code == ERR_OK)
        code = flash_image_check(path, &job->task.image, err);
    if (code == ERR_OK)
        code = identify(job, err);
    return code == ERR_OK ? flasher->ops->check(flasher, job->task.device, path, err) : code;
}

static enum err_code draining(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    return flasher->ops->users(flasher, job->task.device, &job->users, err);
}

/* After a crash: the node may have been reset meanwhile. */
static enum err_code flashed(struct flash_job *job, struct err *err)
{
    enum err_code code = identify(job, err);
    return code == ERR_OK ? draining(job, err) : code;
}

static void on_progress(void *arg, const struct flash_progress *progress)
{
    struct flash_tools *tools = arg;
    pthread_mutex_lock(&tools->lock);
    tools->progress = *progress;
    tools->progress_count++;
    pthread_mutex_unlock(&tools->lock);
}

/* Again: a drain may have taken hours, and what lies on a disk may change. */
static enum err_code still_whole(const char *path, const struct flash_image *image, struct err *err)
{
    enum err_code code = flash_image_check(path, image, err);
    return code == ERR_OK ? code : err_context(err, "nothing was written");
}

/* The versions are read after a failure, too: they say what it left. */
static enum err_code flashing(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    char path[KEEP_PATH_MAX];
    enum err_code code = flash_image_path(job->folder, &job->task.image, path, err);
    const struct flash_write write = {.device = job->task.device,
                                      .path = path,
                                      .id = job->task.image.id,
                                      .deadline_s = job->task.deadline_s,
                                      .progress = on_progress,
                                      .arg = job->tools};
    if (code == ERR_OK)
        code = still_whole(path, &job->task.image, err);
    if (code == ERR_OK)
        code = flasher->ops->write(flasher, &write, err);
    enum err_code seen = identify(job, code == ERR_OK ? err : NULL);
    return code == ERR_OK ? seen : code;
}

static enum err_code activating(struct flash_job *job, struct err *err)
{
    struct flasher *flasher = job->tools->flasher;
    enum err_code code =
        flasher->ops->activate(flasher, job->task.device, job->task.deadline_s, err);
    (void)identify(job, NULL); /* verifying asks again; a failure wants to know */
    (void)links(job, NULL);
    return code;
}

static enum err_code verifying(struct flash_job *job, struct err *err)
{
    enum err_code code = identify(job, err);
    return code == ERR_OK ? links(job, err) : code;
}

static enum err_code (*const works[FLASH_PHASE_COUNT])(struct flash_job *job, struct err *err) = {
    [FLASH_OFFERED] = offered,   [FLASH_FETCHING] = fetching,     [FLASH_CHECKING] = checking,
    [FLASH_DRAINING] = draining, [FLASH_FLASHING] = flashing,     [FLASH_FLASHED] = flashed,
    [FLASH_DONE] = NULL,         [FLASH_ACTIVATING] = activating, [FLASH_VERIFYING] = verifying,
};

static void job_run(struct worker_job *base)
{
    struct flash_job *job = (struct flash_job *)base;
    struct err err = ERR_INIT;
    enum err_code code = job->only_look ? identify(job, &err) : works[job->phase](job, &err);
    job->err = err;
    job->err.code = code;
}

static void job_free(struct worker_job *base)
{
    flash_job_free((struct flash_job *)base);
}

struct flash_job *flash_job_new(struct flash_tools *tools, const struct flash_task *task,
                                enum flash_phase phase,
                                void (*done)(void *arg, struct worker_job *job))
{
    struct flash_job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return NULL;
    job->base = (struct worker_job){.run = job_run, .done = done, .free = job_free};
    job->task = *task;
    job->phase = phase;
    job->tools = tools;
    atomic_fetch_add(&tools->owners, 1);
    return job;
}

void flash_job_free(struct flash_job *job)
{
    if (job == NULL)
        return;
    link_image_release(&job->from);
    flash_tools_drop(job->tools);
    free(job);
}
