#pragma once
/*
 * fleet/placement.h - where a job runs: nodes, ports and the match of its flows
 * (schemas/placement.json). One placement a job; stored beside the policy, not inside it.
 *
 *   {"nodes":["n1","n2"], "selector":{"rack":"a"}, "ports":["solar_rdma.0/0"],
 *    "match":{"src":"10.9.0.0/24","dst":"10.9.1.7","ip_proto":"udp","dst_port":4791,"dscp":26}}
 * nodes and selector are joined (a node is placed if it is named or all labels match); at least one
 * of them must be given; no ports = every port of the node with the needed speed known; a match
 * without "dscp" gets the first DSCP of the job's priority in the fabric profile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "fleet/inventory.h"
#include "fleet/ip_prefix.h"
#include "fleet/name.h"

#define PLACEMENT_NODES_MAX 4096
#define PLACEMENT_PORTS_MAX 64
#define LABELS_MAX          32

struct flow_match {
    struct ip_prefix src, dst;
    int ip_proto;           /* -1 = any, 6, 17 */
    int src_port, dst_port; /* -1 = any */
    int dscp;               /* -1 = from the priority */
};

struct label_pair {
    char key[NAME_SIZE];
    char value[NAME_SIZE];
};

struct placement {
    char tenant[NAME_SIZE];
    char job[NAME_SIZE];
    uint32_t label;           /* 1..; allotted by the store, unique in the fleet, stable */
    char (*nodes)[NAME_SIZE]; /* sorted */
    size_t node_count;
    struct label_pair selector[LABELS_MAX];
    size_t selector_count;
    char (*ports)[PORT_ID_SIZE];
    size_t port_count;
    struct flow_match match;
};

/* tenant, job and label are arguments: the document does not hold them. */
ERR_MUST_CHECK enum err_code placement_from_json(const json_t *document, const char *tenant,
                                                 const char *job, uint32_t label,
                                                 struct placement **out,
                                                 struct finding_list *findings, struct err *err);
json_t *placement_to_json(const struct placement *placement);
/* labels: an object of texts; NULL = none. Whether all that the selector names are as it says; a
 * placement without one selects nothing. */
bool placement_selects(const struct placement *placement, const json_t *labels);
void placement_free(struct placement *placement);
OWN_DEFINE(placement, struct placement *, placement_free)

/* AF_INET or AF_INET6; a match without addresses is for IPv4 (one filter a direction). */
int flow_match_family(const struct flow_match *match);

/* True when two matches (with their DSCPs resolved) can match the same packet. */
bool flow_match_overlaps(const struct flow_match *a, const struct flow_match *b);
