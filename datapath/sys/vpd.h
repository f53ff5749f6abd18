#pragma once
/*
 * datapath/sys/vpd.h - a PCI device's Vital Product Data: name, part and serial number of the card
 * (PCI Local Bus 3.0, appendix I). Pure; the bytes come from the card and may be anything.
 */

#include <stddef.h>

#define VPD_TEXT_SIZE 128
#define VPD_BYTES_MAX 4096 /* that are looked at */

struct vpd {
    char product[VPD_TEXT_SIZE]; /* "" = not there, as the others */
    char part[VPD_TEXT_SIZE];
    char serial[VPD_TEXT_SIZE];
};

/* Takes what can be read before the first thing that makes no sense. */
void vpd_decode(const void *data, size_t len, struct vpd *out);
