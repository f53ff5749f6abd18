/*
 * base/clock.c - see clock.h.
 */
#include "base/clock.h"

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
