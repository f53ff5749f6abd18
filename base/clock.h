#pragma once
/*
 * base/clock.h - time as an argument, so that tests turn it by hand.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/duration.h"
#include "base/timestamp.h"

struct clock {
    int64_t (*mono_ns)(struct clock *clock); /* monotonic, counts during suspend (BOOTTIME) */
    int64_t (*wall_us)(struct clock *clock); /* microseconds since the epoch, UTC */
};

struct clock *clock_system(void); /* static storage */

/* A clock that moves only by clock_fake_advance(). */
struct clock_fake {
    struct clock base;
    int64_t mono; /* ns */
    int64_t wall; /* us */
};
void clock_fake_init(struct clock_fake *fake, int64_t wall_us);
void clock_fake_advance(struct clock_fake *fake, int64_t ns);
