#pragma once
/*
 * fleet/rollout_policy.h - how changes reach nodes (schemas/rollout_policy.json), and how the nodes
 * of one rollout fall into waves. Values and pure functions; no clock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "fleet/view.h"

#define ROLLOUT_WAVES_MAX      16   /* of a policy; the rest is one more */
#define ROLLOUT_PICK_NODES_MAX 1024 /* named in one wave */
#define ROLLOUT_NODES_MAX      10000
#define ROLLOUT_TIME_MIN_NS    NS_PER_S /* of a timer or a deadline */
#define ROLLOUT_TIME_MAX_NS    (86400 * NS_PER_S)

/* What a rollout takes from the policy and a request may override. */
struct rollout_settings {
    /* Owned array of checked members {"nodes":[]} | {"selector":{}} | {"count":n} | {"percent":p};
     * NULL = all nodes in one wave. */
    json_t *waves;
    int64_t unavailable; /* nodes, or permyriad of the rollout's nodes */
    bool unavailable_is_share;
    bool manual; /* a person confirms each wave */
    int64_t confirm_timeout_ns, soak_ns, wave_deadline_ns;
    json_t *verify; /* owned: the tests of each wave (fleet/rollout_verify.h); NULL = none */
};
void rollout_settings_init(struct rollout_settings *settings); /* the defaults */
void rollout_settings_release(struct rollout_settings *settings);
ERR_MUST_CHECK enum err_code rollout_settings_copy(const struct rollout_settings *from,
                                                   struct rollout_settings *out, struct err *err);
/* Reads the members that are there over what `settings` holds: waves, max_unavailable, confirm,
 * confirm_timeout, soak, wave_deadline, verify. Problems become findings of the reader. */
void rollout_settings_read(struct json_reader *r, struct rollout_settings *settings);
/* The same members; false = no memory. */
bool rollout_settings_write(const struct rollout_settings *settings, json_t *object);
/* How many of `count` nodes may fail or be absent; a share is rounded down. */
size_t rollout_settings_unavailable(const struct rollout_settings *settings, size_t count);

struct rollout_policy {
    bool staged;     /* else every accepted change goes to every node at once */
    bool auto_start; /* rollouts of held plans start by themselves */
    struct rollout_settings settings;
};
void rollout_policy_init(struct rollout_policy *policy); /* direct */
void rollout_policy_release(struct rollout_policy *policy);
/* *out is released and replaced on success only. */
ERR_MUST_CHECK enum err_code rollout_policy_from_json(const json_t *document,
                                                      struct rollout_policy *out,
                                                      struct finding_list *findings,
                                                      struct err *err);
json_t *rollout_policy_to_json(const struct rollout_policy *policy); /* every member */

/* A choice of nodes: {"nodes":[...]} or {"selector":{...}}. ------------------------------------ */

/* Checks members "nodes" and "selector" of r. Returns how many of the two were there and right. */
int rollout_pick_read(struct json_reader *r);
bool rollout_pick_has(const json_t *pick, const struct view_node *node);

/*
 * What POST /v1/rollouts takes (schemas/rollout.json): one of "nodes", "selector" and "all": true,
 * members over `settings`, and "message". settings is changed on success only.
 */
#define ROLLOUT_MESSAGE_MAX 256
ERR_MUST_CHECK enum err_code rollout_request_from_json(const json_t *document,
                                                       struct rollout_settings *settings,
                                                       struct finding_list *findings,
                                                       struct err *err);
/* Of a request that was read. */
bool rollout_request_has(const json_t *document, const struct view_node *node);

/* The wave of each of `count` nodes (sorted by name, found in the view) into out; returns the
 * number of waves. A wave that takes no node is left out; what no wave takes is the last one. */
size_t rollout_assign_waves(const struct rollout_settings *settings, const struct view *view,
                            const char *const *names, size_t count, uint32_t *out);
