#pragma once
/*
 * datapath/dp.h - the provider contract: what reconcile needs of a kernel, a NIC or a simulator.
 *
 * Providers: dp_linux (this node's kernel), dp_sim (in memory, with faults). A provider belongs to
 * one thread. Blocking: every call may take as long as its device's deadline (DP_DEADLINE_MS),
 * never longer. Nothing is cached between calls: observe tells what is there now.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"
#include "fleet/plan.h"
#include "fleet/receipt.h"

#define DP_DEADLINE_MS 5000
#define DP_WRITER_SIZE RECEIPT_WRITER_SIZE

#define DP_RUN_MAX 1024 /* steps that one apply_run() does */

#define DP_PEERS_MAX     32 /* that one ping() asks */
#define DP_PEER_WHY_SIZE 128

struct dp;

/* A port of another node, asked for an answer. */
struct dp_peer {
    const char *address; /* IPv4, or IPv6; borrowed */
    bool answered;
    char why[DP_PEER_WHY_SIZE]; /* not answered: what was seen last */
};

/* How far a run of steps came. */
struct dp_progress {
    size_t begun;  /* steps [0, begun) were begun, 1 at least: they may stand */
    size_t failed; /* the first that failed; = begun: none did, and all of them stand */
};

struct dp_ops {
    const char *name;

    /*
     * The node's inventory as schemas/inventory.json without "node". A device that fails is listed
     * with its problem and never hides the others.
     */
    enum err_code (*inventory)(struct dp *dp, json_t **out, struct err *err);

    /*
     * The state of every knob of the kinds and subjects that the plan names, plus our own set
     * members on those subjects. plan may be NULL: all knobs of all ports. An unreadable knob is in
     * the state with its problem.
     */
    enum err_code (*observe)(struct dp *dp, const struct plan *plan, struct state *out,
                             struct err *err);

    /*
     * Whether apply could take the step, without changing anything. ERR_UNSUPPORTED names the knob,
     * the device and what is missing. Idempotent.
     */
    enum err_code (*check)(struct dp *dp, const struct plan_step *step, struct err *err);

    /*
     * Does one step. Idempotent: applying what already is there succeeds and touches nothing. On
     * failure the knob may hold either value; the caller reads back and undoes. Errors carry the
     * kernel's own words. What was set is read back: ERR_IO "kernel took X but shows Y" when it
     * differs; only a rate that the hardware rounded passes unless the step is strict (observe
     * tells then). ERR_CONFLICT: what is there belongs to somebody else and was left alone.
     * ERR_LIMIT: the flow table is full.
     */
    enum err_code (*apply)(struct dp *dp, const struct plan_step *step, struct err *err);

    /*
     * Does the first of `steps` (count >= 1), and with it as many of those behind it as go together
     * (one op, kind and port; DP_RUN_MAX), each as apply() would and in order, but read back all at
     * once. *out is set in every case. On failure the err is that of step out->failed, as apply's;
     * steps behind it may stand, too: the caller takes [0, out->begun) back. To look, to change and
     * to read back have the deadline of a call each; a slow device gets fewer steps of a run. NULL:
     * apply(), one at a time.
     */
    enum err_code (*apply_run)(struct dp *dp, const struct plan_step *steps, size_t count,
                               struct dp_progress *out, struct err *err);

    /* Whether the port's link is up. ERR_NOT_FOUND: there is no such port. */
    enum err_code (*link)(struct dp *dp, const char *subject, bool *out_up, struct err *err);

    /*
     * Asks these peers (of one family of addresses, DP_PEERS_MAX at most) for an answer over the
     * RDMA device of the port, RoCE packets both ways, for wait_ms and half a second at most.
     * ERR_OK: each has its `answered` or `why`. Else nobody was asked, or it is not known what came
     * of it: ERR_UNSUPPORTED (no RDMA device, no address, no rdma_cm in this kernel),
     * ERR_UNAVAILABLE (the device does not come back). Changes nothing. NULL: ERR_UNSUPPORTED.
     */
    enum err_code (*ping)(struct dp *dp, const char *subject, struct dp_peer *peers, size_t count,
                          int wait_ms, struct err *err);

    /*
     * A descriptor that becomes readable when the kernel announces a change of something we manage;
     * -1 = none. drain() empties it and says whether anything relevant came (overruns count).
     */
    int (*event_fd)(struct dp *dp);
    enum err_code (*drain)(struct dp *dp, bool *out_changed, struct err *err);

    /* Whether a drain since the last inventory() saw something that may make it another. NULL:
     * nothing announces that. */
    bool (*inventory_stale)(const struct dp *dp);

    /*
     * Who changed a knob of that kind there, for people: of the changes that were drained and that
     * the last observe was the first to look at. "" = unknown. NULL: never known.
     */
    void (*writer)(struct dp *dp, const char *kind, const char *subject, char out[DP_WRITER_SIZE]);

    void (*free)(struct dp *dp);
};

struct dp {
    const struct dp_ops *ops;
};

/* Thin forwards, so that callers read well. */
ERR_MUST_CHECK enum err_code dp_inventory(struct dp *dp, json_t **out, struct err *err);
ERR_MUST_CHECK enum err_code dp_observe(struct dp *dp, const struct plan *plan, struct state *out,
                                        struct err *err);
ERR_MUST_CHECK enum err_code dp_check(struct dp *dp, const struct plan_step *step, struct err *err);
ERR_MUST_CHECK enum err_code dp_apply(struct dp *dp, const struct plan_step *step, struct err *err);
ERR_MUST_CHECK enum err_code dp_apply_run(struct dp *dp, const struct plan_step *steps,
                                          size_t count, struct dp_progress *out, struct err *err);
ERR_MUST_CHECK enum err_code dp_link(struct dp *dp, const char *subject, bool *out_up,
                                     struct err *err);
ERR_MUST_CHECK enum err_code dp_ping(struct dp *dp, const char *subject, struct dp_peer *peers,
                                     size_t count, int wait_ms, struct err *err);
int dp_event_fd(struct dp *dp);
ERR_MUST_CHECK enum err_code dp_drain(struct dp *dp, bool *out_changed, struct err *err);
bool dp_inventory_stale(const struct dp *dp);
void dp_writer(struct dp *dp, const char *kind, const char *subject, char out[DP_WRITER_SIZE]);
void dp_free(struct dp *dp);
OWN_DEFINE(dp, struct dp *, dp_free)
