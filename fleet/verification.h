#pragma once
/*
 * fleet/verification.h - a verification: which tests between which nodes (fleet/verify.h), in which
 * order, and what came of each. Pure: the server stores it, gives the tasks and takes the reports.
 *
 * A node is in one running test at a time, so that no test disturbs another. A test ends with the
 * reports of all members that have a task, or with its time: then it is unknown, for a node that
 * never answered says nothing of its network. Wrong data fails it, whatever else was told of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/duration.h"
#include "base/own.h"
#include "fleet/verify.h"
#include "fleet/view.h"

#define VERIFICATION_TESTS_MAX     512
#define VERIFICATION_ENDPOINTS_MAX 512 /* devices of the chosen nodes */
#define VERIFICATION_NOTE_SIZE     256
#define VERIFICATION_AUTHOR_SIZE   128
#define VERIFICATION_ID_SIZE       24              /* "v-7" */
#define VERIFICATION_KEY_SIZE      72              /* of a test: the same ends, the same test */
#define VERIFICATION_GRACE_NS      (10 * NS_PER_S) /* for a task and its report on their way */
#define VERIFICATION_SERVICE       18515 /* first port of rdma_cm; tests take turns over some */
#define VERIFICATION_SERVICES      64

struct verification_settings {
    bool kinds[VERIFY_KIND_COUNT];
    bool all_pairs; /* each with each; else each with the next one */
    int bytes;      /* 0 = by kind */
    int iterations; /* 0 = by kind */
    int deadline_s;
    bool force;
    char note[VERIFICATION_NOTE_SIZE];
};

enum verification_test_state { VERIFICATION_WAITING = 0, VERIFICATION_RUNNING, VERIFICATION_OVER };

struct verification_member {
    struct verify_member member;
    char device[VERIFY_DEVICE_SIZE];
    bool told; /* its report has come */
};

struct verification_test {
    enum verify_kind kind;
    struct verification_member *members; /* owned */
    int member_count;                    /* 1: it has nobody to be tested with */
    struct verify_class device;
    enum verification_test_state state;
    enum verify_verdict verdict; /* VERIFY_OPEN until it is over */
    char secret[2 * VERIFY_SECRET_BYTES + 1];
    struct verify_figures figures;
    char why[VERIFY_WHY_SIZE];     /* of the verdict */
    char problem[VERIFY_WHY_SIZE]; /* the first that a node told; "" = none */
    int64_t started_us, ended_us;  /* 0 = not yet */
    int64_t deadline_ns;           /* monotonic; of a running one */
    int64_t last_number;           /* the verification that measured the same before; 0 = none */
    int64_t last_value;            /* its graded figure */
    bool changed;                  /* since it was stored */
    bool begun, ended;             /* by the last step: a task is to be given, or withdrawn */
    bool withdraw;                 /* nodes may still be at it */
    bool corrupt;                  /* a node told of wrong data: it will fail */
    bool amended;                  /* by the last report: it was over, and fails now */
};

enum verification_state { VERIFICATION_ACTIVE = 0, VERIFICATION_DONE, VERIFICATION_CANCELLED };
extern const char *const verification_state_names[]; /* ended by NULL */

struct verification {
    int64_t number; /* 0 = not stored */
    int64_t revision;
    enum verification_state state;
    struct verification_settings settings;
    char author[VERIFICATION_AUTHOR_SIZE];
    int64_t created_us, updated_us;
    struct verification_test *tests; /* owned */
    size_t test_count;
    int node_count; /* different nodes that have a part in a test: verification_count_nodes() */
};
void verification_free(struct verification *verification);
OWN_DEFINE(verification, struct verification *, verification_free)
ERR_MUST_CHECK enum err_code verification_copy(const struct verification *from,
                                               struct verification **out, struct err *err);

void verification_id(int64_t number, char out[VERIFICATION_ID_SIZE]);
bool verification_id_parse(const char *text, int64_t *out);
/* "v-7-1": the first test of v-7. */
void verification_task_id(int64_t number, size_t index, char out[NAME_SIZE]);
bool verification_task_parse(const char *text, int64_t *out_number, size_t *out_index);

/* Made: verification_plan.c -------------------------------------------------------------------- */

/* The members that say what is measured, over the defaults: kinds, devices, pairs, bytes,
 * iterations, deadline, force. Problems become findings of the reader. */
void verification_settings_read(struct json_reader *r, struct verification_settings *out);
/* A request's settings (schemas/verification.json). findings may be NULL. ERR_INVALID. */
ERR_MUST_CHECK enum err_code verification_request_from_json(const json_t *document,
                                                            struct verification_settings *out,
                                                            struct finding_list *findings,
                                                            struct err *err);
/*
 * The tests of a request over the nodes that it chooses. Devices of one name are a rail: tests are
 * between them. A node without a device that can be reached, and a device that has no other one to
 * be tested with, have a test of their own that is unknown from the start. ERR_LIMIT: more tests or
 * devices than may be; ERR_NOT_FOUND: no node is chosen.
 */
ERR_MUST_CHECK enum err_code verification_make(const struct view *view, const json_t *document,
                                               const struct verification_settings *settings,
                                               struct verification **out, struct err *err);

/* On its way ----------------------------------------------------------------------------------- */

struct verification_now {
    int64_t mono_ns, wall_us;
    /* Another one for each test that begins; not asked for while none does. */
    void (*make_secret)(char out[2 * VERIFY_SECRET_BYTES + 1]);
};

/* Ends what is over its time, begins what may begin, ends the whole. True: something changed. */
bool verification_step(struct verification *verification, const struct verification_now *now);
/* Whether verification_step() would do something because of the time. */
bool verification_is_due(const struct verification *verification, int64_t mono_ns);
/* Every test that is not over is unknown, "cancelled", or failed where wrong data was told of.
 * False: it was over. */
bool verification_cancel(struct verification *verification, const struct verification_now *now);
/* The place of the node in a running test; -1 = none. */
int verification_place(const struct verification_test *test, const char *node);
/* A report of the member at `place`; false = it is no news. Grades the test with the last one. Of a
 * test that is over only wrong data is news, from a member that had not answered: it fails then. */
bool verification_report(struct verification *verification, size_t index, int place,
                         const struct verify_report *report, const struct verification_now *now);
/* Sets node_count, once all tests are there. */
ERR_MUST_CHECK enum err_code verification_count_nodes(struct verification *verification,
                                                      struct err *err);
/* Whether it uses the node in a test that is not over. */
bool verification_has_node(const struct verification *verification, const char *node);
/* The task of the member; place < verify_tasks_of(). */
void verification_task(const struct verification *verification, size_t index, int place,
                       struct verify_task *out);

/* Looked at: verification_json.c --------------------------------------------------------------- */

/* The worst of the tests that are over; VERIFY_OPEN = none is. */
enum verify_verdict verification_verdict(const struct verification *verification);
/* What tells the same test of another verification: kind, ends, size. */
void verification_test_key(const struct verification *verification, size_t index,
                           char out[VERIFICATION_KEY_SIZE]);
/* The graded figure; -1 = not measured. */
int64_t verification_test_value(const struct verification_test *test);

json_t *verification_head_to_json(const struct verification *verification);
json_t *verification_test_to_json(const struct verification_test *test);
ERR_MUST_CHECK enum err_code verification_head_from_json(struct verification *verification,
                                                         const json_t *head, struct err *err);
/* now: what is left of a running test's time is reckoned from it. */
ERR_MUST_CHECK enum err_code verification_test_from_json(struct verification_test *test,
                                                         const json_t *body, int deadline_s,
                                                         const struct verification_now *now,
                                                         struct err *err);
/* As the API shows it, without secrets. */
json_t *verification_to_json(const struct verification *verification, bool tests);
