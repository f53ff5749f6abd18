/*
 * fleet/campaign_select.c - see campaign_select.h.
 */
#include "fleet/campaign_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/version.h"

static const struct {
    const char *name, *text;
} exclusions[CAMPAIGN_EXCLUSION_COUNT] = {
    [CAMPAIGN_TAKEN] = {"", ""},
    [CAMPAIGN_OTHER_BOARD] = {"board", "the image is not for its board (PSID)"},
    [CAMPAIGN_VERSION_UNKNOWN] = {"version-unknown", "what it runs is unknown or does not compare"},
    [CAMPAIGN_DOWNGRADE] = {"downgrade", "it runs a newer version; allow_downgrade takes it back"},
    [CAMPAIGN_VIRTUAL] = {"virtual-function", "its firmware is that of its physical function"},
    [CAMPAIGN_ELSEWHERE] = {"in-campaign", "another campaign that is not over has it"},
};

const char *campaign_exclusion_name(enum campaign_exclusion why)
{
    return exclusions[why].name;
}

const char *campaign_exclusion_text(enum campaign_exclusion why)
{
    return exclusions[why].text;
}

void campaign_selection_release(struct campaign_selection *selection)
{
    free(selection->items);
    *selection = (struct campaign_selection){.count = 0};
}

void campaign_device_of(const char *port_id, char out[PORT_ID_SIZE])
{
    text_copy(out, PORT_ID_SIZE, port_id);
    char *slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
}

static bool is_port_of(const struct port *port, const char *device)
{
    size_t len = strlen(device);
    const char *slash = strrchr(port->id, '/');
    return strncmp(port->id, device, len) == 0 &&
           (slash != NULL ? slash == port->id + len : port->id[len] == '\0');
}

const char *campaign_running_of(const struct inventory *inventory, const char *device)
{
    const char *found = NULL;
    for (size_t i = 0; inventory != NULL && i < inventory->port_count; i++) {
        if (!is_port_of(&inventory->ports[i], device))
            continue;
        if (found == NULL || found[0] == '\0')
            found = inventory->ports[i].firmware;
    }
    return found;
}

static bool is_for_board(const struct flash_image *image, const char *psid)
{
    for (int i = 0; i < image->psid_count; i++)
        if (strcmp(image->psids[i], psid) == 0)
            return true;
    return image->psid_count == 0;
}

static enum campaign_exclusion judge(const struct campaign_wish *wish,
                                     const struct campaign_device *device, const struct port *port)
{
    int order;
    if (port->virtual_function)
        return CAMPAIGN_VIRTUAL;
    if (wish->is_elsewhere != NULL && wish->is_elsewhere(wish->arg, device->node, device->device))
        return CAMPAIGN_ELSEWHERE;
    if (!is_for_board(wish->image, device->psid))
        return CAMPAIGN_OTHER_BOARD;
    if (!version_order(device->running, wish->image->version, &order))
        return CAMPAIGN_VERSION_UNKNOWN;
    return order > 0 && !wish->settings->allow_downgrade ? CAMPAIGN_DOWNGRADE : CAMPAIGN_TAKEN;
}

static struct campaign_candidate *add(struct campaign_selection *selection, struct err *err)
{
    if (selection->count == CAMPAIGN_DEVICES_MAX) {
        err_set(err, ERR_LIMIT,
                "more than %d devices have this component: choose fewer nodes, and make a campaign "
                "for each part of the fleet",
                CAMPAIGN_DEVICES_MAX);
        return NULL;
    }
    if (selection->count == selection->room) {
        size_t room = selection->room == 0 ? 64 : 2 * selection->room;
        struct campaign_candidate *more = realloc(selection->items, room * sizeof(*more));
        if (more == NULL) {
            err_nomem(err);
            return NULL;
        }
        selection->items = more;
        selection->room = room;
    }
    struct campaign_candidate *item = &selection->items[selection->count++];
    *item = (struct campaign_candidate){.why = CAMPAIGN_TAKEN};
    return item;
}

static bool is_chosen(const struct campaign_wish *wish, const struct port *port, char *device)
{
    campaign_device_of(port->id, device);
    return strcmp(port->driver, wish->image->component) == 0 &&
           campaign_request_has_device(wish->document, device);
}

/* Ports are sorted by id: those of one device follow each other. */
static enum err_code select_node(const struct campaign_wish *wish, const struct view_node *node,
                                 struct campaign_selection *out, struct err *err)
{
    char device[PORT_ID_SIZE], last[PORT_ID_SIZE] = "";
    for (size_t i = 0; i < node->inventory->port_count; i++) {
        const struct port *port = &node->inventory->ports[i];
        if (!is_chosen(wish, port, device) || strcmp(device, last) == 0)
            continue;
        struct campaign_candidate *item = add(out, err);
        if (item == NULL)
            return err->code;
        struct campaign_device *to = &item->device;
        const char *running = campaign_running_of(node->inventory, device);
        text_copy(last, sizeof(last), device);
        text_copy(to->node, sizeof(to->node), node->name);
        text_copy(to->device, sizeof(to->device), device);
        text_copy(to->psid, sizeof(to->psid), port->psid);
        text_copy(to->from, sizeof(to->from), running);
        text_copy(to->running, sizeof(to->running), running);
        item->why = judge(wish, to, port);
        out->taken += item->why == CAMPAIGN_TAKEN;
    }
    return ERR_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct campaign_candidate *left = a, *right = b;
    int order = strcmp(left->device.node, right->device.node);
    return order != 0 ? order : strcmp(left->device.device, right->device.device);
}

enum err_code campaign_select(const struct campaign_wish *wish, struct campaign_selection *out,
                              struct err *err)
{
    enum err_code code = ERR_OK;
    struct err own = ERR_INIT;
    *out = (struct campaign_selection){.count = 0};
    for (size_t i = 0; i < wish->view->node_count && code == ERR_OK; i++) {
        const struct view_node *node = &wish->view->nodes[i];
        if (node->inventory != NULL && campaign_request_has(wish->document, node))
            code = select_node(wish, node, out, &own);
    }
    if (code != ERR_OK) {
        campaign_selection_release(out);
        if (err != NULL)
            *err = own;
        return code;
    }
    if (out->count > 0)
        qsort(out->items, out->count, sizeof(*out->items), by_place);
    return ERR_OK;
}

struct campaign_device *campaign_selection_devices(const struct campaign_selection *selection)
{
    struct campaign_device *devices = calloc(selection->taken + 1, sizeof(*devices));
    size_t count = 0;
    for (size_t i = 0; devices != NULL && i < selection->count; i++)
        if (selection->items[i].why == CAMPAIGN_TAKEN)
            devices[count++] = selection->items[i].device;
    return devices;
}
