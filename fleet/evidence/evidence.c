/*
 * fleet/evidence/evidence.c - bytes in, facts and findings out.
 */
#include "fleet/evidence/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "fleet/evidence/line.h"
#include "fleet/evidence/reader.h"
#include "fleet/evidence/store.h"
#include "fleet/read.h"

static const char *kind_of(const struct evidence *e)
{
    if (e->section_count == 0)
        return "unknown";
    for (size_t i = 1; i < e->section_count; i++) {
        if (strcmp(e->sections[i].kind, e->sections[0].kind) != 0)
            return "bundle";
    }
    return e->sections[0].kind;
}

static struct evidence *evidence_new(void)
{
    struct evidence *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    finding_list_init(&e->findings);
    e->store = store_new();
    e->sections = calloc(EVIDENCE_SECTIONS_MAX, sizeof(*e->sections));
    e->proofs = calloc(FINDING_LIST_MAX, sizeof(*e->proofs));
    if (e->store == NULL || e->sections == NULL || e->proofs == NULL) {
        evidence_free(e);
        return NULL;
    }
    return e;
}

enum err_code evidence_read(const char *name, const char *bytes, size_t len, struct evidence **out,
                            struct err *err)
{
    if (len > EVIDENCE_BYTES_MAX)
        return err_set(err, ERR_LIMIT, "%s has %zu bytes, at most %u are read: send it in parts",
                       name != NULL ? name : "the file", len, EVIDENCE_BYTES_MAX);
    OWN(evidence) struct evidence *e = evidence_new();
    struct lines lines;
    if (e == NULL)
        return err_nomem(err);
    enum err_code code = lines_cut(bytes, len, &lines, err);
    if (code)
        return code;
    struct evidence_job job = {
        .bytes = bytes,
        .len = len,
        .lines = lines.items,
        .line_count = lines.count,
        .command = {.at = "", .len = 0},
        .out = e,
    };
    if (name != NULL)
        job_name(&job, name);
    e->line_count = lines.count;
    e->truncated = lines.truncated;
    job_walk(&job);
    job_growth(&job);
    lines_release(&lines);
    if (job.nomem || e->findings.nomem)
        return err_nomem(err);
    e->kind = kind_of(e);
    *out = GIVE(e);
    return ERR_OK;
}

void evidence_free(struct evidence *evidence)
{
    if (evidence == NULL)
        return;
    finding_list_release(&evidence->findings);
    store_free(evidence->store);
    free(evidence->sections);
    free(evidence->facts);
    free(evidence->proofs);
    free(evidence);
}

const struct evidence_fact *evidence_get(const struct evidence *evidence, const char *subject,
                                         const char *name)
{
    for (size_t i = 0; i < evidence->fact_count; i++) {
        const struct evidence_fact *fact = &evidence->facts[i];
        if (strcmp(fact->subject, subject) == 0 &&
            (strcmp(fact->name, name) == 0 || strcmp(fact->raw, name) == 0))
            return fact;
    }
    return NULL;
}

bool evidence_get_uint(const struct evidence *evidence, const char *subject, const char *name,
                       uint64_t *out)
{
    const struct evidence_fact *fact = evidence_get(evidence, subject, name);
    return fact != NULL && fact->state == EVIDENCE_KNOWN && fact->type == EVIDENCE_INTEGER &&
           slice_uint(slice_of(fact->value), out);
}

const struct finding *evidence_finding(const struct evidence *evidence, const char *rule,
                                       const char *subject)
{
    for (size_t i = 0; i < evidence->findings.count; i++) {
        const struct finding *finding = &evidence->findings.items[i];
        if (strcmp(finding->rule, rule) == 0 &&
            (subject == NULL || strcmp(finding->subject, subject) == 0))
            return finding;
    }
    return NULL;
}

const char *evidence_state_name(enum evidence_state state)
{
    static const char *const names[] = {
        [EVIDENCE_KNOWN] = "known",
        [EVIDENCE_UNKNOWN] = "unknown",
        [EVIDENCE_SATURATED] = "saturated",
    };
    return names[state];
}

/* An integer that JSON readers keep exactly is a number; a larger one and a decimal are texts. */
static json_t *value_to_json(const struct evidence_fact *fact)
{
    uint64_t value;
    bool negative = fact->value[0] == '-';
    if (fact->state == EVIDENCE_UNKNOWN)
        return json_null();
    if (fact->type == EVIDENCE_INTEGER && slice_uint(slice_of(fact->value + negative), &value) &&
        value <= INT64_MAX)
        return json_integer(negative ? -(json_int_t)value : (json_int_t)value);
    return json_string(fact->value);
}

static json_t *fact_to_json(const struct evidence_fact *fact)
{
    static const char *const types[] = {
        [EVIDENCE_TEXT] = "text",
        [EVIDENCE_INTEGER] = "integer",
        [EVIDENCE_DECIMAL] = "decimal",
    };
    json_t *object = json_object();
    bool right = write_member(object, "subject", json_string(fact->subject)) &&
                 write_member(object, "name", json_string(fact->name)) &&
                 write_text(object, "raw_name", fact->raw) &&
                 write_member(object, "value", value_to_json(fact)) &&
                 write_member(object, "type", json_string(types[fact->type])) &&
                 write_text(object, "unit", fact->unit) &&
                 write_member(object, "state", json_string(evidence_state_name(fact->state))) &&
                 write_member(object, "line", json_integer(fact->line));
    if (right)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *finding_with_proof(const struct evidence *e, size_t i)
{
    const struct evidence_proof *proof = &e->proofs[i];
    json_t *object = finding_to_json(&e->findings.items[i]);
    if (object != NULL && write_member(object, "count", json_integer(proof->count)) &&
        write_member(object, "line", json_integer(proof->first_line)) &&
        write_member(object, "last_line", json_integer(proof->last_line)))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *section_to_json(const struct evidence_section *section)
{
    return json_pack("{s:s,s:s,s:i,s:i}", "kind", section->kind, "tool", section->tool, "line",
                     (int)section->first_line, "last_line", (int)section->last_line);
}

/* Appends; false = no memory. value is taken. */
static bool append(json_t *array, json_t *value)
{
    return value != NULL && json_array_append_new(array, value) == 0;
}

json_t *evidence_to_json(const struct evidence *e)
{
    OWN(json) json_t *sections = json_array();
    OWN(json) json_t *facts = json_array();
    OWN(json) json_t *findings = json_array();
    bool right = sections != NULL && facts != NULL && findings != NULL;
    for (size_t i = 0; right && i < e->section_count; i++)
        right = append(sections, section_to_json(&e->sections[i]));
    for (size_t i = 0; right && i < e->fact_count; i++)
        right = append(facts, fact_to_json(&e->facts[i]));
    for (size_t i = 0; right && i < e->findings.count; i++)
        right = append(findings, finding_with_proof(e, i));
    if (!right)
        return NULL;
    return json_pack("{s:i,s:s,s:I,s:I,s:b,s:O,s:O,s:O}", "version", 1, "kind", e->kind, "lines",
                     (json_int_t)e->line_count, "unread_lines", (json_int_t)e->unread_lines,
                     "truncated", e->truncated, "sections", sections, "facts", facts, "findings",
                     findings);
}
