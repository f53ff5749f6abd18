#pragma once
/*
 * base/duration.h - spans of time as people write them: "500ms", "30s", "10m", "2h".
 */

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* At most nine digits without leading zeros and a unit. */
bool duration_parse(const char *text, int64_t *out_ns);

#define DURATION_TEXT_MAX 32
/* In the largest unit that divides it; 0 is "0s". time_ns is whole milliseconds, not negative. */
void duration_format(int64_t time_ns, char out[DURATION_TEXT_MAX]);
