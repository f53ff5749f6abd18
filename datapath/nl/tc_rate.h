#pragma once
/*
 * datapath/nl/tc_rate.h - rates as tc takes them: bytes/s, ticks of 64 ns and 256-entry tables. The
 * only place where the units meet.
 */

#include <stdint.h>

#include <linux/pkt_sched.h>

#define TC_RATE_TABLE_SIZE 1024 /* TC_RTAB_SIZE: 256 x u32 */
#define TC_RATE_MTU        65535

/* Bytes per second, floored; the kernel's unit is a byte per second. */
uint64_t tc_rate_bytes(int64_t rate_bps);
int64_t tc_rate_bps(uint64_t rate_bytes);

/* Ticks (PSCHED, 64 ns) that size_bytes take at a rate, rounded; at most UINT32_MAX. And back,
 * rounded. */
uint32_t tc_ticks_of_size(uint64_t rate_bytes, uint64_t size_bytes);
uint64_t tc_size_of_ticks(uint64_t rate_bytes, uint32_t ticks);

/* The ratespec and its table for packets of up to TC_RATE_MTU bytes. rate_bytes >= 1. */
void tc_rate_table(uint64_t rate_bytes, struct tc_ratespec *out_spec, uint32_t out_table[256]);
