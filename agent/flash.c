/*
 * agent/flash.c - see flash.h: its life, and what comes from the server. The phases are
 * flash_phase.c.
 */
#include "agent/flash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/flash_private.h"
#include "base/json.h"
#include "base/log.h"

int64_t flash_now_ns(const struct flash *flash)
{
    return flash->config.clock->mono_ns(flash->config.clock);
}

bool flash_is_open(const struct flash *flash)
{
    return flash->has_record && flash->record.outcome == FLASH_OPEN;
}

static void on_look(void *arg)
{
    flash_look(arg);
}

static enum err_code init(struct flash *flash, struct err *err)
{
    enum err_code code = keep_path(flash->config.state_dir, FLASH_FOLDER, flash->folder, err);
    if (code == ERR_OK)
        snprintf(flash->state_dir, sizeof(flash->state_dir), "%s", flash->config.state_dir);
    if (code == ERR_OK)
        code = worker_new(flash->config.loop, &flash->worker, err);
    if (code == ERR_OK)
        code = loop_timer_new(flash->config.loop, on_look, flash, &flash->look, err);
    return code;
}

enum err_code flash_new(const struct flash_config *config, struct flasher *flasher,
                        struct flash **out, struct err *err)
{
    struct flash_tools *tools = flash_tools_new(flasher);
    OWN(flash) struct flash *flash = calloc(1, sizeof(*flash));
    if (tools == NULL || flash == NULL) {
        flash_tools_drop(tools);
        return err_nomem(err);
    }
    flash->config = *config;
    flash->tools = tools;
    if (flash->config.look_ns == 0)
        flash->config.look_ns = FLASH_LOOK_NS;
    snprintf(flash->node, sizeof(flash->node), "%s", config->node);
    enum err_code code = init(flash, err);
    if (code == ERR_OK)
        *out = GIVE(flash);
    return code;
}

void flash_free(struct flash *flash)
{
    if (flash == NULL)
        return;
    atomic_store(&flash->tools->stop, true);
    worker_free(flash->worker);
    loop_timer_free(flash->look);
    flash_tools_drop(flash->tools);
    free(flash);
}

static void tell_known(const struct flash *flash)
{
    char tag[FLASH_TAG_SIZE] = "";
    if (flash->config.link == NULL)
        return;
    if (flash->has_record)
        flash_task_tag(&flash->record.task, tag);
    flash->config.link->ops->flash_known(flash->config.link, tag);
}

void flash_start(struct flash *flash)
{
    struct err err = ERR_INIT;
    enum err_code code = flash_record_read(flash->state_dir, flash->node, &flash->record, &err);
    flash->has_record = code == ERR_OK;
    if (code != ERR_OK && code != ERR_NOT_FOUND)
        keep_set_aside(flash->state_dir, FLASH_FILE, flash->config.clock, &err);
    flash->tools->flasher->ops->sweep(flash->tools->flasher);
    if (!flash_is_open(flash))
        flash_folder_sweep(flash->folder, NULL);
    if (flash_is_open(flash))
        flash_go_on(flash);
    else if (flash->has_record && !flash->record.told)
        flash_tell(flash);
    tell_known(flash);
}

/* The same task again: the server lost what it was told, or takes the task back. */
static bool take_again(struct flash *flash, const struct flash_task *task)
{
    struct flash_record *record = &flash->record;
    bool news = task->cancelled && !record->task.cancelled;
    if (news)
        flash_cancel(flash);
    if (record->outcome != FLASH_OPEN && record->told) {
        record->told = false;
        flash->told[0] = '\0';
        flash_tell(flash);
    }
    return news;
}

bool flash_take(struct flash *flash, const char *body, size_t len)
{
    struct flash_task task;
    OWN(json) json_t *document = NULL;
    struct err err = ERR_INIT;
    if (json_parse_limit(body, len, FLASH_TASK_BYTES_MAX, false, &document, &err) != ERR_OK ||
        flash_task_from_json(document, &task, &err) != ERR_OK) {
        log_error("agent", "node %s: the server's flash task cannot be used: %s %s", flash->node,
                  err.pointer, err.text);
        return false;
    }
    bool same = flash->has_record && strcmp(flash->record.task.id, task.id) == 0;
    bool news = same && take_again(flash, &task);
    /* One at a time; an outcome that the server has not heard goes first. */
    if (!same && flash->has_record && !flash->record.told)
        return false;
    if (!same) {
        flash->record = (struct flash_record){.task = task};
        flash->has_record = news = true;
        flash->told[0] = '\0';
        flash_begin(flash);
    }
    tell_known(flash);
    return news;
}

void flash_reported(struct flash *flash)
{
    struct err err = ERR_INIT;
    if (!flash->has_record || flash->record.outcome == FLASH_OPEN || flash->record.told)
        return;
    flash->record.told = true;
    if (!flash->dead &&
        flash_record_write(flash->state_dir, flash->node, &flash->record, &err) != ERR_OK)
        log_warning("agent", "node %s: an outcome may be told again: %s", flash->node, err.text);
}

bool flash_is_busy(const struct flash *flash)
{
    return flash_is_open(flash);
}

const char *flash_held(const struct flash *flash)
{
    const struct flash_record *record = &flash->record;
    if (flash_is_open(flash) && record->phase >= FLASH_FLASHING &&
        record->phase <= FLASH_ACTIVATING)
        return record->task.device;
    bool stuck = worker_is_busy(flash->worker) &&
                 (flash->job_phase == FLASH_FLASHING || flash->job_phase == FLASH_ACTIVATING);
    return stuck ? flash->job_device : "";
}
