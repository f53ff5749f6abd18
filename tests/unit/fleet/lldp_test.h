#pragma once
/*
 * tests/unit/fleet/lldp_test.h - LLDP data units, written TLV by TLV.
 */

#include "tests/unit/test.h"

#include "fleet/lldp.h"

struct unit {
    uint8_t data[2 * LLDP_BYTES_MAX];
    size_t len;
};

static inline void unit_put(struct unit *unit, unsigned type, const void *value, size_t len)
{
    assert_true(unit->len + 2 + len <= sizeof(unit->data));
    unit->data[unit->len++] = (uint8_t)(type << 1 | len >> 8);
    unit->data[unit->len++] = (uint8_t)len;
    memcpy(unit->data + unit->len, value, len);
    unit->len += len;
}

/* A subtype, or the blank of a text without one, and the text. */
static inline void unit_text(struct unit *unit, unsigned type, int subtype, const char *text)
{
    uint8_t value[512];
    size_t at = 0;
    if (subtype >= 0)
        value[at++] = (uint8_t)subtype;
    memcpy(value + at, text, strlen(text));
    unit_put(unit, type, value, at + strlen(text));
}

static inline void unit_ttl(struct unit *unit, unsigned ttl_s)
{
    const uint8_t value[] = {(uint8_t)(ttl_s >> 8), (uint8_t)ttl_s};
    unit_put(unit, 3, value, sizeof(value));
}

/* Chassis 94:6d:ae:00:00:01, port Ethernet8. */
static inline void unit_begin(struct unit *unit, unsigned ttl_s)
{
    unit->len = 0;
    unit_put(unit, 1, "\x04\x94\x6d\xae\x00\x00\x01", 7);
    unit_text(unit, 2, 5, "Ethernet8");
    unit_ttl(unit, ttl_s);
}

static inline void unit_end(struct unit *unit)
{
    unit_put(unit, 0, "", 0);
}

/* Priority 3 in class 3 with 50 %, 6 strict in class 6; PFC on 3; DSCP 26 -> 3, 48 -> 6. */
static inline void unit_dcb(struct unit *unit)
{
    unit_put(unit, 127,
             "\x00\x80\xc2\x09\x00"
             "\x00\x03\x00\x60"
             "\x32\x00\x00\x32\x00\x00\x00\x00"
             "\x02\x00\x00\x02\x00\x00\x00\x00",
             25);
    unit_put(unit, 127, "\x00\x80\xc2\x0b\x08\x08", 6);
    unit_put(unit, 127, "\x00\x80\xc2\x0c\x00\x65\x00\x1a\xc5\x00\x30\x61\x89\x06", 14);
}
