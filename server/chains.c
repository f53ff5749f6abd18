/*
 * server/chains.c - see chains.h.
 */
#include "server/chains.h"

#include <string.h>

#include "base/json.h"
#include "db/catalogue.h"
#include "db/tables.h"
#include "fleet/switch.h"
#include "server/api.h"
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

struct known_switch {
    struct switch_info info;
    bool there;
};

static bool on_switch(void *arg, const struct db_switch *row)
{
    struct known_switch *known = arg;
    OWN(json) json_t *document = json_loads(row->body, 0, NULL);
    known->there = document != NULL &&
                   switch_from_json(document, "", row->name, &known->info, NULL, NULL) == ERR_OK;
    return false;
}

json_t *chains_neighbour(struct db_ro *ro, const struct chain *chain,
                         const struct inventory *inventory, bool nameless,
                         enum chain_verdict *out_verdict)
{
    const struct port *port =
        inventory == NULL ? NULL : inventory_port_get(inventory, chain->subject);
    const char *name = port == NULL ? "" : port->switch_name;
    struct known_switch known = {.there = false};
    char why[160];
    if (name_check(name, "switch", NULL) == ERR_OK &&
        switch_get(ro, name, on_switch, &known, NULL) != ERR_OK)
        known.there = false; /* nobody uploaded its document */
    const char *said = nameless && name[0] != '\0' ? "behind the port" : name;
    enum chain_verdict verdict =
        chain_neighbour(chain, said, known.there ? &known.info : NULL, why);
    json_t *object = json_pack("{ss, ss}", "verdict", chain_verdict_name(verdict), "why", why);
    if (!nameless) {
        api_set_text(object, "switch", name);
        api_set_text(object, "port", port == NULL ? "" : port->switch_port);
    }
    if (out_verdict != NULL)
        *out_verdict = verdict;
    return object;
}
