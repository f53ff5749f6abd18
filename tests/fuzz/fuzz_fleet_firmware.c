/*
 * tests/fuzz/fuzz_fleet_firmware.c - a flash task, a report of one and a request for a campaign
 * from the same bytes: what a reader accepts its schema accepts, tasks and reports survive a round
 * trip, and a window is open when it was said to open.
 */
#include "base/json.h"
#include "base/schema.h"
#include "fleet/campaign_settings.h"
#include "fleet/flash.h"
#include "tests/fuzz/fuzz.h"

/* A Tuesday in December, in the middle of the day, and hours on from there. */
#define WALL_US INT64_C(1796000000000000)
#define HOUR_US INT64_C(3600000000)

static void try_task(const json_t *document)
{
    struct flash_task task, again;
    char tag[FLASH_TAG_SIZE];
    struct err err = ERR_INIT;
    if (flash_task_from_json(document, &task, &err)) {
        must(err.text[0] != '\0');
        return;
    }
    must(schema_validate(schema_get("flash_task"), document, NULL));
    OWN(json) json_t *written = flash_task_to_json(&task);
    must(schema_validate(schema_get("flash_task"), written, NULL));
    must(flash_task_from_json(written, &again, NULL) == ERR_OK);
    OWN(json) json_t *twice = flash_task_to_json(&again);
    must(json_equal(written, twice));
    flash_task_tag(&task, tag);
    must(strlen(tag) < sizeof(tag) && strpbrk(tag, "/?#% ") == NULL);
}

static void try_report(const json_t *document)
{
    struct flash_report report, again;
    struct err err = ERR_INIT;
    if (flash_report_from_json(document, &report, &err)) {
        must(err.text[0] != '\0');
        return;
    }
    must(schema_validate(schema_get("flash_report"), document, NULL));
    must(flash_outcome_fits(report.phase, report.outcome));
    OWN(json) json_t *written = flash_report_to_json(&report);
    must(schema_validate(schema_get("flash_report"), written, NULL));
    must(flash_report_from_json(written, &again, NULL) == ERR_OK);
    OWN(json) json_t *twice = flash_report_to_json(&again);
    must(json_equal(written, twice));
}

static void check_windows(const struct campaign_settings *settings)
{
    for (int64_t hour = 0; hour < 36; hour += 5) {
        int64_t now_us = WALL_US + hour * HOUR_US;
        int64_t next_us = campaign_window_next(settings, now_us);
        must(campaign_window_is_open(settings, now_us) == (next_us == 0));
        must(next_us == 0 || next_us == -1 || next_us > now_us);
        must(next_us <= 0 || campaign_window_is_open(settings, next_us));
    }
}

static void try_request(const json_t *document)
{
    struct campaign_request request;
    struct err err = ERR_INIT;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    campaign_settings_init(&request.settings);
    if (campaign_request_from_json(document, &request, &findings, &err)) {
        must(finding_list_has_errors(&findings) && err.text[0] != '\0');
        return;
    }
    static const struct label_pair label = {"rack", "a"};
    const struct view_node node = {.name = "n1", .labels = &label, .label_count = 1};
    must(schema_validate(schema_get("campaign"), document, NULL));
    (void)campaign_request_has(document, &node);
    (void)campaign_request_has_device(document, "0000:3b:00.0");
    OWN(json) json_t *written = json_object();
    must(campaign_settings_write(&request.settings, written));
    check_windows(&request.settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(json) json_t *document = NULL;
    if (json_parse((const char *)data, size, &document, NULL))
        return 0;
    try_task(document);
    try_report(document);
    try_request(document);
    return 0;
}
