/*
 * tests/fuzz/fuzz_base_units.c - what bandwidth_parse() accepts is in range, and its shortest text
 * means the same; sizes are in range; comparing versions is antisymmetric.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_bandwidth(const char *text)
{
    struct bandwidth bw, back;
    char out[BANDWIDTH_TEXT_MAX];
    if (bandwidth_parse(text, &bw, NULL))
        return;
    if (bw.kind == BANDWIDTH_SHARE)
        must(bw.share_permyriad >= 1 && bw.share_permyriad <= SHARE_PERMYRIAD_FULL);
    else
        must(bw.kind == BANDWIDTH_RATE && bw.rate_bps >= 1 && bw.rate_bps <= RATE_BPS_MAX);
    bandwidth_format(&bw, out);
    must(strlen(out) <= strlen(text));
    must(bandwidth_parse(out, &back, NULL) == ERR_OK && back.kind == bw.kind);
    must(bw.kind == BANDWIDTH_SHARE ? back.share_permyriad == bw.share_permyriad
                                    : back.rate_bps == bw.rate_bps);
    must(bandwidth_on_port_permyriad(&bw, RATE_BPS_MAX) >= 1);
    must(bandwidth_on_port_bps(&bw, RATE_BPS_MAX) >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_bandwidth(text);
    int64_t bytes;
    if (size_parse(text, &bytes, NULL) == ERR_OK)
        must(bytes >= 1 && bytes <= SIZE_BYTES_MAX);
    char *second = strchr(text, ' ');
    if (second != NULL) {
        int there, back;
        *second++ = '\0';
        if (version_compare(text, second, &there, NULL) == ERR_OK)
            must(version_compare(second, text, &back, NULL) == ERR_OK && there == -back);
    }
    free(text);
    return 0;
}
