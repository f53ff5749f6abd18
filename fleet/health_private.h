#pragma once
/*
 * fleet/health_private.h - what the files of fleet/health share.
 */

#include "fleet/health.h"

#define HEALTH_NAMES_MAX 512 /* different inputs of all rules */
#define HEALTH_NO_INPUT  UINT16_MAX

/* A rule's inputs by number, in the order of health_rules[]. */
struct health_row {
    uint16_t inputs[HEALTH_INPUTS_MAX], bases[HEALTH_INPUTS_MAX];
    size_t input_count, base_count;
    uint16_t gate;
};

struct health_book {
    const char *names[HEALTH_NAMES_MAX]; /* sorted */
    size_t name_count;
    struct health_row *rows;              /* owned */
    uint16_t *of_kind[HEALTH_KIND_COUNT]; /* owned; numbers of rules */
    size_t of_kind_count[HEALTH_KIND_COUNT];
};
uint16_t health_input(const struct health_book *book, const char *name);

struct health_datum {
    uint16_t input;
    uint8_t source; /* enum health_source */
    bool is_known;
    struct telemetry_last last;
    int64_t value;             /* the latest */
    struct telemetry_sum span; /* of a counter, in the last batch */
};

struct health_slot {
    struct health_subject subject;
    struct health_datum *data; /* owned */
    uint16_t count, room;
    uint16_t unseen; /* looks since it was told of */
    bool is_told;
};

/* A rule on a subject that was not well at a look. */
struct health_track {
    uint16_t rule;
    struct health_subject subject;
    uint32_t bad, critical; /* of the last looks, the newest in bit 0 */
    uint8_t good_run;
    enum health_state state; /* OK = not raised (yet) */
    int64_t value, since_us;
    uint16_t unseen;
    uint16_t *window; /* owned; of rules that sum up; NULL = none */
    uint8_t window_at;
};

struct health_wire {
    char rdma_device[PORT_ID_SIZE];
    uint32_t number;
    char port[PORT_ID_SIZE];
};

struct health {
    const struct health_book *book;
    struct health_slot *slots; /* owned */
    size_t slot_count, slot_room;
    uint32_t *index;             /* owned; open addressing, slot + 1; twice slot_room */
    struct health_track *tracks; /* owned */
    size_t track_count, track_room;
    struct health_wire *wires; /* owned */
    size_t wire_count;
    struct health_pledge *pledges; /* owned; see health_job.c */
    size_t pledge_count;
    bool truncated;
    bool has_batch;
};

/* NULL = there is none. */
struct health_slot *health_slot_find(const struct health *health,
                                     const struct health_subject *subject);
/* NULL in *out: the limit is met. */
ERR_MUST_CHECK enum err_code health_slot_get(struct health *health,
                                             const struct health_subject *subject,
                                             struct health_slot **out, struct err *err);
void health_slots_sweep(struct health *health);

const struct health_datum *health_datum_find(const struct health_slot *slot, uint16_t input);
ERR_MUST_CHECK enum err_code health_datum_get(struct health_slot *slot, uint16_t input,
                                              struct health_datum **out, struct err *err);

/* health_derive.c: what follows from the facts of a batch, as facts of the node. */
extern const char *const health_derived_from[]; /* NULL-terminated: inputs beyond the rules' */
ERR_MUST_CHECK enum err_code health_derive(struct health *health, struct err *err);

/* health_latency.c: the fact of queue pairs that count how long each message took. */
#define HEALTH_LATENCY_INPUT "latency_p99_ns"
ERR_MUST_CHECK enum err_code
health_take_latencies(struct health *health, const struct telemetry_batch *batch, struct err *err);

/* health_look.c */
bool health_subject_is(const struct health_subject *a, const struct health_subject *b);
/* False = unknown. */
bool health_measure(const struct health *health, size_t rule, const struct health_slot *slot,
                    int64_t *out);
/* health_job.c: what jobs sent, and their facts. */
ERR_MUST_CHECK enum err_code health_take_jobs(struct health *health,
                                              const struct telemetry_batch *batch, struct err *err);
