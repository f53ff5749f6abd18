#pragma once
/*
 * db/campaigns.h - tables of firmware campaigns and their devices. The manners are those of
 * db/tables.h.
 */

#include "db/tables.h"

#define CAMPAIGNS_KEPT 200 /* the newest; older ones that are over are dropped */

struct db_campaign {
    int64_t number;
    const char *state;
    bool active; /* it is not over */
    int64_t revision;
    const char *image; /* id */
    const char *head;  /* canonical JSON */
    int64_t created_us, updated_us;
};
typedef bool db_campaign_fn(void *arg, const struct db_campaign *row);
/* A number that was never given. */
ERR_MUST_CHECK enum err_code campaign_next(struct db_tx *tx, int64_t *out, struct err *err);
/* Makes or replaces; image and created_us stay. */
ERR_MUST_CHECK enum err_code campaign_put(struct db_tx *tx, const struct db_campaign *row,
                                          struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code campaign_get(struct db_ro *ro, int64_t number, db_campaign_fn *fn,
                                          void *arg, struct err *err);
/* Newest first, numbers below `before` (0 = from the newest). */
ERR_MUST_CHECK enum err_code campaign_list(struct db_ro *ro, int64_t before, bool active_only,
                                           int limit, db_campaign_fn *fn, void *arg,
                                           struct err *err);

struct db_campaign_device {
    int64_t place; /* from 1 */
    const char *node, *device;
    int64_t wave;
    const char *state;
    const char *body; /* canonical JSON */
};
typedef bool db_campaign_device_fn(void *arg, const struct db_campaign_device *row);
/* Makes or replaces; node and device stay. */
ERR_MUST_CHECK enum err_code campaign_device_put(struct db_tx *tx, int64_t number,
                                                 const struct db_campaign_device *row,
                                                 struct err *err);
/* By place, after `after` (0 = from the start). */
ERR_MUST_CHECK enum err_code campaign_device_list(struct db_ro *ro, int64_t number, int64_t after,
                                                  int limit, db_campaign_device_fn *fn, void *arg,
                                                  struct err *err);
