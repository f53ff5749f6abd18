#pragma once
/*
 * fleet/evidence/tc_rows.h - what tc's text and its JSON have alike. Private to fleet/evidence/.
 */

#include "fleet/evidence/reader.h"

#define TC_BANDS_MAX    16
#define QDISC_DROPS_FEW 100000 /* one in as many packets, and fewer, is a note only */

struct tc_ets {
    uint64_t bands, strict;
    uint64_t quanta[TC_BANDS_MAX];
    struct slice texts[TC_BANDS_MAX]; /* of the quanta */
    size_t count;
};

/* Facts of each band under the job's subject: strict, or its quantum and share. */
void tc_put_ets(struct evidence_job *job, size_t line, const struct tc_ets *ets);
