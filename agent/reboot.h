#pragma once
/*
 * agent/reboot.h - what only a boot of the node or a reload of a device's driver puts in effect,
 * and whether that may begin. Off unless the node's owner allows it (option --reboot). No I/O but
 * its file, no timers: reboot_look.c does what is decided here.
 *
 * STATE_DIR/reboot.json, on disk before a reboot or a reload is begun:
 *   {"version":1,"node","boot"?,"owed"?:DIGEST,"begun_us":[T,...],"tried"?:DIGEST,
 *    "approved"?:DIGEST,"down_us"?:T,"reloads"?:[{"device","digest"},...]}
 *
 * When nothing waits but devices that need their driver reloaded, just these are reloaded; a boot
 * does that too. Both have the same consent and the same limits, and count as one thing begun.
 *
 * What waits has a digest. An approval is of one digest: when something else waits by then, it is
 * stale and counts for nothing. For one digest a reboot is begun once, whatever comes of it: a node
 * whose reboot does not bring what was wanted stays up, and says so, until something else waits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/keep.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "fleet/plan.h"
#include "fleet/receipt.h"

#define REBOOT_FILE        "reboot.json"
#define REBOOT_KNOB        "host.modparam" /* the kind that the node shows both values of */
#define REBOOTS_A_DAY      1               /* unless told otherwise */
#define REBOOTS_A_DAY_MAX  10
#define REBOOT_RELOADS_MAX 32               /* devices; what more of them need waits for a boot */
#define REBOOT_DOWN_NS     (600 * NS_PER_S) /* a node that was to go down and did not, stays up */
#define REBOOT_DAY_US      INT64_C(86400000000)
#define REBOOT_DAY_MIN     1440 /* minutes */

enum reboot_mode {
    REBOOT_NEVER = 0,
    REBOOT_ASK,    /* as in the window, once an operator has approved it at the server */
    REBOOT_WINDOW, /* rebooted in the window, when nobody uses RDMA */
};

struct reboot_rules {
    enum reboot_mode mode;
    int begin_min, end_min; /* minutes of the day, UTC; equal = the whole day; may pass midnight */
    int a_day;              /* at most so many in 24 hours */
};

/* What waits for a boot. */
struct reboot_wait {
    size_t count;
    char first[256];              /* for people */
    size_t reloads;               /* of it: devices, reboot->reloads; all = no boot is needed */
    char digest[DIGEST_TEXT_MAX]; /* "" = nothing waits */
};

/* A device whose driver is to be reloaded, and the digest of the steps that ask for it. */
struct reboot_reload {
    char device[PORT_ID_SIZE]; /* "0000:3b:00.0" */
    char digest[DIGEST_TEXT_MAX];
};

struct reboot {
    const char *node, *state_dir, *boot; /* borrowed; boot "" = unknown */
    struct clock *clock;                 /* borrowed */
    struct reboot_rules rules;
    char owed[DIGEST_TEXT_MAX]; /* of the steps of this boot that take effect with the next; "" */
    struct reboot_reload reloads[REBOOT_RELOADS_MAX];
    size_t reload_count;
    char failed[ERR_TEXT_MAX]; /* why the last reload did; in memory only; "" = none did */
    int64_t begun_us[REBOOTS_A_DAY_MAX]; /* the last ones, oldest first; 0 = none */
    char tried[DIGEST_TEXT_MAX];         /* what the last one was for; "" = none */
    char approved[DIGEST_TEXT_MAX];      /* what one may be begun for; "" = none */
    int64_t down_us; /* when this boot was to be ended; 0 = it was not, or that failed */
};

/* The borrowed members and the rules are set by the caller. No file is fine; one that does not read
 * back, or is another node's, is set aside, and counts as if a reboot was begun just now; when that
 * cannot be kept, it counts until the agent ends. */
ERR_MUST_CHECK enum err_code reboot_load(struct reboot *reboot, struct err *err);

/* A pass ended: steps that were done and take effect with a boot or a reload are remembered. Errors
 * are logged. */
void reboot_note(struct reboot *reboot, const struct receipt *receipt);

/*
 * What of the plan waits, as the node shows it: a module parameter that is set for the next load
 * while the loaded module runs with another value, and what reboot_note() remembered.
 */
ERR_MUST_CHECK enum err_code reboot_waits(const struct reboot *reboot, const struct plan *plan,
                                          const struct state *state, struct reboot_wait *out,
                                          struct err *err);

/* An operator approves it for what has this digest ("" = for nothing); the approval before it is no
 * more. Durable when it returns ERR_OK. */
ERR_MUST_CHECK enum err_code reboot_approve(struct reboot *reboot, const char *digest,
                                            struct err *err);
bool reboot_is_approved(const struct reboot *reboot, const struct reboot_wait *wait);
/* One was begun for just this: no other one is. */
bool reboot_was_begun(const struct reboot *reboot, const struct reboot_wait *wait);

/* A wall clock that was set back stands before what was begun, which would count until it is there
 * again: it counts as begun now. Errors are logged. */
void reboot_mind_clock(struct reboot *reboot);

/* Whether a reboot may begin now, as far as time, number and earlier ones go; else why[]. */
bool reboot_is_due(const struct reboot *reboot, const struct reboot_wait *wait,
                   char why[ERR_TEXT_MAX]);
/* It begins; durable when it returns ERR_OK, and only then the node may be rebooted. */
ERR_MUST_CHECK enum err_code reboot_begin(struct reboot *reboot, const struct reboot_wait *wait,
                                          struct err *err);

/* How long from now on the node may still be on its way down, at most REBOOT_DOWN_NS; 0 = it is
 * not. An agent that was killed behind the command knows it too. */
int64_t reboot_down_ns(const struct reboot *reboot);
/* The command failed: the node stays up. Errors are logged. */
void reboot_stays_up(struct reboot *reboot);

/* Whether reloads are all that waits. */
bool reboot_is_reload(const struct reboot_wait *wait);
/* The reload of the first device ended. NULL = well: it waits no more; else why not, and no other
 * one is begun for just this. Errors are logged. */
void reboot_reloaded(struct reboot *reboot, const struct err *why);

/* The device is not there any more: its driver begins anew when it comes back. Errors are logged.
 */
void reboot_gone(struct reboot *reboot, const char *device);

/* "02:00-04:30" of UTC; ERR_INVALID. */
ERR_MUST_CHECK enum err_code reboot_window_parse(const char *text, struct reboot_rules *out,
                                                 struct err *err);
