#pragma once
/*
 * fleet/switch.h - what an operator says of a switch (schemas/switch.json): hardware rules look at
 * it, and people at its ports. An absent value is unknown.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "fleet/inventory.h"

#define SWITCH_PORTS_MAX  1024
#define SWITCH_IMPORT_MAX 1000 /* switches of one import */

struct switch_info {
    char name[NAME_SIZE]; /* "" = the document does not say */
    char vendor[INVENTORY_TEXT_MAX];
    char model[INVENTORY_TEXT_MAX];
    char firmware[INVENTORY_TEXT_MAX];
    int pfc, ecn; /* 1, 0, or -1 = unknown */
    size_t port_count;
};

/* At `pointer` of its document ("" = the whole). `name`: the one that the address says, NULL = the
 * document must. ERR_INVALID with findings of rule "schema". */
ERR_MUST_CHECK enum err_code switch_from_json(const json_t *document, const char *pointer,
                                              const char *name, struct switch_info *out,
                                              struct finding_list *findings, struct err *err);
