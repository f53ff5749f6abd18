#pragma once
/*
 * agent/agent.h - one node's agent: an object on a loop. It holds no globals, so that a thousand
 * of them run in one process (tests/bench/bench_agents.c).
 *
 * When it acts: a plan comes; the provider announces a change (after AGENT_DEBOUNCE_NS); each
 * AGENT_CHECK_NS; a plan on trial was not confirmed in time; on agent_reload(). Everything runs on
 * the loop's thread; provider calls block it for at most dp.h's deadlines.
 */

#include <stdint.h>

#include "agent/link.h"
#include "agent/reboot.h"
#include "agent/reconcile.h"
#include "agent/verify.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "datapath/counters.h"
#include "datapath/dp.h"
#include "datapath/flash.h"

#define AGENT_DEBOUNCE_NS  (100 * NS_PER_MS)
#define AGENT_CHECK_NS     (60 * NS_PER_S) /* +- AGENT_CHECK_JITTER percent */
#define AGENT_CHECK_JITTER 10
#define AGENT_RETRY_MAX_NS (30 * 60 * NS_PER_S) /* checks that fail get rarer, up to this */
/* But what could not even be begun (a full disk, a device that is away) changes nothing on the node
 * and is tried again within so many checks. */
#define AGENT_RETRY_CHECKS 2

/* A trial's time is looked at this often; the way back is tried again after this. */
#define AGENT_LOOK_NS         (1 * NS_PER_S)
#define AGENT_RETURN_RETRY_NS (10 * NS_PER_S)

/* Someone else changes what we repair: more than MAX repairs in WINDOW, then none for PAUSE. */
#define AGENT_FIGHT_MAX       3
#define AGENT_FIGHT_WINDOW_NS (60 * NS_PER_S)
#define AGENT_FIGHT_PAUSE_NS  (5 * 60 * NS_PER_S)

struct exporter; /* agent/exporter.h */

enum agent_event {
    AGENT_INVENTORY_DONE, /* the server has our inventory */
    AGENT_WAITING,        /* for a plan */
    AGENT_PLAN_RECEIVED,  /* before it is looked at */
    AGENT_RECEIPT_DONE,   /* acknowledged */
};

/* How the node is rebooted, or a device's driver reloaded, for what waits for that (reboot.h). All
 * are called on another thread, one at a time, with an arg that outlives the agent. */
struct agent_reboot {
    struct reboot_rules rules;
    /* How many queue pairs programs have on the device ("0000:3b:00.0"; NULL = all of the node).
     * ERR_NOT_FOUND: there is no such device any more. */
    enum err_code (*users)(void *arg, const char *device, int *out_count, struct err *err);
    /* Brings the node down: returns once that was begun. */
    enum err_code (*reboot)(void *arg, struct err *err);
    /* Reloads the device's driver: returns once its ports are there again, or why not. */
    enum err_code (*reload)(void *arg, const char *device, struct err *err);
    void *arg;
};

struct agent_config {
    const char *node;        /* copied */
    const char *state_dir;   /* copied; made when missing */
    const char *boot_id;     /* copied; "" = unknown */
    struct clock *clock;     /* borrowed */
    int64_t check_ns;        /* 0 = AGENT_CHECK_NS; tests shorten it */
    int64_t look_ns;         /* 0 = AGENT_LOOK_NS; tests shorten it */
    struct flasher *flasher; /* taken over, also on failure; NULL = no firmware is written */
    /* Taken over, also on failure; NULL = no telemetry is sent. */
    struct counters *counters;
    int64_t telemetry_ns;              /* between looks at them; 0 = COLLECT_INTERVAL_NS */
    size_t telemetry_samples;          /* of a batch; 0 = COLLECT_SAMPLES */
    bool telemetry_stays;              /* nothing of it goes to the server */
    struct exporter *exporter;         /* borrowed; who else is told; NULL = nobody */
    verifier_run_fn *verify;           /* does tests between nodes; NULL = none are asked for */
    const struct agent_reboot *reboot; /* copied; NULL = the node is never rebooted */
    bool (*killed)(void *arg);         /* see reconcile.h; NULL = none */
    void *killed_arg;
    void (*watch)(void *arg, enum agent_event event); /* benchmarks and tests; NULL = none */
    void *watch_arg;
};

struct agent_stats {
    uint64_t plans, results[RECEIPT_RESULT_COUNT]; /* by enum receipt_result */
    uint64_t checks, receipts_done;
};

struct agent;

/* dp is borrowed; link is taken over, also on failure; NULL = no server. */
ERR_MUST_CHECK enum err_code agent_new(struct loop *loop, const struct agent_config *config,
                                       struct dp *dp, struct link *link, struct agent **out,
                                       struct err *err);
/* Leaves the node as it is: stopping an agent undoes nothing. Saves the time that a trial has
 * left. */
void agent_free(struct agent *agent);
OWN_DEFINE(agent, struct agent *, agent_free)

/* Settles a journal left behind, re-asserts what stands (or goes back, when its trial is over),
 * then begins to talk and watch. What goes wrong is told: a node that cannot be reached by its
 * kernel still talks to its server. */
void agent_start(struct agent *agent);

/* The first half of agent_start() alone (--once). ERR_OK: the node is what the plan that stands
 * wants (or there is none); else why not. */
ERR_MUST_CHECK enum err_code agent_once(struct agent *agent, struct err *err);

/* SIGHUP: tries again everything that was given up or put off, a failed plan included. */
void agent_reload(struct agent *agent);

const struct agent_stats *agent_stats(const struct agent *agent);
