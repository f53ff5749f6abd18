#pragma once
/*
 * db/backup.h - whole copies of the store: made while it runs, checked, and put in its place while
 * it does not.
 *
 * A copy holds what was durable at one moment, as one file without a log, mode 0600. A file under
 * its final name is always whole: it is made as NAME.part, checked, synced and renamed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/db.h"

struct store_figures { /* of a copy that was checked */
    int64_t size_bytes;
    int64_t schema;     /* number of its newest migration */
    int64_t generation; /* of the desired state */
    int64_t audit_rows; /* in the chain */
};

/* Called now and then while a copy is made, with pages done and in all; false stops it. */
struct copy_watch {
    bool (*go_on)(void *arg, int64_t done, int64_t total);
    void *arg;
};

/*
 * Copies the store to path and checks the copy. Blocks for as long as that takes, on any thread but
 * the store's own; writes go on meanwhile. ERR_CONFLICT: path is there already; ERR_IO (disk full
 * too), ERR_UNAVAILABLE (watch, which may be NULL, stopped it): nothing is left behind;
 * ERR_INVALID: what was copied is damaged, so the store is.
 */
ERR_MUST_CHECK enum err_code db_backup(struct db *db, const char *path,
                                       const struct copy_watch *watch, struct store_figures *out,
                                       struct err *err);

/* As db_backup, of a store that nobody runs. ERR_CONFLICT: a server does. */
ERR_MUST_CHECK enum err_code db_backup_offline(const char *store, const char *path,
                                               struct store_figures *out, struct err *err);

/* The whole store that nobody runs: pages, parents, migrations, audit chain. Changes nothing. */
ERR_MUST_CHECK enum err_code db_verify(const char *store, struct store_figures *out,
                                       struct err *err);

/*
 * Puts a copy of `from` in the place of the store, which nobody may run (ERR_CONFLICT). Everything
 * is checked before anything is replaced; an older schema is brought up to date on the copy. The
 * old store is kept as STORE.replaced-TIME (out_aside, "" = there was none). A restore that was cut
 * short leaves either the old store, or STORE.restoring: then no server starts on it until a
 * restore has ended.
 */
#define RESTORE_PATH_MAX 4096
ERR_MUST_CHECK enum err_code db_restore(const char *store, const char *from, struct clock *clock,
                                        char out_aside[RESTORE_PATH_MAX], struct store_figures *out,
                                        struct err *err);
