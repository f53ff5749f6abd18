#pragma once
/*
 * fleet/firmware.h - the fabric profile's lowest firmware versions against what ports run.
 */

#include "base/finding.h"
#include "fleet/fabric.h"
#include "fleet/inventory.h"

#define RULE_FIRMWARE_MINIMUM "firmware-minimum"

enum firmware_verdict {
    FIRMWARE_COMPLIANT = 0,
    FIRMWARE_BELOW,
    FIRMWARE_UNKNOWN,    /* there is a minimum, and the version cannot be compared */
    FIRMWARE_NO_MINIMUM, /* nothing is asked of this component */
    FIRMWARE_VERDICTS,
};
const char *firmware_verdict_name(enum firmware_verdict verdict);

/* The highest that the profile asks of the driver; NULL = none. fabric may be NULL. */
const char *firmware_minimum(const struct fabric *fabric, const char *driver);
/* minimum NULL = none. */
enum firmware_verdict firmware_judge(const char *version, const char *minimum);
/* A stored firmware that is another than the running one: it waits for an activation. */
bool firmware_is_staged(const struct port *port);

/* Warnings for ports below the minimum, info for unknown ones. */
void firmware_check_node(const struct fabric *fabric, const char *node,
                         const struct inventory *inventory, struct finding_list *findings);
