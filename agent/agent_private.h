#pragma once
/*
 * agent/agent_private.h - the object behind agent.h, shared by agent.c (when), tell.c (what is told
 * to the server and the log), hear.c (what the server says) and a file for each other thing that an
 * agent does: trial.c (the timer of a plan on trial), gap.c, hardware.c, marking.c, telemetry.c,
 * firmware.c and reboot_look.c.
 */

#include "agent/agent.h"
#include "agent/hardware.h"
#include "agent/flash.h"
#include "agent/keep.h"
#include "agent/outbox.h"
#include "agent/spool.h"
#include "agent/worker.h"
#include "base/http_client.h"

struct agent {
    struct loop *loop;
    struct dp *dp;
    struct link *link; /* owned; NULL = no server */
    struct clock *clock;
    char node[NAME_SIZE];
    char state_dir[KEEP_PATH_MAX];
    int64_t check_ns;
    void (*watch)(void *arg, enum agent_event event);
    void *watch_arg;

    struct reconcile *reconcile;
    struct flasher *flasher;   /* owned until flash is made */
    struct flash *flash;       /* NULL = no firmware is written */
    struct verifier *verifier; /* NULL = no tests between nodes */
    struct outbox outbox;
    struct counters *counters; /* owned until collect is made */
    struct collect *collect;   /* NULL = no telemetry is sent */
    struct spool *spool;       /* NULL = none */
    struct exporter *exporter; /* borrowed; NULL = none */
    int64_t telemetry_ns;
    size_t telemetry_samples;
    bool telemetry_stays;
    bool telemetry_out; /* a batch is on its way */
    struct loop_timer *debounce, *tick, *trial;
    int64_t look_ns;        /* how often the timer of a trial is looked at */
    struct loop_fd *events; /* NULL = none, or lost until the next tick */
    bool started;           /* the link may be talked to */
    bool debouncing;
    bool held;         /* a device is left alone: flash_held() */
    bool retry_latest; /* nothing was decided about it: the tick tries again */
    bool transient;    /* the last pass could not even be begun */
    unsigned failures; /* of checks, in a row */

    int64_t repairs_ns[AGENT_FIGHT_MAX]; /* when the last ones were, a ring */
    uint64_t repairs;
    int64_t paused_until_ns; /* 0 = not */

    struct gap {
        bool booted;               /* the node did, and its plan was not seen to stand since */
        bool gone;                 /* something of the plan could not be read */
        int64_t gone_ns, event_ns; /* last seen so; the first event after it, 0 = none */
    } gap;
    int64_t started_ns;
    int64_t event_ns; /* the first change that was announced and not looked at yet; 0 = none */

    struct reboot reboot;
    struct agent_reboot reboot_how;
    struct worker *reboot_worker; /* NULL = the node is never rebooted */
    char boot[BOOT_ID_SIZE];
    char reloading[PORT_ID_SIZE];   /* the device whose driver is, left alone so long; "" = none */
    int64_t down_until_ns;          /* the node goes down: no write of firmware begins; 0 = not */
    char reboot_said[ERR_TEXT_MAX]; /* of what waits, last */
    struct reboot_wait reboot_wait; /* what it was said of; count 0 = nothing */
    char reboot_why[ERR_TEXT_MAX];  /* the node is not rebooted for it yet */

    struct told {
        bool good;                    /* the node was what it should be, or deviated as told */
        char digest[DIGEST_TEXT_MAX]; /* of the plan; "" = nothing was told */
        char observed[DIGEST_TEXT_MAX];
        char print[DIGEST_TEXT_MAX]; /* of result and problem too */
    } told;                          /* what the server heard last */
    json_t *owed_state;              /* owned; seen before the link began; NULL = none */
    char shown[DIGEST_TEXT_MAX];     /* of the plan of the last good state told; "" = owed */
    char chains[DIGEST_TEXT_MAX];    /* of the report of marks told last; "" = none */
    char refused[DIGEST_TEXT_MAX];   /* of the bytes of the last body that was no plan of ours */
    char store[HTTP_STORE_MAX];      /* the server's, of its last answer; "" = not known */
    char inventory[DIGEST_TEXT_MAX]; /* identity of the last one told; "" = owed */
    struct hardware_rate inventory_rate;
    struct loop_timer *look; /* at the inventory */
    bool look_armed;
    int64_t looked_ns; /* when it was looked at last; 0 = not yet */
    struct agent_stats stats;
};

/* marking.c: the marks of what stands, followed through the ports, when they are others than
 * those that were told. */
void agent_tell_chains(struct agent *agent);

/* gap.c: the kernel announced a change; a pass over what stands ended. */
void agent_gap_event(struct agent *agent);
void agent_gap_look(struct agent *agent, struct outcome *outcome);

/* Logs the outcome, keeps its receipt for the server, sends the state. `retried`: not what the
 * server heard last already. */
void agent_tell(struct agent *agent, struct outcome *outcome, bool retried);
/* A timed check, which may show what the node is: once a plan, after a start and after a deviation,
 * when it is good, and the server has every receipt. Nothing new is in it for the log. */
void agent_check_timed(struct agent *agent);
/* link.h's store(): another one than before, restored from a backup, is told everything anew at the
 * next timed check. */
void agent_on_store(void *arg, const char *id);
/* The link began: sends the state that a pass before it found. */
void agent_tell_owed_state(struct agent *agent);

/* Drift was repaired: too often in too short a time pauses the repairs and says so. */
void agent_count_fight(struct agent *agent, struct receipt *receipt);

/* Sends the inventory when it is another one than last time; later when that is too often. */
void agent_tell_inventory(struct agent *agent);
/* Looks at it in a moment: the kernel announced something. */
void agent_inventory_soon(struct agent *agent);
/* The loop timer `look`. */
void agent_inventory_look(void *arg);

/* From the bytes of an answer: JSON, a plan, of this node. */
ERR_MUST_CHECK enum err_code agent_read_plan(const struct agent *agent, const char *body,
                                             size_t len, struct plan **out, struct err *err);
/* It was not: a receipt "refused", once for the same bytes. */
void agent_tell_refused(struct agent *agent, const char *body, size_t len, const struct err *why);

/* hear.c: begins to hear the server; the link is there. */
void agent_hear(struct agent *agent);
/* Which plan the node knows, for the link's next question. */
void agent_tell_known(const struct agent *agent);

/* A pass over the plan that just came; `retried`: that came before. Later, while a device is held.
 */
void agent_run_latest(struct agent *agent, bool retried);
/* A pass over what stands, or back from a trial that is over. */
void agent_check(struct agent *agent, enum reconcile_cause cause);

/* telemetry.c --------------------------------------------------------------------------------- */

/* Begins to collect, when there is something to collect and a server to send it to. */
void agent_telemetry_start(struct agent *agent);
/* The batch on its way was acknowledged, or never will be. */
void agent_telemetry_done(struct agent *agent);
void agent_telemetry_stop(struct agent *agent);

/* reboot_look.c ------------------------------------------------------------------------------- */

ERR_MUST_CHECK enum err_code agent_reboot_init(struct agent *agent,
                                               const struct agent_config *config, struct err *err);
/* Whether nothing is under way that a reboot would cut off. */
bool agent_reboot_is_free(const struct agent *agent);
/* At the start, each tick and on an order: what waits for a reboot, and whether it may be now. */
void agent_reboot_look(struct agent *agent);

/* Whether the node goes down or a driver is reloaded; *why says so. No firmware is written or
 * activated meanwhile. */
bool agent_reboot_is_busy(const struct agent *agent, char why[ERR_TEXT_MAX]);

/* A plan came with an operator's approval, or, "", with none: then what was approved is not any
 * more. */
void agent_reboot_approve(struct agent *agent, const char *digest);
/* Adds what waits to the inventory, when something does. */
ERR_MUST_CHECK enum err_code agent_reboot_tell(const struct agent *agent, json_t *inventory,
                                               struct err *err);

/* firmware.c ---------------------------------------------------------------------------------- */

ERR_MUST_CHECK enum err_code agent_flash_init(struct agent *agent, struct err *err);
/* Whether a device is held now, and tells reconcile which. */
bool agent_is_held(struct agent *agent);
/* link.h's flash() */
bool agent_on_flash(void *arg, const char *body, size_t len);

/* Whether the node is what its plan wants, repairing what is not. */
bool agent_in_sync(struct agent *agent, char why[ERR_TEXT_MAX]);
/* As a kernel event: a check soon. */
void agent_check_soon(struct agent *agent);

/* Looks at the trial again in time; to be called whenever what stands may have changed. */
void agent_trial_watch(struct agent *agent);
/* The server has every receipt. */
void agent_trial_receipted(struct agent *agent);
/* The loop timer `trial`. */
void agent_trial_look(void *arg);
