#pragma once
/*
 * server/app_tls.h - what app.c needs of app_tls.c: authority and server certificate at start.
 */

#include "server/app.h"

/* Makes or reads the authority; with config->tls also what is shown to clients. DATA is there. */
ERR_MUST_CHECK enum err_code app_tls_open(struct app *app, const struct app_config *config,
                                          struct err *err);
