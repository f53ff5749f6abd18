#pragma once
/*
 * server/enrol.h - what certificates mean to the rest of the server: loaded at start, looked at for
 * each caller. The routes are in api_enrol.c and api_certificates.c.
 */

#include "db/tables.h"
#include "server/app.h"

/* Every certificate of the store into app->certs. */
ERR_MUST_CHECK enum err_code enrol_load(struct app *app, struct db_ro *ro, struct err *err);

/* The node that the certificate is of; false: revoked, or expired. Any thread. The first use of a
 * renewed certificate ends the ones before it. */
bool enrol_check(struct app *app, const char *fingerprint, int64_t now_us, struct principal *out);
