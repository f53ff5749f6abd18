#pragma once
/*
 * fleet/flash.h - one device of one node that gets another firmware: the task that the server gives
 * (schemas/flash_task.json) and what the node says of it (schemas/flash_report.json). Server and
 * agent meet here. Both documents are hostile until parsed.
 *
 * The point of no return is the phase "flashing": before it nothing was written and a task can be
 * cancelled; from it on it can't.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "fleet/inventory.h"
#include "fleet/name.h"

#define FLASH_COMPONENT_SIZE   48
#define FLASH_VERSION_SIZE     64
#define FLASH_PSIDS_MAX        32
#define FLASH_SHA256_SIZE      65
#define FLASH_BYTES_MAX        (INT64_C(512) * 1024 * 1024) /* of an image */
#define FLASH_DRAIN_MAX_S      86400
#define FLASH_DEADLINE_MAX_S   86400
#define FLASH_MESSAGE_SIZE     256
#define FLASH_TASK_BYTES_MAX   (16 * 1024) /* of the JSON text */
#define FLASH_REPORT_BYTES_MAX (8 * 1024)

enum flash_phase {
    FLASH_OFFERED = 0,
    FLASH_FETCHING,   /* the image is on its way to the node's disk */
    FLASH_CHECKING,   /* hash, driver, board (PSID), version from which */
    FLASH_DRAINING,   /* until no user's queue pair is left on the device */
    FLASH_FLASHING,   /* the point of no return */
    FLASH_FLASHED,    /* the device has stored the target */
    FLASH_ACTIVATING, /* reload */
    FLASH_VERIFYING,  /* runs the target, links as before, policy in sync */
    FLASH_DONE,
};
#define FLASH_PHASE_COUNT (FLASH_DONE + 1)

enum flash_outcome {
    FLASH_OPEN = 0,      /* not ended; never in a document */
    FLASH_SUCCESS,       /* the device runs the target and is what it was before */
    FLASH_FAILED,        /* something was written, or was activated, and it is not right */
    FLASH_ABORTED,       /* nothing was written */
    FLASH_PENDING_RESET, /* the target is stored; the old one runs until a reset or reboot */
    FLASH_CANCELLED,     /* nothing was written, because the server said so */
};
#define FLASH_OUTCOME_COUNT (FLASH_CANCELLED + 1)

enum flash_activate { FLASH_ACTIVATE_NONE = 0, FLASH_ACTIVATE_RELOAD, FLASH_ACTIVATE_REBOOT };
#define FLASH_ACTIVATE_COUNT (FLASH_ACTIVATE_REBOOT + 1)

const char *flash_phase_name(enum flash_phase phase);
const char *flash_outcome_name(enum flash_outcome outcome); /* "" for FLASH_OPEN */

/* Cancelling is still possible, and nothing was written. */
static inline bool flash_is_before_write(enum flash_phase phase)
{
    return phase < FLASH_FLASHING;
}

/*
 * Whether a task can have ended so in that phase: success only when done; aborted and cancelled
 * only before the write; failed only from the write on; pending-reset only once it is stored. An
 * open task is never done.
 */
bool flash_outcome_fits(enum flash_phase phase, enum flash_outcome outcome);

struct flash_image {
    char id[NAME_SIZE];
    char component[FLASH_COMPONENT_SIZE]; /* the kernel driver of the devices that it is for */
    char version[FLASH_VERSION_SIZE];
    char psids[FLASH_PSIDS_MAX][PSID_SIZE]; /* boards that it is for; none = any */
    int psid_count;
    char sha256[FLASH_SHA256_SIZE]; /* 64 hex digits, lower case */
    int64_t size_bytes;             /* 1..FLASH_BYTES_MAX */
};

struct flash_task {
    char id[NAME_SIZE];
    char campaign[NAME_SIZE];
    char device[PORT_ID_SIZE]; /* bus address: a port's id without its "/PORT" */
    struct flash_image image;
    enum flash_activate activate;
    int drain_timeout_s; /* 0 = do not wait: abort when it is in use */
    int deadline_s;      /* from the agent's first sight of it to "flashing"; and again from
                            there to the end */
    bool cancelled;
    char from_version[FLASH_VERSION_SIZE]; /* what must run before; "" = anything */
};

/* ERR_INVALID with the first problem and its pointer. */
ERR_MUST_CHECK enum err_code flash_task_from_json(const json_t *document, struct flash_task *out,
                                                  struct err *err);
json_t *flash_task_to_json(const struct flash_task *task); /* NULL = no memory */

/* What tells one answer from the next: the id, with "~cancelled" behind it once it is. Needs no
 * escape in a URL. */
#define FLASH_TAG_SIZE (NAME_SIZE + 16)
void flash_task_tag(const struct flash_task *task, char out[FLASH_TAG_SIZE]);

struct flash_report {
    char task[NAME_SIZE];
    enum flash_phase phase;               /* where it is, or where it ended */
    int percent;                          /* of the phase; -1 = no figure */
    char message[FLASH_MESSAGE_SIZE];     /* the device's words; "" = none */
    char component[FLASH_COMPONENT_SIZE]; /* part of the device that is written now; "" = none */
    enum flash_outcome outcome;           /* FLASH_OPEN = it goes on */
    char problem[ERR_TEXT_MAX];           /* why it did not succeed; "" = nothing to say */
    char running[FLASH_VERSION_SIZE];     /* versions as read last; "" = unknown */
    char stored[FLASH_VERSION_SIZE];
    char boot[FLASH_VERSION_SIZE]; /* what the device starts with after a reset or reboot */
    int64_t at_us;                 /* the node's clock: microseconds since 1970, UTC */
};

/* ERR_INVALID also when the outcome does not fit the phase. */
ERR_MUST_CHECK enum err_code flash_report_from_json(const json_t *document,
                                                    struct flash_report *out, struct err *err);
json_t *flash_report_to_json(const struct flash_report *report); /* NULL = no memory */
