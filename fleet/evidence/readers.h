#pragma once
/*
 * fleet/evidence/readers.h - the readers, one file a kind. Private to fleet/evidence/. A new kind
 * is a file, a line here and a row in readers.c.
 */

#include "fleet/evidence/reader.h"

extern const struct evidence_reader reader_ethtool_stats;
