#pragma once
/*
 * server/backup_files.h - the folder of the copies: names, sums, what is whole and what is not.
 * Everything here blocks. Used by server/backups alone.
 */

#include "server/backups.h"

#define BACKUP_PATH_MAX 4096

/* DATA/backups/ID.SUFFIX */
void backup_path(const char *folder, const char *id, const char *suffix, char out[BACKUP_PATH_MAX]);
/* SHA-256 of the file ID.db; go_on (with the share that is done, permyriad) may stop it:
 * ERR_UNAVAILABLE. */
ERR_MUST_CHECK enum err_code backup_sum(const char *path, bool (*go_on)(void *arg, int permyriad),
                                        void *arg, char out[SHA256_HEX_SIZE], struct err *err);
/* ID.json: from then on it is one. */
ERR_MUST_CHECK enum err_code backup_describe(const char *folder, const struct backup *backup,
                                             struct err *err);
/* Removes ID.json, then the rest; what cannot be removed is logged. */
void backup_unlink(const char *folder, const char *id);
/* Calls fn for each whole one, in no order; removes what was cut short; leaves strangers' files. */
ERR_MUST_CHECK enum err_code backup_scan(const char *folder,
                                         void (*fn)(void *arg, const struct backup *backup),
                                         void *arg, struct err *err);
