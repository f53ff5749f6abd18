#pragma once
/*
 * fleet/knob.h - one thing on a node that can be observed and set. A knob is named by
 * (kind, subject, id) and its value is a JSON value in the kind's canonical form (doc/knobs.md),
 * so that plan and state compare byte by byte.
 *
 * kind     table below, e.g. "dcb.pfc"
 * subject  a port id ("solar_rdma.0/0") or "host"
 * id       names one of several of a kind on a subject; "" for singletons
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

enum disruption {
    DISRUPTION_NONE = 0,
    DISRUPTION_PAUSE,      /* traffic may stall for milliseconds */
    DISRUPTION_LINK_RESET, /* the link goes down and up */
    DISRUPTION_DRIVER_RELOAD,
    DISRUPTION_REBOOT,
};
const char *disruption_name(enum disruption disruption); /* "none","pause","link-reset",... */
bool disruption_from_name(const char *name, enum disruption *out);

enum knob_view {
    KNOB_VIEW_LIVE = 0,  /* in sync when the live value is the wanted one */
    KNOB_VIEW_NEXT_BOOT, /* in sync when the value of the next load or boot is the wanted one */
};

struct knob_kind {
    const char *name;
    int rank;    /* order on a node: lower first (removals in reverse) */
    bool is_set; /* several ids a subject; those not in the plan and ours are removed */
    enum knob_view view;
    enum disruption disruption; /* of a change in the usual case */
    const char *first_id;       /* others of the kind stand on it: sorts first; NULL = none */
    const char *text;           /* what it is, for people */
};

extern const struct knob_kind knob_kinds[];              /* by rank; ends with name == NULL */
const struct knob_kind *knob_kind_get(const char *name); /* NULL = unknown */

/* Of one change: what it takes until the value is in effect. to NULL: a removal. */
enum disruption knob_disruption(const struct knob_kind *kind, const json_t *to);

/* What a knob of the kind stands on, of the same subject, by its id KNOB_BASE_ID: classes and their
 * queues on the scheduler. NULL: on nothing. */
#define KNOB_BASE_ID "root"
const struct knob_kind *knob_base(const struct knob_kind *kind);
/* Whether the change leaves what stands on the knob alone; false: it is made anew, and all that
 * stands on it goes with the old one. */
bool knob_changes_in_place(const struct knob_kind *kind, const json_t *from, const json_t *to);

/* Whether a knob of kind host.sysctl may have this id: settings that tune, below net., vm.,
 * kernel.numa_ and kernel.sched_. None of them names a program that the kernel would run; a node
 * asks as well, so that whoever can make plans does not get root's rights on it by one. */
bool knob_sysctl_is_managed(const char *name);

/* Key order: rank, subject, id (the kind's first_id before all others). */
int knob_compare(const struct knob_kind *ka, const char *sa, const char *ia,
                 const struct knob_kind *kb, const char *sb, const char *ib);
