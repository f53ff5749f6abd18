/*
 * fleet/evidence/tool_json.c - what the readers of tools' JSON output share.
 */
#include "fleet/evidence/tool_json.h"

#include <stdio.h>
#include <string.h>

bool tool_json_begins(const struct evidence_job *job, size_t i, const char *all,
                      const char *const *any)
{
    const char *const must[] = {all, NULL};
    return json_part_begins(job, i, any) && (all == NULL || json_part_begins(job, i, must));
}

size_t tool_json_read(struct evidence_job *job, size_t i,
                      void (*object)(struct evidence_job *job, struct json_part *part,
                                     const json_t *object))
{
    struct json_part part;
    json_part_read(job, i, &part);
    if (json_is_object(part.root))
        object(job, &part, part.root);
    for (size_t k = 0; k < json_array_size(part.root); k++) {
        if (json_is_object(json_array_get(part.root, k)))
            object(job, &part, json_array_get(part.root, k));
    }
    size_t next = part.next;
    json_part_release(&part);
    return next;
}

const char *tool_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

void tool_json_word(const json_t *value, char *out, size_t size)
{
    if (json_is_integer(value))
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(out, size, "%s", json_is_string(value) ? json_string_value(value) : "");
}

bool tool_json_list(const json_t *array, char *out, size_t size)
{
    char word[EVIDENCE_VALUE_MAX];
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(array); i++) {
        tool_json_word(json_array_get(array, i), word, sizeof(word));
        size_t more = strlen(word) + (i > 0 ? 1 : 0);
        if (word[0] == '\0' || len + more >= size)
            return false;
        snprintf(out + len, size - len, "%s%s", i > 0 ? "," : "", word);
        len += more;
    }
    return len > 0;
}
