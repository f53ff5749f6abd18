#pragma once
/*
 * tests/unit/fleet/evidence_test.h - files of tests/data/evidence against what they say.
 */
#include "tests/unit/test.h"

#include "fleet/evidence/evidence.h"

#define EVIDENCE_FOLDER "data/evidence/"

/* Reads tests/data/evidence/<file>; its kind is `kind`. */
static inline struct evidence *evidence_of(const char *file, const char *kind)
{
    char path[TEST_PATH_MAX];
    size_t len;
    struct err err = ERR_INIT;
    struct evidence *e = NULL;
    snprintf(path, sizeof(path), "%s%s", EVIDENCE_FOLDER, file);
    OWN(str) char *bytes = test_load(path, &len);
    assert_ok(evidence_read(file, bytes, len, &e, &err));
    if (strcmp(e->kind, kind) != 0)
        fail_msg("%s is read as %s, wanted %s", file, e->kind, kind);
    return e;
}

static inline struct evidence *evidence_of_text(const char *text)
{
    struct err err = ERR_INIT;
    struct evidence *e = NULL;
    assert_ok(evidence_read(NULL, text, strlen(text), &e, &err));
    return e;
}

/* value: the text; "?" = unknown; "!255" = saturated at it; NULL = there is no such fact. `nth` is
 * which of several facts of that name on that subject, from 0. */
struct expected_fact {
    const char *subject, *name, *value;
    size_t nth;
};

/* count 0 = the rule has no finding; subject NULL = on any. */
struct expected_finding {
    const char *rule, *subject;
    uint32_t count;
};

#define EXPECTED_MAX 64

struct expected_file {
    const char *file, *kind;
    struct expected_fact facts[EXPECTED_MAX];       /* up to one without a name */
    struct expected_finding findings[EXPECTED_MAX]; /* all of them, up to one without a rule */
};

static inline const struct evidence_fact *nth_fact(const struct evidence *e,
                                                   const struct expected_fact *wanted)
{
    size_t nth = wanted->nth;
    for (size_t i = 0; i < e->fact_count; i++) {
        const struct evidence_fact *fact = &e->facts[i];
        if (strcmp(fact->subject, wanted->subject) == 0 &&
            (strcmp(fact->name, wanted->name) == 0 || strcmp(fact->raw, wanted->name) == 0) &&
            nth-- == 0)
            return fact;
    }
    return NULL;
}

static inline void check_fact(const char *file, const struct evidence *e,
                              const struct expected_fact *wanted)
{
    static const char marks[] = {
        [EVIDENCE_KNOWN] = 0, [EVIDENCE_UNKNOWN] = '?', [EVIDENCE_SATURATED] = '!'};
    const struct evidence_fact *fact = nth_fact(e, wanted);
    if (fact == NULL && wanted->value != NULL)
        fail_msg("%s: no fact '%s' %s", file, wanted->subject, wanted->name);
    if (fact != NULL && wanted->value == NULL)
        fail_msg("%s: '%s' %s is %s, wanted none", file, fact->subject, fact->name, fact->value);
    if (fact == NULL)
        return;
    char got[EVIDENCE_VALUE_MAX + 1];
    char mark = marks[fact->state];
    if (mark != 0)
        snprintf(got, sizeof(got), "%c%s", mark, fact->value);
    else
        snprintf(got, sizeof(got), "%s", fact->value);
    if (strcmp(got, wanted->value) != 0)
        fail_msg("%s: '%s' %s is '%s', wanted '%s'", file, wanted->subject, wanted->name, got,
                 wanted->value);
}

static inline void check_findings(const char *file, const struct evidence *e,
                                  const struct expected_finding *wanted)
{
    size_t count = 0;
    for (; wanted[count].rule != NULL; count++) {
        const struct finding *f = evidence_finding(e, wanted[count].rule, wanted[count].subject);
        if (f == NULL)
            fail_msg("%s: no finding %s on '%s'", file, wanted[count].rule,
                     wanted[count].subject != NULL ? wanted[count].subject : "any");
        else
            assert_int_equal(e->proofs[f - e->findings.items].count, wanted[count].count);
    }
    for (size_t i = count; i < e->findings.count; i++) {
        if (e->findings.count > count)
            fail_msg("%s: %zu findings, wanted %zu; one is %s on '%s': %s", file, e->findings.count,
                     count, e->findings.items[i].rule, e->findings.items[i].subject,
                     e->findings.items[i].message);
    }
}

static inline void check_evidence(const struct evidence *e, const struct expected_file *wanted)
{
    for (size_t i = 0; i < EXPECTED_MAX && wanted->facts[i].name != NULL; i++)
        check_fact(wanted->file, e, &wanted->facts[i]);
    check_findings(wanted->file, e, wanted->findings);
    assert_false(e->truncated);
}

static inline void check_file(const struct expected_file *wanted)
{
    OWN(evidence) struct evidence *e = evidence_of(wanted->file, wanted->kind);
    check_evidence(e, wanted);
}

/* The file is its text. */
static inline void check_text(const struct expected_file *wanted)
{
    OWN(evidence) struct evidence *e = evidence_of_text(wanted->file);
    if (strcmp(e->kind, wanted->kind) != 0)
        fail_msg("read as %s, wanted %s: %s", e->kind, wanted->kind, wanted->file);
    check_evidence(e, wanted);
}
