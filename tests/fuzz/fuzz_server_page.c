/*
 * tests/fuzz/fuzz_server_page.c - what comes with a list from outside: page tokens, selectors,
 * fields. No made-up token is ever taken; what is taken does no harm.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "server/page_shape.h"
#include "server/page_token.h"
#include "server/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void try_fields(const char *text)
{
    struct err err = ERR_INIT;
    struct page_fields fields;
    OWN(json) json_t *open = json_pack("{ss}", "type", "object");
    OWN(json)
    json_t *items = json_loads("[{\"a\":{\"b\":1,\"b.c\":\"=2\"},\"d\":[1]},{\"a\":2}]", 0, NULL);
    if (page_fields_parse(text, NULL, open, &fields, &err) != ERR_OK)
        return;
    OWN(json) json_t *picked = page_fields_pick(&fields, json_array_get(items, 0));
    OWN(str) char *csv = page_csv(&fields, NULL, items);
    must(picked != NULL && csv != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char key[MAC_KEY_SIZE] = {7};
    char last[PAGE_KEY_SIZE], token[PAGE_TOKEN_SIZE], again[PAGE_KEY_SIZE];
    struct err err = ERR_INIT;
    struct selector selector;
    OWN(str) char *text = strndup((const char *)data, size);
    must(!page_token_open(key, "list", text, last));
    if (strlen(text) < PAGE_KEY_SIZE && text[0] != '\0') {
        page_token_seal(key, "list", text, token);
        must(page_token_open(key, "list", token, again) && strcmp(again, text) == 0);
    }
    if (selector_parse(text, &selector, &err) == ERR_OK)
        selector_matches(&selector, NULL);
    if (!text_find_hidden(text, strlen(text), NULL)) /* http_url.c lets no other through */
        try_fields(text);
    return 0;
}
