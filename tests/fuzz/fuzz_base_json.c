/*
 * tests/fuzz/fuzz_base_json.c - the JSON parser against jansson's: what ours accepts, jansson reads
 * as the same value; the canonical text reads back to the same text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_round_trip(const json_t *value)
{
    size_t len, again_len;
    char *text = json_canonical(value, &len);
    json_t *back = NULL;
    must(text != NULL);
    must(json_parse_limit(text, len, SIZE_MAX, true, &back, NULL) == ERR_OK);
    must(json_equal(value, back));
    char *again = json_canonical(back, &again_len);
    must(again != NULL && again_len == len && memcmp(text, again, len) == 0);
    free(again);
    free(text);
    json_decref(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    json_t *ours = NULL;
    enum err_code code =
        json_parse_limit((const char *)data, size, JSON_TEXT_MAX, true, &ours, &err);
    json_error_t error;
    json_t *theirs =
        json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (code == ERR_OK) {
        must(theirs != NULL && json_equal(ours, theirs));
        check_round_trip(ours);
    } else {
        must(ours == NULL && err.text[0] != '\0' && err.code == code);
    }
    json_decref(ours);
    json_decref(theirs);
    return 0;
}
