#pragma once
/*
 * base/finding.h - what a rule saw: one observation on one subject.
 *
 * Validation, hardware compatibility, diagnosis and health all speak findings; one JSON shape:
 *   {"rule":"bw-limit-floor","severity":"error","subject":"tenant/a/job/cv_job",
 *    "pointer":"/qos_policy/cv_job/bw_limit","message":"...","observed":"60%","limit":"63%",
 *    "hint":"..."}
 * Members that are empty are left out.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"
#include "base/own.h"

enum finding_severity {
    FINDING_INFO = 0,
    FINDING_WARNING,
    FINDING_ERROR,    /* refuses a document */
    FINDING_CRITICAL, /* health: acts now */
};

/* All strings are owned by the list that holds the finding; NULL = absent. */
struct finding {
    const char *rule; /* kebab-case public id, static storage or owned by the list's arena */
    enum finding_severity severity;
    char *subject;  /* what it is about, e.g. "node/n1/port/0000:3b:00.0/0" */
    char *pointer;  /* JSON Pointer into the document, "" = whole document */
    char *message;  /* what happened and where */
    char *observed; /* the value seen, with unit */
    char *limit;    /* the value that would pass, with unit */
    char *hint;     /* what to do */
};

/* A list keeps at most this many; more set `truncated`. */
#define FINDING_LIST_MAX 256

struct finding_list {
    struct finding *items;
    size_t count;
    size_t capacity;
    bool truncated;
    bool nomem; /* an allocation failed: the list is not complete, treat as an error */
    enum finding_severity worst; /* FINDING_INFO if empty */
};

void finding_list_init(struct finding_list *list);
void finding_list_release(struct finding_list *list);

/*
 * Appends a copy. `rule` must outlive the list (string literal or rule table). Never fails
 * visibly: over FINDING_LIST_MAX it sets truncated, without memory it sets nomem; `worst` is kept
 * right in both cases.
 */
void finding_add(struct finding_list *list, const struct finding *finding);

/* Short form: rule, severity, pointer (may be NULL) and a formatted message. */
void finding_addf(struct finding_list *list, const char *rule, enum finding_severity severity,
                  const char *pointer, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Appends copies of all of `from`. */
void finding_list_append(struct finding_list *list, const struct finding_list *from);

bool finding_list_has_errors(const struct finding_list *list); /* worst >= ERROR or nomem */

/* A JSON array, owned by the caller; NULL without memory. */
json_t *finding_list_to_json(const struct finding_list *list);
json_t *finding_to_json(const struct finding *finding);

const char *finding_severity_name(enum finding_severity severity); /* "info", "warning", ... */

OWN_DEFINE(finding_list, struct finding_list *, finding_list_release)
/* For lists in place: `OWN_FINDINGS struct finding_list f; finding_list_init(&f);` */
#define OWN_FINDINGS __attribute__((cleanup(finding_list_release)))
