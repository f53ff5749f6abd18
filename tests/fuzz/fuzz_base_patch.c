/*
 * tests/fuzz/fuzz_base_patch.c - an array [DOCUMENT, PATCH]: what a patch makes of a document stays
 * within the parser's depth and leaves the document alone; the difference between the two makes one
 * of the other.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_diff.h"
#include "base/json_patch.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_result(const json_t *result)
{
    size_t len;
    OWN(str) char *text = json_canonical(result, &len);
    OWN(json) json_t *back = NULL;
    must(text != NULL);
    must(json_parse_limit(text, len, SIZE_MAX, true, &back, NULL) == ERR_OK);
}

static void check_diff(const json_t *a, const json_t *b)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *patch = json_diff(a, b);
    OWN(json) json_t *made = NULL;
    OWN(str) char *text = json_diff_text(a, b, "a", "b");
    must(patch != NULL && text != NULL);
    must(json_patch_apply(a, patch, &made, &err) == ERR_OK);
    must(json_equal(made, b));
    must((text[0] == '\0') == (json_equal(a, b) != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *both = NULL;
    if (json_parse_limit((const char *)data, size, 64 * 1024, true, &both, &err) != ERR_OK ||
        json_array_size(both) != 2)
        return 0;
    const json_t *document = json_array_get(both, 0), *patch = json_array_get(both, 1);
    OWN(json) json_t *kept = json_deep_copy(document);
    OWN(json) json_t *patched = NULL;
    OWN(json) json_t *merged = NULL;
    if (json_patch_apply(document, patch, &patched, &err) == ERR_OK)
        check_result(patched);
    else
        must(patched == NULL && err.text[0] != '\0');
    if (json_merge_apply(document, patch, &merged, &err) == ERR_OK)
        check_result(merged);
    must(json_equal(document, kept));
    check_diff(document, patch);
    return 0;
}
