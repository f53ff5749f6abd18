#pragma once
/*
 * fleet/incident.h - which finding explains which others: a table of causes and symptoms. Pure.
 *
 * A cable that fails is one matter with many findings: retries, lost packets, a job that does not
 * get its guarantee. The incidents of the symptoms name the incident of the cause as their root.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INCIDENT_WINDOW_US INT64_C(120000000) /* after a cause has ended */
#define INCIDENT_EARLY_US  INT64_C(60000000)  /* a symptom may be seen before its cause */

enum incident_scope {
    INCIDENT_SAME_PORT = 0, /* where both ports are known; else the node's */
    INCIDENT_SAME_NODE,
    INCIDENT_PEER_NODE, /* another one, on which a job of the cause's node runs too */
};

struct incident_cause {
    const char *cause, *symptom; /* rules */
    enum incident_scope scope;
};
extern const struct incident_cause incident_causes[];
extern const size_t incident_cause_count;

struct incident_ref {
    int64_t id;
    const char *rule;
    const char *node;
    const char *port; /* that it is about, or that its RDMA device is on; "" = unknown */
    int64_t opened_us;
    int64_t cleared_us; /* 0 = open */
};
/* By the table, the places and the times: on one node. Of what a port and its RDMA device count
 * alike (link-down, symbol-errors) the one with the smaller id explains the other. */
bool incident_explains(const struct incident_ref *cause, const struct incident_ref *symptom);
/* The same of two nodes that have a job in common, which the caller has seen to. */
bool incident_explains_peer(const struct incident_ref *cause, const struct incident_ref *symptom);

/* Whether anything in the table is explained by that rule, or explains it. */
bool incident_is_cause(const char *rule);
bool incident_is_symptom(const char *rule);
/* The rules that explain that one on peers' nodes (is_cause: that it explains there), each once; at
 * most INCIDENT_PEER_RULES_MAX. */
#define INCIDENT_PEER_RULES_MAX 8
size_t incident_peer_rules(const char *rule, bool is_cause,
                           const char *out[INCIDENT_PEER_RULES_MAX]);

/* Whether an exclusion of a rule ("" = any) on a subject covers a finding: it, and what is below
 * it: "node/n1" covers "node/n1/port/..", not "node/n10". */
bool incident_is_covered(const char *by_rule, const char *by_subject, const char *rule,
                         const char *subject);
