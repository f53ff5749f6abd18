/*
 * fleet/varint.c - see varint.h. Used by telemetry and by the files that keep it.
 */
#include "fleet/varint.h"

#include <stdlib.h>
#include <string.h>

#define VARINT_MAX 10 /* bytes of 64 bits */

static bool reserve(struct varint_out *out, size_t more)
{
    if (out->no_memory)
        return false;
    if (out->len + more <= out->room)
        return true;
    size_t room = out->room < 256 ? 256 : out->room;
    while (room < out->len + more)
        room *= 2;
    uint8_t *grown = realloc(out->data, room);
    out->no_memory = grown == NULL;
    if (grown == NULL)
        return false;
    out->data = grown;
    out->room = room;
    return true;
}

void varint_put(struct varint_out *out, uint64_t value)
{
    if (!reserve(out, VARINT_MAX))
        return;
    while (value >= 0x80) {
        out->data[out->len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out->data[out->len++] = (uint8_t)value;
}

void varint_put_signed(struct varint_out *out, int64_t value)
{
    varint_put(out, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void varint_put_bytes(struct varint_out *out, const void *data, size_t len)
{
    if (len == 0 || !reserve(out, len))
        return;
    memcpy(out->data + out->len, data, len);
    out->len += len;
}

uint64_t varint_get(struct varint_in *in, uint64_t max)
{
    uint64_t value = 0;
    unsigned shift = 0;
    size_t at = in->at;
    while (!in->bad) {
        if (at >= in->len || shift > 63 || (shift == 63 && in->data[at] > 1)) {
            in->bad = true;
            break;
        }
        uint8_t byte = in->data[at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            break;
    }
    if (in->bad || value > max) {
        in->bad = true;
        return 0;
    }
    in->at = at;
    return value;
}

int64_t varint_get_signed(struct varint_in *in)
{
    uint64_t folded = varint_get(in, UINT64_MAX);
    return (int64_t)((folded >> 1) ^ (0 - (folded & 1)));
}

const uint8_t *varint_get_bytes(struct varint_in *in, size_t len)
{
    if (in->bad || len > in->len - in->at) {
        in->bad = true;
        return NULL;
    }
    const uint8_t *bytes = in->data + in->at;
    in->at += len;
    return bytes;
}
