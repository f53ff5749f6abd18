#pragma once
/*
 * fleet/campaign_settings.h - how a firmware campaign goes through the fleet
 * (schemas/campaign.json): waves, limits, windows. Values and pure functions; no clock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/json.h"
#include "fleet/flash.h"
#include "fleet/view.h"

#define CAMPAIGN_WINDOWS_MAX     16
#define CAMPAIGN_TIME_MIN_NS     NS_PER_S
#define CAMPAIGN_TIME_MAX_NS     (86400 * NS_PER_S)
#define CAMPAIGN_UNAVAILABLE_MAX 1000 /* nodes at work at a time */
#define CAMPAIGN_CANARY_MAX      1000
#define CAMPAIGN_MESSAGE_MAX     256

/* Weekly: on the days (bit 0 = Monday) from a minute of the day, until another; when that is not
 * later, of the next day. Else (days = 0) once, from and until points of time. */
struct campaign_window {
    unsigned days;
    int from_min, until_min;
    int64_t from_us, until_us;
};

struct campaign_settings {   /* plain memory */
    int64_t canary;          /* devices of the first wave; 0 = none */
    int64_t percent;         /* of the devices, each wave behind it */
    int64_t max_unavailable; /* nodes at work at a time */
    enum flash_activate activate;
    bool halt_on_aborted; /* an abort halts as a failure does */
    bool allow_downgrade;
    int64_t drain_timeout_ns;  /* whole seconds, as the next */
    int64_t deadline_ns;       /* of one device's task, for its agent */
    int64_t phase_deadline_ns; /* a node that gets no further for so long is lost */
    struct campaign_window windows[CAMPAIGN_WINDOWS_MAX]; /* none = always */
    size_t window_count;
};
void campaign_settings_init(struct campaign_settings *settings); /* the defaults */
/* Reads the members that are there over what `settings` holds. Problems become findings. */
void campaign_settings_read(struct json_reader *r, struct campaign_settings *settings);
/* Every member; false = no memory. */
bool campaign_settings_write(const struct campaign_settings *settings, json_t *object);

/* Whether a device may start. */
bool campaign_window_is_open(const struct campaign_settings *settings, int64_t wall_us);
/* The next time that one opens; 0 = it is open now, -1 = never any more. */
int64_t campaign_window_next(const struct campaign_settings *settings, int64_t wall_us);

/* What POST /v1/firmware/campaigns takes: "image", one of "nodes", "selector" and "all": true,
 * "devices" (bus addresses) and members of the settings. */
struct campaign_request {
    struct campaign_settings settings;
    const char *image;   /* borrowed of the document */
    const char *message; /* borrowed, "" = none */
};
ERR_MUST_CHECK enum err_code campaign_request_from_json(const json_t *document,
                                                        struct campaign_request *out,
                                                        struct finding_list *findings,
                                                        struct err *err);
/* Of a request that was read. */
bool campaign_request_has(const json_t *document, const struct view_node *node);
bool campaign_request_has_device(const json_t *document, const char *device);
