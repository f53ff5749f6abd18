/*
 * fleet/flash.c - see flash.h. Pure; read and written by agent and server.
 */
#include "fleet/flash.h"

#include <stdio.h>
#include <string.h>

#include "fleet/read.h"

#define FLASH_JSON_VERSION 1

static const char *const phase_names[] = {
    [FLASH_OFFERED] = "offered",
    [FLASH_FETCHING] = "fetching",
    [FLASH_CHECKING] = "checking",
    [FLASH_DRAINING] = "draining",
    [FLASH_FLASHING] = "flashing",
    [FLASH_FLASHED] = "flashed",
    [FLASH_ACTIVATING] = "activating",
    [FLASH_VERIFYING] = "verifying",
    [FLASH_DONE] = "done",
    [FLASH_PHASE_COUNT] = NULL,
};

/* Shifted by one in documents: an open task has no outcome there. */
static const char *const outcome_names[] = {
    [FLASH_OPEN] = "",
    [FLASH_SUCCESS] = "success",
    [FLASH_FAILED] = "failed",
    [FLASH_ABORTED] = "aborted",
    [FLASH_PENDING_RESET] = "pending-reset",
    [FLASH_CANCELLED] = "cancelled",
    [FLASH_OUTCOME_COUNT] = NULL,
};

static const char *const activate_names[] = {
    [FLASH_ACTIVATE_NONE] = "none",
    [FLASH_ACTIVATE_RELOAD] = "reload",
    [FLASH_ACTIVATE_REBOOT] = "reboot",
    [FLASH_ACTIVATE_COUNT] = NULL,
};

const char *flash_phase_name(enum flash_phase phase)
{
    return phase_names[phase];
}

const char *flash_outcome_name(enum flash_outcome outcome)
{
    return outcome_names[outcome];
}

bool flash_outcome_fits(enum flash_phase phase, enum flash_outcome outcome)
{
    static const struct {
        enum flash_phase first, last;
    } fits[FLASH_OUTCOME_COUNT] = {
        [FLASH_OPEN] = {FLASH_OFFERED, FLASH_VERIFYING},
        [FLASH_SUCCESS] = {FLASH_DONE, FLASH_DONE},
        [FLASH_FAILED] = {FLASH_FLASHING, FLASH_VERIFYING},
        [FLASH_ABORTED] = {FLASH_OFFERED, FLASH_DRAINING},
        [FLASH_PENDING_RESET] = {FLASH_FLASHED, FLASH_VERIFYING},
        [FLASH_CANCELLED] = {FLASH_OFFERED, FLASH_DRAINING},
    };
    return phase >= fits[outcome].first && phase <= fits[outcome].last;
}

static void read_device(struct json_reader *r, char out[PORT_ID_SIZE])
{
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_.:-";
    if (!read_text(r, "device", true, 1, out, PORT_ID_SIZE))
        return;
    if (strspn(out, chars) != strlen(out) || out[0] == '.' || out[0] == '-')
        read_problem(r, "device", "is no bus address such as \"0000:3b:00.0\"");
}

static void read_sha256(struct json_reader *r, char out[FLASH_SHA256_SIZE])
{
    if (read_text(r, "sha256", true, 1, out, FLASH_SHA256_SIZE) &&
        (strlen(out) != FLASH_SHA256_SIZE - 1 || strspn(out, "0123456789abcdef") != strlen(out)))
        read_problem(r, "sha256", "is no SHA-256: 64 hex digits in lower case");
}

static void read_psids(struct json_reader *r, struct flash_image *out)
{
    const json_t *psids = NULL;
    if (!json_reader_array(r, "psids", true, FLASH_PSIDS_MAX, &psids))
        return;
    for (size_t i = 0; i < json_array_size(psids); i++) {
        const char *text = json_string_value(json_array_get(psids, i));
        size_t len = text == NULL ? 0 : strlen(text);
        if (len == 0 || len >= PSID_SIZE || !name_is_valid(text)) {
            read_problem(r, "psids", "element %zu is no board id", i);
            return;
        }
        memcpy(out->psids[i], text, len + 1);
    }
    out->psid_count = (int)json_array_size(psids);
}

static void read_image(struct json_reader *r, struct flash_image *out)
{
    read_name(r, "id", true, out->id);
    read_text(r, "component", true, 1, out->component, sizeof(out->component));
    read_text(r, "version", true, 1, out->version, sizeof(out->version));
    read_psids(r, out);
    read_sha256(r, out->sha256);
    json_reader_int(r, "size_bytes", true, 1, FLASH_BYTES_MAX, &out->size_bytes);
    json_reader_end(r);
}

static void read_seconds(struct json_reader *r, const char *key, int64_t min, int64_t max, int *out)
{
    int64_t seconds = 0;
    if (json_reader_int(r, key, true, min, max, &seconds))
        *out = (int)seconds;
}

enum err_code flash_task_from_json(const json_t *document, struct flash_task *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct flash_task task = {0};
    struct json_reader r, image;
    int64_t version;
    int activate = 0;
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, FLASH_JSON_VERSION, FLASH_JSON_VERSION, &version);
    read_name(&r, "id", true, task.id);
    read_name(&r, "campaign", true, task.campaign);
    read_device(&r, task.device);
    if (json_reader_object(&r, "image", true, &image))
        read_image(&image, &task.image);
    if (json_reader_enum(&r, "activate", true, activate_names, &activate))
        task.activate = (enum flash_activate)activate;
    read_seconds(&r, "drain_timeout_s", 0, FLASH_DRAIN_MAX_S, &task.drain_timeout_s);
    read_seconds(&r, "deadline_s", 1, FLASH_DEADLINE_MAX_S, &task.deadline_s);
    json_reader_bool(&r, "cancelled", true, &task.cancelled);
    read_text(&r, "from_version", false, 1, task.from_version, sizeof(task.from_version));
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = task;
    return code;
}

static json_t *image_to_json(const struct flash_image *image)
{
    OWN(json) json_t *psids = json_array();
    for (int i = 0; i < image->psid_count; i++)
        if (json_array_append_new(psids, json_string(image->psids[i])) != 0)
            return NULL;
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "id", image->id) ||
        !write_text(object, "component", image->component) ||
        !write_text(object, "version", image->version) ||
        !write_member(object, "psids", json_incref(psids)) ||
        !write_text(object, "sha256", image->sha256) ||
        !write_member(object, "size_bytes", json_integer(image->size_bytes)))
        return NULL;
    return GIVE(object);
}

json_t *flash_task_to_json(const struct flash_task *task)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(FLASH_JSON_VERSION)) ||
        !write_text(object, "id", task->id) || !write_text(object, "campaign", task->campaign) ||
        !write_text(object, "device", task->device) ||
        !write_member(object, "image", image_to_json(&task->image)) ||
        !write_text(object, "activate", activate_names[task->activate]) ||
        !write_member(object, "drain_timeout_s", json_integer(task->drain_timeout_s)) ||
        !write_member(object, "deadline_s", json_integer(task->deadline_s)) ||
        !write_member(object, "cancelled", json_boolean(task->cancelled)) ||
        !write_text(object, "from_version", task->from_version))
        return NULL;
    return GIVE(object);
}

void flash_task_tag(const struct flash_task *task, char out[FLASH_TAG_SIZE])
{
    snprintf(out, FLASH_TAG_SIZE, "%s%s", task->id, task->cancelled ? "~cancelled" : "");
}

enum err_code flash_report_from_json(const json_t *document, struct flash_report *out,
                                     struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct flash_report report = {.percent = -1};
    struct json_reader r;
    int64_t version, percent;
    int phase = 0, outcome = -1;
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, FLASH_JSON_VERSION, FLASH_JSON_VERSION, &version);
    read_name(&r, "task", true, report.task);
    bool has_phase = json_reader_enum(&r, "phase", true, phase_names, &phase);
    if (json_reader_int(&r, "percent", false, 0, 100, &percent))
        report.percent = (int)percent;
    read_text(&r, "message", false, 1, report.message, sizeof(report.message));
    read_text(&r, "component", false, 1, report.component, sizeof(report.component));
    json_reader_enum(&r, "outcome", false, outcome_names + 1, &outcome);
    read_text(&r, "problem", false, 1, report.problem, sizeof(report.problem));
    read_text(&r, "running", false, 1, report.running, sizeof(report.running));
    read_text(&r, "stored", false, 1, report.stored, sizeof(report.stored));
    read_text(&r, "boot", false, 1, report.boot, sizeof(report.boot));
    json_reader_int(&r, "at_us", true, 0, INT64_MAX, &report.at_us);
    report.phase = (enum flash_phase)phase;
    report.outcome = (enum flash_outcome)(outcome + 1);
    if (has_phase && !flash_outcome_fits(report.phase, report.outcome))
        read_problem(&r, report.outcome == FLASH_OPEN ? "phase" : "outcome",
                     "a task cannot be '%s' in phase %s",
                     report.outcome == FLASH_OPEN ? "open" : outcome_names[report.outcome],
                     phase_names[phase]);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = report;
    return code;
}

json_t *flash_report_to_json(const struct flash_report *report)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(FLASH_JSON_VERSION)) ||
        !write_text(object, "task", report->task) ||
        !write_text(object, "phase", phase_names[report->phase]) ||
        !write_text(object, "message", report->message) ||
        !write_text(object, "component", report->component) ||
        !write_text(object, "outcome", outcome_names[report->outcome]) ||
        !write_text(object, "problem", report->problem) ||
        !write_text(object, "running", report->running) ||
        !write_text(object, "stored", report->stored) ||
        !write_text(object, "boot", report->boot) ||
        !write_member(object, "at_us", json_integer(report->at_us)))
        return NULL;
    if (report->percent >= 0 && !write_member(object, "percent", json_integer(report->percent)))
        return NULL;
    return GIVE(object);
}
