/*
 * server/scan.c - see scan.h.
 */
#include "server/scan.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "db/tables.h"
#include "server/http.h"
#include "server/page.h"

#define SCAN_BATCH 100

struct scan {
    scan_fn *fn;
    void *arg;
    char last[NAME_SIZE];
    int rows; /* of this batch */
    bool stopped;
};

static bool on_node(void *arg, const struct db_node *row)
{
    struct scan *scan = arg;
    OWN(json) json_t *document = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    snprintf(scan->last, sizeof(scan->last), "%s", row->name);
    scan->rows++;
    if (row->inventory == NULL ||
        json_parse_limit(row->inventory, strlen(row->inventory), HTTP_BODY_LARGE_MAX, false,
                         &document, NULL) != ERR_OK ||
        inventory_from_json(document, &inventory, NULL, NULL) != ERR_OK)
        return true;
    scan->stopped = !scan->fn(scan->arg, row->name, inventory);
    return !scan->stopped;
}

enum err_code scan_inventories(struct db_ro *ro, const char *from, scan_fn *fn, void *arg,
                               struct err *err)
{
    struct scan scan = {.fn = fn, .arg = arg};
    char after[PAGE_KEY_SIZE] = "";
    enum err_code code;
    if (from[0] != '\0')
        key_before(from, after);
    do {
        scan.rows = 0;
        code = node_list(ro, after, SCAN_BATCH, on_node, &scan, err);
        snprintf(after, sizeof(after), "%s", scan.last);
    } while (code == ERR_OK && scan.rows == SCAN_BATCH && !scan.stopped);
    return code;
}

static bool on_profile(void *arg, const struct db_revision *row)
{
    OWN(json) json_t *document = NULL;
    if (json_parse_limit(row->body, strlen(row->body), HTTP_BODY_LARGE_MAX, false, &document,
                         NULL) == ERR_OK &&
        fabric_from_json(document, arg, NULL, NULL) != ERR_OK)
        *(struct fabric **)arg = NULL;
    return false;
}

enum err_code scan_fabric(struct db_ro *ro, struct fabric **out, struct err *err)
{
    int64_t number = 0;
    *out = NULL;
    enum err_code code = document_current(ro, "fabric", &number, err);
    return code != ERR_OK || number == 0 ? code
                                         : revision_get(ro, "fabric", number, on_profile, out, err);
}
