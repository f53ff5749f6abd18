/*
 * server/campaigns.c - see campaigns.h.
 */
#include "server/campaigns.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/campaigns.h"
#include "server/rollouts.h"

const struct world_node *campaigns_node(const struct world *world, const struct campaign *campaign,
                                        const char *name)
{
    const struct world_node *node = world_node_get(world, name);
    return node != NULL && node->created_us <= campaign->created_us ? node : NULL;
}

struct campaign *campaigns_get(const struct world *world, int64_t number)
{
    for (size_t i = 0; i < world->campaign_count; i++)
        if (world->campaigns[i]->number == number)
            return world->campaigns[i];
    return NULL;
}

struct campaign *campaigns_on(const struct world *world, const char *node)
{
    for (size_t i = 0; i < world->campaign_count; i++)
        if (campaign_active_on(world->campaigns[i], node) != SIZE_MAX)
            return world->campaigns[i];
    return NULL;
}

static bool has_device(const struct campaign *c, const char *node, const char *device)
{
    if (!campaign_has_node(c, node))
        return false;
    for (size_t i = 0; i < c->device_count; i++) {
        enum campaign_device_state state = c->devices[i].state;
        if ((state == CAMPAIGN_DEVICE_WAITING || campaign_device_is_active(state)) &&
            strcmp(c->devices[i].node, node) == 0 && strcmp(c->devices[i].device, device) == 0)
            return true;
    }
    return false;
}

struct campaign *campaigns_of_device(const struct world *world, const char *node,
                                     const char *device)
{
    for (size_t i = 0; i < world->campaign_count; i++)
        if (has_device(world->campaigns[i], node, device))
            return world->campaigns[i];
    return NULL;
}

struct campaign *campaigns_of_image(const struct world *world, const char *image)
{
    for (size_t i = 0; i < world->campaign_count; i++)
        if (strcmp(world->campaigns[i]->image.id, image) == 0)
            return world->campaigns[i];
    return NULL;
}

/* Changes ------------------------------------------------------------------------------------- */

enum err_code campaign_change_begin(struct campaign_change *change, struct app *app,
                                    const struct campaign *campaign, struct err *err)
{
    *change = (struct campaign_change){.app = app};
    return campaign_copy(campaign, &change->copy, err);
}

void campaign_change_release(struct campaign_change *change)
{
    campaign_free(change->copy);
    change->copy = NULL;
    campaign_actions_release(&change->actions);
    effects_drop(&change->effects);
}

/* A rollout has the node, or another campaign flashes it. */
static bool is_busy(void *arg, const char *node)
{
    const struct campaign_change *change = arg;
    const struct world *world = change->app->world;
    size_t index;
    const struct campaign *other = campaigns_on(world, node);
    return rollouts_of(world, node, &index) != NULL ||
           (other != NULL && other->number != change->copy->number);
}

void campaign_change_step(struct campaign_change *change)
{
    struct clock *clock = change->app->clock;
    const struct campaign_now now = {.mono_ns = clock->mono_ns(clock),
                                     .wall_us = clock->wall_us(clock),
                                     .is_busy = is_busy,
                                     .arg = change};
    campaign_step(change->copy, &now, &change->actions);
}

static enum err_code publish_task(struct campaign_change *change, size_t index, struct err *err)
{
    char key[PUBLISH_KEY_SIZE];
    struct publish_entry *entry = NULL;
    if (campaigns_node(change->app->world, change->copy, change->copy->devices[index].node) == NULL)
        return ERR_OK; /* it was withdrawn with the node */
    enum err_code code = campaign_task_entry(change->copy, index, &entry, err);
    if (code == ERR_OK)
        code = effects_publish(&change->effects, entry, err);
    campaign_task_key(change->copy->devices[index].node, key);
    return code != ERR_OK ? code : effects_add(&change->effects, EFFECT_WAKE, key, err);
}

/* What stands there may be another task by now: of the node's next device, or, when the device was
 * lost, of another campaign. */
static enum err_code withdraw_task(struct campaign_change *change, size_t index, struct err *err)
{
    char key[PUBLISH_KEY_SIZE];
    const char *node = change->copy->devices[index].node;
    const struct campaign *other = campaigns_on(change->app->world, node);
    if (campaign_active_on(change->copy, node) != SIZE_MAX ||
        (other != NULL && other->number != change->copy->number))
        return ERR_OK;
    campaign_task_key(node, key);
    return effects_add(&change->effects, EFFECT_UNPUBLISH, key, err);
}

static void set_device(json_t *body, const struct campaign_device *device)
{
    json_object_set_new(body, "node", json_string(device->node));
    json_object_set_new(body, "device", json_string(device->device));
    json_object_set_new(body, "phase", json_string(campaign_device_state_name(device->state)));
    if (device->percent >= 0)
        json_object_set_new(body, "percent", json_integer(device->percent));
}

static enum err_code tell_event(const struct campaign_change *change, struct db_tx *tx,
                                const struct campaign_action *action, const char *request_id,
                                struct err *err)
{
    const struct campaign *c = change->copy;
    char subject[CAMPAIGN_ID_SIZE + 16], id[CAMPAIGN_ID_SIZE];
    int64_t event;
    campaign_id(c->number, id);
    snprintf(subject, sizeof(subject), "firmware/%s", id);
    OWN(json)
    json_t *body = json_pack("{ss, ss, ss}", "campaign", id, "state", campaign_state_name(c->state),
                             "text", action->text);
    if (body != NULL && action->device != SIZE_MAX)
        set_device(body, &c->devices[action->device]);
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    if (text == NULL)
        return err_nomem(err);
    const struct db_event row = {
        .kind = action->event, .subject = subject, .request_id = request_id, .body = text};
    return event_add(tx, &row, &event, err);
}

static enum err_code carry_out(struct campaign_change *change, struct db_tx *tx,
                               const struct campaign_action *action, const char *request_id,
                               struct err *err)
{
    switch (action->kind) {
    case CAMPAIGN_TASK:
        return publish_task(change, action->device, err);
    case CAMPAIGN_TASK_END:
        return withdraw_task(change, action->device, err);
    case CAMPAIGN_EVENT:
        break;
    }
    return tell_event(change, tx, action, request_id, err);
}

static enum err_code store_device(struct campaign_change *change, struct db_tx *tx, size_t index,
                                  struct err *err)
{
    struct campaign *c = change->copy;
    struct campaign_device *device = &c->devices[index];
    struct clock *clock = change->app->clock;
    OWN(json) json_t *body = campaign_device_to_json(device, clock->mono_ns(clock));
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    if (text == NULL)
        return err_nomem(err);
    device->changed = false;
    const struct db_campaign_device row = {.place = (int64_t)index + 1,
                                           .node = device->node,
                                           .device = device->device,
                                           .wave = device->wave,
                                           .state = campaign_device_state_name(device->state),
                                           .body = text};
    return campaign_device_put(tx, c->number, &row, err);
}

static enum err_code store_head(struct campaign_change *change, struct db_tx *tx, struct err *err)
{
    struct campaign *c = change->copy;
    OWN(json) json_t *head = campaign_head_to_json(c);
    OWN(str) char *text = head == NULL ? NULL : json_canonical(head, NULL);
    if (text == NULL)
        return err_nomem(err);
    c->revision++;
    c->updated_us = db_tx_now_us(tx);
    const struct db_campaign row = {.number = c->number,
                                    .state = campaign_state_name(c->state),
                                    .active = !campaign_is_over(c->state),
                                    .revision = c->revision,
                                    .image = c->image.id,
                                    .head = text,
                                    .created_us = c->created_us,
                                    .updated_us = c->updated_us};
    return campaign_put(tx, &row, err);
}

enum err_code campaign_change_store(struct campaign_change *change, struct db_tx *tx,
                                    const char *request_id, struct err *err)
{
    struct campaign *c = change->copy;
    struct clock *clock = change->app->clock;
    int64_t now_ns = clock->mono_ns(clock);
    bool save = now_ns - c->saved_ns >= CAMPAIGN_SAVE_NS;
    enum err_code code = change->actions.nomem ? err_nomem(err) : store_head(change, tx, err);
    c->saved_ns = save ? now_ns : c->saved_ns;
    for (size_t i = 0; i < c->device_count && code == ERR_OK; i++)
        if (c->devices[i].changed || (save && campaign_device_is_active(c->devices[i].state)))
            code = store_device(change, tx, i, err);
    for (size_t i = 0; i < change->actions.count && code == ERR_OK; i++)
        code = carry_out(change, tx, &change->actions.items[i], request_id, err);
    return code;
}

static void count_ends(struct campaign_change *change)
{
    for (size_t i = 0; i < change->actions.count; i++) {
        const struct campaign_action *action = &change->actions.items[i];
        if (action->kind != CAMPAIGN_EVENT || action->device == SIZE_MAX)
            continue;
        enum campaign_device_state state = change->copy->devices[action->device].state;
        if (!campaign_device_is_active(state))
            change->app->counters.flashes[state]++;
    }
}

void campaign_change_settle(struct campaign_change *change)
{
    struct world *world = change->app->world;
    count_ends(change);
    struct campaign *copy = GIVE(change->copy);
    bool over = campaign_is_over(copy->state);
    size_t at = 0;
    while (at < world->campaign_count && world->campaigns[at]->number != copy->number)
        at++;
    effects_move(&change->app->effects, &change->effects);
    if (at < world->campaign_count)
        campaign_free(world->campaigns[at]);
    else if (!over) {
        assert(world->campaign_count < CAMPAIGNS_ACTIVE_MAX);
        world->campaign_count++;
    }
    if (!over)
        world->campaigns[at] = GIVE(copy);
    else if (at < world->campaign_count)
        world->campaigns[at] = world->campaigns[--world->campaign_count];
    campaign_free(copy);
    world->campaigns_due = true;
}
