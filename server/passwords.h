#pragma once
/*
 * server/passwords.h - the threads that hash passwords: PASSWORDS_THREADS at a time, each with
 * PASSWORD_MEMORY_BYTES, behind a queue of PASSWORDS_QUEUE_MAX. HTTP threads never hash.
 */

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"
#include "base/password.h"

#define PASSWORDS_THREADS   2
#define PASSWORDS_QUEUE_MAX 32
#define PASSWORDS_RETRY_S   3 /* to come again when the queue is full */

struct passwords;

/* What is to be done with one request's passwords; a member of the caller's own struct, which must
 * live until `done`. The texts are wiped before `done` is called. */
struct password_job {
    struct password_job *next;
    bool compare;                        /* `given` with old_hash first */
    char old_hash[PASSWORD_HASH_SIZE];   /* "" = nobody's: as long as any, and never right */
    char given[PASSWORD_MAX_BYTES + 1];  /* what the caller says it is */
    char chosen[PASSWORD_MAX_BYTES + 1]; /* the one to hash; "" = none */
    bool right;                          /* out: given was right, or not compared */
    char new_hash[PASSWORD_HASH_SIZE];   /* out, of chosen, when right */
    void (*done)(struct password_job *job, enum err_code code, const struct err *err);
};

ERR_MUST_CHECK enum err_code passwords_new(struct passwords **out, struct err *err);
/* Does what is queued, then ends the threads. */
void passwords_free(struct passwords *passwords);
OWN_DEFINE(passwords, struct passwords *, passwords_free)

/* Any thread; done is called on one of the pool's. ERR_UNAVAILABLE: the queue is full (then done is
 * not called, and the texts are wiped). */
ERR_MUST_CHECK enum err_code passwords_submit(struct passwords *passwords, struct password_job *job,
                                              struct err *err);
