#pragma once
/*
 * fleet/rollout.h - one rollout as a pure state machine: events in, actions out. It knows digests
 * of plans, never their content; server/rollouts feeds it, stores it and does what it says.
 *
 * Time is an argument: `now_ns` of one monotonic clock, deadlines on the same. What is stored is
 * the time that remains (rollout_head_to_json), so that neither a restart nor a jump of the wall
 * clock makes a timer fire or vanish. Single-threaded; a change that may fail on the way is made on
 * a copy (rollout_copy).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/rollout_policy.h"

#define ROLLOUT_ID_SIZE      24  /* "r-7" */
#define ROLLOUT_TEXT_SIZE    257 /* message; problem of the whole */
#define ROLLOUT_AUTHOR_SIZE  128
#define ROLLOUT_PROBLEM_SIZE 160             /* of a node */
#define ROLLOUT_ABSENT_NS    (60 * NS_PER_S) /* not heard for so long: absent */
#define ROLLOUT_GATE_NODES   16              /* names a gate shows */

enum rollout_gate_state { ROLLOUT_GATE_PENDING = 0, ROLLOUT_GATE_OK, ROLLOUT_GATE_FAILED };

enum rollout_state {
    ROLLOUT_PREPARING = 0, /* plans are being compiled; nothing is frozen */
    ROLLOUT_RUNNING,
    ROLLOUT_PAUSED,       /* the open wave goes on to its end; no next one begins */
    ROLLOUT_CONFIRMING,   /* the gates have passed; a person must confirm */
    ROLLOUT_RETURNING,    /* a wave failed, its nodes go back */
    ROLLOUT_ROLLING_BACK, /* the operator takes all of it back */
    ROLLOUT_DONE,
    ROLLOUT_FAILED,
    ROLLOUT_ROLLED_BACK,
    ROLLOUT_STATE_COUNT,
};
const char *rollout_state_name(enum rollout_state state);
bool rollout_state_from_name(const char *name, enum rollout_state *out);
bool rollout_is_over(enum rollout_state state); /* nothing moves it but a rollback */

enum rollout_node_state {
    ROLLOUT_NODE_WAITING = 0, /* its wave has not begun */
    ROLLOUT_NODE_OFFERED,     /* the target plan is published for it */
    ROLLOUT_NODE_APPLIED,     /* its receipt says so; unconfirmed */
    ROLLOUT_NODE_CONFIRMED,
    ROLLOUT_NODE_FAILED,  /* rolled back, refused, stuck, or found otherwise */
    ROLLOUT_NODE_EXPIRED, /* its own timer took it back */
    ROLLOUT_NODE_RETURNING,
    ROLLOUT_NODE_RETURNED,
    ROLLOUT_NODE_ABSENT, /* was not heard from in time */
    ROLLOUT_NODE_STATE_COUNT,
};
const char *rollout_node_state_name(enum rollout_node_state state);
bool rollout_node_state_from_name(const char *name, enum rollout_node_state *out);

struct rollout_node {
    char name[NAME_SIZE];
    uint32_t wave;
    enum rollout_node_state state;
    char target[DIGEST_TEXT_MAX]; /* "" while preparing */
    char before[DIGEST_TEXT_MAX]; /* the last good plan when the rollout was frozen */
    int64_t heard_ns;             /* when it was last heard from, or offered its plan */
    bool heard;                   /* after its receipt */
    bool probe_failed;            /* of its receipt */
    bool finding;                 /* something was found on it since the wave began */
    bool stands;                  /* it never said that it is anything but `before` */
    bool changed;                 /* since it was last stored */
    char problem[ROLLOUT_PROBLEM_SIZE];
};

struct rollout {
    int64_t number;
    int64_t revision; /* of what is stored: +1 each time */
    enum rollout_state state;
    struct rollout_settings settings; /* owned */
    char message[ROLLOUT_TEXT_SIZE], author[ROLLOUT_AUTHOR_SIZE];
    char problem[ROLLOUT_TEXT_SIZE]; /* why it failed */
    int64_t created_us, updated_us;
    int64_t saved_ns;           /* when the remaining times were stored */
    struct rollout_node *nodes; /* owned, sorted by name */
    size_t node_count;
    size_t unavailable_max;
    uint32_t wave_count, wave; /* `wave` is open, or the next one */
    bool wave_open;
    bool passed; /* gates and soak of the open wave */
    /* The verification of the open wave (rollout_verify.h), where the settings ask for one. */
    int64_t verify_number; /* 0 = not ordered */
    enum rollout_gate_state verify_state;
    char verify_why[ROLLOUT_TEXT_SIZE]; /* what it waits for, or its verdict; "" = nothing to say */
    /* Deadlines, 0 = none: gates; the nodes' timers; the soak's end; of returning. */
    int64_t gates_ns, confirm_ns, soak_ns, return_ns;
};

void rollout_id(int64_t number, char out[ROLLOUT_ID_SIZE]);
bool rollout_id_parse(const char *text, int64_t *out);

/* A rollout that is being prepared, with `count` sorted names. Copies all. */
ERR_MUST_CHECK enum err_code rollout_new(const struct rollout_settings *settings,
                                         const char *const *names, size_t count,
                                         struct rollout **out, struct err *err);
ERR_MUST_CHECK enum err_code rollout_copy(const struct rollout *rollout, struct rollout **out,
                                          struct err *err);
void rollout_free(struct rollout *rollout);
OWN_DEFINE(rollout, struct rollout *, rollout_free)

/* SIZE_MAX = it is not in it. */
size_t rollout_find(const struct rollout *rollout, const char *node);

/* Out: what the caller has to do, in order. ---------------------------------------------------- */

enum rollout_action_kind {
    ROLLOUT_OFFER,   /* publish the target, to be confirmed within settings.confirm_timeout_ns */
    ROLLOUT_CONFIRM, /* publish the target as final */
    ROLLOUT_RETURN,  /* publish `before` as final, and do not start with this target by itself */
    ROLLOUT_REFUSE,  /* do not start with its target by itself; it was never offered */
    ROLLOUT_EVENT,
};
struct rollout_action {
    enum rollout_action_kind kind;
    size_t node;       /* index; of all but events */
    const char *event; /* static: "rollout.wave" */
    char text[ROLLOUT_TEXT_SIZE];
};
struct rollout_actions {
    struct rollout_action *items; /* owned */
    size_t count, room;
    bool nomem; /* the list is not complete: drop the copy */
};
void rollout_actions_release(struct rollout_actions *actions);
#define OWN_ACTIONS __attribute__((cleanup(rollout_actions_release)))

/* In: events. ---------------------------------------------------------------------------------- */

/* preparing -> running: the nodes have their targets and waves. */
void rollout_start(struct rollout *rollout, uint32_t wave_count, struct rollout_actions *actions);

struct rollout_report {
    const char *digest, *observed; /* of the receipt; observed "" = unknown */
    bool mine;                     /* it was applied, or expired, under this rollout */
    bool good;                     /* applied, unchanged or repaired */
    bool expired, drift, probes_ok;
    const char *problem; /* "" = none */
};
/* A receipt of node `index`. No actions: rollout_step() draws the conclusions. */
void rollout_receipt(struct rollout *rollout, size_t index, const struct rollout_report *report,
                     int64_t now_ns);
/* The node's agent was heard, after its last receipt. True when that changed something. */
bool rollout_heard(struct rollout *rollout, size_t index, int64_t now_ns);
/* Drift, a health finding: text says what. Counts against nodes that have applied their plan. */
bool rollout_finding(struct rollout *rollout, size_t index, const char *text);
/* The node is no longer in the fleet. */
void rollout_gone(struct rollout *rollout, size_t index);

/* Draws the conclusions of what came in and of the time. */
void rollout_step(struct rollout *rollout, int64_t now_ns, struct rollout_actions *actions);
/* When rollout_step() has something to do without any event; INT64_MAX = never. */
int64_t rollout_due_ns(const struct rollout *rollout);

enum rollout_verb { ROLLOUT_PAUSE = 0, ROLLOUT_RESUME, ROLLOUT_CONFIRM_WAVE, ROLLOUT_ROLLBACK };
/* An operator's word. *out_unchanged: it was so already. ERR_CONFLICT with the state otherwise. */
ERR_MUST_CHECK enum err_code rollout_command(struct rollout *rollout, enum rollout_verb verb,
                                             int64_t now_ns, struct rollout_actions *actions,
                                             bool *out_unchanged, struct err *err);

/* What must always hold; ERR_CONFLICT names what does not. Run after every event. */
ERR_MUST_CHECK enum err_code rollout_check(const struct rollout *rollout, struct err *err);

/* rollout_gates.c ------------------------------------------------------------------------------ */

struct rollout_gate {
    const char *name; /* "receipts", "findings", "probe", "verification" */
    enum rollout_gate_state state;
    size_t value, wanted;
    size_t nodes[ROLLOUT_GATE_NODES]; /* indexes of those that are not as wanted */
    size_t node_count;                /* shown */
};
#define ROLLOUT_GATES 4
/* Of one wave; returns how many: the last one only where the settings ask for a verification. */
size_t rollout_gates(const struct rollout *rollout, uint32_t wave,
                     struct rollout_gate out[ROLLOUT_GATES]);
/* The whole open wave: all gates and the number of unavailable nodes; on failure text says why. */
enum rollout_gate_state rollout_judge(const struct rollout *rollout, char text[ROLLOUT_TEXT_SIZE]);

/* rollout_json.c: what is stored, and what is shown -------------------------------------------- */

/* Everything but number, revision, state, times and nodes; deadlines as what remains at now. */
json_t *rollout_head_to_json(const struct rollout *rollout, int64_t now_ns);
ERR_MUST_CHECK enum err_code rollout_head_from_json(struct rollout *rollout, const json_t *head,
                                                    int64_t now_ns, struct err *err);
json_t *rollout_node_to_json(const struct rollout_node *node); /* heard, probe, finding, problem */
ERR_MUST_CHECK enum err_code rollout_node_from_json(struct rollout_node *node, const json_t *body,
                                                    int64_t now_ns, struct err *err);
/* The document of GET /v1/rollouts/R but for its times of the wall clock. */
json_t *rollout_to_json(const struct rollout *rollout, int64_t now_ns);
