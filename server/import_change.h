#pragma once
/*
 * server/import_change.h - what the import_*.c files share: one thing that is stored or removed.
 */

#include "server/import.h"

#define IMPORT_SUBJECT_SIZE (3 * NAME_SIZE)

struct import_change {
    struct import *import;
    struct db_tx *tx;
    const char *action, *event;
    char subject[IMPORT_SUBJECT_SIZE];
    const char *before;           /* digest, "" = none */
    char digest[DIGEST_TEXT_MAX]; /* after; "" = removed */
    int64_t revision;
};

struct import_change import_change(struct import *import, struct db_tx *tx, const char *action,
                                   const char *event);
/* The first change makes the generation. */
ERR_MUST_CHECK enum err_code import_begin(struct import *import, struct db_tx *tx, struct err *err);
/* Its audit row and event; counts it. */
ERR_MUST_CHECK enum err_code import_record(struct import_change *change, struct err *err);

/* import_remove.c: everything that the archive does not name. */
ERR_MUST_CHECK enum err_code import_remove_others(struct import *import, struct db_tx *tx,
                                                  struct err *err);
