/*
 * server/campaign_load.c - campaigns out of the store; see campaigns.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/campaigns.h"
#include "server/campaigns.h"

struct loading {
    struct campaign *campaign;
    int64_t now_ns;
    size_t room;
    int rows; /* of the page */
    enum err_code code;
    struct err *err;
};

static enum err_code read_head(struct loading *loading, const struct db_campaign *row)
{
    struct campaign *c = loading->campaign;
    OWN(json) json_t *head = NULL;
    enum err_code code = json_parse(row->head, strlen(row->head), &head, loading->err);
    if (code == ERR_OK)
        code = campaign_head_from_json(c, head, loading->err);
    if (code == ERR_OK && !campaign_state_from_name(row->state, &c->state))
        code = err_set(loading->err, ERR_INVALID, "has a state that this server does not know");
    c->number = row->number;
    c->revision = row->revision;
    c->created_us = row->created_us;
    c->updated_us = row->updated_us;
    c->saved_ns = loading->now_ns;
    return code;
}

static bool on_head(void *arg, const struct db_campaign *row)
{
    struct loading *loading = arg;
    loading->code = read_head(loading, row);
    return false;
}

static enum err_code read_device(struct loading *loading, const struct db_campaign_device *row)
{
    struct campaign *c = loading->campaign;
    OWN(json) json_t *body = NULL;
    if (c->device_count == loading->room) {
        size_t room = loading->room == 0 ? 64 : 2 * loading->room;
        struct campaign_device *more = realloc(c->devices, room * sizeof(*more));
        if (more == NULL)
            return err_nomem(loading->err);
        c->devices = more;
        loading->room = room;
    }
    struct campaign_device *device = &c->devices[c->device_count];
    *device = (struct campaign_device){.wave = (uint32_t)row->wave};
    text_copy(device->node, sizeof(device->node), row->node);
    text_copy(device->device, sizeof(device->device), row->device);
    if (!campaign_device_state_from_name(row->state, &device->state))
        return err_set(loading->err, ERR_INVALID, "%s %s has no state that this server knows",
                       row->node, row->device);
    enum err_code code = json_parse(row->body, strlen(row->body), &body, loading->err);
    if (code == ERR_OK)
        code = campaign_device_from_json(device, body, loading->now_ns, loading->err);
    c->device_count += code == ERR_OK;
    return code;
}

static bool on_device(void *arg, const struct db_campaign_device *row)
{
    struct loading *loading = arg;
    loading->rows++;
    loading->code = read_device(loading, row);
    return loading->code == ERR_OK;
}

enum err_code campaign_load(struct db_ro *ro, int64_t number, int64_t now_ns, struct campaign **out,
                            struct err *err)
{
    OWN(campaign) struct campaign *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return err_nomem(err);
    struct loading loading = {.campaign = c, .now_ns = now_ns, .err = err};
    enum err_code code = campaign_get(ro, number, on_head, &loading, err);
    if (code == ERR_OK)
        code = loading.code;
    do {
        if (code != ERR_OK)
            break;
        loading.rows = 0;
        code = campaign_device_list(ro, number, (int64_t)c->device_count, DB_PAGE_MAX, on_device,
                                    &loading, err);
        if (code == ERR_OK)
            code = loading.code;
    } while (loading.rows == DB_PAGE_MAX);
    if (code == ERR_OK)
        code = campaign_check(c, err);
    if (code == ERR_NOT_FOUND)
        return code;
    if (code != ERR_OK)
        return err_context(err, "the store's campaign c-%lld", (long long)number);
    *out = GIVE(c);
    return ERR_OK;
}

/* Start-up ------------------------------------------------------------------------------------ */

struct numbers {
    int64_t items[CAMPAIGNS_KEPT + CAMPAIGNS_ACTIVE_MAX];
    bool active[CAMPAIGNS_KEPT + CAMPAIGNS_ACTIVE_MAX];
    size_t count;
};

static bool on_number(void *arg, const struct db_campaign *row)
{
    struct numbers *numbers = arg;
    numbers->active[numbers->count] = row->active;
    numbers->items[numbers->count++] = row->number;
    return numbers->count < CAMPAIGNS_KEPT + CAMPAIGNS_ACTIVE_MAX;
}

/* What is at work, over what was lost: a node has one task. */
static enum err_code publish_tasks(struct app *app, const struct world *world,
                                   const struct campaign *c, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < c->device_count && code == ERR_OK; i++) {
        const struct campaign_device *device = &c->devices[i];
        struct publish_entry *entry = NULL;
        bool active = campaign_device_is_active(device->state);
        bool lost = device->state == CAMPAIGN_DEVICE_LOST &&
                    campaigns_on(world, device->node) == NULL &&
                    campaigns_node(world, c, device->node) != NULL;
        if (!active && !lost)
            continue;
        code = campaign_task_entry(c, i, &entry, err);
        if (code == ERR_OK)
            publish_put(app->publish, entry);
    }
    return code;
}

static enum err_code load_one(struct app *app, struct world *world, struct db_ro *ro,
                              int64_t number, struct err *err)
{
    OWN(campaign) struct campaign *c = NULL;
    enum err_code code = campaign_load(ro, number, app->clock->mono_ns(app->clock), &c, err);
    if (code == ERR_OK)
        world->campaigns[world->campaign_count++] = GIVE(c);
    return code;
}

/* Those that are over may have devices whose nodes never said how it ended. The oldest comes first,
 * so that of two such tasks of a node the newer stands, as before. */
static enum err_code publish_lost(struct app *app, const struct world *world, struct db_ro *ro,
                                  int64_t number, struct err *err)
{
    OWN(campaign) struct campaign *c = NULL;
    enum err_code code = campaign_load(ro, number, app->clock->mono_ns(app->clock), &c, err);
    return code != ERR_OK ? code : publish_tasks(app, world, c, err);
}

enum err_code campaigns_load(struct app *app, struct world *world, struct db_ro *ro, bool publish,
                             struct err *err)
{
    struct numbers numbers = {.count = 0};
    enum err_code code = campaign_list(ro, 0, false, DB_PAGE_MAX, on_number, &numbers, err);
    for (size_t i = 0; i < numbers.count && code == ERR_OK; i++)
        if (numbers.active[i] && world->campaign_count < CAMPAIGNS_ACTIVE_MAX)
            code = load_one(app, world, ro, numbers.items[i], err);
    for (size_t i = numbers.count; i-- > 0 && code == ERR_OK && publish;)
        if (!numbers.active[i])
            code = publish_lost(app, world, ro, numbers.items[i], err);
    for (size_t i = world->campaign_count; i-- > 0 && code == ERR_OK && publish;)
        code = publish_tasks(app, world, world->campaigns[i], err);
    world->campaigns_due = true;
    return code;
}
