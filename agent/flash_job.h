#pragma once
/*
 * agent/flash_job.h - what the worker's thread does in each phase of a flash, and what it found.
 * flash.c starts these and draws the conclusions.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "agent/flash_fetch.h"
#include "agent/worker.h"
#include "datapath/flash.h"

/* What loop and thread share; the last of both frees it. */
struct flash_tools {
    atomic_int owners;
    struct flasher *flasher; /* owned; used by the thread while a job runs, else by the loop */
    atomic_bool stop;        /* a download is to end */
    atomic_llong have_bytes; /* of a download */
    pthread_mutex_t lock;    /* of what follows */
    struct flash_progress progress;
    unsigned progress_count; /* grows with each */
};

/* Takes over the flasher, also on failure. */
struct flash_tools *flash_tools_new(struct flasher *flasher);
void flash_tools_drop(struct flash_tools *tools); /* NULL is legal */

struct flash_job {
    struct worker_job base; /* first */
    struct flash_tools *tools;
    struct flash_task task;
    enum flash_phase phase;
    bool only_look; /* read the versions, do nothing: after a crash */
    struct link_image from;
    char folder[KEEP_PATH_MAX];
    /* found */
    struct err err; /* code ERR_OK: it was done */
    bool has_identity, has_links;
    struct flash_identity identity;
    struct flash_links links;
    int users;
};

/* NULL = no memory. done: worker.h. */
struct flash_job *flash_job_new(struct flash_tools *tools, const struct flash_task *task,
                                enum flash_phase phase,
                                void (*done)(void *arg, struct worker_job *job));
void flash_job_free(struct flash_job *job);
