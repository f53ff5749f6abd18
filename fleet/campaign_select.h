#pragma once
/*
 * fleet/campaign_select.h - which devices of the fleet an image is for: of the chosen nodes, those
 * that the image's component drives, each with the reason when it is left out.
 */

#include "fleet/campaign.h"
#include "fleet/view.h"

enum campaign_exclusion {
    CAMPAIGN_TAKEN = 0,
    CAMPAIGN_OTHER_BOARD,     /* its PSID is unknown, or not in the image's list */
    CAMPAIGN_VERSION_UNKNOWN, /* what it runs does not compare */
    CAMPAIGN_DOWNGRADE,       /* it runs a newer version: allow_downgrade */
    CAMPAIGN_VIRTUAL,         /* a virtual function: its firmware is its parent's */
    CAMPAIGN_ELSEWHERE,       /* another campaign has it */
    CAMPAIGN_EXCLUSION_COUNT,
};
const char *campaign_exclusion_name(enum campaign_exclusion why); /* "board" */
const char *campaign_exclusion_text(enum campaign_exclusion why); /* for people */

struct campaign_candidate {
    struct campaign_device device; /* node, device, psid, from and running are set */
    enum campaign_exclusion why;
};

struct campaign_selection {
    struct campaign_candidate *items; /* owned, sorted by node, then device */
    size_t count, room;
    size_t taken;
};
void campaign_selection_release(struct campaign_selection *selection);

/* What the selection is made of; all borrowed. */
struct campaign_wish {
    const struct view *view;
    const json_t *document; /* a request that was read */
    const struct campaign_settings *settings;
    const struct flash_image *image;
    /* Another campaign has the device; NULL = none has. */
    bool (*is_elsewhere)(void *arg, const char *node, const char *device);
    void *arg;
};
/* ERR_LIMIT: more than CAMPAIGN_DEVICES_MAX devices of the component. */
ERR_MUST_CHECK enum err_code campaign_select(const struct campaign_wish *wish,
                                             struct campaign_selection *out, struct err *err);
/* The taken ones alone, for campaign_new(); malloc'ed, NULL = no memory. */
struct campaign_device *campaign_selection_devices(const struct campaign_selection *selection);

/* The device of a port: its id without the port's number. */
void campaign_device_of(const char *port_id, char out[PORT_ID_SIZE]);
/* What the node's device runs as reported, "" = unknown; NULL = it has no such device. */
const char *campaign_running_of(const struct inventory *inventory, const char *device);
