/*
 * base/json_reader.c - members of an object by name, type and range; see json.h.
 */
#include "base/json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define QUOTE_MAX 64

void json_reader_pointer(const struct json_reader *r, const char *key, char out[ERR_POINTER_MAX])
{
    text_copy(out, ERR_POINTER_MAX, r->pointer);
    json_pointer_push(out, ERR_POINTER_MAX, key);
}

static void add_problem(struct json_reader *r, const char *key, const struct finding *problem)
{
    char pointer[ERR_POINTER_MAX];
    json_reader_pointer(r, key, pointer);
    struct finding finding = *problem;
    finding.rule = r->rule;
    finding.severity = FINDING_ERROR;
    finding.pointer = pointer;
    finding_add(r->findings, &finding);
}

/* `wanted` is what the value must be, e.g. "an integer from 0 to 7". */
static void wrong_value(struct json_reader *r, const char *key, const json_t *value,
                        const char *wanted)
{
    char message[512], seen[QUOTE_MAX + 2];
    switch (json_typeof(value)) {
    case JSON_STRING:
        seen[0] = '"';
        text_quote(json_string_value(value), json_string_length(value), seen + 1, QUOTE_MAX);
        strcat(seen, "\"");
        break;
    case JSON_INTEGER:
        snprintf(seen, sizeof(seen), "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(seen, sizeof(seen), "%.17g", json_real_value(value));
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        snprintf(seen, sizeof(seen), "%s", json_type_name(value));
        break;
    }
    snprintf(message, sizeof(message), "'%s' must be %s, but is %s", key, wanted, seen);
    add_problem(r, key,
                &(struct finding){.message = message, .observed = seen, .limit = (char *)wanted});
}

/* The pointer stands in r already. Nearly every object that is read has no finding: nothing is
 * formatted before there is one. */
static void start(struct json_reader *r, const json_t *value, const char *rule,
                  struct finding_list *findings)
{
    r->object = json_is_object(value) ? value : NULL;
    r->findings = findings;
    r->rule = rule;
    r->seen = r->asked_count = 0;
    if (r->object == NULL)
        finding_addf(findings, rule, FINDING_ERROR, r->pointer,
                     "an object { ... } is expected here, but %s stands here",
                     value == NULL ? "nothing" : json_type_name(value));
}

void json_reader_init(struct json_reader *r, const json_t *value, const char *pointer,
                      struct finding_list *findings)
{
    text_copy(r->pointer, sizeof(r->pointer), pointer);
    start(r, value, "schema", findings);
}

static void remember(struct json_reader *r, const char *key, bool present)
{
    for (size_t i = 0; i < r->asked_count; i++)
        if (r->asked[i] == key || strcmp(r->asked[i], key) == 0)
            return;
    assert(r->asked_count < JSON_READER_MEMBERS_MAX);
    r->asked[r->asked_count++] = key;
    r->seen += present;
}

/* The member's value, or NULL; a missing one is a problem when it is required. */
static const json_t *take(struct json_reader *r, const char *key, bool required)
{
    if (r->object == NULL)
        return NULL; /* one finding has said that there is no object */
    const json_t *value = json_object_get(r->object, key);
    remember(r, key, value != NULL);
    if (value == NULL && required) {
        char message[256];
        snprintf(message, sizeof(message), "the member '%s' is missing", key);
        add_problem(r, key, &(struct finding){.message = message});
    }
    return value;
}

bool json_reader_int(struct json_reader *r, const char *key, bool required, int64_t min,
                     int64_t max, int64_t *out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max) {
        char wanted[96];
        snprintf(wanted, sizeof(wanted), "an integer from %lld to %lld", (long long)min,
                 (long long)max);
        wrong_value(r, key, value, wanted);
        return false;
    }
    *out = json_integer_value(value);
    return true;
}

bool json_reader_bool(struct json_reader *r, const char *key, bool required, bool *out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    if (!json_is_boolean(value)) {
        wrong_value(r, key, value, "true or false");
        return false;
    }
    *out = json_is_true(value);
    return true;
}

/* Whether a string holds a character that a reader cannot see; then it is a problem. */
static bool is_hiding(struct json_reader *r, const char *key, const json_t *value)
{
    uint32_t hidden;
    if (!text_find_hidden(json_string_value(value), json_string_length(value), &hidden))
        return false;
    char message[256];
    snprintf(message, sizeof(message),
             "'%s' holds the control or invisible character U+%04X; remove it", key,
             (unsigned)hidden);
    add_problem(r, key, &(struct finding){.message = message});
    return true;
}

bool json_reader_string(struct json_reader *r, const char *key, bool required, size_t min_len,
                        size_t max_len, const char **out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL || (json_is_string(value) && is_hiding(r, key, value)))
        return false;
    size_t len = json_string_length(value);
    if (!json_is_string(value) || len < min_len || len > max_len) {
        char wanted[96];
        snprintf(wanted, sizeof(wanted), "a string of %zu to %zu bytes", min_len, max_len);
        wrong_value(r, key, value, wanted);
        return false;
    }
    *out = json_string_value(value);
    return true;
}

bool json_reader_enum(struct json_reader *r, const char *key, bool required,
                      const char *const *names, int *out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    for (int i = 0; json_is_string(value) && names[i] != NULL; i++) {
        if (strcmp(json_string_value(value), names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    char wanted[256] = "one of";
    for (int i = 0; names[i] != NULL; i++) {
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof(wanted) - used, "%s \"%s\"", i == 0 ? "" : ",", names[i]);
    }
    wrong_value(r, key, value, wanted);
    return false;
}

bool json_reader_bandwidth(struct json_reader *r, const char *key, bool required,
                           struct bandwidth *out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    if (!json_is_string(value)) {
        wrong_value(r, key, value, "a bandwidth such as \"40%\" or \"90Gbps\"");
        return false;
    }
    if (is_hiding(r, key, value))
        return false;
    const char *text = json_string_value(value);
    struct err err = ERR_INIT;
    if (bandwidth_parse(text, out, &err)) {
        char message[ERR_TEXT_MAX + 64];
        snprintf(message, sizeof(message), "'%s': %s", key, err.text);
        char seen[QUOTE_MAX];
        text_quote(text, json_string_length(value), seen, sizeof(seen));
        add_problem(r, key, &(struct finding){.message = message, .observed = seen});
        return false;
    }
    return true;
}

bool json_reader_array(struct json_reader *r, const char *key, bool required, size_t max_items,
                       const json_t **out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    if (json_is_array(value) && json_array_size(value) <= max_items) {
        *out = value;
        return true;
    }
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "an array of at most %zu elements", max_items);
    if (!json_is_array(value)) {
        wrong_value(r, key, value, wanted);
    } else {
        char message[256], seen[32];
        snprintf(seen, sizeof(seen), "%zu elements", json_array_size(value));
        snprintf(message, sizeof(message), "'%s' must be %s, but has %zu", key, wanted,
                 json_array_size(value));
        add_problem(r, key,
                    &(struct finding){.message = message, .observed = seen, .limit = wanted});
    }
    return false;
}

bool json_reader_any(struct json_reader *r, const char *key, bool required, const json_t **out)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    *out = value;
    return true;
}

bool json_reader_object(struct json_reader *r, const char *key, bool required,
                        struct json_reader *sub)
{
    const json_t *value = take(r, key, required);
    if (value == NULL)
        return false;
    json_reader_child(r, key, value, sub);
    return sub->object != NULL;
}

void json_reader_child(const struct json_reader *r, const char *key, const json_t *value,
                       struct json_reader *sub)
{
    json_reader_pointer(r, key, sub->pointer);
    start(sub, value, r->rule, r->findings);
}

void json_reader_element(const struct json_reader *r, const char *key, size_t index,
                         const json_t *element, struct json_reader *sub)
{
    char number[24];
    snprintf(number, sizeof(number), "%zu", index);
    json_reader_pointer(r, key, sub->pointer);
    json_pointer_push(sub->pointer, sizeof(sub->pointer), number);
    start(sub, element, r->rule, r->findings);
}

static bool was_asked(const struct json_reader *r, const char *key)
{
    for (size_t i = 0; i < r->asked_count; i++)
        if (strcmp(r->asked[i], key) == 0)
            return true;
    return false;
}

void json_reader_end(struct json_reader *r)
{
    if (r->object == NULL || r->seen == json_object_size(r->object))
        return;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)r->object, key, value)
    {
        if (was_asked(r, key))
            continue;
        char message[256], quoted[QUOTE_MAX];
        text_quote(key, strlen(key), quoted, sizeof(quoted));
        const char *meant = text_closest(key, r->asked, r->asked_count);
        snprintf(message, sizeof(message), "unknown member '%s'%s%s%s", quoted,
                 meant != NULL ? "; did you mean '" : "", meant != NULL ? meant : "",
                 meant != NULL ? "'?" : "");
        add_problem(r, key, &(struct finding){.message = message});
    }
}
