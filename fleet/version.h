#pragma once
/*
 * fleet/version.h - firmware versions as vendors and tools write them: "2.1.8", "22.41.1000",
 * "14.23.1020 (MT_2420110034)", "v6.1.5", "4.9.311.20", "2.1.8-rc1". Compared field by field as
 * numbers. What says nothing ("", "N/A", "unknown", "0.0.0" of software devices, "255.255.65535" of
 * flash that does not answer) is unknown and never compares.
 */

#include <stdbool.h>

#define VERSION_TEXT_MAX 64 /* of the numbers with their dots; more is unknown */

/* A text that can be compared. */
bool version_is_known(const char *text);

/*
 * -1, 0 or 1 in *out; false (and *out untouched) when either is unknown. Missing fields are 0. A
 * pre-release ("-rc1", "-beta") is below the version it leads to; any other suffix (a PSID in
 * brackets, "+build") does not count.
 */
bool version_order(const char *a, const char *b, int *out);
