#pragma once
/*
 * fleet/report.h - the health of the fleet, or of a tenant's jobs, at a time as a document
 * (schemas/health-report.json), made of what is counted one after another, and shown as CSV or as
 * one HTML page. Pure.
 *
 * A list holds its named maximum; what is more is counted and sets "truncated". What nobody knows
 * is left out of the document, never 0.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"
#include "fleet/name.h"

#define REPORT_LISTED_MAX   200   /* new and cured findings, exceptions, jobs: of each */
#define REPORT_OUTLIERS_MAX 20    /* nodes */
#define REPORT_NODES_MAX    65536 /* with findings */
#define REPORT_RULES_MAX    512   /* different rules with findings */
#define REPORT_TEXT_MAX     256   /* bytes of a text of it with its NUL */

enum report_grade {
    REPORT_UNKNOWN = 0,
    REPORT_OK,
    REPORT_WARNING,
    REPORT_CRITICAL,
};
const char *report_grade_name(enum report_grade grade); /* "unknown", "ok", ... */

/* A finding that is open, is new or was cured since the report before. Borrowed. */
struct report_finding {
    int64_t id;
    const char *rule, *subject, *node, *severity, *message;
    int64_t opened_us, cleared_us; /* 0 = open */
    bool is_excepted;              /* an exception accepts it: it is in no grade and no count */
    bool is_explained;             /* another one is its root */
};

struct report; /* one in the making */
/* What a job was promised on its ports, and what it got on that where it fared worst. Borrowed. */
struct report_job {
    const char *job;
    const char *asked; /* its guarantee as the policy has it; "" = none */
    const char *worst; /* which port that is; "" = nothing is known of any */
    int ports, known_ports;
    int64_t granted_bps, limit_bps; /* the least of its ports; 0 = none */
    int known_minutes, below_minutes;
    int64_t mean_bps, peak_bps; /* of the known minutes */
};

/* Findings that opened at or after since_us are new (0 = there was no report before: none is). */
ERR_MUST_CHECK enum err_code report_new(int64_t time_us, int64_t since_us, struct report **out,
                                        struct err *err);
void report_free(struct report *report);
OWN_DEFINE(report, struct report *, report_free)

/* It is the report of this tenant from now on: with its jobs, without the fleet's nodes. */
void report_of_tenant(struct report *report, const char *tenant);
ERR_MUST_CHECK enum err_code report_add_job(struct report *report, const struct report_job *job,
                                            struct err *err);

/* ERR_NOMEM. */
ERR_MUST_CHECK enum err_code
report_add_finding(struct report *report, const struct report_finding *finding, struct err *err);
/* An accepted exception as a member of "exceptions"; takes the object. */
ERR_MUST_CHECK enum err_code report_add_exception(struct report *report, json_t *exception,
                                                  struct err *err);
/* Every node of the fleet once; is_fresh: its counters are new, so that no finding means ok. */
ERR_MUST_CHECK enum err_code report_add_node(struct report *report, const char *node, bool is_fresh,
                                             struct err *err);
/* A member of the document as it is, such as "convergence"; takes the value. */
ERR_MUST_CHECK enum err_code report_set(struct report *report, const char *key, json_t *value,
                                        struct err *err);
/* Nodes come after findings. The document; NULL = no memory. */
json_t *report_to_json(struct report *report);

enum report_language {
    REPORT_ENGLISH = 0,
    REPORT_CHINESE,
};
/* "en", "zh", "zh-CN,zh;q=0.9": the first of a list that is known, else English. */
enum report_language report_language_of(const char *text);

/* One page without script and without anything from elsewhere, for screen and paper; of a fleet's
 * or a tenant's report. Every text is escaped. malloc'ed; NULL = no memory. */
char *report_html(const json_t *report, enum report_language language, size_t *out_len);
/* "section,row,name,value" rows (row: of a list, from 1); texts that a spreadsheet would take for
 * formulas get a '. */
char *report_csv(const json_t *report, size_t *out_len);
