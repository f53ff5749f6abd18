/*
 * server/campaign_wish.c - see campaign_wish.h.
 */
#include "server/campaign_wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/catalogue.h"
#include "server/campaigns.h"

#define SHOWN_MAX 1000 /* devices, exclusions and jobs in one answer, each */

void campaign_draft_release(struct campaign_draft *draft)
{
    campaign_selection_release(&draft->selection);
}

static enum err_code refuse(struct campaign_draft *draft, int status, const char *code)
{
    draft->status = status;
    draft->code = code;
    return ERR_CONFLICT;
}

/* The image ----------------------------------------------------------------------------------- */

static bool on_image(void *arg, const struct db_image *row)
{
    struct flash_image *image = arg;
    text_copy(image->id, sizeof(image->id), row->id);
    text_copy(image->component, sizeof(image->component), row->component);
    text_copy(image->version, sizeof(image->version), row->version);
    text_copy(image->sha256, sizeof(image->sha256), row->sha256);
    image->size_bytes = row->size_bytes;
    for (const char *p = row->psids; *p != '\0' && image->psid_count < FLASH_PSIDS_MAX;) {
        size_t len = strcspn(p, ",");
        snprintf(image->psids[image->psid_count++], PSID_SIZE, "%.*s", (int)len, p);
        p += len + (p[len] == ',');
    }
    return false;
}

static enum err_code find_image(struct campaign_draft *draft, struct db_ro *ro, struct err *err)
{
    enum err_code code = image_get(ro, draft->request.image, on_image, &draft->image, err);
    if (code != ERR_NOT_FOUND)
        return code;
    err_set(err, ERR_CONFLICT,
            "there is no image '%.63s': an image's id is wanted, as GET /v1/firmware/images has "
            "it; upload it first if it is not there",
            draft->request.image);
    return refuse(draft, 422, "unknown-image");
}

/* The devices --------------------------------------------------------------------------------- */

static enum err_code check_named(struct campaign_draft *draft, const struct world *world,
                                 const json_t *document, struct err *err)
{
    const char *name = world_missing_node(world, json_object_get(document, "nodes"));
    if (name == NULL)
        return ERR_OK;
    err_set(err, ERR_CONFLICT, "there is no node '%s'", name);
    return refuse(draft, 422, "unknown-node");
}

static bool is_elsewhere(void *arg, const char *node, const char *device)
{
    return campaigns_of_device(arg, node, device) != NULL;
}

static enum err_code check_any(struct campaign_draft *draft, struct err *err)
{
    const struct campaign_selection *selection = &draft->selection;
    if (selection->taken > 0)
        return ERR_OK;
    if (selection->count == 0)
        err_set(err, ERR_CONFLICT, "none of these nodes reported a device of '%s'",
                draft->image.component);
    else
        err_set(err, ERR_CONFLICT, "all %zu devices of '%s' are left out; the first, %s %.32s: %s",
                selection->count, draft->image.component, selection->items[0].device.node,
                selection->items[0].device.device,
                campaign_exclusion_text(selection->items[0].why));
    return refuse(draft, 409, "nothing-to-flash");
}

enum err_code campaign_draft_make(struct campaign_draft *draft, struct app *app, struct db_ro *ro,
                                  const json_t *document, struct err *err)
{
    struct world *world = app->world;
    *draft = (struct campaign_draft){.status = 0};
    enum err_code code = campaign_request_from_json(document, &draft->request, NULL, err);
    if (code == ERR_OK)
        code = find_image(draft, ro, err);
    if (code == ERR_OK)
        code = check_named(draft, world, document, err);
    if (code != ERR_OK)
        return code;
    const struct campaign_wish wish = {.view = &world->view,
                                       .document = document,
                                       .settings = &draft->request.settings,
                                       .image = &draft->image,
                                       .is_elsewhere = is_elsewhere,
                                       .arg = world};
    code = campaign_select(&wish, &draft->selection, err);
    if (code == ERR_LIMIT) {
        (void)refuse(draft, 422, "campaign-refused");
        return ERR_CONFLICT;
    }
    return code != ERR_OK ? code : check_any(draft, err);
}

enum err_code campaign_draft_campaign(const struct campaign_draft *draft, struct campaign **out,
                                      struct err *err)
{
    OWN(mem) void *devices = campaign_selection_devices(&draft->selection);
    const struct campaign_device_list list = {devices, draft->selection.taken};
    if (devices == NULL)
        return err_nomem(err);
    enum err_code code = campaign_new(&draft->request.settings, &draft->image, &list, out, err);
    if (code == ERR_OK)
        text_copy((*out)->message, sizeof((*out)->message), draft->request.message);
    return code;
}

/* Shown --------------------------------------------------------------------------------------- */

static json_t *row_of(const struct campaign_device *device)
{
    json_t *row = json_pack("{ss, ss}", "node", device->node, "device", device->device);
    if (row != NULL && device->psid[0] != '\0')
        json_object_set_new(row, "psid", json_string(device->psid));
    if (row != NULL && device->from[0] != '\0')
        json_object_set_new(row, "from", json_string(device->from));
    return row;
}

static json_t *devices_to_json(const struct campaign *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->device_count && i < SHOWN_MAX; i++) {
        json_t *row = row_of(&c->devices[i]);
        bool waits = c->devices[i].state == CAMPAIGN_DEVICE_WAITING;
        if (row != NULL && waits)
            json_object_set_new(row, "wave", json_integer((json_int_t)c->devices[i].wave + 1));
        if (row != NULL)
            json_object_set_new(row, "state",
                                json_string(campaign_device_state_name(c->devices[i].state)));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *excluded_to_json(const struct campaign_selection *selection)
{
    json_t *list = json_array();
    for (size_t i = 0; i < selection->count && json_array_size(list) < SHOWN_MAX; i++) {
        const struct campaign_candidate *item = &selection->items[i];
        if (item->why == CAMPAIGN_TAKEN)
            continue;
        json_t *row = row_of(&item->device);
        if (row != NULL) {
            json_object_set_new(row, "reason", json_string(campaign_exclusion_name(item->why)));
            json_object_set_new(row, "text", json_string(campaign_exclusion_text(item->why)));
        }
        json_array_append_new(list, row);
    }
    return list;
}

static bool is_hit(const struct campaign *c, const struct view *view,
                   const struct placement *placement)
{
    for (size_t i = 0; i < c->device_count; i++) {
        bool again = i > 0 && strcmp(c->devices[i - 1].node, c->devices[i].node) == 0;
        const struct view_node *node = again ? NULL : view_node_get(view, c->devices[i].node);
        if (node != NULL && view_placed_on(placement, node))
            return true;
    }
    return false;
}

/* Jobs that are placed on a node with a device of the campaign, and their tenants. */
static void add_jobs(json_t *answer, const struct campaign *c, const struct view *view)
{
    json_t *jobs = json_array(), *tenants = json_array();
    const char *last = "";
    for (size_t i = 0; i < view->placement_count && json_array_size(jobs) < SHOWN_MAX; i++) {
        const struct placement *placement = view->placements[i];
        if (!is_hit(c, view, placement))
            continue;
        json_array_append_new(
            jobs, json_pack("{ss, ss}", "tenant", placement->tenant, "job", placement->job));
        if (strcmp(last, placement->tenant) != 0)
            json_array_append_new(tenants, json_string(placement->tenant));
        last = placement->tenant;
    }
    json_object_set_new(answer, "jobs", jobs);
    json_object_set_new(answer, "tenants", tenants);
}

json_t *campaign_draft_to_json(const struct campaign_draft *draft, const struct view *view,
                               int64_t wall_us)
{
    OWN(campaign) struct campaign *c = NULL;
    if (campaign_draft_campaign(draft, &c, NULL) != ERR_OK)
        return NULL;
    json_t *whole = campaign_to_json(c, wall_us);
    json_t *answer = json_object();
    static const char *const kept[] = {"image", "settings", "waves", "window", "window_opens"};
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (json_object_get(whole, kept[i]) != NULL)
            json_object_set(answer, kept[i], json_object_get(whole, kept[i]));
    json_decref(whole);
    json_object_set_new(answer, "dry_run", json_true());
    json_object_set_new(answer, "devices_total", json_integer((json_int_t)c->device_count));
    json_object_set_new(
        answer, "excluded_total",
        json_integer((json_int_t)(draft->selection.count - draft->selection.taken)));
    json_object_set_new(answer, "devices", devices_to_json(c));
    json_object_set_new(answer, "excluded", excluded_to_json(&draft->selection));
    add_jobs(answer, c, view);
    return answer;
}
