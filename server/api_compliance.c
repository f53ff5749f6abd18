/*
 * server/api_compliance.c - which firmware runs where: a row for each component, board and version,
 * judged by the profile's minimum. Read on a reader thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/firmware.h"
#include "fleet/version.h"
#include "server/api.h"
#include "server/scan.h"

#define COMPLIANCE_ROWS_MAX  1000
#define COMPLIANCE_NODES_MAX 100 /* names in a row; the count goes on */

struct row {
    char component[INVENTORY_TEXT_MAX]; /* driver */
    char psid[PSID_SIZE];
    char version[INVENTORY_TEXT_MAX]; /* "" = unknown */
    enum firmware_verdict verdict;
    const char *minimum; /* of the profile; NULL = none */
    size_t ports, staged, nodes_total;
    char last_node[NAME_SIZE];
    json_t *nodes; /* owned */
};

struct matrix {
    struct request *request;
    struct fabric *fabric; /* owned */
    struct row *rows;      /* owned, sorted */
    size_t count;
    size_t ports[FIRMWARE_VERDICTS];
    bool truncated;
};

static int compare(const struct row *row, const struct port *port, const char *version)
{
    int order = strcmp(row->component, port->driver);
    if (order == 0)
        order = strcmp(row->psid, port->psid);
    return order != 0 ? order : strcmp(row->version, version);
}

/* The port's row, made when it is new; NULL = there are too many. */
static struct row *row_of(struct matrix *matrix, const struct port *port, const char *version)
{
    size_t low = 0, high = matrix->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(&matrix->rows[middle], port, version);
        if (order == 0)
            return &matrix->rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (matrix->count == COMPLIANCE_ROWS_MAX) {
        matrix->truncated = true;
        return NULL;
    }
    struct row *row = &matrix->rows[low];
    memmove(row + 1, row, (matrix->count - low) * sizeof(*row));
    matrix->count++;
    *row = (struct row){.nodes = json_array()};
    snprintf(row->component, sizeof(row->component), "%s", port->driver);
    snprintf(row->psid, sizeof(row->psid), "%s", port->psid);
    snprintf(row->version, sizeof(row->version), "%s", version);
    row->minimum = firmware_minimum(matrix->fabric, port->driver);
    row->verdict = firmware_judge(version, row->minimum);
    return row;
}

/* Bridges and the like have a driver and no firmware: only what the profile asks for, or what has
 * told of a firmware or a board, is a component. */
static bool is_component(const struct matrix *matrix, const struct port *port)
{
    return port->driver[0] != '\0' && (version_is_known(port->firmware) || port->psid[0] != '\0' ||
                                       firmware_minimum(matrix->fabric, port->driver) != NULL);
}

static bool on_node(void *arg, const char *node, const struct inventory *inventory)
{
    struct matrix *matrix = arg;
    for (size_t i = 0; i < inventory->port_count; i++) {
        const struct port *port = &inventory->ports[i];
        if (!is_component(matrix, port))
            continue;
        const char *version = version_is_known(port->firmware) ? port->firmware : "";
        struct row *row = row_of(matrix, port, version);
        if (row == NULL)
            continue;
        row->ports++;
        row->staged += firmware_is_staged(port);
        matrix->ports[row->verdict]++;
        if (strcmp(row->last_node, node) == 0)
            continue;
        snprintf(row->last_node, sizeof(row->last_node), "%s", node);
        if (row->nodes_total++ < COMPLIANCE_NODES_MAX)
            json_array_append_new(row->nodes, json_string(node));
    }
    return true;
}

static enum err_code read_matrix(struct db_ro *ro, void *arg, struct err *err)
{
    struct matrix *matrix = arg;
    enum err_code code = scan_fabric(ro, &matrix->fabric, err);
    return code != ERR_OK ? code : scan_inventories(ro, "", on_node, matrix, err);
}

static json_t *row_to_json(const struct row *row)
{
    json_t *item = json_pack("{ss, ss, ss, sI, sI, sI, sO}", "component", row->component, "version",
                             row->version[0] == '\0' ? "unknown" : row->version, "verdict",
                             firmware_verdict_name(row->verdict), "ports", (json_int_t)row->ports,
                             "staged", (json_int_t)row->staged, "nodes_total",
                             (json_int_t)row->nodes_total, "nodes", row->nodes);
    if (item == NULL)
        return NULL;
    api_set_text(item, "psid", row->psid);
    api_set_text(item, "minimum", row->minimum);
    return item;
}

static void reply(const struct matrix *matrix)
{
    const char *component = request_query(matrix->request, "component");
    const char *verdict = request_query(matrix->request, "verdict");
    json_t *items = json_array(), *counts = json_object();
    for (size_t i = 0; i < matrix->count; i++) {
        const struct row *row = &matrix->rows[i];
        if ((component == NULL || strcmp(component, row->component) == 0) &&
            (verdict == NULL || strcmp(verdict, firmware_verdict_name(row->verdict)) == 0))
            json_array_append_new(items, row_to_json(row));
    }
    for (enum firmware_verdict v = FIRMWARE_COMPLIANT; v < FIRMWARE_VERDICTS; v++)
        json_object_set_new(counts, firmware_verdict_name(v),
                            json_integer((json_int_t)matrix->ports[v]));
    json_t *answer = json_pack("{so, so}", "items", items, "ports", counts);
    if (answer != NULL && matrix->truncated)
        json_object_set_new(answer, "truncated", json_true());
    request_reply_json(matrix->request, 200, answer, NULL, NULL);
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct matrix *matrix = arg;
    if (code == ERR_OK)
        reply(matrix);
    else
        request_reply_err(matrix->request, err);
    for (size_t i = 0; i < matrix->count; i++)
        json_decref(matrix->rows[i].nodes);
    free(matrix->rows);
    fabric_free(matrix->fabric);
    free(matrix);
}

static bool is_verdict(const char *name)
{
    for (enum firmware_verdict v = FIRMWARE_COMPLIANT; v < FIRMWARE_VERDICTS; v++)
        if (strcmp(firmware_verdict_name(v), name) == 0)
            return true;
    return false;
}

void api_firmware_compliance(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *verdict = request_query(request, "verdict");
    if (verdict != NULL && !is_verdict(verdict)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "verdict=%s is none of compliant, below, unknown and no-minimum",
                              verdict);
        return;
    }
    struct matrix *matrix = calloc(1, sizeof(*matrix));
    if (matrix != NULL)
        matrix->rows = calloc(COMPLIANCE_ROWS_MAX, sizeof(*matrix->rows));
    if (matrix == NULL || matrix->rows == NULL) {
        free(matrix);
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    matrix->request = request;
    enum err_code code = db_read(app->db, read_matrix, done, matrix, &err);
    if (code != ERR_OK)
        done(matrix, code, &err);
}
