/*
 * server/chains.c - see chains.h.
 */
#include "server/chains.h"

#include <string.h>

#include "base/json.h"
#include "db/tables.h"
#include "server/http.h"

struct reading {
    struct chain_report *report;
    int64_t received_us;
};

/* A body that does not read back is as good as none: the next report takes its place. */
static bool on_chains(void *arg, const struct db_chains *row)
{
    struct reading *reading = arg;
    OWN(json) json_t *document = NULL;
    reading->received_us = row->received_us;
    if (json_parse_limit(row->body, strlen(row->body), HTTP_BODY_LARGE_MAX, false, &document,
                         NULL) == ERR_OK &&
        chain_report_from_json(document, &reading->report, NULL) != ERR_OK)
        reading->report = NULL;
    return false;
}

enum err_code chains_of(struct db_ro *ro, const char *node, struct chain_report **out,
                        int64_t *received_us, struct err *err)
{
    struct reading reading = {.report = NULL};
    enum err_code code = node_chains_get(ro, node, on_chains, &reading, err);
    *out = reading.report;
    if (received_us != NULL)
        *received_us = reading.received_us;
    return code;
}

enum err_code chains_find(struct db_ro *ro, const char *node, struct finding_list *findings,
                          struct err *err)
{
    OWN(chain_report) struct chain_report *report = NULL;
    enum err_code code = chains_of(ro, node, &report, NULL, err);
    if (code == ERR_OK && report != NULL)
        chain_report_findings(report, findings);
    return code;
}
