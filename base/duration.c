/*
 * base/duration.c - see duration.h.
 */
#include "base/duration.h"

#include <stdio.h>
#include <string.h>

#define DIGITS_MAX 9

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"h", 3600 * NS_PER_S},
    {"m", 60 * NS_PER_S},
    {"s", NS_PER_S},
    {"ms", NS_PER_MS},
};
#define UNITS (sizeof(units) / sizeof(units[0]))

bool duration_parse(const char *text, int64_t *out_ns)
{
    int64_t number = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX || (digits > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < digits; i++)
        number = number * 10 + (text[i] - '0');
    for (size_t i = 0; i < UNITS; i++)
        if (strcmp(text + digits, units[i].name) == 0 && number <= INT64_MAX / units[i].ns) {
            *out_ns = number * units[i].ns;
            return true;
        }
    return false;
}

void duration_format(int64_t time_ns, char out[DURATION_TEXT_MAX])
{
    size_t unit = 0;
    if (time_ns == 0)
        unit = UNITS - 2; /* "0s" */
    while (unit + 1 < UNITS && time_ns % units[unit].ns != 0)
        unit++;
    snprintf(out, DURATION_TEXT_MAX, "%lld%s", (long long)(time_ns / units[unit].ns),
             units[unit].name);
}
