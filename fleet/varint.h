#pragma once
/*
 * fleet/varint.h - numbers as bytes, seven bits each, the lowest first (LEB128); signed ones are
 * folded so that small ones are short. Writing into memory that grows, reading hostile bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct varint_out {
    uint8_t *data; /* owned by the caller: free() */
    size_t len, room;
    bool no_memory; /* sticky */
};
void varint_put(struct varint_out *out, uint64_t value);
void varint_put_signed(struct varint_out *out, int64_t value);
void varint_put_bytes(struct varint_out *out, const void *data, size_t len);

struct varint_in {
    const uint8_t *data;
    size_t len, at;
    bool bad; /* sticky: cut short, too long, or over a maximum; `at` is where */
};
/* 0 when bad. Over max is bad. */
uint64_t varint_get(struct varint_in *in, uint64_t max);
int64_t varint_get_signed(struct varint_in *in);
/* NULL when there are not so many. */
const uint8_t *varint_get_bytes(struct varint_in *in, size_t len);
