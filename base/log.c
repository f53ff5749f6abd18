/*
 * base/log.c - see log.h.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static const char *const level_names[] = {"error", "warning", "info", "debug"};
#define LEVEL_COUNT (sizeof(level_names) / sizeof(level_names[0]))

static const char *const format_names[] = {"text", "json", "journal"};

static atomic_int level_max = LOG_LEVEL_INFO;
static atomic_int format_set = -1; /* -1 = not looked yet */

void log_set_level(enum log_level level)
{
    atomic_store(&level_max, (int)level);
}

/* The place of name; -1 = it is none of them. */
static int find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

bool log_level_from_name(const char *name, enum log_level *out)
{
    int at = find_name(level_names, LEVEL_COUNT, name);
    if (at >= 0)
        *out = (enum log_level)at;
    return at >= 0;
}

void log_set_format(enum log_format format)
{
    atomic_store(&format_set, (int)format);
}

bool log_format_from_name(const char *name, enum log_format *out)
{
    int at = find_name(format_names, sizeof(format_names) / sizeof(format_names[0]), name);
    if (at >= 0)
        *out = (enum log_format)at;
    return at >= 0;
}

/* Is stderr what $JOURNAL_STREAM (DEVICE:INODE, systemd.exec(5)) names? */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat info;
    char own[64];
    if (stream == NULL || fstat(STDERR_FILENO, &info) != 0)
        return false;
    snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)info.st_dev,
             (unsigned long long)info.st_ino);
    return strcmp(stream, own) == 0;
}

static enum log_format format_now(void)
{
    int format = atomic_load(&format_set);
    if (format < 0) {
        format = is_journal() ? LOG_FORMAT_JOURNAL : LOG_FORMAT_TEXT;
        atomic_store(&format_set, format);
    }
    return (enum log_format)format;
}

/* Quotes text behind `head`, with `tail` after it, into line; returns the length. What is too long
 * is marked by text_quote(). */
static size_t compose(char line[LOG_LINE_MAX], const char *head, const char *text, const char *tail)
{
    size_t n = strlen(head), tail_len = strlen(tail);
    memcpy(line, head, n);
    text_quote(text, strlen(text), line + n, LOG_LINE_MAX - n - tail_len);
    n += strlen(line + n);
    memcpy(line + n, tail, tail_len);
    return n + tail_len;
}

/* JSON's own escapes of '"' and '\\' in what text_quote() will make printable; its \xXX and \uXXXX
 * are escaped too, so that a reader of the line gets the text that the other formats show. */
static size_t compose_json(char line[LOG_LINE_MAX], const char *head, const char *text)
{
    char quoted[LOG_LINE_MAX];
    size_t n = strlen(head);
    memcpy(line, head, n);
    text_quote(text, strlen(text), quoted, sizeof(quoted));
    for (const char *p = quoted; *p != '\0'; p++) {
        size_t len = utf8_decode(p, strlen(p), NULL);
        if (n + len + 2 > LOG_LINE_MAX - 4)
            break; /* on a whole character: the line is JSON whatever was cut */
        if (*p == '"' || *p == '\\')
            line[n++] = '\\';
        memcpy(line + n, p, len);
        n += len;
        p += len - 1;
    }
    memcpy(line + n, "\"}\n", 3);
    return n + 3;
}

static size_t format_line(enum log_level level, const char *area, const char *text,
                          char line[LOG_LINE_MAX])
{
    static const int priorities[LEVEL_COUNT] = {3, 4, 6, 7}; /* syslog(3) */
    struct clock *clock = clock_system();
    char head[160], when[CLOCK_TEXT_MAX];
    enum log_format format = format_now();
    clock_format(clock->wall_us(clock), when);
    if (format == LOG_FORMAT_JSON) {
        snprintf(head, sizeof(head),
                 "{\"time\":\"%s\",\"level\":\"%s\",\"area\":\"%.32s\",\"msg\":\"", when,
                 level_names[level], area);
        return compose_json(line, head, text);
    }
    if (format == LOG_FORMAT_JOURNAL)
        snprintf(head, sizeof(head), "<%d>%.32s: ", priorities[level], area);
    else
        snprintf(head, sizeof(head), "%s %s %.32s: ", when, level_names[level], area);
    return compose(line, head, text, "\n");
}

/* One line, one write(2): lines of several threads never mix, and stderr has no lock to wait for.
 */
void log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    if ((int)level > atomic_load(&level_max) || (size_t)level >= LEVEL_COUNT)
        return;
    int saved_errno = errno;
    char raw[LOG_LINE_MAX], line[LOG_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int raw_len = vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    if (raw_len < 0)
        snprintf(raw, sizeof(raw), "(a message that could not be formatted)");
    size_t n = format_line(level, area, raw, line);
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line, n);
    } while (written < 0 && errno == EINTR);
    errno = saved_errno;
}
