#pragma once
/*
 * datapath/solar/bucket.h - a token bucket. Pure; exact: no rounding is lost, whatever the rate.
 *
 * Kept as the time at which the bucket will be full again (as GCRA does), so it needs no refilling.
 * A sender may begin while there is anything in the bucket and takes what it sends, so that the
 * level may go below zero by one burst of sending; the mean rate holds all the same.
 */

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_RATE_MAX_BPS   INT64_C(10000000000000)
#define BUCKET_BURST_MAX_BYTE (INT64_C(1) << 30)

struct bucket {
    int64_t rate_bps;
    int64_t burst_ns; /* how long filling takes */
    int64_t full_ns;  /* when it is full again */
    int64_t rest;     /* of the division, below rate_bps */
};

/* 1 <= rate_bps <= BUCKET_RATE_MAX_BPS, 1 <= burst_bytes <= BUCKET_BURST_MAX_BYTE (asserted).
 * It begins full. */
void bucket_init(struct bucket *bucket, int64_t rate_bps, int64_t burst_bytes, int64_t now_ns);
/* Another rate and burst; what was taken stays taken. */
void bucket_retune(struct bucket *bucket, int64_t rate_bps, int64_t burst_bytes, int64_t now_ns);
/* Is there anything in it? */
bool bucket_has(const struct bucket *bucket, int64_t now_ns);
/* The first time at which there will be. */
int64_t bucket_ready_ns(const struct bucket *bucket);
/* At most BUCKET_BURST_MAX_BYTE at once (asserted). */
void bucket_take(struct bucket *bucket, int64_t bytes, int64_t now_ns);
