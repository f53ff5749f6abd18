#pragma once
/*
 * base/timestamp.h - points of time as text. Reads no clock: layers that have none use it too.
 */

#include <stdbool.h>
#include <stdint.h>

/* RFC 3339 with microseconds and Z: "2026-01-02T03:04:05.000006Z". */
#define CLOCK_TEXT_MAX 32
void clock_format(int64_t wall_us, char out[CLOCK_TEXT_MAX]);
/* The same, with 0 to 6 digits of a second; false = it is none, or no day of the calendar. */
bool clock_parse(const char *text, int64_t *out_wall_us);
