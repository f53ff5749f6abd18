/*
 * tests/fuzz/fuzz_base_schema.c - a schema and an instance from one input: [schema, instance].
 * Both modes of the validator must agree, and a no must come with a finding.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void validate(const struct schema *schema, const json_t *instance)
{
    struct finding_list findings;
    finding_list_init(&findings);
    bool fast = schema_validate(schema, instance, NULL);
    bool told = schema_validate(schema, instance, &findings);
    /* The mode with findings goes on after the first problem and may meet a limit that the other
     * did not; then both say no, or only the thorough one does. */
    if ((told && !fast) || told != (findings.count == 0))
        abort();
    json_t *list = finding_list_to_json(&findings);
    if (list == NULL)
        abort();
    json_decref(list);
    finding_list_release(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *pair = NULL;
    struct err err = ERR_INIT;
    struct schema *schema = NULL;
    if (size > 4096 || json_parse_limit((const char *)data, size, 4096, true, &pair, &err))
        return 0;
    if (schema_compile(json_array_get(pair, 0), false, &schema, &err) == ERR_OK &&
        json_array_size(pair) == 2)
        validate(schema, json_array_get(pair, 1));
    schema_free(schema);
    json_decref(pair);
    return 0;
}
