#pragma once
/*
 * fleet/verify.h - a test between nodes: what a node is told to do, what it says of it, and what
 * the figures are worth. Both documents are hostile until parsed.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "fleet/inventory.h"
#include "fleet/name.h"

#define VERIFY_MEMBERS_MAX    32 /* of a test */
#define VERIFY_BYTES_MAX      (1024 * 1024)
#define VERIFY_ITERATIONS_MAX 100000
#define VERIFY_DEADLINE_MAX_S 600
#define VERIFY_TASK_BYTES_MAX (16 * 1024) /* of the JSON text */
#define VERIFY_DEVICE_SIZE    64
#define VERIFY_WHY_SIZE       256
#define VERIFY_SECRET_BYTES   16

enum verify_kind {
    VERIFY_SEND_LAT = 0, /* [0] asks, [1] answers: half of a message's way there and back */
    VERIFY_READ_BW,      /* [0] reads the memory of [1] */
    VERIFY_WRITE_BW,     /* [0] writes it */
    VERIFY_MESH,         /* [0] asks all others for an answer; they have no task */
    VERIFY_ALLREDUCE,    /* all, as a ring in this order */
};
#define VERIFY_KIND_COUNT (VERIFY_ALLREDUCE + 1)
extern const char *const verify_kind_names[]; /* ended by NULL */

enum verify_figure {
    VERIFY_LATENCY_P50_NS = 0, /* of one way */
    VERIFY_LATENCY_P99_NS,
    VERIFY_LATENCY_MIN_NS,
    VERIFY_RATE_BPS,         /* payload */
    VERIFY_ITERATION_NS,     /* median of an all-reduce */
    VERIFY_SPREAD_PERMYRIAD, /* longest less shortest iteration, of the median */
    VERIFY_ANSWERED,         /* peers of a mesh */
    VERIFY_ASKED,
};
#define VERIFY_FIGURE_COUNT (VERIFY_ASKED + 1)
extern const char *const verify_figure_names[];

struct verify_figures {
    int64_t values[VERIFY_FIGURE_COUNT]; /* -1 = unknown */
};
void verify_figures_init(struct verify_figures *figures);
json_t *verify_figures_to_json(const struct verify_figures *figures); /* NULL = no memory */
struct json_reader;
/* All may be absent; problems go to the reader, which is ended. */
void verify_figures_from_json(struct json_reader *r, struct verify_figures *out);

struct verify_member {
    char node[NAME_SIZE];
    char address[INVENTORY_ADDRESS_MAX]; /* its RoCE address */
};

struct verify_task {
    char id[NAME_SIZE];
    enum verify_kind kind;
    int place; /* whose task it is: an index of members */
    int member_count;
    struct verify_member members[VERIFY_MEMBERS_MAX];
    char device[VERIFY_DEVICE_SIZE]; /* the RDMA device of members[place] */
    int service;                     /* port of rdma_cm */
    char secret[2 * VERIFY_SECRET_BYTES +
                1]; /* hex, of this test alone: ends know each other by it */
    int bytes, iterations;
    int deadline_s; /* from when the node has it */
    bool force;     /* also while programs use the device */
    bool cancelled;
};

/* ERR_INVALID with the first problem and its pointer. */
ERR_MUST_CHECK enum err_code verify_task_from_json(const json_t *document, struct verify_task *out,
                                                   struct err *err);
json_t *verify_task_to_json(const struct verify_task *task); /* NULL = no memory */
/* Members with a task: the first so many. */
int verify_tasks_of(enum verify_kind kind, int member_count);

/* What tells one answer from the next: the id, with "~cancelled" behind it once it is. */
#define VERIFY_TAG_SIZE (NAME_SIZE + 16)
void verify_task_tag(const struct verify_task *task, char out[VERIFY_TAG_SIZE]);

enum verify_outcome {
    VERIFY_DONE = 0,
    VERIFY_REFUSED,     /* a program uses the device, or another test runs */
    VERIFY_UNSUPPORTED, /* no such device, no rdma_cm */
    VERIFY_FAILED,      /* it began and did not come to its end */
    VERIFY_CORRUPT,     /* what came is not what was sent, and no device said so */
};
extern const char *const verify_outcome_names[];

struct verify_report {
    char task[NAME_SIZE];
    enum verify_outcome outcome;
    char problem[VERIFY_WHY_SIZE]; /* "" = nothing to say */
    struct verify_figures figures;
};

ERR_MUST_CHECK enum err_code verify_report_from_json(const json_t *document,
                                                     struct verify_report *out, struct err *err);
json_t *verify_report_to_json(const struct verify_report *report); /* NULL = no memory */

/* Grades --------------------------------------------------------------------------------------- */

enum verify_verdict {
    VERIFY_OPEN = 0,
    VERIFY_PASS,
    VERIFY_FAIL,
    VERIFY_NOT_APPLICABLE, /* figures kept, no limit is for such a device */
    VERIFY_UNKNOWN,
};
extern const char *const verify_verdict_names[];

/* The device that a limit is for: the slowest one of the test. */
struct verify_class {
    bool software;     /* rxe, siw, a test NIC */
    int64_t speed_bps; /* -1 = unknown */
};

/* The figure that a kind is graded by, and compared with its last one by. */
enum verify_figure verify_graded_figure(enum verify_kind kind);
/* What that figure is held against, in its unit: it is to be below it, or at least it. -1 = no
 * limit is for such a device, or it is not known. */
int64_t verify_limit(enum verify_kind kind, const struct verify_class *device,
                     const struct verify_figures *figures, bool *out_below);
/* Says in `why` which number was held against which limit, or why none was. Never PASS without a
 * known figure; a software device is held against no limit of hardware. */
enum verify_verdict verify_grade(enum verify_kind kind, const struct verify_class *device,
                                 const struct verify_figures *figures, char why[VERIFY_WHY_SIZE]);
