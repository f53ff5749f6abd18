/*
 * base/timestamp.c - see timestamp.h.
 */
#include "base/timestamp.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_S INT64_C(1000000)

void clock_format(int64_t wall_us, char out[CLOCK_TEXT_MAX])
{
    time_t seconds = wall_us / US_PER_S;
    int64_t us = wall_us % US_PER_S;
    if (us < 0) {
        us += US_PER_S;
        seconds--;
    }
    struct tm tm;
    gmtime_r(&seconds, &tm); /* int64 microseconds end in the year 294247: it never fails */
    size_t n = strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, CLOCK_TEXT_MAX - n, ".%06dZ", (int)us);
}

bool clock_parse(const char *text, int64_t *out_wall_us)
{
    static const char shape[] = "0000-00-00T00:00:00"; /* 0 = a digit */
    struct tm tm = {.tm_isdst = 0};
    int64_t us = 0, unit = US_PER_S;
    for (size_t i = 0; i < sizeof(shape) - 1; i++)
        if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
            return false;
    const char *p = text + sizeof(shape) - 1;
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9' && unit > 1; p++)
            us += (*p - '0') * (unit /= 10);
        if (unit == US_PER_S)
            return false;
    }
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    struct tm same = tm;
    if (strcmp(p, "Z") != 0 || end != text + sizeof(shape) - 1)
        return false;
    time_t seconds = timegm(&same); /* turns the 31st of June into the 1st of July */
    if (same.tm_mday != tm.tm_mday || same.tm_sec != tm.tm_sec)
        return false;
    *out_wall_us = seconds * US_PER_S + us;
    return true;
}
