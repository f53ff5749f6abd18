#pragma once
/*
 * agent/spool.h - batches of telemetry on their way to the server: a file each in the state
 * folder's "telemetry", the oldest first, so that a server that is away or an agent that ends loses
 * none. At most SPOOL_FILES_MAX and SPOOL_BYTES_MAX; then the oldest go, and whoever adds is told.
 * What the folder does not take is kept in memory, SPOOL_MEMORY_MAX of them: a node whose disk went
 * read-only still tells how it is.
 *
 * The collecting thread adds, the loop takes: every call locks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

#define SPOOL_FILES_MAX  2160 /* six hours of ten seconds */
#define SPOOL_BYTES_MAX  (64 * 1024 * 1024)
#define SPOOL_MEMORY_MAX 6 /* a minute of ten seconds */
/* Of a batch that was left: its name is a number of 20 digits, which grows and never wraps. */
#define SPOOL_NUMBER_MAX UINT64_C(1000000000000000000)

struct spool;

struct spool_lost { /* from_us 0 = nothing was */
    int64_t from_us, to_us;
};

/* Makes the folder, or says that it cannot; what was left there goes first, what does not read is
 * removed. Names that are no such numbers are left alone. */
ERR_MUST_CHECK enum err_code spool_new(const char *state_dir, struct spool **out, struct err *err);
void spool_free(struct spool *spool); /* the files stay */
OWN_DEFINE(spool, struct spool *, spool_free)

/* The time of the last sample of the newest batch that was left; 0 = none. */
int64_t spool_last_us(struct spool *spool);

/* A batch that telemetry_encode() made, of these times. An error: it is lost. *out_lost: what had
 * to go for it. */
ERR_MUST_CHECK enum err_code spool_add(struct spool *spool, const uint8_t *data, size_t len,
                                       const int64_t times_us[2], struct spool_lost *out_lost,
                                       struct err *err);
/* The oldest, malloc'ed; false = there is none, or it does not read now. It stays until
 * spool_drop(). What somebody else removed is skipped. */
bool spool_first(struct spool *spool, char **out, size_t *out_len);
/* The one that spool_first() gave was acknowledged, or can never be. */
void spool_drop(struct spool *spool);
