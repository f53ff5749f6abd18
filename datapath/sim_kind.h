#pragma once
/*
 * datapath/sim_kind.h - the simulator's knob kinds: what dp_sim.c and sim_kind.c share. Nobody else
 * includes it.
 */

#include "datapath/dp_sim.h"
#include "datapath/sim_flash.h"

#define SIM_KEY_SIZE (PORT_ID_SIZE + KNOB_ID_SIZE + 32)

enum sim_fault_kind {
    SIM_FAULT_FAIL_STEP = 0,
    SIM_FAULT_FAIL,
    SIM_FAULT_REFUSE,
    SIM_FAULT_IGNORE,
    SIM_FAULT_LINK_DOWN,
    SIM_FAULT_PEERS_SILENT,
    SIM_FAULT_ALTER,
    SIM_FAULT_FLASH, /* kept in sim_flash */
};

struct sim_fault {
    enum sim_fault_kind kind;
    const struct knob_kind *knob; /* NULL for FAIL_STEP */
    int step;
    char subject[PORT_ID_SIZE]; /* of ALTER: what is to be set back; "" = nothing was changed */
    bool over;                  /* of ALTER: it was set back */
};

struct dp_sim {
    struct dp base;
    struct dp_sim_config config;
    json_t *values;                     /* "KIND\nSUBJECT\nID" -> value, owned */
    int32_t flows[INVENTORY_PORTS_MAX]; /* entries of the flow table in use */
    int64_t rate_unit_bps;              /* 0 = exact */
    int event_fd;                       /* written by those who change something */
    int timer_fd;                       /* of ALTER */
    int poll_fd;                        /* readable when one of the two is */
    bool inventory_stale;               /* poked since the last inventory */
    bool hidden[INVENTORY_PORTS_MAX];
    int apply_count;
    int fail_in; /* the n-th apply from now fails; 0 = none */
    bool fail_after;
    bool fail_all;
    json_t *first; /* the values of the start, owned */
    struct sim_fault faults[SIM_FAULTS_MAX];
    size_t fault_count;
    struct sim_flash flash;
    struct sim_poked {
        const struct knob_kind *kind; /* NULL = none */
        char subject[PORT_ID_SIZE];
    } poked; /* the last change that was not ours */
};

struct sim_kind {
    const char *name;
    /* What the device makes of `to`, owned; NULL for a removal (to == NULL). Changes nothing. */
    enum err_code (*check)(const struct dp_sim *sim, const char *id, const json_t *to, json_t **out,
                           struct err *err);
    /* Relations to other knobs at the time of the change, side effects included; NULL = none.
     * taken == NULL: the knob is removed. */
    enum err_code (*relate)(struct dp_sim *sim, const char *subject, const char *id,
                            const json_t *taken, struct err *err);
};

const struct sim_kind *sim_kind_get(const char *name); /* NULL = unknown */
ERR_MUST_CHECK enum err_code sim_defaults(struct dp_sim *sim, struct err *err);
const char *sim_modparam_live(const char *id);

/* sim_host.c; as sim_kind.check. */
typedef enum err_code sim_check_fn(const struct dp_sim *sim, const char *id, const json_t *to,
                                   json_t **out, struct err *err);
sim_check_fn sim_check_modparam, sim_check_sysctl, sim_check_thp, sim_check_file;
ERR_MUST_CHECK enum err_code sim_host_defaults(struct dp_sim *sim, struct err *err);
/* Gives a value over; NULL is ERR_NOMEM. */
ERR_MUST_CHECK enum err_code sim_give(json_t *value, json_t **out, struct err *err);

const json_t *sim_get(const struct dp_sim *sim, const char *kind, const char *subject,
                      const char *id);
const json_t *sim_get_first(const struct dp_sim *sim, const char *kind, const char *subject,
                            const char *id);
ERR_MUST_CHECK enum err_code sim_put(struct dp_sim *sim, const char *kind, const char *subject,
                                     const char *id, const json_t *value, struct err *err);
size_t sim_count(const struct dp_sim *sim, const char *kind, const char *subject);
ERR_MUST_CHECK enum err_code sim_remove_all(struct dp_sim *sim, const char *kind,
                                            const char *subject, struct err *err);
bool sim_foreign_flows(const struct dp_sim *sim, const char *subject);

int sim_port_index(const struct dp_sim *sim, const char *subject); /* -1 = there is none */

/* dp.h's check(), apply() and apply_run(): sim_apply.c. */
ERR_MUST_CHECK enum err_code sim_check(struct dp *dp, const struct plan_step *step,
                                       struct err *err);
ERR_MUST_CHECK enum err_code sim_apply(struct dp *dp, const struct plan_step *step,
                                       struct err *err);
ERR_MUST_CHECK enum err_code sim_apply_run(struct dp *dp, const struct plan_step *steps,
                                           size_t count, struct dp_progress *out, struct err *err);

/* Whether a fault of that kind is on for the knob; for FAIL_STEP: for the current apply call. */
bool sim_has_fault(const struct dp_sim *sim, enum sim_fault_kind kind,
                   const struct knob_kind *knob);
/* dp.h's ping(). */
ERR_MUST_CHECK enum err_code sim_ping(struct dp *dp, const char *subject, struct dp_peer *peers,
                                      size_t count, int wait_ms, struct err *err);
/* ALTER: the timer is set when the step is of a knob that it waits for; what is due is set back. */
ERR_MUST_CHECK enum err_code sim_alter_later(struct dp_sim *sim, const struct plan_step *step,
                                             struct err *err);
ERR_MUST_CHECK enum err_code sim_alter(struct dp_sim *sim, bool *out_changed, struct err *err);
bool sim_link_is_up(const struct dp_sim *sim, const char *subject);

/* Remembers whose the last change was; dp.h's writer() tells. */
void sim_poke_by(struct dp_sim *sim, const char *kind, const char *subject);
void sim_writer(struct dp *dp, const char *kind, const char *subject, char out[DP_WRITER_SIZE]);
