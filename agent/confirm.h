#pragma once
/*
 * agent/confirm.h - a plan on trial: it stands on the node, and unless it is confirmed while its
 * timer runs, the node goes back to its last good plan. On disk (STATE_DIR/confirm.json), so that
 * neither a crash nor a reboot loses the timer or fires it early:
 *
 *   {"version":1,"state":"armed","node","tag","plan":{...,"confirm":{"rollout","timeout_s"}},
 *    "base"?:{"generation","tag"},"undo":[steps],"boot","deadline_ns","left_ns"}
 *   {"version":1,"state":"expired","node","tag"}
 *
 * The timer counts the node's boot-time clock (it runs on in suspend, and the wall clock does not
 * matter). In one boot the deadline is exact, whatever happens to the agent. The time that is left
 * is saved when armed, each CONFIRM_SAVE_NS and at stop; after a reboot the timer goes on with what
 * was saved last: each reboot in the window lengthens it by less than CONFIRM_SAVE_NS and the time
 * that the node was off.
 *
 * Owned by reconcile. Knows nothing of loops: who owns it asks for the time that is left.
 */

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "fleet/plan.h"

#define CONFIRM_FILE    "confirm.json"
#define CONFIRM_SAVE_NS (10 * NS_PER_S)

enum confirm_state {
    CONFIRM_NONE = 0,
    CONFIRM_ARMED,   /* plan stands on the node, the timer runs or is over */
    CONFIRM_EXPIRED, /* the node went back; tag is the assignment that is not applied again */
};

struct confirm {
    const char *state_dir, *node, *boot; /* borrowed */
    struct clock *clock;                 /* borrowed */
    enum confirm_state state;
    char tag[PLAN_TAG_SIZE];  /* of the assignment, armed or expired */
    struct plan *plan;        /* owned; when armed */
    struct plan_steps undo;   /* when armed: by key, from = what stood before the trial */
    int64_t base_generation;  /* of the last good plan when it was armed */
    char base[PLAN_TAG_SIZE]; /* its tag; "" = there was none */
    int64_t deadline_ns;      /* of the clock, in this boot */
    int64_t saved_ns;         /* when the time that is left was saved last */
};

/*
 * What is on disk, judged against the last good plan (NULL = none): a trial of what is good by
 * now, or that began over another good plan, was settled before a crash and is dropped. A file
 * that does not read back, or is another node's, is set aside. confirm's borrowed members are set
 * by the caller.
 */
ERR_MUST_CHECK enum err_code confirm_load(struct confirm *confirm, const struct plan *good,
                                          struct err *err);
void confirm_release(struct confirm *confirm);

/*
 * The trial of *plan begins; durable when it returns ERR_OK, and only then *plan is taken over.
 * `done` are the steps that brought it. A trial that is running gives way; what stood before the
 * first of them stays what the node goes back to.
 */
ERR_MUST_CHECK enum err_code confirm_arm(struct confirm *confirm, struct plan **plan,
                                         const struct plan *good, const struct plan_steps *done,
                                         struct err *err);

/* -1: no trial is running. 0: its time is over. */
int64_t confirm_left_ns(const struct confirm *confirm);

/* Saves the time that is left, when armed. */
ERR_MUST_CHECK enum err_code confirm_save(struct confirm *confirm, struct err *err);

/* The node went back: from armed to expired. In memory also after an error. */
ERR_MUST_CHECK enum err_code confirm_expire(struct confirm *confirm, struct err *err);

/* Another plan stands, for good: nothing is on trial and nothing expired. Also after an error. */
ERR_MUST_CHECK enum err_code confirm_clear(struct confirm *confirm, struct err *err);
