#pragma once
/*
 * server/import.h - an archive into the store, whole or not at all: one transaction, at most one
 * generation, judged by the rules as the whole that it makes.
 */

#include "server/app.h"
#include "server/archive.h"

struct import {
    struct app *app;
    struct request *request; /* held: its body is the archive */
    bool replace;            /* what the archive does not have is removed */
    bool dry_run;
    bool override_floor;
    char id[OPERATION_ID_SIZE]; /* of the operation; "" in a dry run */
    struct archive archive;
    struct finding_list findings;
    size_t checked; /* items */
    int64_t changed, unchanged, removed;
    int64_t generation;  /* 0 = nothing changed */
    struct world *world; /* owned: as it will be; NULL = nothing changed */
    struct effects effects;
    int status; /* of a refusal, 0 = none */
    const char *code;
    char text[256];
};

/* Writer thread, in a write: stores what differs, makes the new world, judges it, and on success
 * makes it the app's (dry run: never). ERR_CONFLICT with a refusal, or in a dry run that went well
 * (status 0), so that the write is rolled back. */
ERR_MUST_CHECK enum err_code import_apply(struct import *import, struct db_tx *tx, struct err *err);
enum err_code import_refuse(struct import *import, int status, const char *code, struct err *err,
                            const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* {"changed","unchanged","removed","generation"?,"findings"}; NULL = no memory. */
json_t *import_to_json(const struct import *import);

/* import_effects.c: what HTTP threads must see when `after` takes the place of `before`. */
ERR_MUST_CHECK enum err_code import_effects(const struct world *before, const struct world *after,
                                            struct db_ro *ro, struct effects *effects,
                                            struct err *err);
