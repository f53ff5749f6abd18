#pragma once
/*
 * fleet/evidence/kernel_gpu.h - the messages of the nvidia driver in a kernel log. Private to
 * fleet/evidence/.
 */

#include <stdbool.h>

#include "fleet/evidence/reader.h"

/* True when the message was one of Xid, or the address and UUID of a GPU; what it says is put. */
bool kernel_gpu_read(struct evidence_job *job, size_t line, struct slice message);
