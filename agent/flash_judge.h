#pragma once
/*
 * agent/flash_judge.h - what a device says of itself against what a task wants. Pure.
 */

#include "datapath/flash.h"

/* Versions that say the same, field by field; texts that are no numbers must be equal. "" is
 * unknown and equals nothing. */
bool flash_same_version(const char *a, const char *b);

enum flash_verdict {
    FLASH_GO = 0,   /* it is the device meant, and has another firmware */
    FLASH_STORED,   /* it has stored the target and runs another */
    FLASH_RUNS,     /* it runs and has stored the target: nothing is to be done */
    FLASH_STRANGER, /* it is not the device meant, or does not say: *why tells */
};
enum flash_verdict flash_judge(const struct flash_task *task, const struct flash_identity *identity,
                               char why[ERR_TEXT_MAX]);

/* Every port that was up is up; else *why names the first that is not. */
bool flash_links_kept(const struct flash_links *before, const struct flash_links *now,
                      char why[ERR_TEXT_MAX]);
