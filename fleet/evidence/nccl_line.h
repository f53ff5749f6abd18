#pragma once
/*
 * fleet/evidence/nccl_line.h - one line of NCCL's log. Private to fleet/evidence/.
 *
 * "host:pid:tid [gpu] file.cc:123 NCCL WARN text" and "host:pid:tid [gpu] NCCL INFO text", with a
 * date before it (NCCL 2.26 and newer) or the tag of mpirun; and the lines of one run that are not
 * NCCL's own: its version, the watchdog and the exceptions of PyTorch, "Test NCCL failure".
 */

#include <stdbool.h>

#include "fleet/evidence/reader.h"

/* "[1,0]<stdout>:" and "[1,rank 0]<stderr>:" of mpirun --tag-output off the front. */
struct slice tag_skip(struct slice line);

/* NCCL's own line: it alone begins a log. */
bool nccl_line_is(struct slice line);
/* What a library above NCCL says of its failure: it begins a log too. */
bool nccl_line_is_failure(struct slice line);

/* What failed before on the wire makes later failures of CUDA its consequence. */
struct nccl_seen {
    bool network;
    unsigned ways; /* bits: how data went between ranks, told once a log */
};
/* Puts what line i says; false = it is no line of a log. */
bool nccl_line_read(struct evidence_job *job, size_t i, struct nccl_seen *seen);

/* nccl_info.c: what an INFO line tells of versions, settings, connections. */
void nccl_info_put(struct evidence_job *job, size_t i, struct slice text, struct nccl_seen *seen);
