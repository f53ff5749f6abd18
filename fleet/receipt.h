#pragma once
/*
 * fleet/receipt.h - a node's statement of what it applied and observed (schemas/receipt.json).
 */

#include <stdint.h>

#include "fleet/plan.h"

enum receipt_result {
    RECEIPT_APPLIED = 0, /* all steps done, observed == digest unless deviations are listed */
    RECEIPT_UNCHANGED,   /* nothing to do */
    RECEIPT_ROLLED_BACK, /* a step failed, all was undone */
    RECEIPT_REFUSED,     /* found before anything changed: unsupported or invalid plan */
    RECEIPT_STUCK,       /* the undo failed too: needs a person */
    RECEIPT_DRIFT,       /* a manual change was found and repaired; steps say what */
    RECEIPT_EXPIRED,     /* nobody confirmed the plan in time: the node went back by itself */
    RECEIPT_QUARANTINED, /* it failed too often: not tried again until another plan or an order */
};
#define RECEIPT_RESULT_COUNT (RECEIPT_QUARANTINED + 1)
const char *receipt_result_name(enum receipt_result result); /* "applied", "rolled-back", ... */

#define RECEIPT_STEPS_MAX   4096
#define RECEIPT_PROBES_MAX  16
#define RECEIPT_WRITER_SIZE 96

struct receipt_step {
    char text[256];             /* "change dcb.pfc solar_rdma.0/0" */
    char subject[PORT_ID_SIZE]; /* of the knob; not in the document, "" when it was read from one */
    enum disruption disruption;
    bool done, undone;
    char problem[ERR_TEXT_MAX];       /* "" = fine */
    json_t *before, *after;           /* owned; of drift and changes; may be NULL */
    char writer[RECEIPT_WRITER_SIZE]; /* who made the drift, "unknown"; "" = it is no drift */
};

/* How long the node may have been without what stands on it. */
enum receipt_gap {
    RECEIPT_GAP_NONE = 0,
    RECEIPT_GAP_BOOT,   /* since the node booted */
    RECEIPT_GAP_DEVICE, /* since a device that had gone was there again */
};

/* How drift was found. */
enum receipt_found {
    RECEIPT_FOUND_NONE = 0, /* it is none, or an older agent tells */
    RECEIPT_FOUND_EVENT,    /* by the look that an announced change began */
    RECEIPT_FOUND_CHECK,    /* by a timed check: nothing was announced */
};

/* One question of the self-test after a plan was applied. */
struct receipt_probe {
    char name[NAME_SIZE];
    bool ok;           /* never of a question that was not possible */
    bool not_possible; /* nothing can be said: neither good nor bad; detail says why */
    char detail[256];  /* "" = nothing to say */
};

struct receipt {
    char node[NAME_SIZE];
    int64_t generation;
    char digest[DIGEST_TEXT_MAX];   /* of the plan */
    char observed[DIGEST_TEXT_MAX]; /* read back; "" = could not be observed */
    char rollout[NAME_SIZE];        /* the plan was on trial for it; "" = it was final */
    enum receipt_result result;
    int64_t time_us;
    int64_t apply_ns; /* how long apply and read back took */
    struct receipt_step *steps;
    size_t step_count;
    char problem[ERR_TEXT_MAX]; /* of the first failure, "" = none */
    struct receipt_probe probes[RECEIPT_PROBES_MAX];
    size_t probe_count; /* 0 = no self-test was run */
    enum receipt_gap gap;
    int64_t gap_ms; /* how long; when there is one */
    enum receipt_found found;
    int64_t found_ms; /* from the first announcement until the drift was seen; of an event */
};

ERR_MUST_CHECK enum err_code receipt_from_json(const json_t *document, struct receipt **out,
                                               struct err *err);
json_t *receipt_to_json(const struct receipt *receipt);
/* {"cause":"boot","ms":N}; NULL = no memory. */
json_t *receipt_gap_to_json(enum receipt_gap gap, int64_t gap_ms);
void receipt_free(struct receipt *receipt);
OWN_DEFINE(receipt, struct receipt *, receipt_free)
