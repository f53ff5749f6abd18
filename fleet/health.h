#pragma once
/*
 * fleet/health.h - what is well and what is not on one node: rules over facts, with hysteresis.
 * Pure: no clock, no I/O. Fed by server/health.c; read by whoever reports.
 *
 * A fact is one input (a counter or a gauge, by its name in telemetry) of one subject (a port, a
 * priority of it, a queue pair, ...). Facts come from the node's batches and from what the server
 * knows (inventory, chains, profile). A rule is a row of health_rules[]: which inputs it looks at,
 * how, and from which value on it warns. What is not known is HEALTH_UNKNOWN, never OK; a counter
 * that wrapped, was reset, stands at its end or is not there raises nothing.
 *
 * A rule that was bad in raise_n of the last raise_m looks is raised; one that was good in clear_k
 * looks in a row is cleared. A look at which nothing is known counts for neither.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "fleet/telemetry.h"

#define HEALTH_INPUTS_MAX   7    /* of a rule */
#define HEALTH_SUBJECTS_MAX 4096 /* of a node; more are left out and `truncated` says so */
#define HEALTH_RDMA_MAX     256  /* of each port its RDMA device's and Solar-RDMA's */
#define HEALTH_TRACKS_MAX   1024 /* what is watched of a node; more set `truncated` */
#define HEALTH_WINDOW_MAX   60   /* looks that are summed up */
#define HEALTH_SUBJECT_MAX  256
#define HEALTH_NONE         INT64_MIN /* no such limit */

/* Flap, drop and storm are these numbers, of rules of the table. */
#define HEALTH_DROP_COUNT     1 /* the link went down so often in a look: a drop */
#define HEALTH_FLAP_COUNT     3 /* drops in HEALTH_FLAP_LOOKS looks (10 minutes): a flap */
#define HEALTH_FLAP_LOOKS     60
#define HEALTH_STORM_US_PER_S 100000 /* paused for so long of each second: a storm */
#define HEALTH_STORM_FRAMES_S 10000  /* the same, of a device that tells no duration */
#define HEALTH_RETRANSMIT_PPM 10     /* 0.001 % */
#define HEALTH_LATENCIES_MIN  100 /* messages of a batch, or nobody knows their 99th percentile */
#define HEALTH_GONE_LOOKS     30  /* a subject that is not seen for so long is forgotten */

/* A kind of subject beyond those of telemetry: device "TENANT/JOB", number = its label. */
#define HEALTH_JOB        ((int)TELEMETRY_KIND_COUNT)
#define HEALTH_KIND_COUNT (HEALTH_JOB + 1)
const char *health_kind_name(int kind);

enum health_state {
    HEALTH_UNKNOWN = 0,
    HEALTH_OK,
    HEALTH_WARNING,
    HEALTH_CRITICAL,
    HEALTH_STATE_COUNT,
};
const char *health_state_name(enum health_state state); /* "unknown", "ok", ... */
bool health_state_find(const char *name, enum health_state *out);

/* Who tells a fact; a rule is looked at when this one spoke. */
enum health_source {
    HEALTH_FROM_NODE = 0, /* a batch of telemetry */
    HEALTH_FROM_SERVER,   /* inventory, chains, profile, the server's own clock */
    HEALTH_SOURCE_COUNT,
};

/* What a rule makes of its inputs (the sum of those that are known). */
enum health_measure {
    HEALTH_VALUE = 0, /* the latest value */
    HEALTH_MAGNITUDE, /* of it, without sign */
    HEALTH_INCREASE,  /* what was counted, in `window` looks */
    HEALTH_RATE,      /* counted a second */
    HEALTH_SHARE_PPM, /* counted, of a million of `bases`; unknown while those are below `floor` */
    HEALTH_TIMES,     /* counted, in multiples of what `bases` counted (at least 1); 0 below
                         `floor` */
    HEALTH_MARGIN,    /* the latest value of `bases` minus the inputs' */
};

struct health_rule {
    const char *id; /* public, never reused; the same as in fleet/evidence where files say it */
    int kind;       /* enum telemetry_kind or HEALTH_JOB */
    enum health_source source;
    enum health_measure measure;
    const char *inputs[HEALTH_INPUTS_MAX]; /* NULL-terminated unless full */
    const char *bases[HEALTH_INPUTS_MAX];  /* the first that is known counts */
    const char *gate;                      /* a fact of the subject that is not 0, or all is well */
    int64_t floor;
    bool at_most;              /* bad at or below the limits; else at or above */
    int64_t warning, critical; /* HEALTH_NONE = none */
    const char *unit;
    uint8_t raise_n, raise_m, clear_k;
    uint8_t window;     /* of HEALTH_INCREASE: looks, 0 = 1 */
    const char *what;   /* that is wrong, one sentence */
    const char *hint;   /* what to do */
    const char *origin; /* where the limit is from */
};
extern const struct health_rule health_rules[];
extern const size_t health_rule_count;
/* The first row of that id; NULL = none. */
const struct health_rule *health_rule_find(const char *id);

/* What a rule is about. `device` is "" for the node. */
struct health_subject {
    int kind;
    char device[PORT_ID_SIZE];
    uint32_t number;
    uint32_t label; /* of the job, where it has one; else 0 */
};
/* "node/n1", "node/n1/port/0000:3b:00.0/0", "node/n1/priority/0000:3b:00.0/0/3",
 * "node/n1/qp/mlx5_0/17", "tenant/a/job/b/node/n1" ... */
void health_subject_text(const char *node, const struct health_subject *subject,
                         char out[HEALTH_SUBJECT_MAX]);

/* The rules with their inputs by number; one serves all nodes and is never changed. */
struct health_book;
ERR_MUST_CHECK enum err_code health_book_new(struct health_book **out, struct err *err);
void health_book_free(struct health_book *book);
OWN_DEFINE(health_book, struct health_book *, health_book_free)

struct health; /* of one node */
/* book is borrowed for as long as it lives. */
ERR_MUST_CHECK enum err_code health_new(const struct health_book *book, struct health **out,
                                        struct err *err);
void health_free(struct health *health);
OWN_DEFINE(health, struct health *, health_free)

/* Takes what rules look at out of a batch, which replaces what the node told before. ERR_NOMEM
 * leaves facts out. */
ERR_MUST_CHECK enum err_code
health_take_batch(struct health *health, const struct telemetry_batch *batch, struct err *err);
/* The node's facts are too old to be called known: until the next batch they are not. */
void health_node_silent(struct health *health);
/* Server's facts: begin() makes all of `kind` absent (-1 = all kinds), then each is put. An input
 * that no rule looks at is left out. */
void health_server_begin(struct health *health, int kind);
ERR_MUST_CHECK enum err_code health_server_put(struct health *health,
                                               const struct health_subject *subject,
                                               const char *input, int64_t value, struct err *err);

/* Which port an RDMA device's port is on: its pause counters are the port's. "solar/INTERFACE" is
 * the device of Solar-RDMA's queue pairs. ERR_LIMIT over HEALTH_RDMA_MAX. */
void health_rdma_clear(struct health *health);
ERR_MUST_CHECK enum err_code health_rdma_port(struct health *health, const char *rdma_device,
                                              uint32_t number, const char *port, struct err *err);

/* What a PCIe link gives, in percent of what it can; HEALTH_NONE = one of the four is unknown. */
int64_t health_pcie_share(int64_t gen, int64_t lanes, int64_t gen_max, int64_t lanes_max);

/* The latest value of a fact; HEALTH_NONE = it is not known. */
int64_t health_fact(const struct health *health, const struct health_subject *subject,
                    const char *input);

struct health_status {
    const struct health_rule *rule;
    struct health_subject subject;
    enum health_state state;
    int64_t value;    /* what the rule measured last; HEALTH_NONE = unknown */
    int64_t since_us; /* of a state that is raised */
};
/* from, to: the states before and after; status->state = to. */
typedef void health_change_fn(void *arg, const struct health_status *status,
                              enum health_state from);
/* One look of all rules of a source; changes of state are told. ERR_NOMEM leaves some out. */
ERR_MUST_CHECK enum err_code health_look(struct health *health, enum health_source source,
                                         int64_t now_us, health_change_fn *fn, void *arg,
                                         struct err *err);
/* After a restart: the rule is raised on the subject, and clears like any other. */
ERR_MUST_CHECK enum err_code health_restore(struct health *health, const struct health_rule *rule,
                                            const struct health_subject *subject,
                                            enum health_state state, int64_t since_us,
                                            struct err *err);

/* Each rule on each subject that is there, and each rule without a subject as unknown with an empty
 * device. false = stop. */
typedef bool health_status_fn(void *arg, const struct health_status *status);
void health_each(const struct health *health, health_status_fn *fn, void *arg);

/* Those alone that are raised; cheap. */
void health_each_raised(const struct health *health, health_status_fn *fn, void *arg);
/* The port that a subject is, is a part of, or whose RDMA device it is of; "" = unknown. */
void health_port_of(const struct health *health, const struct health_subject *subject,
                    char out[PORT_ID_SIZE]);

struct health_counts {
    size_t states[HEALTH_STATE_COUNT]; /* of rules on subjects, as health_each() tells them */
    bool truncated;
};
void health_count(const struct health *health, struct health_counts *out);

/* What a raised status says; the texts are copied into the list. */
void health_finding(const char *node, const struct health_status *status,
                    struct finding_list *findings);
enum finding_severity health_severity(enum health_state state);
