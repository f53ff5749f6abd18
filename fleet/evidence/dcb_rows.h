#pragma once
/*
 * fleet/evidence/dcb_rows.h - the names of the dcb tool's rows. Private to fleet/evidence/.
 */

#include "fleet/evidence/slice.h"

/* What the index of a row is: "tc", "prio", "dscp"; NULL = no row of a list. */
const char *dcb_row_part(struct slice word);
