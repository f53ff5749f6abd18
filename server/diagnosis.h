#pragma once
/*
 * server/diagnosis.h - one run of a runbook over nodes and files. Node after node: the store's
 * reader gives its hardware and chains, the telemetry's thread what it counted in the window, the
 * inspector's thread asks how the rules stand on it, reads its files and judges; then the next one.
 * Nothing blocks, nothing is kept.
 *
 *   HTTP thread -> db_read -> series_query -> inspector_run -> db_read ... -> the reply
 */

#include "db/db.h"
#include "db/series.h"
#include "fleet/runbook.h"
#include "server/app.h"

#define DIAGNOSIS_NODES_MAX     64
#define DIAGNOSIS_FILES_MAX     32
#define DIAGNOSIS_WINDOW_US     INT64_C(600000000) /* without "window" */
#define DIAGNOSIS_WINDOW_MIN_US INT64_C(60000000)
#define DIAGNOSIS_WINDOW_MAX_US INT64_C(86400000000)
#define DIAGNOSIS_NAME_MAX      128 /* bytes of a file's name */

struct diagnosis_file {
    const char *name, *node; /* borrowed of the body; node "" = of the one node, or of none */
    const char *text;
    size_t len;
};

struct diagnosis {
    struct request *request;
    const struct runbook *runbook;
    int64_t from_us, to_us;
    char nodes[DIAGNOSIS_NODES_MAX][NAME_SIZE];
    size_t node_count; /* one without a name when there are only files */
    struct diagnosis_file files[DIAGNOSIS_FILES_MAX];
    size_t file_count;
    size_t at;           /* the node that is looked at */
    struct clues *clues; /* owned; of it */
    struct series_query query;
    json_t *runs; /* owned */
    size_t verdicts[RUNBOOK_VERDICTS];
};

/* Reads the request's body; false when it has replied (422, 404 for a node that is not there). */
bool diagnosis_read(struct diagnosis *diagnosis);
/* Looks at every node, then replies. Takes it. */
void diagnosis_start(struct diagnosis *diagnosis);
void diagnosis_free(struct diagnosis *diagnosis);
