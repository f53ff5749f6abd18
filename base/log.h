#pragma once
/*
 * base/log.h - one line a message to stderr: time, level, area, text with key=value pairs.
 *
 * Used by server/, agent/, cli/ and their mains only; layers below return errors. Never give it a
 * secret. Control characters and line ends in values are escaped, so that input cannot forge lines.
 */

#include <stdbool.h>

enum log_level {
    LOG_LEVEL_ERROR = 0,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
};

void log_set_level(enum log_level level);
bool log_level_from_name(const char *name, enum log_level *out);

enum log_format {
    LOG_FORMAT_TEXT = 0, /* TIME LEVEL AREA: TEXT */
    LOG_FORMAT_JSON,     /* {"time":...,"level":...,"area":...,"msg":...} */
    LOG_FORMAT_JOURNAL,  /* <N>AREA: TEXT, as sd-daemon(3): the journal has the time itself */
};
/* LOG_FORMAT_TEXT at first, LOG_FORMAT_JOURNAL when stderr is the journal ($JOURNAL_STREAM). */
void log_set_format(enum log_format format);
bool log_format_from_name(const char *name, enum log_format *out); /* "text", "json", "journal" */

/* Thread-safe; one write(2) a line; lines are cut at LOG_LINE_MAX. */
#define LOG_LINE_MAX 2048
void log_line(enum log_level level, const char *area, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(area, ...)   log_line(LOG_LEVEL_ERROR, area, __VA_ARGS__)
#define log_warning(area, ...) log_line(LOG_LEVEL_WARNING, area, __VA_ARGS__)
#define log_info(area, ...)    log_line(LOG_LEVEL_INFO, area, __VA_ARGS__)
#define log_debug(area, ...)   log_line(LOG_LEVEL_DEBUG, area, __VA_ARGS__)
