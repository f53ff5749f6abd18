#pragma once
/*
 * agent/verify_run.h - does this node's part of a test between nodes (fleet/verify.h): asks or
 * answers over verbs, and says what came of it. Keeps nothing between two tests.
 */

#include <stdatomic.h>

#include "fleet/verify.h"

/*
 * Blocks for the task's deadline at most, longer only when its device hangs: not for the loop's
 * thread. Unless it is forced, a device with queue pairs of programs is left alone: "refused".
 * stop, set by another thread, ends it soon; NULL = never.
 */
void verify_run(const struct verify_task *task, const atomic_bool *stop, struct verify_report *out);
