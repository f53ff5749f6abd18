/*
 * fleet/incident.c - causes and symptoms.
 */
#include "fleet/incident.h"

#include <string.h>

#define PORT INCIDENT_SAME_PORT
#define NODE INCIDENT_SAME_NODE
#define PEER INCIDENT_PEER_NODE

const struct incident_cause incident_causes[] = {
    {"link-down", "link-flapping", PORT},
    {"link-down", "port-down", PORT},
    {"link-down", "rdma-retries-exceeded", PORT},
    {"link-down", "retransmission-rate", PORT},
    {"link-down", "send-discards", PORT},
    {"link-down", "latency-outlier", PORT},
    {"link-down", "gid-moved", PORT},
    {"link-down", "gid-not-routable", PORT},
    {"link-down", "guarantee-not-met", NODE},
    {"link-down", "cm-id-stuck", NODE},
    {"link-down", "nccl-transport-retry", NODE},
    {"link-down", "nccl-completion-error", NODE},
    {"link-down", "nccl-collective-timeout", NODE},
    {"link-down", "nccl-async-event", NODE},
    {"link-down", "nccl-peer-lost", NODE},
    {"port-down", "rdma-retries-exceeded", PORT},
    {"port-down", "gid-not-routable", PORT},
    {"port-down", "guarantee-not-met", NODE},
    {"fcs-errors", "retransmission-rate", PORT},
    {"fcs-errors", "rdma-retries-exceeded", PORT},
    {"fcs-errors", "latency-outlier", PORT},
    {"symbol-errors", "fcs-errors", PORT},
    {"symbol-errors", "retransmission-rate", PORT},
    {"lossless-discards", "retransmission-rate", PORT},
    {"lossless-discards", "rdma-retries-exceeded", PORT},
    {"trust-not-dscp", "marking-chain", PORT},
    {"trust-not-dscp", "traffic-wrong-priority", PORT},
    {"trust-not-dscp", "lossless-discards", PORT},
    {"mtu-mismatch", "retransmission-rate", PORT},
    {"mtu-mismatch", "rdma-retries-exceeded", PORT},
    {"pause-storm", "pause-asymmetry", PORT},
    {"pause-storm", "pause-frames", PORT},
    {"pause-storm", "latency-outlier", PORT},
    {"pause-storm", "guarantee-not-met", NODE},
    {"pause-storm", "ecn-never-marks", PORT},
    {"pcie-link-degraded", "pause-storm-sent", NODE},
    {"pcie-link-degraded", "pause-storm-watch", NODE},
    {"pcie-link-degraded", "receive-discards", NODE},
    {"pcie-link-degraded", "latency-outlier", NODE},
    {"pcie-link-degraded", "guarantee-not-met", NODE},
    {"pcie-uncorrected", "gpu-lost", NODE},
    {"irq-one-cpu", "receive-discards", NODE},
    {"irq-one-cpu", "latency-outlier", NODE},
    {"gpu-lost", "gpu-xid", NODE},
    {"gpu-lost", "nccl-cuda-failure", NODE},
    {"gpu-ecc-uncorrected", "gpu-xid", NODE},
    {"gpu-ecc-uncorrected", "gpu-remap-pending", NODE},
    {"agent-silent", "telemetry-stale", NODE},
    /* A collective operation waits for its slowest member, and a queue pair has two ends. */
    {"link-down", "rdma-retries-exceeded", PEER},
    {"link-down", "retransmission-rate", PEER},
    {"link-down", "latency-outlier", PEER},
    {"link-down", "guarantee-not-met", PEER},
    {"port-down", "rdma-retries-exceeded", PEER},
    {"port-down", "guarantee-not-met", PEER},
    {"fcs-errors", "retransmission-rate", PEER},
    {"fcs-errors", "rdma-retries-exceeded", PEER},
    {"lossless-discards", "retransmission-rate", PEER},
    {"pause-storm-sent", "pause-storm", PEER},
    {"pause-storm-sent", "guarantee-not-met", PEER},
    {"gpu-lost", "rdma-retries-exceeded", PEER},
};
const size_t incident_cause_count = sizeof(incident_causes) / sizeof(incident_causes[0]);

static bool is_there(const struct incident_cause *row, const struct incident_ref *cause,
                     const struct incident_ref *symptom)
{
    bool is_here = strcmp(cause->node, symptom->node) == 0;
    if (row->scope == INCIDENT_PEER_NODE || !is_here)
        return row->scope == INCIDENT_PEER_NODE && !is_here;
    bool both = cause->port[0] != '\0' && symptom->port[0] != '\0';
    return row->scope == INCIDENT_SAME_NODE || !both || strcmp(cause->port, symptom->port) == 0;
}

static bool is_then(const struct incident_ref *cause, const struct incident_ref *symptom)
{
    bool before = symptom->opened_us < cause->opened_us - INCIDENT_EARLY_US;
    bool after =
        cause->cleared_us != 0 && symptom->opened_us > cause->cleared_us + INCIDENT_WINDOW_US;
    return !before && !after;
}

static bool explains(const struct incident_ref *cause, const struct incident_ref *symptom,
                     bool is_peer)
{
    for (size_t i = 0; i < incident_cause_count; i++) {
        const struct incident_cause *row = &incident_causes[i];
        if ((row->scope == INCIDENT_PEER_NODE) == is_peer && strcmp(row->cause, cause->rule) == 0 &&
            strcmp(row->symptom, symptom->rule) == 0 && is_there(row, cause, symptom) &&
            is_then(cause, symptom))
            return true;
    }
    return false;
}

/* What a port and its RDMA device count alike: the one that was told first is the matter. */
static bool is_told_twice(const struct incident_ref *first, const struct incident_ref *again)
{
    static const char *const rules[] = {"link-down", "symbol-errors"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        is_one |= strcmp(first->rule, rules[i]) == 0 && strcmp(again->rule, rules[i]) == 0;
    return is_one && first->id < again->id && first->port[0] != '\0' &&
           strcmp(first->port, again->port) == 0 && strcmp(first->node, again->node) == 0 &&
           is_then(first, again);
}

bool incident_explains(const struct incident_ref *cause, const struct incident_ref *symptom)
{
    return explains(cause, symptom, false) || is_told_twice(cause, symptom);
}

bool incident_explains_peer(const struct incident_ref *cause, const struct incident_ref *symptom)
{
    return explains(cause, symptom, true);
}

size_t incident_peer_rules(const char *rule, bool is_cause,
                           const char *out[INCIDENT_PEER_RULES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < incident_cause_count && count < INCIDENT_PEER_RULES_MAX; i++) {
        const struct incident_cause *row = &incident_causes[i];
        if (row->scope == INCIDENT_PEER_NODE &&
            strcmp(is_cause ? row->cause : row->symptom, rule) == 0)
            out[count++] = is_cause ? row->symptom : row->cause;
    }
    return count;
}

bool incident_is_cause(const char *rule)
{
    for (size_t i = 0; i < incident_cause_count; i++)
        if (strcmp(incident_causes[i].cause, rule) == 0)
            return true;
    return false;
}

bool incident_is_symptom(const char *rule)
{
    for (size_t i = 0; i < incident_cause_count; i++)
        if (strcmp(incident_causes[i].symptom, rule) == 0)
            return true;
    return false;
}

bool incident_is_covered(const char *by_rule, const char *by_subject, const char *rule,
                         const char *subject)
{
    size_t len = strlen(by_subject);
    return (by_rule[0] == '\0' || strcmp(by_rule, rule) == 0) &&
           strncmp(subject, by_subject, len) == 0 && (subject[len] == '\0' || subject[len] == '/');
}
