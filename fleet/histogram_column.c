/*
 * fleet/histogram_column.c - histograms as columns of telemetry; see histogram.h. The buckets alone
 * are in libsolar too, which knows no telemetry.
 */
#include "fleet/histogram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFIX ".b"

bool histogram_column(const char *prefix, size_t bucket, struct telemetry_name *out)
{
    *out = (struct telemetry_name){.course = TELEMETRY_STAYS};
    if (strlen(prefix) >= HISTOGRAM_PREFIX_SIZE || bucket >= HISTOGRAM_BUCKETS)
        return false;
    snprintf(out->text, sizeof(out->text), "%s" INFIX "%zu", prefix, bucket);
    return telemetry_name_is_valid(out->text);
}

bool histogram_column_find(const char *prefix, const char *column, size_t *out_bucket)
{
    size_t len = strlen(prefix);
    char *end;
    if (strncmp(column, prefix, len) != 0 || strncmp(column + len, INFIX, strlen(INFIX)) != 0)
        return false;
    const char *digits = column + len + strlen(INFIX);
    unsigned long bucket = strtoul(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && digits[1] != '\0') ||
        *end != '\0' || bucket >= HISTOGRAM_BUCKETS)
        return false;
    *out_bucket = bucket;
    return true;
}
