#pragma once
/*
 * fleet/chain_report.h - the chains that a node followed through its ports, as it tells them, and
 * what they mean: findings, and how far the neighbour's part is known. Pure.
 */

#include "base/finding.h"
#include "fleet/chain.h"
#include "fleet/switch.h"

#define CHAINS_MAX         2048 /* of one report; more set `truncated` */
#define RULE_MARKING_CHAIN "marking-chain"

struct chain_report {
    char node[NAME_SIZE];
    int64_t generation;           /* of the plan that the chains are held against */
    char digest[DIGEST_TEXT_MAX]; /* of it */
    struct chain *chains;         /* owned */
    size_t count;
    bool truncated;
};
void chain_report_free(struct chain_report *report);
OWN_DEFINE(chain_report, struct chain_report *, chain_report_free)

/* {"version":1,"node","generation","digest","truncated"?,"chains":[CHAIN,...]}. The
 * list's first CHAINS_MAX; NULL = no memory. */
json_t *chain_report_to_json(const struct plan *plan, const struct chain *chains, size_t count);
ERR_MUST_CHECK enum err_code chain_report_from_json(const json_t *document,
                                                    struct chain_report **out, struct err *err);

/* {"subject","source","label"?,"dscp","priority"?,"class"?,"buffer"?,"lossless","verdict","at"?,
 * "why"?} */
json_t *chain_to_json(const struct chain *chain);

/*
 * The hop behind the port: the switch that the port sees by LLDP ("" = none) and its document (NULL
 * = nobody uploaded one). Broken when a lossless chain meets a switch without PFC; else unknown:
 * what a switch does with a mark is not told by it. `why` is set either way.
 */
enum chain_verdict chain_neighbour(const struct chain *chain, const char *switch_name,
                                   const struct switch_info *info, char why[160]);

/* A warning for each broken chain; info, observed "unknown", for each that a port does not show. */
void chain_report_findings(const struct chain_report *report, struct finding_list *findings);
