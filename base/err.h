#pragma once
/*
 * base/err.h - why an operation stopped.
 *
 * struct err is plain memory: it can be made, copied and printed when memory is out. The function
 * that first decides that something is an error fills it (err_set); each caller on the way up may
 * put its context in front (err_context), never replace it. Only server/, agent/ and cli/ log it.
 *
 * Every fallible function returns enum err_code and takes `struct err *err` as its last parameter.
 * `err` may be NULL when the caller wants the code alone. ERR_OK is 0, so `if (f(...))` reads as
 * "if it failed".
 */

#include <stdarg.h>
#include <stdbool.h>

enum err_code {
    ERR_OK = 0,
    ERR_INVALID,     /* the input is wrong: what and where stand in the text and the pointer */
    ERR_NOT_FOUND,   /* the named thing does not exist */
    ERR_CONFLICT,    /* the thing is in another state than the caller assumed */
    ERR_DENIED,      /* no right to do it */
    ERR_LIMIT,       /* a named maximum was met */
    ERR_UNSUPPORTED, /* this kernel, device or version cannot do it */
    ERR_UNAVAILABLE, /* it could work later: server away, busy, deadline passed */
    ERR_IO,          /* the operating system or a device refused; sys_errno says how */
    ERR_NOMEM,
};

#define ERR_TEXT_MAX    512
#define ERR_POINTER_MAX 256

struct err {
    enum err_code code;
    int sys_errno;                 /* errno or 0 */
    char pointer[ERR_POINTER_MAX]; /* JSON Pointer into the input, "" = whole document */
    char text[ERR_TEXT_MAX];       /* what happened, where, what to do; UTF-8; cut with "..." */
};

#define ERR_MUST_CHECK __attribute__((warn_unused_result))

/* An empty error, for initialisation: struct err err = ERR_INIT; */
#define ERR_INIT                                                                                   \
    {                                                                                              \
        .code = ERR_OK                                                                             \
    }

/* Fills *err (if not NULL) and returns code, so that callers write `return err_set(...)`. */
enum err_code err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set with an errno; appends ": <strerror>". */
enum err_code err_set_errno(struct err *err, enum err_code code, int sys_errno, const char *fmt,
                            ...) __attribute__((format(printf, 4, 5)));

/* As err_set with a JSON Pointer (RFC 6901) into the input. */
enum err_code err_set_at(struct err *err, enum err_code code, const char *pointer, const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));

/* Puts "context: " before the text and returns the code that is in err (ERR_IO if err is NULL). */
enum err_code err_context(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ERR_IO because a disk, a quota or a limit of files has no room: the operator's to mend. */
bool err_is_full(const struct err *err);

/* ERR_NOMEM with the fixed text "out of memory". */
enum err_code err_nomem(struct err *err);

/* Lower-case stable name of the code: "ok", "invalid", "not-found", ... Never NULL. */
const char *err_code_name(enum err_code code);
