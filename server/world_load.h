#pragma once
/*
 * server/world_load.h - the file -> world, publish, auth. At start, and after a failed commit (then
 * readers keep what they have: it was published from commits that succeeded).
 */

#include "server/app.h"

/* A new world from the file; with `publish` also what HTTP threads read. */
ERR_MUST_CHECK enum err_code world_load(struct app *app, struct db_ro *ro, bool publish,
                                        struct world **out, struct err *err);
