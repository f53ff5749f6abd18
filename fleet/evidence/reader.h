#pragma once
/*
 * fleet/evidence/reader.h - what a reader of one kind of output is, and what it writes with.
 * Private to fleet/evidence/.
 *
 * The walk (evidence.c) goes through the lines of a file: a shell prompt or an echoed command is
 * remembered (job->command); at every other line the first reader of readers[] whose begins() is
 * true takes a section: read() emits facts and findings and returns the index of the first line
 * that is not its own. A line that nobody takes is counted as unread. Sections of one kind that
 * touch are one.
 *
 * A reader must stop at a line that begins another section or is a prompt (job_stops()), read every
 * line as hostile, and never emit a value that depends on lines which may have been cut off: sums
 * and conclusions over a whole section are findings, facts are what stands in the file.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/evidence/evidence.h"
#include "fleet/evidence/slice.h"

/*
 * A line as readers see it: UTF-8 (what was none is '?'), no CR, no escape sequences, no control
 * characters except tabs, no blanks at either end. NUL-terminated.
 */
struct evidence_line {
    struct slice text;
    uint32_t indent; /* columns of blanks before the text, tabs to the next multiple of 8 */
    size_t offset;   /* of its first byte in job->bytes: for documents (JSON) */
};

struct evidence_reader;

struct evidence_job {
    const char *bytes; /* the file as it came */
    size_t len;
    struct evidence_line *lines;
    size_t line_count;
    struct slice
        command;         /* the last prompt's or echoed command, without the prompt; empty = none */
    size_t command_line; /* index of its line */
    struct slice
        heading;     /* "=== eth0 ===": the interface that a line of its own names since then */
    char named[128]; /* the command that the file's name is, where it is one */
    char subject[EVIDENCE_SUBJECT_MAX]; /* of the facts that are put; readers set it */
    struct evidence *out;
    bool nomem;
};

struct evidence_reader {
    const char *kind;
    const char *tool;
    /* Does a section of this kind begin at line i (never blank)? Looks at as many lines as it
     * needs, but a few: it runs at every line. */
    bool (*begins)(const struct evidence_job *job, size_t i);
    /* Reads the section; the index of the first line behind it, at least i + 1. */
    size_t (*read)(struct evidence_job *job, size_t i);
};

extern const struct evidence_reader *const evidence_readers[]; /* NULL-terminated, first wins */

/* The walk over the whole file; evidence_read() calls it. */
void job_walk(struct evidence_job *job);
/* What several samples in one file say together; after the walk. */
void job_growth(struct evidence_job *job);

/* "sos_commands/networking/ethtool_-S_eth0" is the command in front of the first line, for the
 * subject alone; other names are none. Before the walk. */
void job_name(struct evidence_job *job, const char *name);

/* The text of line i; empty behind the end. */
struct slice job_line(const struct evidence_job *job, size_t i);
/* Line i is blank or behind the end. */
bool job_is_blank(const struct evidence_job *job, size_t i);
/* The section must end before line i: end of file, a prompt, or the beginning of another reader's
 * section (`self` = the own one, which may go on). */
bool job_stops(const struct evidence_job *job, size_t i, const struct evidence_reader *self);
/* Line i is a shell prompt with a command; *command (may be NULL) = the command. */
bool job_is_prompt(const struct evidence_job *job, size_t i, struct slice *command);
/* The word after `word` in the command ("-i", "dev"); false when it is not there. */
bool job_command_option(const struct evidence_job *job, const char *word, char *out, size_t size);
/* The netdev that the command's option or the heading above names; false = neither. */
bool job_netdev(const struct evidence_job *job, const char *option, char *out, size_t size);
bool job_command_has(const struct evidence_job *job, const char *text); /* anywhere in it */

/* Sets the subject of the facts that follow. */
void job_subject(struct evidence_job *job, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Facts. `line` is an index (from 0); name and unit "" or static or copied: name is copied, unit
 * must be static. Hidden characters in names and texts become '?'.
 */
/* A value as the tool printed it: unknown words (slice_is_unknown) are unknown, numbers exact,
 * everything else a text. */
void put_value(struct evidence_job *job, size_t line, const char *name, struct slice value,
               const char *unit);
/* The same, but what is no exact number is unknown. */
void put_number(struct evidence_job *job, size_t line, const char *name, struct slice value,
                const char *unit);
void put_uint(struct evidence_job *job, size_t line, const char *name, uint64_t value,
              const char *unit);
/* Never looks for a number: versions, serial numbers, states. "" stays a known text "". */
void put_text(struct evidence_job *job, size_t line, const char *name, struct slice value);
void put_unknown(struct evidence_job *job, size_t line, const char *name);

/*
 * A counter under a tool's own name: the table of evidence/counter.h gives the canonical name, the
 * unit and the width, and adds "prio N" or "queue N" to the subject where the name has one.
 * Unlisted names stay as they are. The number is in *out (may be NULL) and true when it is known
 * and not saturated.
 */
bool put_counter(struct evidence_job *job, size_t line, struct slice name, struct slice value,
                 uint64_t *out);

/*
 * A finding of `rule` (evidence/rules.h) on the job's subject. A second one of the same rule and
 * subject adds to the count and moves last_line; the first message stays. Severity and hint are
 * the rule's.
 */
void put_finding(struct evidence_job *job, size_t line, const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * The same of a count that one file shows once: it may all be old, so the severity is one below the
 * rule's and the message says so. job_growth() raises it when a second sample, or the packets that
 * it is one of, show that it is not.
 */
void put_past(struct evidence_job *job, size_t line, const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Changes the finding of that rule and subject, or adds it; for job_growth(). */
void put_verdict(struct evidence_job *job, size_t line, const char *rule,
                 enum finding_severity severity, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
