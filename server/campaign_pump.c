/*
 * server/campaign_pump.c - the work of campaigns between other writes: one campaign a write, whose
 * deadlines, windows or nodes have changed; see campaigns.h.
 */
#include <string.h>

#include "base/log.h"
#include "fleet/campaign_select.h"
#include "server/campaigns.h"
#include "server/rollouts.h"

static bool is_open(const struct campaign_device *device)
{
    return device->state == CAMPAIGN_DEVICE_WAITING || campaign_device_is_active(device->state);
}

/* What waiting devices run by now; devices and nodes that are no longer there. One at work may be
 * away for the time of its reset. */
static void look_around(struct campaign_change *change)
{
    struct campaign *c = change->copy;
    for (size_t i = 0; i < c->device_count; i++) {
        const struct campaign_device *device = &c->devices[i];
        const struct world_node *node =
            is_open(device) ? campaigns_node(change->app->world, c, device->node) : NULL;
        bool waits = device->state == CAMPAIGN_DEVICE_WAITING;
        if (!is_open(device))
            continue;
        const char *running =
            node == NULL ? NULL : campaign_running_of(node->inventory, device->device);
        if (node == NULL || (waits && running == NULL))
            campaign_gone(c, i, &change->actions);
        else if (waits)
            campaign_heard(c, i, running);
    }
}

static bool has_changed(const struct campaign *c, int64_t now_ns)
{
    bool changed = false, at_work = false;
    for (size_t i = 0; i < c->device_count && !changed; i++) {
        changed = c->devices[i].changed;
        at_work |= campaign_device_is_active(c->devices[i].state);
    }
    return changed || (at_work && now_ns - c->saved_ns >= CAMPAIGN_SAVE_NS);
}

static enum err_code advance(struct app *app, struct db_tx *tx, const struct campaign *campaign,
                             bool *out_did, struct err *err)
{
    struct campaign_change change;
    enum err_code code = campaign_change_begin(&change, app, campaign, err);
    if (code == ERR_OK) {
        look_around(&change);
        campaign_change_step(&change);
        *out_did =
            change.actions.count > 0 || has_changed(change.copy, app->clock->mono_ns(app->clock));
    }
    if (code == ERR_OK && *out_did)
        code = campaign_change_store(&change, tx, "", err);
    if (code == ERR_OK && *out_did)
        campaign_change_settle(&change);
    campaign_change_release(&change);
    return code;
}

static enum err_code pump(struct db_tx *tx, void *arg, struct err *err)
{
    struct app *app = arg;
    struct world *world = app->world;
    enum err_code code = ERR_OK;
    bool did = false;
    world->campaigns_due = false;
    for (size_t i = 0; i < world->campaign_count && code == ERR_OK && !did; i++)
        code = advance(app, tx, world->campaigns[i], &did, err);
    world->campaigns_due |= did; /* there may be more */
    return code;
}

static void pumped(void *arg, enum err_code code, const struct err *err)
{
    struct app *app = arg;
    app->campaigns_queued = false;
    if (code == ERR_OK) {
        campaigns_poke(app);
        return;
    }
    app->world->campaigns_due = true; /* with the next tick or commit, not at once */
    log_error("campaigns", "not carried on, will be tried again: %s", err->text);
}

static bool is_busy(void *arg, const char *node)
{
    const struct world *world = arg;
    size_t index;
    return rollouts_of(world, node, &index) != NULL || campaigns_on(world, node) != NULL;
}

static bool is_due(const struct app *app, const struct campaign *c, const struct campaign_now *now)
{
    bool at_work = false;
    if (campaign_is_due(c, now))
        return true;
    for (size_t i = 0; i < c->device_count; i++) {
        if (is_open(&c->devices[i]) && campaigns_node(app->world, c, c->devices[i].node) == NULL)
            return true;
        at_work |= campaign_device_is_active(c->devices[i].state);
    }
    return at_work && now->mono_ns - c->saved_ns >= CAMPAIGN_SAVE_NS;
}

void campaigns_look(struct app *app)
{
    struct world *world = app->world;
    const struct campaign_now now = {.mono_ns = app->clock->mono_ns(app->clock),
                                     .wall_us = app->clock->wall_us(app->clock),
                                     .is_busy = is_busy,
                                     .arg = world};
    for (size_t i = 0; i < world->campaign_count; i++)
        world->campaigns_due |= is_due(app, world->campaigns[i], &now);
    campaigns_poke(app);
}

static void show_gauges(struct app *app)
{
    uint32_t states[CAMPAIGN_STATE_COUNT] = {0}, at_work = 0;
    for (size_t i = 0; i < app->world->campaign_count; i++) {
        const struct campaign *c = app->world->campaigns[i];
        states[c->state]++;
        for (size_t d = 0; d < c->device_count; d++)
            at_work += campaign_device_is_active(c->devices[d].state);
    }
    for (size_t i = 0; i < CAMPAIGN_STATE_COUNT; i++)
        app->counters.campaigns[i] = states[i];
    app->counters.flashing = at_work;
}

void campaigns_poke(struct app *app)
{
    struct world *world = app->world;
    if (app->ticker == NULL)
        return; /* the store is being opened or closed */
    if (!world->campaigns_due)
        return;
    show_gauges(app);
    if (!app->campaigns_queued)
        app->campaigns_queued = db_write(app->db, pump, pumped, app, NULL) == ERR_OK;
}
