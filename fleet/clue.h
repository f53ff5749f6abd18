#pragma once
/*
 * fleet/clue.h - what is known of a node when its trouble is looked into: numbers, texts and
 * findings from telemetry, inventory, rules and files, all in one shape. Pure. Filled by the
 * server, read by fleet/runbook.
 *
 * Only what somebody asks for is kept: clues_new() takes the question. A number that is not known
 * is a clue of state CLUE_UNKNOWN, never 0.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "fleet/chain_report.h"
#include "fleet/evidence/evidence.h"
#include "fleet/health.h"
#include "fleet/inventory.h"
#include "fleet/telemetry.h"

#define CLUES_MAX     20000
#define CLUE_TEXT_MAX 256 /* bytes of each text with its NUL; longer ones are cut */

enum clue_kind {
    CLUE_COUNTED = 1 << 0, /* live: what a counter counted in the window; low = high */
    CLUE_LEVEL = 1 << 1,   /* live: smallest and largest of the window, or as it is now */
    CLUE_FILE = 1 << 2,    /* a number in a file: of a counter, since a time that it does not say */
    CLUE_TEXT = 1 << 3,
    CLUE_FINDING = 1 << 4, /* name = the rule's id */
    CLUE_STATUS = 1 << 5,  /* the same, of a live rule: severity info = all is well */
    CLUE_NUMBER = CLUE_COUNTED | CLUE_LEVEL | CLUE_FILE,
    CLUE_LIVE = CLUE_COUNTED | CLUE_LEVEL,
};

enum clue_state {
    CLUE_KNOWN = 0,
    CLUE_UNKNOWN,
    CLUE_AT_LEAST, /* the counter stands at its end */
};

/* Texts belong to the clues. */
struct clue {
    enum clue_kind kind;
    enum clue_state state;
    const char *source;  /* "telemetry", "inventory", "rules", or a file's name */
    const char *subject; /* as in fleet/evidence/evidence.h */
    const char *name;
    const char *text; /* of a number: as it was told; of a finding: the message */
    const char *unit;
    const char *tool;               /* of a file: the tool that printed it; else "" */
    int64_t low, high;              /* thousandths; at the ends of int64 when beyond */
    uint32_t line;                  /* of a file, from 1 */
    enum finding_severity severity; /* of a finding */
};

/* A port that must be known before all of the node is: one with an RDMA device. */
struct clue_port {
    char id[PORT_ID_SIZE];
    char ifname[IFNAME_SIZE];
    char rdma[INVENTORY_TEXT_MAX];
    bool is_software;
};

typedef bool clue_wanted_fn(const void *arg, const char *name);

#define CLUE_FROM_TELEMETRY "telemetry"
#define CLUE_FROM_INVENTORY "inventory"
#define CLUE_FROM_RULES     "rules" /* what live rules find */

struct clue_store; /* private: where the texts stand */

struct clues {
    struct clue *items;
    size_t count, room;
    struct clue_port *ports; /* INVENTORY_PORTS_MAX */
    size_t port_count;
    bool has_inventory;
    bool truncated; /* over CLUES_MAX, or a source was cut: there is more than is here */
    bool nomem;
    clue_wanted_fn *wanted;
    const void *wanted_arg;
    struct clue_store *store;
};

/* wanted: whether a clue of that name is kept. */
ERR_MUST_CHECK enum err_code clues_new(clue_wanted_fn *wanted, const void *arg, struct clues **out,
                                       struct err *err);
void clues_free(struct clues *clues);
OWN_DEFINE(clues, struct clues *, clues_free)

/* Copies the texts. Over CLUES_MAX truncated is set, without memory nomem. */
void clues_add(struct clues *clues, const struct clue *clue);

/* What a column of a telemetry row told in a window: weight 0 = unknown. */
struct clue_series {
    enum telemetry_kind kind;
    const char *device;
    uint32_t number;
    const struct telemetry_name *name;
    const struct telemetry_sum *sum;
};
/* A pause duration becomes "pause_share" too: the permille of the time it is known for. */
void clues_take_series(struct clues *clues, const struct clue_series *series);
/* "link_state", "pcie_share" (percent of what the device could), "link_layer", "gid_index" and
 * "mtu_bytes" of ports; the ports themselves. */
void clues_take_inventory(struct clues *clues, const struct inventory *inventory);
/* Those that are unknown (severity info, observed "unknown") are clues of that state. */
void clues_take_findings(struct clues *clues, const char *source, const struct finding_list *list);
/* A text "chain" for each: "whole" or "broken"; the hop and why stand in the unit. */
void clues_take_chains(struct clues *clues, const struct chain_report *report);
/* How a live rule stands. A rule that has nothing to look at is left out. */
void clues_take_status(struct clues *clues, const struct health_status *status);
/* Facts and findings of a file; and "read.KIND" for each of its sections: it was read. */
void clues_take_evidence(struct clues *clues, const char *file, const struct evidence *evidence);

/* The subject names that port: by its id, its interface or its RDMA device. */
bool clue_is_about(const struct clue *clue, const struct clue_port *port);

/* "12.5" as thousandths, exact or cut; false when it is no decimal number. */
bool clue_milli(const char *text, int64_t *out);
