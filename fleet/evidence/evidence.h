#pragma once
/*
 * fleet/evidence/evidence.h - what the tools of an operator printed, as facts and findings.
 *
 * evidence_read() takes the bytes of one file (the output of a tool, a log, a document, or several
 * of them one after another with shell prompts between) and tells what stands in it. It recognises
 * each part by its content, never by the file's name. No I/O, no clock: same bytes in, same
 * evidence out.
 *
 * A fact is one thing that the file says: subject, name, value, state, line. A number that cannot
 * be read exactly is unknown, never 0 and never a near value. A finding is what a rule
 * (evidence/rules.h) saw in the facts; a file without findings is clean.
 *
 * Subjects are paths of typed parts, "TYPE ID" each, outermost first:
 *   host | rdma mlx5_0 | port mlx5_0/1 | port mlx5_0/1 qp 258 | netdev eth0 | netdev eth0 prio 3 |
 *   netdev eth0 queue 7 | netdev eth0 tc 2 | pci 0000:3b:00.0 | gpu 0000:9b:00.0 | irq 98 |
 *   switch-port Ethernet4 prio 3 | process 9829 | peer 192.0.2.1 | run 65536
 * A part whose id the file does not say is its type alone ("netdev", "netdev prio 3").
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"

#define EVIDENCE_BYTES_MAX    (16u * 1024 * 1024)
#define EVIDENCE_LINES_MAX    500000 /* of a file */
#define EVIDENCE_LINE_MAX     16384  /* of a line: a longer one is skipped, but for a document */
#define EVIDENCE_FACTS_MAX    100000
#define EVIDENCE_SECTIONS_MAX 1024
#define EVIDENCE_SUBJECT_MAX  192 /* bytes with the NUL */
#define EVIDENCE_NAME_MAX     96  /* the same, of a fact's name */
#define EVIDENCE_VALUE_MAX    512 /* the same, of a text; longer ones are cut on a character */

enum evidence_state {
    EVIDENCE_KNOWN = 0,
    EVIDENCE_UNKNOWN, /* the file says that nobody knows ("N/A", "-", "???"), or no exact number */
    EVIDENCE_SATURATED, /* the counter stands at the end of its width: the value is a lower bound */
};

enum evidence_type {
    EVIDENCE_TEXT = 0,
    EVIDENCE_INTEGER, /* -2^63 to 2^64-1, exact */
    EVIDENCE_DECIMAL, /* exact decimal text */
};

/* Texts belong to the evidence. */
struct evidence_fact {
    const char *subject;
    const char *name;  /* canonical (evidence/counter.h), or the tool's own */
    const char *raw;   /* the tool's own name where it is another; "" = the same */
    const char *value; /* "" when unknown; an integer as decimal digits, a decimal with a point */
    const char *unit;  /* "" = none */
    enum evidence_state state;
    enum evidence_type type;
    uint32_t line;    /* from 1: where the value stands */
    uint32_t section; /* index into sections */
};

/* Beside each finding of the list, at the same index. */
struct evidence_proof {
    uint32_t count;      /* how often the rule saw it on this subject */
    uint32_t first_line; /* from 1; 0 = the file as a whole */
    uint32_t last_line;
};

struct evidence_section {
    const char *kind; /* "ethtool-S", "perftest", ...: static */
    const char *tool; /* variant: "ibstatus", "mlxlink", ...: static */
    uint32_t first_line, last_line;
};

struct evidence_store; /* private: where the texts stand */

struct evidence {
    const char *kind; /* of all sections; "bundle" when they differ; "unknown" without any */
    struct evidence_section *sections;
    size_t section_count;
    struct evidence_fact *facts; /* in the order of the file */
    size_t fact_count, fact_room;
    struct finding_list findings;
    struct evidence_proof *proofs; /* as many as findings */
    size_t line_count;
    size_t unread_lines; /* neither blank nor part of a section */
    bool truncated;      /* a limit was met: there is more in the file than in the evidence */
    struct evidence_store *store;
};

/*
 * `name` (may be NULL) is for messages, and for the subject where it is a command as sosreport
 * writes it ("ethtool_-S_eth0"); it never decides the kind. *out is owned by the caller. ERR_LIMIT
 * (over EVIDENCE_BYTES_MAX), ERR_NOMEM. A file that nobody recognises is ERR_OK with kind
 * "unknown".
 */
ERR_MUST_CHECK enum err_code evidence_read(const char *name, const char *bytes, size_t len,
                                           struct evidence **out, struct err *err);
void evidence_free(struct evidence *evidence);
OWN_DEFINE(evidence, struct evidence *, evidence_free)

/* The first fact of that subject and name (its own or the raw one); NULL = none. */
const struct evidence_fact *evidence_get(const struct evidence *evidence, const char *subject,
                                         const char *name);
/* The value of a known integer fact; false when it is absent, unknown, saturated, negative or no
 * integer. */
bool evidence_get_uint(const struct evidence *evidence, const char *subject, const char *name,
                       uint64_t *out);
/* The finding of that rule on that subject (NULL = any); NULL = none. */
const struct finding *evidence_finding(const struct evidence *evidence, const char *rule,
                                       const char *subject);

const char *evidence_state_name(enum evidence_state state); /* "known", "unknown", "saturated" */

/* A document of schemas/evidence.json, owned by the caller; NULL without memory. */
json_t *evidence_to_json(const struct evidence *evidence);
