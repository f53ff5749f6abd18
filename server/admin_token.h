#pragma once
/*
 * server/admin_token.h - the first way in: DATA/admin.token, made at the first start, or anew when
 * it was lost.
 */

#include "server/app.h"

/* At the start of a server: makes DATA/admin.token when the store knows no lasting admin.
 * ERR_CONFLICT when a server has run here before, so that the store must have been lost. */
ERR_MUST_CHECK enum err_code admin_token_first(struct app *app, const char *data_dir,
                                               struct err *err);
/* Without a server: one more admin's token into DATA/admin.token, audited. ERR_CONFLICT while a
 * server runs on DATA, ERR_NOT_FOUND when there is no store. */
ERR_MUST_CHECK enum err_code admin_token_new(const char *data_dir, struct err *err);
