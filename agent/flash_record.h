#pragma once
/*
 * agent/flash_record.h - what is known of the last flash task, as it lies on disk (FLASH_FILE).
 */

#include "agent/keep.h"
#include "datapath/flash.h"

struct flash_record {
    struct flash_task task;
    enum flash_phase phase;
    enum flash_outcome outcome;
    char problem[ERR_TEXT_MAX];
    char running[FLASH_VERSION_SIZE], stored[FLASH_VERSION_SIZE]; /* as read last */
    bool has_links;
    struct flash_links links; /* before anything was done */
    bool told;                /* the server has the outcome */
};

/* Durable. */
ERR_MUST_CHECK enum err_code flash_record_write(const char *state_dir, const char *node,
                                                const struct flash_record *record, struct err *err);
/* ERR_NOT_FOUND: there is none. Others: it cannot be used; ERR_INVALID when it is another node's (a
 * copied folder): the devices of two nodes have the same addresses. */
ERR_MUST_CHECK enum err_code flash_record_read(const char *state_dir, const char *node,
                                               struct flash_record *out, struct err *err);
