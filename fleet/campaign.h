#pragma once
/*
 * fleet/campaign.h - one firmware campaign as a pure state machine: one image for one component of
 * many devices, in waves. Reports and time in, actions out. server/campaigns feeds it, stores it
 * and does what it says.
 *
 * Time is an argument. Deadlines are on one monotonic clock and stored as the time that remains;
 * windows are of the wall clock, UTC. Single-threaded; a change that may fail on the way is made on
 * a copy (campaign_copy).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/own.h"
#include "fleet/campaign_settings.h"
#include "fleet/flash.h"
#include "fleet/inventory.h"
#include "fleet/name.h"

#define CAMPAIGN_ID_SIZE      24 /* "c-7" */
#define CAMPAIGN_TEXT_SIZE    257
#define CAMPAIGN_AUTHOR_SIZE  128
#define CAMPAIGN_PROBLEM_SIZE 257 /* of a device */
#define CAMPAIGN_DEVICES_MAX  4096
#define CAMPAIGN_WAVES_MAX    101 /* the canary, and 100 of one percent */

enum campaign_state {
    CAMPAIGN_DRAFT = 0,
    CAMPAIGN_RUNNING,
    CAMPAIGN_PAUSED,     /* by an operator: no device starts, those at work go on */
    CAMPAIGN_HALTED,     /* by a failure: the same */
    CAMPAIGN_CANCELLING, /* until those that cannot be stopped have ended */
    CAMPAIGN_DONE,
    CAMPAIGN_CANCELLED,
    CAMPAIGN_STATE_COUNT,
};
const char *campaign_state_name(enum campaign_state state);
bool campaign_state_from_name(const char *name, enum campaign_state *out);
bool campaign_is_over(enum campaign_state state);

/* Phases as fleet/flash.h names them, in their order; then outcomes. */
enum campaign_device_state {
    CAMPAIGN_DEVICE_WAITING = 0,
    CAMPAIGN_DEVICE_OFFERED, /* its task is published */
    CAMPAIGN_DEVICE_FETCHING,
    CAMPAIGN_DEVICE_CHECKING,
    CAMPAIGN_DEVICE_DRAINING,
    CAMPAIGN_DEVICE_FLASHING, /* from here on it cannot be cancelled */
    CAMPAIGN_DEVICE_FLASHED,
    CAMPAIGN_DEVICE_ACTIVATING,
    CAMPAIGN_DEVICE_VERIFYING,
    CAMPAIGN_DEVICE_SUCCESS,
    CAMPAIGN_DEVICE_UNCHANGED, /* it ran the version already */
    CAMPAIGN_DEVICE_PENDING_RESET,
    CAMPAIGN_DEVICE_FAILED,
    CAMPAIGN_DEVICE_ABORTED, /* nothing was written */
    CAMPAIGN_DEVICE_CANCELLED,
    CAMPAIGN_DEVICE_LOST, /* not heard in time: what it runs is unknown, until it says so */
    CAMPAIGN_DEVICE_STATE_COUNT,
};
const char *campaign_device_state_name(enum campaign_device_state state);
bool campaign_device_state_from_name(const char *name, enum campaign_device_state *out);
bool campaign_device_is_active(enum campaign_device_state state); /* offered to verifying */

struct campaign_device {
    char node[NAME_SIZE];
    char device[PORT_ID_SIZE]; /* bus address */
    char psid[PSID_SIZE];
    uint32_t wave;
    enum campaign_device_state state;
    int percent;                      /* of its phase; -1 = no figure */
    int64_t at_us;                    /* the node's clock in its last report */
    char from[INVENTORY_TEXT_MAX];    /* what it ran before its turn came */
    char running[INVENTORY_TEXT_MAX]; /* as last heard, "" = unknown */
    char stored[INVENTORY_TEXT_MAX];
    int64_t deadline_ns; /* of its phase; 0 = it is not at work */
    int64_t end_ns;      /* of the whole task */
    bool cancel;         /* it is asked to stop */
    bool changed;        /* since it was last stored */
    char problem[CAMPAIGN_PROBLEM_SIZE];
};

struct campaign {
    int64_t number;
    int64_t revision; /* of what is stored: +1 each time */
    enum campaign_state state;
    struct campaign_settings settings;
    struct flash_image image;
    char message[CAMPAIGN_TEXT_SIZE], author[CAMPAIGN_AUTHOR_SIZE];
    char problem[CAMPAIGN_TEXT_SIZE]; /* why it is halted */
    int64_t created_us, updated_us;
    int64_t saved_ns;                /* when the remaining times were stored */
    struct campaign_device *devices; /* owned, sorted by node, then device */
    size_t device_count;
    uint32_t wave_count, wave; /* `wave` is open, or the next one */
};

void campaign_id(int64_t number, char out[CAMPAIGN_ID_SIZE]);
bool campaign_id_parse(const char *text, int64_t *out);
/* "c-7-12-62c2b9c0e5d40": of campaign c-7, the twelfth device; and when the campaign was made, in
 * hex: a server that was restored from a backup gives its number to another one, and agents know
 * tasks by their ids. */
struct campaign_task_name {
    int64_t number;
    size_t index;
    int64_t created_us;
};
void campaign_task_id(const struct campaign_task_name *name, char out[NAME_SIZE]);
bool campaign_task_parse(const char *text, struct campaign_task_name *out);

/* A draft of `count` sorted devices with node, device, psid, from and running set; those that run
 * the image's version are `unchanged`, the others get waves. Copies all. */
struct campaign_device_list { /* borrowed */
    const struct campaign_device *items;
    size_t count;
};
ERR_MUST_CHECK enum err_code campaign_new(const struct campaign_settings *settings,
                                          const struct flash_image *image,
                                          const struct campaign_device_list *devices,
                                          struct campaign **out, struct err *err);
ERR_MUST_CHECK enum err_code campaign_copy(const struct campaign *campaign, struct campaign **out,
                                           struct err *err);
void campaign_free(struct campaign *campaign);
OWN_DEFINE(campaign, struct campaign *, campaign_free)

/* The device of the node that is at work; SIZE_MAX = none. */
size_t campaign_active_on(const struct campaign *campaign, const char *node);
/* Whether it has any device of the node. */
bool campaign_has_node(const struct campaign *campaign, const char *node);

/* Waves: the canary, then `percent` of the devices each; first devices of all nodes come before
 * second ones, so that the planes of the fleet follow each other. Returns how many waves. */
uint32_t campaign_assign_waves(const struct campaign_settings *settings,
                               struct campaign_device *devices, size_t count);

/* Out: what the caller has to do, in order. ---------------------------------------------------- */

enum campaign_action_kind {
    CAMPAIGN_TASK = 0, /* the device's task is another one: publish it */
    CAMPAIGN_TASK_END, /* withdraw it */
    CAMPAIGN_EVENT,
};
struct campaign_action {
    enum campaign_action_kind kind;
    size_t device;     /* index; SIZE_MAX = an event of the whole */
    const char *event; /* static: "firmware.wave" */
    char text[CAMPAIGN_TEXT_SIZE];
};
struct campaign_actions {
    struct campaign_action *items; /* owned */
    size_t count, room;
    bool nomem; /* the list is not complete: drop the copy */
};
void campaign_actions_release(struct campaign_actions *actions);

/* In: events. ---------------------------------------------------------------------------------- */

/* What the machine may know of the world while it draws conclusions. */
struct campaign_now {
    int64_t mono_ns, wall_us;
    /* Something else has its hands on the node; NULL = nothing has. */
    bool (*is_busy)(void *arg, const char *node);
    void *arg;
};

/*
 * What the device's node says. False: nothing is new in it (an earlier phase, the same once more,
 * anything after the outcome). An outcome that contradicts itself is taken for what it can be: a
 * success that does not run the version is `failed`, a cancelling that nobody asked for `aborted`.
 */
bool campaign_report(struct campaign *campaign, size_t index, const struct flash_report *report,
                     const struct campaign_now *now, struct campaign_actions *actions);
/* The node is no longer in the fleet, or the device no longer in the node. */
void campaign_gone(struct campaign *campaign, size_t index, struct campaign_actions *actions);
/* What a waiting device runs now, "" = unknown. */
void campaign_heard(struct campaign *campaign, size_t index, const char *running);

/* Draws the conclusions of what came in and of the time. */
void campaign_step(struct campaign *campaign, const struct campaign_now *now,
                   struct campaign_actions *actions);
/* Whether campaign_step() would do something just now. */
bool campaign_is_due(const struct campaign *campaign, const struct campaign_now *now);

enum campaign_verb { CAMPAIGN_START = 0, CAMPAIGN_PAUSE, CAMPAIGN_RESUME, CAMPAIGN_CANCEL };
/* An operator's word; campaign_step() follows. *out_unchanged: it was so already. ERR_CONFLICT with
 * the state otherwise. */
ERR_MUST_CHECK enum err_code campaign_command(struct campaign *campaign, enum campaign_verb verb,
                                              struct campaign_actions *actions, bool *out_unchanged,
                                              struct err *err);

/* What must always hold; ERR_CONFLICT names what does not. Run after every event. */
ERR_MUST_CHECK enum err_code campaign_check(const struct campaign *campaign, struct err *err);

/* campaign_json.c: what is stored, shown and sent ---------------------------------------------- */

/* Everything but number, revision, state, times and devices. */
json_t *campaign_head_to_json(const struct campaign *campaign);
ERR_MUST_CHECK enum err_code campaign_head_from_json(struct campaign *campaign, const json_t *head,
                                                     struct err *err);
/* All but node, device, wave and state; deadlines as what remains at now_ns. */
json_t *campaign_device_to_json(const struct campaign_device *device, int64_t now_ns);
ERR_MUST_CHECK enum err_code campaign_device_from_json(struct campaign_device *device,
                                                       const json_t *body, int64_t now_ns,
                                                       struct err *err);
/* The document of GET /v1/firmware/campaigns/C but for created and updated. */
json_t *campaign_to_json(const struct campaign *campaign, int64_t wall_us);
/* What the device's agent is given. */
void campaign_task(const struct campaign *campaign, size_t index, struct flash_task *out);
