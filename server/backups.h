#pragma once
/*
 * server/backups.h - copies of the store below DATA/backups, made while it runs.
 *
 *   ID.db    a whole copy (db/backup.h)
 *   ID.json  what it is; the last to come and the first to go
 *
 * The files are the truth, not rows of the store: a store that goes back to an old copy knows its
 * newer copies still. One thread of its own makes and removes them; any thread may ask.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sha256.h"
#include "server/auth.h"
#include "server/http.h"
#include "server/operations.h"

#define BACKUPS_KEPT_MAX      16                          /* one more ends the oldest */
#define BACKUPS_RESERVE_BYTES (INT64_C(32) * 1024 * 1024) /* of the disk, left to the store */
#define BACKUP_ID_SIZE        (16 + 1 + 8 + 1)            /* "20261201t165212z-0123abcd" */
#define BACKUP_ACTOR_SIZE     AUDIT_ACTOR_SIZE
#define BACKUP_REASON_SIZE    (256 + 1)
#define BACKUP_PROGRESS       100 /* the whole of it, of its operation */

struct app;
struct backups;

struct backup {
    char id[BACKUP_ID_SIZE]; /* sorts by age */
    int64_t created_us;      /* when it was begun: what was durable then is in it */
    int64_t size_bytes, schema, generation, audit_rows;
    char sha256[SHA256_HEX_SIZE]; /* of the file */
    char created_by[BACKUP_ACTOR_SIZE];
};

/* Who wants one: copied of the request, which is answered long before. */
struct backup_wish {
    char operation[OPERATION_ID_SIZE];
    char actor[sizeof(((struct principal *)0)->name)];
    char audit_actor[AUDIT_ACTOR_SIZE];
    char request_id[HTTP_REQUEST_ID_SIZE];
    char reason[BACKUP_REASON_SIZE];
};

/* Makes the folder, removes what was cut short, knows the rest. app->db is open. */
ERR_MUST_CHECK enum err_code backups_new(struct app *app, const char *data_dir,
                                         struct backups **out, struct err *err);
/* Stops a copy under way; blocks until it has. Before the store is closed; NULL is legal. */
void backups_stop(struct backups *backups);
/* After it, because the last commits may remove some. */
void backups_free(struct backups *backups);

/* The one place for a copy under way; false: it is taken. Whoever has it begins, or gives it up. */
bool backups_claim(struct backups *backups);
void backups_unclaim(struct backups *backups);
void backups_begin(struct backups *backups, const struct backup_wish *wish);

/* Newest first; returns how many. */
size_t backups_list(struct backups *backups, struct backup out[BACKUPS_KEPT_MAX]);
bool backups_get(struct backups *backups, const char *id, struct backup *out);
uint64_t backups_failed(struct backups *backups); /* since the start */
/* A descriptor to read it. ERR_NOT_FOUND: the file is lost. Blocks. */
ERR_MUST_CHECK enum err_code backups_open(struct backups *backups, const char *id, int *out_fd,
                                          uint64_t *out_size, struct err *err);
/* Forgets it now and removes its files soon, on the backups' thread. */
void backups_remove(struct backups *backups, const char *id);

/* As callers see it; NULL = no memory. */
json_t *backup_to_json(const struct backup *backup);
