/*
 * base/clock.c - see clock.h.
 */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_S INT64_C(1000000)

static int64_t system_mono_ns(struct clock *clock)
{
    (void)clock;
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t system_wall_us(struct clock *clock)
{
    (void)clock;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

static int64_t fake_mono_ns(struct clock *clock)
{
    return ((struct clock_fake *)clock)->mono;
}

static int64_t fake_wall_us(struct clock *clock)
{
    return ((struct clock_fake *)clock)->wall;
}

struct clock *clock_system(void)
{
    static struct clock clock = {.mono_ns = system_mono_ns, .wall_us = system_wall_us};
    return &clock;
}

void clock_fake_init(struct clock_fake *fake, int64_t wall_us)
{
    *fake = (struct clock_fake){
        .base = {.mono_ns = fake_mono_ns, .wall_us = fake_wall_us},
        .mono = NS_PER_S,
        .wall = wall_us,
    };
}

/* Nanoseconds that make no whole microsecond are not lost: the wall follows the monotonic time. */
void clock_fake_advance(struct clock_fake *fake, int64_t ns)
{
    int64_t before_us = fake->mono / 1000;
    fake->mono += ns;
    fake->wall += fake->mono / 1000 - before_us;
}

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
