#pragma once
/*
 * datapath/solar/bytes.h - numbers in the bytes of a packet: big-endian, `size` of 1 to 8.
 */

#include <stddef.h>
#include <stdint.h>

static inline uint64_t bytes_get(const uint8_t *p, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | p[i];
    return value;
}

/* What follows the number. */
static inline uint8_t *bytes_put(uint8_t *p, uint64_t value, size_t size)
{
    for (size_t i = size; i > 0; i--) {
        p[i - 1] = (uint8_t)value;
        value >>= 8;
    }
    return p + size;
}
