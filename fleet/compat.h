#pragma once
/*
 * fleet/compat.h - hardware rules as data (schemas/compat.json) against inventories: findings.
 *
 * A rule looks at each subject of its kind (NIC, GPU, CPU, switch) to which all of `applies` are
 * met. A requirement that is not met is a finding of the rule's severity; one whose fact is unknown
 * is a finding of severity info that says so: never compliant, never a failure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "fleet/inventory.h"
#include "fleet/switch.h"

#define COMPAT_RULES_MAX      64
#define COMPAT_CONDITIONS_MAX 8
#define COMPAT_PATTERNS_MAX   16
#define COMPAT_ID_SIZE        48
#define COMPAT_TEXT_SIZE      256
#define COMPAT_UNKNOWN        "unknown" /* a finding's `observed` */

enum compat_subject {
    COMPAT_NIC,
    COMPAT_GPU,
    COMPAT_CPU,
    COMPAT_SWITCH,
};

struct compat_fact; /* compat_fact.h */

/* One test of one fact; which one follows from the fact's kind. */
struct compat_condition {
    const struct compat_fact *fact;
    bool is;                                /* flags */
    int64_t number;                         /* numbers: at least */
    char version[64];                       /* versions: at least */
    char patterns[COMPAT_PATTERNS_MAX][64]; /* texts: any of */
    size_t pattern_count;
};

struct compat_rule {
    char id[COMPAT_ID_SIZE];
    enum compat_subject subject;
    struct compat_condition applies[COMPAT_CONDITIONS_MAX];
    size_t applies_count;
    struct compat_condition requires[COMPAT_CONDITIONS_MAX];
    size_t requires_count;
    enum finding_severity severity;
    char text[COMPAT_TEXT_SIZE], reason[COMPAT_TEXT_SIZE], hint[COMPAT_TEXT_SIZE];
};

struct compat { /* immutable */
    struct compat_rule *rules;
    size_t rule_count;
};

/* ERR_INVALID with every problem in findings (may be NULL). */
ERR_MUST_CHECK enum err_code compat_from_json(const json_t *document, struct compat **out,
                                              struct finding_list *findings, struct err *err);
/* The rules of the product. */
ERR_MUST_CHECK enum err_code compat_builtin(struct compat **out, struct err *err);
void compat_free(struct compat *compat);
OWN_DEFINE(compat, struct compat *, compat_free)

/* Findings' rule ids live as long as `compat`. Subjects: "node/N/port/ID", "node/N/gpu/ID",
 * "node/N/cpu", "switch/S". Same input, same findings in the same order. */
void compat_check_node(const struct compat *compat, const char *node,
                       const struct inventory *inventory, struct finding_list *findings);
void compat_check_switch(const struct compat *compat, const char *name,
                         const struct switch_info *info, struct finding_list *findings);
