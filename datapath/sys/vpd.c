/*
 * datapath/sys/vpd.c - see vpd.h.
 */
#include "datapath/sys/vpd.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Large resource tags: one byte, then the length in two, low byte first. */
#define TAG_LARGE     0x80
#define TAG_PRODUCT   0x82
#define TAG_READ_ONLY 0x90

#define FIELD_HEADER 3 /* two letters and a length */

static void take(const uint8_t *data, size_t len, char out[VPD_TEXT_SIZE])
{
    if (len > VPD_TEXT_SIZE - 1)
        len = VPD_TEXT_SIZE - 1;
    memcpy(out, data, len);
    out[len] = '\0'; /* and what stands behind a NUL is filling */
    text_clean(out, "");
}

static void decode_fields(const uint8_t *data, size_t len, struct vpd *out)
{
    while (len >= FIELD_HEADER && data[2] <= len - FIELD_HEADER) {
        size_t field = data[2];
        if (memcmp(data, "PN", 2) == 0)
            take(data + FIELD_HEADER, field, out->part);
        else if (memcmp(data, "SN", 2) == 0)
            take(data + FIELD_HEADER, field, out->serial);
        data += FIELD_HEADER + field;
        len -= FIELD_HEADER + field;
    }
}

void vpd_decode(const void *data, size_t len, struct vpd *out)
{
    const uint8_t *at = data;
    memset(out, 0, sizeof(*out));
    if (len > VPD_BYTES_MAX)
        len = VPD_BYTES_MAX;
    /* A small tag is the end tag, or nothing that a card has. */
    while (len >= 3 && (at[0] & TAG_LARGE) != 0) {
        size_t size = (size_t)at[1] | (size_t)at[2] << 8;
        if (size > len - 3)
            return;
        if (at[0] == TAG_PRODUCT)
            take(at + 3, size, out->product);
        else if (at[0] == TAG_READ_ONLY)
            decode_fields(at + 3, size, out);
        at += 3 + size;
        len -= 3 + size;
    }
}
