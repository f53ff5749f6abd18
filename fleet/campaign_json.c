/*
 * fleet/campaign_json.c - a campaign as it is stored and as it is shown. Its own rows are read as
 * strictly as any document: one that does not read stops the start with its name.
 */
#include "fleet/campaign_private.h"

#include <stdio.h>
#include <string.h>

#include "base/timestamp.h"
#include "base/text.h"
#include "fleet/read.h"

#define REMAINING_MAX_MS (3 * CAMPAIGN_TIME_MAX_NS / NS_PER_MS)

/* The image ----------------------------------------------------------------------------------- */

static json_t *image_to_json(const struct flash_image *image)
{
    OWN(json) json_t *psids = json_array();
    for (int i = 0; i < image->psid_count; i++)
        if (json_array_append_new(psids, json_string(image->psids[i])) != 0)
            return NULL;
    return json_pack("{ss, ss, ss, sO, ss, sI}", "id", image->id, "component", image->component,
                     "version", image->version, "psids", psids, "sha256", image->sha256,
                     "size_bytes", (json_int_t)image->size_bytes);
}

static void read_image(struct json_reader *r, struct flash_image *out)
{
    const json_t *psids = NULL;
    read_text(r, "id", true, 1, out->id, sizeof(out->id));
    read_text(r, "component", true, 1, out->component, sizeof(out->component));
    read_text(r, "version", true, 1, out->version, sizeof(out->version));
    read_text(r, "sha256", true, 1, out->sha256, sizeof(out->sha256));
    json_reader_int(r, "size_bytes", true, 1, FLASH_BYTES_MAX, &out->size_bytes);
    json_reader_array(r, "psids", true, FLASH_PSIDS_MAX, &psids);
    json_reader_end(r);
    for (size_t i = 0; i < json_array_size(psids); i++) {
        const char *psid = json_string_value(json_array_get(psids, i));
        text_copy(out->psids[i], PSID_SIZE, psid == NULL ? "" : psid);
    }
    out->psid_count = (int)json_array_size(psids);
}

/* Stored -------------------------------------------------------------------------------------- */

json_t *campaign_head_to_json(const struct campaign *c)
{
    OWN(json) json_t *head = json_object();
    OWN(json) json_t *settings = json_object();
    if (head == NULL || settings == NULL || !campaign_settings_write(&c->settings, settings) ||
        !write_member(head, "settings", json_incref(settings)) ||
        !write_member(head, "image", image_to_json(&c->image)) ||
        !write_text(head, "message", c->message) || !write_text(head, "author", c->author) ||
        !write_text(head, "problem", c->problem) ||
        !write_member(head, "devices", json_integer((json_int_t)c->device_count)) ||
        !write_member(head, "waves", json_integer(c->wave_count)) ||
        !write_member(head, "wave", json_integer(c->wave)))
        return NULL;
    return GIVE(head);
}

enum err_code campaign_head_from_json(struct campaign *c, const json_t *document, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader head, part;
    int64_t devices, waves = 0, wave = 0;
    campaign_settings_init(&c->settings);
    json_reader_init(&head, document, "", &findings);
    if (json_reader_object(&head, "settings", true, &part)) {
        campaign_settings_read(&part, &c->settings);
        json_reader_end(&part);
    }
    if (json_reader_object(&head, "image", true, &part))
        read_image(&part, &c->image);
    read_text(&head, "message", false, 1, c->message, sizeof(c->message));
    read_text(&head, "author", false, 1, c->author, sizeof(c->author));
    read_text(&head, "problem", false, 1, c->problem, sizeof(c->problem));
    json_reader_int(&head, "devices", true, 0, CAMPAIGN_DEVICES_MAX, &devices);
    json_reader_int(&head, "waves", true, 0, CAMPAIGN_WAVES_MAX, &waves);
    json_reader_int(&head, "wave", true, 0, CAMPAIGN_WAVES_MAX, &wave);
    json_reader_end(&head);
    c->wave_count = (uint32_t)waves;
    c->wave = (uint32_t)wave;
    return read_result(&findings, err);
}

/* What remains in ms, rounded up, so that a stored timer never fires early; one that has passed has
 * 1 ms left. */
static bool write_remaining(json_t *object, const char *key, int64_t deadline_ns, int64_t now_ns)
{
    int64_t left = deadline_ns - now_ns;
    int64_t left_ms = left <= NS_PER_MS ? 1 : (left + NS_PER_MS - 1) / NS_PER_MS;
    return deadline_ns == 0 || write_member(object, key, json_integer(left_ms));
}

static void read_remaining(struct json_reader *r, const char *key, int64_t now_ns, int64_t *out)
{
    int64_t left_ms;
    *out = 0;
    if (json_reader_int(r, key, false, 1, REMAINING_MAX_MS, &left_ms))
        *out = now_ns + left_ms * NS_PER_MS;
}

json_t *campaign_device_to_json(const struct campaign_device *device, int64_t now_ns)
{
    OWN(json) json_t *body = json_object();
    if (body == NULL || !write_text(body, "psid", device->psid) ||
        !write_text(body, "from", device->from) || !write_text(body, "running", device->running) ||
        !write_text(body, "stored", device->stored) ||
        !write_text(body, "problem", device->problem) ||
        (device->percent >= 0 && !write_member(body, "percent", json_integer(device->percent))) ||
        (device->at_us != 0 && !write_member(body, "at_us", json_integer(device->at_us))) ||
        (device->cancel && !write_member(body, "cancel", json_true())) ||
        !write_remaining(body, "deadline_ms", device->deadline_ns, now_ns) ||
        !write_remaining(body, "end_ms", device->end_ns, now_ns))
        return NULL;
    return GIVE(body);
}

enum err_code campaign_device_from_json(struct campaign_device *device, const json_t *document,
                                        int64_t now_ns, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader body;
    int64_t percent = -1;
    json_reader_init(&body, document, "", &findings);
    read_text(&body, "psid", false, 1, device->psid, sizeof(device->psid));
    read_text(&body, "from", false, 1, device->from, sizeof(device->from));
    read_text(&body, "running", false, 1, device->running, sizeof(device->running));
    read_text(&body, "stored", false, 1, device->stored, sizeof(device->stored));
    read_text(&body, "problem", false, 1, device->problem, sizeof(device->problem));
    json_reader_int(&body, "percent", false, 0, 100, &percent);
    json_reader_int(&body, "at_us", false, INT64_MIN, INT64_MAX, &device->at_us);
    json_reader_bool(&body, "cancel", false, &device->cancel);
    read_remaining(&body, "deadline_ms", now_ns, &device->deadline_ns);
    read_remaining(&body, "end_ms", now_ns, &device->end_ns);
    json_reader_end(&body);
    device->percent = (int)percent;
    return read_result(&findings, err);
}

/* Shown --------------------------------------------------------------------------------------- */

static json_t *counts_to_json(const size_t counts[CAMPAIGN_DEVICE_STATE_COUNT])
{
    OWN(json) json_t *object = json_object();
    for (int s = 0; object != NULL && s < CAMPAIGN_DEVICE_STATE_COUNT; s++)
        if (!write_member(object, campaign_device_state_name((enum campaign_device_state)s),
                          json_integer((json_int_t)counts[s])))
            return NULL;
    return GIVE(object);
}

static json_t *wave_to_json(const struct campaign *c, uint32_t wave)
{
    size_t total = 0, ended = 0;
    for (size_t i = 0; i < c->device_count; i++) {
        const struct campaign_device *device = &c->devices[i];
        bool mine = device->wave == wave && device->state != CAMPAIGN_DEVICE_UNCHANGED;
        total += mine;
        ended += mine && (ENDED & (1u << device->state)) != 0;
    }
    const char *state = wave < c->wave                                  ? "ended"
                        : wave == c->wave && c->state != CAMPAIGN_DRAFT ? "open"
                                                                        : "waiting";
    return json_pack("{sI, ss, sI, sI}", "wave", (json_int_t)wave + 1, "state", state, "devices",
                     (json_int_t)total, "ended", (json_int_t)ended);
}

/* Whether a device may start now, and else when. */
static bool write_window(const struct campaign *c, json_t *object, int64_t wall_us)
{
    char opens[CLOCK_TEXT_MAX];
    int64_t next = campaign_window_next(&c->settings, wall_us);
    if (campaign_is_over(c->state))
        return true;
    if (next > 0) {
        clock_format(next, opens);
        if (!write_member(object, "window_opens", json_string(opens)))
            return false;
    }
    return write_member(object, "window",
                        json_string(next == 0  ? "open"
                                    : next < 0 ? "over"
                                               : "closed"));
}

json_t *campaign_to_json(const struct campaign *c, int64_t wall_us)
{
    char id[CAMPAIGN_ID_SIZE];
    size_t counts[CAMPAIGN_DEVICE_STATE_COUNT] = {0};
    OWN(json) json_t *object = json_object();
    OWN(json) json_t *settings = json_object();
    OWN(json) json_t *waves = json_array();
    for (uint32_t w = 0; w < c->wave_count; w++)
        if (json_array_append_new(waves, wave_to_json(c, w)) != 0)
            return NULL;
    for (size_t i = 0; i < c->device_count; i++)
        counts[c->devices[i].state]++;
    campaign_id(c->number, id);
    if (object == NULL || settings == NULL || !campaign_settings_write(&c->settings, settings) ||
        !write_text(object, "id", id) ||
        !write_text(object, "state", campaign_state_name(c->state)) ||
        !write_text(object, "message", c->message) || !write_text(object, "author", c->author) ||
        !write_text(object, "problem", c->problem) ||
        !write_member(object, "image", image_to_json(&c->image)) ||
        !write_member(object, "settings", json_incref(settings)) ||
        !write_member(object, "devices", counts_to_json(counts)) ||
        !write_member(object, "waves", json_incref(waves)) || !write_window(c, object, wall_us))
        return NULL;
    return GIVE(object);
}
