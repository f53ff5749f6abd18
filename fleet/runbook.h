#pragma once
/*
 * fleet/runbook.h - the troubleshooting manual as tables: a runbook is a symptom, its steps are the
 * causes that bring it, the most likely first. Each step is judged by the clues of a node and says
 * ok, fault, unknown or not applicable, on what evidence, why, and what to do. Pure.
 *
 * A step is a fault when a rule of its list found something (a finding of severity info does not
 * count, but it keeps the step from being ok) or one of its numbers is beyond its limit. It is ok
 * only when something it looks at is known, nothing that was told is unknown, and, of a step that
 * looks at every port, each port is known. Everything else is unknown.
 */

#include <jansson.h>

#include "fleet/clue.h"

#define RUNBOOK_STEPS_MAX    16
#define RUNBOOK_RULES_MAX    24 /* of a step */
#define RUNBOOK_TESTS_MAX    12 /* the same */
#define RUNBOOK_DOUBTS_MAX   4  /* the same */
#define RUNBOOK_EVIDENCE_MAX 16 /* shown of a step; the rest is counted */
#define RUNBOOK_WHY_MAX      320

enum runbook_verdict {
    RUNBOOK_OK = 0,
    RUNBOOK_FAULT,
    RUNBOOK_UNKNOWN,
    RUNBOOK_NOT_APPLICABLE,
};
#define RUNBOOK_VERDICTS (RUNBOOK_NOT_APPLICABLE + 1)
const char *runbook_verdict_name(enum runbook_verdict verdict); /* "ok", "fault", ... */

enum runbook_compare {
    RUNBOOK_ABOVE = 0, /* the largest is above the limit: fault */
    RUNBOOK_BELOW,     /* the smallest is below it */
    RUNBOOK_AWAY,      /* its magnitude is above */
    RUNBOOK_IS,        /* the text is one of `text`, which has '|' between them */
    RUNBOOK_IS_NOT,    /* it is none of them */
    RUNBOOK_READ,      /* never: that such a file was read makes it known that no rule found
                          anything in it */
};

struct runbook_test {
    const char *name; /* of a clue; NULL ends the list */
    unsigned kinds;   /* enum clue_kind; 0 = CLUE_NUMBER, of texts CLUE_TEXT */
    enum runbook_compare compare;
    int64_t limit; /* in the clue's unit */
    const char *text;
};

enum runbook_layer {
    RUNBOOK_ANY_LAYER = 0,
    RUNBOOK_INFINIBAND, /* the step means nothing on Ethernet */
};

/* A threshold of a tool's base latency; the device class decides (runbook_class_name()). */
enum runbook_class {
    RUNBOOK_CLASS_HARDWARE = 0,
    RUNBOOK_CLASS_SOFTWARE, /* rxe, siw: never graded */
    RUNBOOK_CLASS_UNKNOWN,
};
struct runbook_latency {
    const char *tool; /* "ibping", "perftest", ... as in a file's section */
    const char *name; /* of the fact: "rtt_avg", "t_typical" */
    enum runbook_class class;
    int64_t limit_us; /* 0 = not graded */
};
extern const struct runbook_latency runbook_latencies[];
extern const size_t runbook_latency_count;

enum runbook_special {
    RUNBOOK_PLAIN = 0,
    RUNBOOK_BASE_LATENCY, /* judged by runbook_latencies[] */
};

struct runbook_step {
    const char *id;
    const char *check;                      /* the question, one sentence */
    const char *rules[RUNBOOK_RULES_MAX];   /* NULL-terminated */
    const char *doubts[RUNBOOK_DOUBTS_MAX]; /* rules that say that something was not told */
    struct runbook_test tests[RUNBOOK_TESTS_MAX];
    bool each_port; /* ok needs every RDMA port of the inventory */
    enum runbook_layer layer;
    enum runbook_special special;
    const char *effect;                      /* how it brings the symptom */
    const char *action;                      /* what to do about a fault */
    const char *needs;                       /* how to make an unknown known */
    const char *explains[RUNBOOK_STEPS_MAX]; /* steps whose faults follow from this one's */
};

struct runbook {
    const char *name;
    const char *symptom;                     /* one sentence */
    const struct runbook_step *const *steps; /* by likelihood, NULL-terminated */
};
extern const struct runbook *const runbooks[];
extern const size_t runbook_count;
const struct runbook *runbook_find(const char *name); /* NULL = there is none */

/* Whether a step of the runbook (arg) looks at such a clue: a clue_wanted_fn. */
bool runbook_wants(const void *runbook, const char *name);

struct runbook_result {
    const struct runbook_step *step;
    enum runbook_verdict verdict;
    bool is_strong;    /* of a fault: it is so now, or it is an error */
    const char *cause; /* of a fault: the id of the step whose fault explains it; NULL = none */
    char why[RUNBOOK_WHY_MAX];
    const struct clue
        *evidence[RUNBOOK_EVIDENCE_MAX]; /* faulty ones first; borrowed of the clues */
    const struct runbook_test *tests[RUNBOOK_EVIDENCE_MAX]; /* beside each; NULL = a finding */
    size_t evidence_count;
    size_t more; /* that are not shown */
};

struct runbook_run {
    const struct runbook *runbook;
    enum runbook_verdict verdict;                     /* of all: fault before unknown before ok */
    struct runbook_result results[RUNBOOK_STEPS_MAX]; /* in the runbook's order */
    size_t count;
    size_t likely[RUNBOOK_STEPS_MAX]; /* faults, as indexes: the most likely cause first */
    size_t likely_count;
};

/* Judges every step. The clues must outlive the run. */
void runbook_run(const struct runbook *runbook, const struct clues *clues, struct runbook_run *out);

/* {"verdict","likely","excluded","open","steps"} as openapi's RunbookRun has it, without the node;
 * NULL = no memory. */
json_t *runbook_run_to_json(const struct runbook_run *run);
/* {"name","symptom","steps":[...]} as GET /v1/runbooks shows it. */
json_t *runbook_to_json(const struct runbook *runbook);
