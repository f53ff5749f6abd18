#pragma once
/*
 * agent/flash.h - this node's firmware worker: takes a task from the server through its phases
 * (fleet/flash.h), one at a time, tells how it goes, and knows after a crash where it was. What
 * blocks runs on a thread of its own; everything here is the loop's.
 *
 * STATE_DIR/flash.json holds the task, its phase and its outcome; it is on disk before a phase
 * begins. STATE_DIR/flash/ holds the image while it is needed.
 */

#include "agent/link.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "datapath/flash.h"

#define FLASH_FILE "flash.json"

#define FLASH_LOOK_NS   (1 * NS_PER_S)  /* progress, drain and deadlines are looked at this often */
#define FLASH_RETRY_NS  (5 * NS_PER_S)  /* a download that broke off goes on after this */
#define FLASH_VERIFY_NS (60 * NS_PER_S) /* for links to come up and the policy to be in sync */

struct flash;

struct flash_config {
    const char *node, *state_dir; /* copied; the folder exists */
    struct loop *loop;            /* borrowed, as clock and link */
    struct clock *clock;
    struct link *link; /* NULL = no server: what was begun is still brought to an end */
    int64_t look_ns;   /* 0 = FLASH_LOOK_NS; tests shorten it, and what is tried again with it */
    /* Whether the device's policy is in sync now, repairing what is not; else *why says what. */
    bool (*recheck)(void *arg, char why[ERR_TEXT_MAX]);
    /* Whether nothing may be written or activated now; *why says what is under way. It is asked
     * again until the task's deadline. NULL = nothing ever is. */
    bool (*busy)(void *arg, char why[ERR_TEXT_MAX]);
    /* The held device is another one, or its versions are: see flash_held(). */
    void (*changed)(void *arg);
    void *arg;
    /* Test hook, asked before and after each change of disk: true = as if killed here. */
    bool (*killed)(void *arg);
    void *killed_arg;
};

/* Takes over the flasher, also on failure. */
ERR_MUST_CHECK enum err_code flash_new(const struct flash_config *config, struct flasher *flasher,
                                       struct flash **out, struct err *err);
/* A device that is being written goes on without us. */
void flash_free(struct flash *flash);
OWN_DEFINE(flash, struct flash *, flash_free)

/* Goes on with what is on disk, and tells the link what is known. */
void flash_start(struct flash *flash);
/* The body of an answer: hostile. False: it is no news. */
bool flash_take(struct flash *flash, const char *body, size_t len);
/* The link delivered the last report. */
void flash_reported(struct flash *flash);

/* A task is under way, in whatever phase. */
bool flash_is_busy(const struct flash *flash);
/* The device that is written or activated: nobody else may touch it or ask it anything; "" = none.
 */
const char *flash_held(const struct flash *flash);
