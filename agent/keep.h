#pragma once
/*
 * agent/keep.h - the small JSON files of the state folder, each of its owner: plan.json (last good
 * plan), confirm.json, journal.json, receipt.json, origin.json, budget.json, reboot.json,
 * flash.json. Durable on write; a file that does not read back is set aside, so that a bad disk
 * block never stops the agent.
 */

#include <stddef.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"

#define KEEP_PATH_MAX 4096
#define KEEP_FILE_MAX (32 * 1024 * 1024) /* a plan of PLAN_KNOBS_MAX knobs with its undo */

/* STATE_DIR/name; ERR_LIMIT when it does not fit. */
ERR_MUST_CHECK enum err_code keep_path(const char *state_dir, const char *name,
                                       char out[KEEP_PATH_MAX], struct err *err);

/* Canonical JSON, durable (file_write_atomic), mode 0600. ERR_LIMIT over KEEP_FILE_MAX: what could
 * not be read back is not written. */
ERR_MUST_CHECK enum err_code keep_write(const char *state_dir, const char *name,
                                        const json_t *document, struct err *err);

/* ERR_NOT_FOUND when there is no such file; ERR_INVALID or ERR_LIMIT when it is no JSON object, or
 * no file at all (a pipe would be waited for). */
ERR_MUST_CHECK enum err_code keep_read(const char *state_dir, const char *name, json_t **out,
                                       struct err *err);

/* Removes the file; none is fine. */
ERR_MUST_CHECK enum err_code keep_remove(const char *state_dir, const char *name, struct err *err);

/* So that it does not come back after a crash of the node. */
ERR_MUST_CHECK enum err_code keep_remove_durable(const char *state_dir, const char *name,
                                                 struct err *err);

/* Removes the halves that writers which were killed left beside their files. For the one who holds
 * the folder's lock, before it writes. Never fails. */
void keep_sweep(const char *state_dir);

#define KEEP_ASIDE_MAX 8 /* of a name; then the oldest goes */

/* Renames the file to NAME.corrupt-TIME and logs `why` as an error. Never fails. */
void keep_set_aside(const char *state_dir, const char *name, struct clock *clock,
                    const struct err *why);
