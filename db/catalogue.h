#pragma once
/*
 * db/catalogue.h - tables of hardware that operators keep: switches and firmware images. The
 * manners are those of db/tables.h.
 */

#include "db/tables.h"

/* Switches ------------------------------------------------------------------------------------ */

struct db_switch {
    const char *name;
    int64_t revision; /* as of tables.h: never repeats under one name */
    const char *body; /* canonical JSON of schemas/switch.json */
    int64_t created_us, updated_us;
};
typedef bool db_switch_fn(void *arg, const struct db_switch *row);
ERR_MUST_CHECK enum err_code switch_put(struct db_tx *tx, const char *name, const char *body,
                                        int64_t *out_revision, struct err *err);
ERR_MUST_CHECK enum err_code switch_delete(struct db_tx *tx, const char *name, struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code switch_get(struct db_ro *ro, const char *name, db_switch_fn *fn,
                                        void *arg, struct err *err);
ERR_MUST_CHECK enum err_code switch_list(struct db_ro *ro, const char *after, int limit,
                                         db_switch_fn *fn, void *arg, struct err *err);

/* Firmware images ----------------------------------------------------------------------------- */

struct db_image {
    const char *id;        /* 16 hex digits */
    const char *component; /* kernel driver of the device */
    const char *version;
    const char *psids; /* sorted, ","-joined; "" = any board */
    const char *name;  /* the file's, for people; may be "" */
    int64_t size_bytes;
    const char *sha256;      /* 64 hex digits */
    const char *uploaded_by; /* principal */
    int64_t created_us;
};
typedef bool db_image_fn(void *arg, const struct db_image *row);
/* created_us = now. ERR_CONFLICT: there is one of this component, version and psids. */
ERR_MUST_CHECK enum err_code image_put(struct db_tx *tx, const struct db_image *row,
                                       struct err *err);
ERR_MUST_CHECK enum err_code image_delete(struct db_tx *tx, const char *id, struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code image_get(struct db_ro *ro, const char *id, db_image_fn *fn, void *arg,
                                       struct err *err);
/* The one of exactly like's component, version and psids; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code image_find(struct db_ro *ro, const struct db_image *like,
                                        db_image_fn *fn, void *arg, struct err *err);
/* Every image of the component, by version and psids as texts, until fn has had enough. */
ERR_MUST_CHECK enum err_code image_each_of(struct db_ro *ro, const char *component, db_image_fn *fn,
                                           void *arg, struct err *err);
ERR_MUST_CHECK enum err_code image_list(struct db_ro *ro, const char *after, int limit,
                                        db_image_fn *fn, void *arg, struct err *err);
