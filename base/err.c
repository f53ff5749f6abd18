/*
 * base/err.c - see err.h.
 */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Puts "..." at the end of a text that was cut, so that a reader sees it; never inside a
 * character, because JSON and terminals take UTF-8 only. */
static void mark_cut(char *text, size_t size, int wanted)
{
    if (wanted < 0 || (size_t)wanted < size)
        return;
    size_t at = size - 4;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    memcpy(text + at, "...", 4);
}

__attribute__((format(printf, 5, 0))) static enum err_code fill(struct err *err, enum err_code code,
                                                                int sys_errno, const char *pointer,
                                                                const char *fmt, va_list ap)
{
    if (err == NULL)
        return code;
    char text[ERR_TEXT_MAX];
    mark_cut(text, sizeof(text), vsnprintf(text, sizeof(text), fmt, ap));
    err->code = code;
    err->sys_errno = sys_errno;
    snprintf(err->pointer, sizeof(err->pointer), "%s", pointer != NULL ? pointer : "");
    memcpy(err->text, text, sizeof(text));
    return code;
}

const char *err_code_name(enum err_code code)
{
    static const char *const names[] = {
        [ERR_OK] = "ok",
        [ERR_INVALID] = "invalid",
        [ERR_NOT_FOUND] = "not-found",
        [ERR_CONFLICT] = "conflict",
        [ERR_DENIED] = "denied",
        [ERR_LIMIT] = "limit",
        [ERR_UNSUPPORTED] = "unsupported",
        [ERR_UNAVAILABLE] = "unavailable",
        [ERR_IO] = "io",
        [ERR_NOMEM] = "no-memory",
    };
    if ((size_t)code >= sizeof(names) / sizeof(names[0]))
        return "unknown";
    return names[code];
}

enum err_code err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, 0, NULL, fmt, ap);
    va_end(ap);
    return code;
}

enum err_code err_set_errno(struct err *err, enum err_code code, int sys_errno, const char *fmt,
                            ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, sys_errno, NULL, fmt, ap);
    va_end(ap);
    if (err != NULL) {
        char reason[128];
        const char *text = strerror_r(sys_errno, reason, sizeof(reason));
        size_t used = strlen(err->text);
        size_t room = sizeof(err->text) - used;
        int wanted = snprintf(err->text + used, room, ": %s", text);
        mark_cut(err->text, sizeof(err->text), (int)used + wanted);
    }
    return code;
}

enum err_code err_set_at(struct err *err, enum err_code code, const char *pointer, const char *fmt,
                         ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, 0, pointer, fmt, ap);
    va_end(ap);
    return code;
}

enum err_code err_context(struct err *err, const char *fmt, ...)
{
    if (err == NULL)
        return ERR_IO;
    char text[2 * ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, ERR_TEXT_MAX, fmt, ap);
    va_end(ap);
    if (n < 0)
        return err->code;
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, ": %s", err->text);
    mark_cut(text, sizeof(err->text), (int)strlen(text));
    text[sizeof(err->text) - 1] = '\0';
    memcpy(err->text, text, sizeof(err->text));
    return err->code;
}

bool err_is_full(const struct err *err)
{
    return err->code == ERR_IO &&
           (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT || err->sys_errno == EFBIG);
}

enum err_code err_nomem(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory");
}
