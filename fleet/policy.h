#pragma once
/*
 * fleet/policy.h - a tenant's QoS policy as a value (DESIGN section 4, schemas/policy.json).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "base/units.h"
#include "fleet/name.h"

#define POLICY_JOBS_MAX           4096
#define POLICY_TENSOR_CLASSES_MAX 8
#define POLICY_DESCRIPTION_MAX    1024
#define PRIORITY_COUNT            8

enum latency_class {
    LATENCY_CLASS_THROUGHPUT = 0,
    LATENCY_CLASS_LATENCY,
};

struct tensor_class {
    int64_t min_bytes;
    int32_t weight; /* 1..100 */
};

/* Congestion-control overrides; micro-units so that no float is stored (eta 0.05 = 50000). */
struct solar_cc {
    bool has_eta, has_beta;
    int64_t eta_micro;
    int64_t beta_micro;
};

struct policy_job {
    char name[NAME_SIZE];
    int priority; /* 0..7 */
    struct bandwidth guarantee;
    struct bandwidth limit;
    struct bandwidth demand; /* declared need */
    enum latency_class latency_class;
    struct tensor_class tensor_classes[POLICY_TENSOR_CLASSES_MAX];
    size_t tensor_class_count;
    struct solar_cc solar;
    char *description; /* owned, may be NULL */
};

struct policy {
    struct policy_job *jobs; /* sorted by name */
    size_t job_count;        /* 1..POLICY_JOBS_MAX */
};

/*
 * Schema and range checks; every problem is a finding (rule "schema" or "priority-range") with its
 * pointer. On success (no error finding) *out is set. ERR_INVALID when refused, ERR_NOMEM.
 */
ERR_MUST_CHECK enum err_code policy_from_json(const json_t *document, struct policy **out,
                                              struct finding_list *findings, struct err *err);
json_t *policy_to_json(const struct policy *policy); /* canonical document; NULL = no memory */
void policy_free(struct policy *policy);
OWN_DEFINE(policy, struct policy *, policy_free)

/* NULL when there is no such job. */
const struct policy_job *policy_job_get(const struct policy *policy, const char *name);
