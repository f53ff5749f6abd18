#pragma once
/*
 * server/telemetry_query.h - the parameters of queries of telemetry, and whose rows the caller may
 * see. Used by api_telemetry.c.
 */

#include "db/db.h"
#include "db/series.h"
#include "fleet/placement.h"
#include "server/http.h"

#define TELEMETRY_HISTORY_US INT64_C(3600000000) /* without ?from */
#define TELEMETRY_STEPS      300                 /* as many at most without ?step */
#define TELEMETRY_PLACES_MAX 262144              /* nodes of all placements of a query */

struct telemetry_ask {
    struct request *request;
    struct series_query query;
    char tenant[NAME_SIZE]; /* whose jobs alone; "" = all rows */
    char job[NAME_SIZE];    /* "" = all jobs of the tenant */
    char names[SERIES_METRICS_MAX][TELEMETRY_NAME_SIZE];
    uint32_t labels[SERIES_LABELS_MAX];
    int64_t labels_since_us[SERIES_LABELS_MAX];
    struct placement *placements[SERIES_LABELS_MAX]; /* owned; of the labels */
    size_t places;                                   /* nodes that they name */
    char owner_node[NAME_SIZE];                      /* what was asked of them last */
    uint32_t owner_label;
    bool owner_is;
    bool too_many_labels;
    bool no_job; /* the named job is not placed */
};

void telemetry_ask_free(struct telemetry_ask *ask);

/* False when it has replied: 400 for what cannot be used, 404 for a tenant or node that is not
 * there or not the caller's. times: of a history. */
bool telemetry_ask_read(struct telemetry_ask *ask, bool times);

/* The labels of the tenant's jobs, of rows of the nodes where each is placed alone: a node's word
 * is not taken for other jobs. A tenant's own rows since it was made alone. A db_read_fn. */
ERR_MUST_CHECK enum err_code telemetry_ask_labels(struct db_ro *ro, void *ask, struct err *err);
