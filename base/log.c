/*
 * base/log.c - see log.h.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static const char *const level_names[] = {"error", "warning", "info", "debug"};
#define LEVEL_COUNT (sizeof(level_names) / sizeof(level_names[0]))

static atomic_int level_max = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&level_max, (int)level);
}

bool log_level_from_name(const char *name, enum log_level *out)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

/* One line, one write(2): lines of several threads never mix, and stderr has no lock to wait for.
 */
void log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    if ((int)level > atomic_load(&level_max) || (size_t)level >= LEVEL_COUNT)
        return;
    int saved_errno = errno;
    char raw[LOG_LINE_MAX], line[LOG_LINE_MAX], when[CLOCK_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int raw_len = vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    if (raw_len < 0)
        raw_len = snprintf(raw, sizeof(raw), "(a message that could not be formatted)");
    struct clock *clock = clock_system();
    clock_format(clock->wall_us(clock), when);
    size_t n =
        (size_t)snprintf(line, sizeof(line), "%s %s %.32s: ", when, level_names[level], area);
    /* A byte stays free for the line end. text_quote() marks what it cuts. */
    size_t room = sizeof(line) - n - 1;
    text_quote(raw, strlen(raw), line + n, room);
    n += strlen(line + n);
    line[n++] = '\n';
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line, n);
    } while (written < 0 && errno == EINTR);
    errno = saved_errno;
}
