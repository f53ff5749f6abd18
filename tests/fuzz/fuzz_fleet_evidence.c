/*
 * tests/fuzz/fuzz_fleet_evidence.c - any file as evidence: clean texts, exact numbers, lines that
 * exist, a document that holds its schema, and the same again from the same bytes.
 */
#include "base/json.h"
#include "base/schema.h"
#include "base/text.h"
#include "fleet/evidence/evidence.h"
#include "fleet/evidence/slice.h"
#include "tests/fuzz/fuzz.h"

static void check_words(const char *text, size_t size)
{
    uint32_t hidden;
    must(strlen(text) < size);
    for (const char *c = text; *c != '\0'; c++)
        must(*c == '\t' || ((unsigned char)*c >= 0x20 && *c != 0x7f));
    must(strchr(text, '\t') != NULL || !text_find_hidden(text, strlen(text), &hidden));
}

static void check_fact(const struct evidence *e, const struct evidence_fact *fact)
{
    check_words(fact->subject, EVIDENCE_SUBJECT_MAX);
    check_words(fact->name, EVIDENCE_NAME_MAX);
    check_words(fact->value, EVIDENCE_VALUE_MAX);
    must(fact->line >= 1 && fact->line <= e->line_count);
    must(fact->section < e->section_count);
    if (fact->state == EVIDENCE_UNKNOWN) {
        must(fact->value[0] == '\0');
    } else if (fact->type != EVIDENCE_TEXT) {
        /* Canonical: read again it is itself. */
        struct number number = number_read(slice_of(fact->value));
        must(number.kind == (fact->type == EVIDENCE_INTEGER ? NUMBER_INTEGER : NUMBER_DECIMAL));
        must(strcmp(number.text, fact->value) == 0);
    }
}

static json_t *check(const struct evidence *e)
{
    for (size_t i = 0; i < e->fact_count; i++)
        check_fact(e, &e->facts[i]);
    for (size_t i = 0; i < e->findings.count; i++) {
        must(e->proofs[i].count >= 1 && e->proofs[i].first_line >= 1);
        must(e->proofs[i].first_line <= e->line_count);
        check_words(e->findings.items[i].message, EVIDENCE_VALUE_MAX);
    }
    for (size_t i = 0; i < e->section_count; i++)
        must(e->sections[i].first_line <= e->sections[i].last_line);
    must(e->section_count > 0 || (e->fact_count == 0 && strcmp(e->kind, "unknown") == 0));
    json_t *document = evidence_to_json(e);
    must(document != NULL);
    must(schema_validate(schema_get("evidence"), document, NULL));
    return document;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(evidence) struct evidence *first = NULL;
    OWN(evidence) struct evidence *second = NULL;
    must(evidence_read(NULL, (const char *)data, size, &first, NULL) == ERR_OK);
    must(evidence_read("other", (const char *)data, size, &second, NULL) == ERR_OK);
    OWN(json) json_t *a = check(first);
    OWN(json) json_t *b = check(second);
    must(json_equal(a, b));
    return 0;
}
