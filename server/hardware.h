#pragma once
/*
 * server/hardware.h - findings on hardware where the desired state changes: with the answer to a
 * write, and as events when what is found on a node becomes another. Writer thread.
 */

#include "base/finding.h"
#include "db/db.h"
#include "fleet/rules.h"
#include "server/app.h"
#include "server/http.h"

#define HARDWARE_SHOWN_MAX  20  /* findings in one event, each way */
#define HARDWARE_EVENTS_MAX 256 /* of one change of the profile; then one that says so */

/* What the product's rules and the profile's firmware minimums find on a node's inventory, with
 * what is unknown as severity info. Any thread. */
void hardware_check_node(const struct compat *compat, const struct fabric *fabric, const char *node,
                         const struct inventory *inventory, struct finding_list *findings);

/* Adds warnings for the nodes that the change touches (errors become warnings: hardware that is
 * there refuses no document); nothing that is unknown. */
void hardware_admit(const struct app *app, const struct world *world, const struct change *change,
                    struct finding_list *findings);

/* Event "node.compat" when the inventory (NULL = none) finds another set than the node's in the
 * world; from a write's store(), before its swap. */
ERR_MUST_CHECK enum err_code
hardware_inventory_changed(const struct app *app, struct db_tx *tx, const struct request *request,
                           const char *node, const struct inventory *inventory, struct err *err);
/* The same for every node when the profile becomes `fabric`. */
ERR_MUST_CHECK enum err_code hardware_fabric_changed(const struct app *app, struct db_tx *tx,
                                                     const struct request *request,
                                                     const struct fabric *fabric, struct err *err);
