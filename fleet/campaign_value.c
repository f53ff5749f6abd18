/*
 * fleet/campaign_value.c - a campaign as memory: made, copied, freed, looked up, cut into waves,
 * and the task of one of its devices.
 */
#include "fleet/campaign_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/version.h"

#define PERCENT_FULL 100

void campaign_id(int64_t number, char out[CAMPAIGN_ID_SIZE])
{
    snprintf(out, CAMPAIGN_ID_SIZE, "c-%lld", (long long)number);
}

bool campaign_id_parse(const char *text, int64_t *out)
{
    char again[CAMPAIGN_ID_SIZE];
    if (strncmp(text, "c-", 2) != 0 || strlen(text) >= CAMPAIGN_ID_SIZE - 4)
        return false;
    int64_t number = strtoll(text + 2, NULL, 10);
    campaign_id(number, again);
    if (number < 1 || strcmp(again, text) != 0)
        return false;
    *out = number;
    return true;
}

void campaign_task_id(const struct campaign_task_name *name, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "c-%lld-%zu-%llx", (long long)name->number, name->index + 1,
             (unsigned long long)name->created_us);
}

bool campaign_task_parse(const char *text, struct campaign_task_name *out)
{
    char again[NAME_SIZE];
    long long number = 0;
    unsigned long index = 0;
    unsigned long long created_us = 0;
    if (strlen(text) >= NAME_SIZE ||
        sscanf(text, "c-%lld-%lu-%llx", &number, &index, &created_us) != 3 || number < 1 ||
        index < 1 || index > CAMPAIGN_DEVICES_MAX || created_us > INT64_MAX)
        return false;
    const struct campaign_task_name name = {
        .number = number, .index = index - 1, .created_us = (int64_t)created_us};
    campaign_task_id(&name, again);
    if (strcmp(again, text) != 0)
        return false;
    *out = name;
    return true;
}

static bool runs(const struct campaign_device *device, const char *version)
{
    int order;
    return version_order(device->running, version, &order) && order == 0;
}

enum err_code campaign_new(const struct campaign_settings *settings,
                           const struct flash_image *image,
                           const struct campaign_device_list *devices, struct campaign **out,
                           struct err *err)
{
    OWN(campaign) struct campaign *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return err_nomem(err);
    c->devices = calloc(devices->count + 1, sizeof(*c->devices));
    if (c->devices == NULL)
        return err_nomem(err);
    c->settings = *settings;
    c->image = *image;
    c->device_count = devices->count;
    for (size_t i = 0; i < devices->count; i++) {
        struct campaign_device *device = &c->devices[i];
        *device = devices->items[i];
        device->percent = -1;
        device->changed = true;
        if (runs(device, image->version))
            device->state = CAMPAIGN_DEVICE_UNCHANGED;
    }
    c->wave_count = campaign_assign_waves(settings, c->devices, c->device_count);
    *out = GIVE(c);
    return ERR_OK;
}

enum err_code campaign_copy(const struct campaign *from, struct campaign **out, struct err *err)
{
    OWN(campaign) struct campaign *c = malloc(sizeof(*c));
    if (c == NULL)
        return err_nomem(err);
    *c = *from;
    c->devices = malloc((from->device_count + 1) * sizeof(*c->devices));
    if (c->devices == NULL)
        return err_nomem(err);
    memcpy(c->devices, from->devices, from->device_count * sizeof(*c->devices));
    *out = GIVE(c);
    return ERR_OK;
}

void campaign_free(struct campaign *c)
{
    if (c == NULL)
        return;
    free(c->devices);
    free(c);
}

/* The first of the node's devices; device_count = none. */
static size_t first_of(const struct campaign *c, const char *node)
{
    size_t low = 0, high = c->device_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(c->devices[middle].node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->device_count && strcmp(c->devices[low].node, node) == 0 ? low : c->device_count;
}

bool campaign_has_node(const struct campaign *c, const char *node)
{
    return first_of(c, node) < c->device_count;
}

size_t campaign_active_on(const struct campaign *c, const char *node)
{
    for (size_t i = first_of(c, node); i < c->device_count && strcmp(c->devices[i].node, node) == 0;
         i++)
        if (campaign_device_is_active(c->devices[i].state))
            return i;
    return SIZE_MAX;
}

/* Waves --------------------------------------------------------------------------------------- */

struct waves {
    size_t total, taken; /* devices that wait */
    size_t room;         /* of the wave that is being filled */
    size_t share;        /* of each wave behind the canary */
    uint32_t wave;
};

static void take(struct waves *waves, struct campaign_device *device)
{
    if (device->state != CAMPAIGN_DEVICE_WAITING)
        return;
    if (waves->room == 0) {
        waves->wave++;
        waves->room = waves->share;
    }
    device->wave = waves->wave;
    waves->room--;
    waves->taken++;
}

uint32_t campaign_assign_waves(const struct campaign_settings *settings,
                               struct campaign_device *devices, size_t count)
{
    struct waves waves = {.total = 0};
    for (size_t i = 0; i < count; i++)
        waves.total += devices[i].state == CAMPAIGN_DEVICE_WAITING;
    waves.share = (waves.total * (size_t)settings->percent + PERCENT_FULL - 1) / PERCENT_FULL;
    waves.room = settings->canary > 0 ? (size_t)settings->canary : waves.share;
    for (size_t plane = 0; waves.taken < waves.total; plane++)
        for (size_t i = 0, place = 0; i < count; i++) {
            bool same = i > 0 && strcmp(devices[i - 1].node, devices[i].node) == 0;
            place = same ? place + 1 : 0;
            if (place == plane)
                take(&waves, &devices[i]);
        }
    return waves.total == 0 ? 0 : waves.wave + 1;
}

/* Tasks --------------------------------------------------------------------------------------- */

void campaign_task(const struct campaign *c, size_t index, struct flash_task *out)
{
    const struct campaign_device *device = &c->devices[index];
    *out = (struct flash_task){.image = c->image,
                               .activate = c->settings.activate,
                               .drain_timeout_s = (int)(c->settings.drain_timeout_ns / NS_PER_S),
                               .deadline_s = (int)(c->settings.deadline_ns / NS_PER_S),
                               .cancelled = device->cancel};
    const struct campaign_task_name name = {
        .number = c->number, .index = index, .created_us = c->created_us};
    campaign_task_id(&name, out->id);
    campaign_id(c->number, out->campaign);
    text_copy(out->device, sizeof(out->device), device->device);
    text_copy(out->from_version, sizeof(out->from_version), device->from);
}
