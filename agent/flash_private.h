#pragma once
/*
 * agent/flash_private.h - the object behind flash.h, shared by flash.c (its life and what comes
 * in), flash_move.c (how it moves), flash_phase.c (where to) and flash_tell.c (what the server
 * hears).
 */

#include "agent/flash.h"
#include "agent/flash_job.h"
#include "agent/flash_record.h"
#include "base/json.h"

struct flash {
    struct flash_config config;
    char node[NAME_SIZE];
    char state_dir[KEEP_PATH_MAX], folder[KEEP_PATH_MAX];
    struct flash_tools *tools;
    struct worker *worker;
    struct loop_timer *look;
    bool dead; /* the test hook killed us */

    bool has_record;
    struct flash_record record;
    bool wants_job;   /* the phase's work is to be begun (again), at retry_ns */
    bool only_look;   /* of that work: a crash left it in the middle */
    int64_t retry_ns; /* monotonic, as the next three */
    int64_t deadline_ns;
    int64_t drain_ns;                   /* draining ends */
    int64_t verify_ns;                  /* verifying ends */
    char waits_for[FLASH_MESSAGE_SIZE]; /* why the phase takes its time; "" = nothing to say */

    enum flash_phase job_phase; /* of the worker's job, which may be of an earlier task */
    char job_device[PORT_ID_SIZE];

    char told[DIGEST_TEXT_MAX]; /* of the last report, without its time */
    unsigned progress_seen;
};

int64_t flash_now_ns(const struct flash *flash);
bool flash_is_open(const struct flash *flash); /* a task is under way */

/* flash_move.c: begins a task or goes on with one that a crash left. */
void flash_begin(struct flash *flash);
void flash_go_on(struct flash *flash);
/* The server takes it back: ends it unless the write has begun. */
void flash_cancel(struct flash *flash);
/* The timer: deadlines, work that is due. */
void flash_look(struct flash *flash);
/* To the next phase, whose work begins once that is on disk. Asserts that there is such a move. */
void flash_move(struct flash *flash, enum flash_phase to);
/* The end, with why. Asserts that the outcome fits the phase. */
void flash_end(struct flash *flash, enum flash_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The phase's work is done again after that time; why is told. */
void flash_wait(struct flash *flash, int64_t delay_ns, const char *why);

/* flash_phase.c: what the end of a phase's work leads to. */
void flash_ended(struct flash *flash, const struct flash_job *job);
/* The phase flashed, which has no work but, when a crash came behind the drain, to drain again. */
void flash_flashed(struct flash *flash, bool drained);

/* flash_tell.c: to the server, when it is news. */
void flash_tell(struct flash *flash);
