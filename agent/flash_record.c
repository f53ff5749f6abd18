/*
 * agent/flash_record.c - see flash_record.h. In JSON the task stands beside a report of it: what
 * the two readers of fleet/flash.h take is what is kept.
 */
#include "agent/flash_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/flash.h"
#include "base/json.h"
#include "fleet/read.h"

static json_t *links_to_json(const struct flash_links *links)
{
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < links->count; i++) {
        json_t *item =
            json_pack("{s:i,s:b}", "port", links->items[i].port, "up", (int)links->items[i].up);
        if (json_array_append_new(array, item) != 0)
            return NULL;
    }
    return GIVE(array);
}

enum err_code flash_record_write(const char *state_dir, const char *node,
                                 const struct flash_record *record, struct err *err)
{
    struct flash_report report = {
        .phase = record->phase, .percent = -1, .outcome = record->outcome};
    memcpy(report.task, record->task.id, sizeof(report.task));
    memcpy(report.problem, record->problem, sizeof(report.problem));
    memcpy(report.running, record->running, sizeof(report.running));
    memcpy(report.stored, record->stored, sizeof(report.stored));
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "node", node) ||
        !write_member(object, "task", flash_task_to_json(&record->task)) ||
        !write_member(object, "report", flash_report_to_json(&report)) ||
        !write_member(object, "told", json_boolean(record->told)))
        return err_nomem(err);
    if (record->has_links && !write_member(object, "links", links_to_json(&record->links)))
        return err_nomem(err);
    return keep_write(state_dir, FLASH_FILE, object, err);
}

static void read_links(struct json_reader *r, struct flash_record *out)
{
    const json_t *array = NULL;
    out->has_links = json_reader_array(r, "links", false, FLASH_PORTS_MAX, &array);
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct json_reader item;
        int64_t port = 0;
        bool up = false;
        json_reader_element(r, "links", i, json_array_get(array, i), &item);
        json_reader_int(&item, "port", true, 0, INT32_MAX, &port);
        json_reader_bool(&item, "up", true, &up);
        json_reader_end(&item);
        out->links.items[i].port = (int)port;
        out->links.items[i].up = up;
        out->links.count = (int)i + 1;
    }
}

static enum err_code from_json(const json_t *document, const char *node, struct flash_record *out,
                               struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    const json_t *task = NULL, *said = NULL;
    struct flash_report report = {0};
    char whose[NAME_SIZE] = "";
    json_reader_init(&r, document, "", &findings);
    read_text(&r, "node", true, 1, whose, sizeof(whose));
    json_reader_any(&r, "task", true, &task);
    json_reader_any(&r, "report", true, &said);
    json_reader_bool(&r, "told", true, &out->told);
    read_links(&r, out);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK && strcmp(whose, node) != 0)
        code = err_set(err, ERR_INVALID, "it is of node %s", whose);
    if (code == ERR_OK)
        code = flash_task_from_json(task, &out->task, err);
    if (code == ERR_OK)
        code = flash_report_from_json(said, &report, err);
    if (code == ERR_OK && strcmp(report.task, out->task.id) != 0)
        code =
            err_set(err, ERR_INVALID, "it tells of task %s, and has %s", report.task, out->task.id);
    if (code != ERR_OK)
        return code;
    out->phase = report.phase;
    out->outcome = report.outcome;
    memcpy(out->problem, report.problem, sizeof(out->problem));
    memcpy(out->running, report.running, sizeof(out->running));
    memcpy(out->stored, report.stored, sizeof(out->stored));
    return ERR_OK;
}

enum err_code flash_record_read(const char *state_dir, const char *node, struct flash_record *out,
                                struct err *err)
{
    OWN(json) json_t *document = NULL;
    struct flash_record record = {0};
    enum err_code code = keep_read(state_dir, FLASH_FILE, &document, err);
    if (code == ERR_OK)
        code = from_json(document, node, &record, err);
    if (code == ERR_OK)
        *out = record;
    return code;
}
