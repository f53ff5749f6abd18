/*
 * agent/flash_tell.c - what the server hears of a flash: the record, and where its work stands.
 */
#include <stdio.h>
#include <string.h>

#include "agent/flash_private.h"
#include "base/json.h"
#include "base/log.h"

static void add_progress(struct flash *flash, struct flash_report *out)
{
    struct flash_tools *tools = flash->tools;
    if (out->phase == FLASH_FETCHING) {
        int64_t have = atomic_load(&tools->have_bytes);
        out->percent = (int)(have * 100 / flash->record.task.image.size_bytes);
    }
    if (out->phase != FLASH_FLASHING)
        return;
    pthread_mutex_lock(&tools->lock);
    struct flash_progress progress = tools->progress;
    bool any = tools->progress_count != 0;
    pthread_mutex_unlock(&tools->lock);
    if (!any)
        return;
    out->percent = progress.percent;
    memcpy(out->message, progress.message, sizeof(out->message));
    memcpy(out->component, progress.component, sizeof(out->component));
}

static void make_report(struct flash *flash, struct flash_report *out)
{
    const struct flash_record *record = &flash->record;
    *out = (struct flash_report){.phase = record->phase, .percent = -1, .outcome = record->outcome};
    memcpy(out->task, record->task.id, sizeof(out->task));
    memcpy(out->problem, record->problem, sizeof(out->problem));
    memcpy(out->running, record->running, sizeof(out->running));
    memcpy(out->stored, record->stored, sizeof(out->stored));
    memcpy(out->boot, record->stored, sizeof(out->boot));
    memcpy(out->message, flash->waits_for, sizeof(out->message));
    if (record->outcome == FLASH_OPEN)
        add_progress(flash, out);
}

void flash_tell(struct flash *flash)
{
    struct flash_report report;
    char print[DIGEST_TEXT_MAX];
    struct err err = ERR_INIT;
    if (flash->config.link == NULL || flash->dead)
        return;
    make_report(flash, &report);
    OWN(json) json_t *document = flash_report_to_json(&report);
    if (document == NULL || json_digest(document, print, &err) != ERR_OK) {
        log_error("agent", "node %s: out of memory: a flash report is not sent", flash->node);
        return;
    }
    if (strcmp(print, flash->told) == 0)
        return;
    memcpy(flash->told, print, sizeof(flash->told));
    json_object_set_new(document, "at_us",
                        json_integer(flash->config.clock->wall_us(flash->config.clock)));
    flash->config.link->ops->flash_report(flash->config.link, report.task, document);
}
