#pragma once
/*
 * server/passwords.h - the threads that hash passwords: PASSWORDS_THREADS at a time, each with
 * PASSWORD_MEMORY_BYTES, behind two queues. HTTP threads never hash.
 *
 * Logins have a queue and a thread that takes from it first; new passwords have the other ones.
 * Nobody who makes users or changes passwords can keep others from logging in, nor, since a caller
 * and a tenant have a few at a time only, from doing the same.
 */

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"
#include "base/password.h"

#define PASSWORDS_THREADS   2
#define PASSWORDS_QUEUE_MAX 32 /* logins that wait */
#define PASSWORDS_NEW_MAX   16 /* new passwords that wait */
/* New passwords that wait or are being hashed: of one caller, of one tenant. */
#define PASSWORDS_CALLER_MAX 2
#define PASSWORDS_TENANT_MAX 6
#define PASSWORDS_RETRY_S    3 /* to come again when the queue is full */

struct passwords;

enum password_lane { PASSWORD_LOGIN, PASSWORD_NEW, PASSWORD_LANES };

/* What is to be done with one request's passwords; a member of the caller's own struct, which must
 * live until `done`. The texts are wiped before `done` is called. */
struct password_job {
    struct password_job *next;
    enum password_lane lane;
    char caller[112];                    /* of PASSWORD_NEW: whose it is; */
    char tenant[64];                     /* and of which tenant; "" = of none */
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

/* Any thread; done is called on one of the pool's. ERR_UNAVAILABLE: the queue is full;
 * ERR_LIMIT: the caller or its tenant has too many there (then done is not called, and the texts
 * are wiped). */
ERR_MUST_CHECK enum err_code passwords_submit(struct passwords *passwords, struct password_job *job,
                                              struct err *err);
