/*
 * base/schema_report.c - what the validator says; see schema_node.h.
 */
#include "base/schema_node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define RULE        "schema"
#define NAMES_MAX   256 /* members that a misspelt one is compared with */
#define TEXT_MAX    400
#define QUOTE_MAX   64
#define SUBJECT_MAX (QUOTE_MAX + 16)

static void path_pointer(const struct schema_path *path, char out[ERR_POINTER_MAX])
{
    if (path == NULL) {
        out[0] = '\0';
        return;
    }
    path_pointer(path->up, out);
    char number[24];
    if (path->key == NULL)
        snprintf(number, sizeof(number), "%zu", path->index);
    json_pointer_push(out, ERR_POINTER_MAX, path->key != NULL ? path->key : number);
}

/* "'priority'", "element 2", "the document": the subject of a message. */
static void path_subject(const struct schema_path *path, char out[SUBJECT_MAX])
{
    if (path == NULL) {
        strcpy(out, "the document");
    } else if (path->key == NULL) {
        snprintf(out, SUBJECT_MAX, "element %zu", path->index);
    } else {
        char quoted[QUOTE_MAX];
        text_quote(path->key, strlen(path->key), quoted, sizeof(quoted));
        snprintf(out, SUBJECT_MAX, "%s'%s'", path->is_the_name ? "the name " : "", quoted);
    }
}

void schema_describe(const json_t *value, char *out, size_t size)
{
    static const char *const names[] = {"an object", "an array", NULL,    NULL,
                                        NULL,        "true",     "false", "null"};
    char quoted[QUOTE_MAX];
    if (json_is_string(value)) {
        text_quote(json_string_value(value), json_string_length(value), quoted, sizeof(quoted));
        snprintf(out, size, "\"%s\"", quoted);
    } else if (json_is_integer(value)) {
        snprintf(out, size, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        OWN(str) char *text = json_canonical(value, NULL);
        snprintf(out, size, "%s", text != NULL ? text : "a real number");
    } else {
        snprintf(out, size, "%s", names[json_typeof(value)]);
    }
}

bool schema_report(struct schema_check *check, const struct schema_path *path,
                   const json_t *observed, const char *limit, const char *fmt, ...)
{
    if (check->findings == NULL)
        return false;
    char pointer[ERR_POINTER_MAX], subject[SUBJECT_MAX], text[TEXT_MAX], seen[QUOTE_MAX + 8],
        message[TEXT_MAX + 2 * QUOTE_MAX + 32];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    path_pointer(path, pointer);
    path_subject(path, subject);
    if (observed != NULL)
        schema_describe(observed, seen, sizeof(seen));
    snprintf(message, sizeof(message), "%s %s%s%s", subject, text,
             observed != NULL ? ", but is " : "", observed != NULL ? seen : "");
    struct finding finding = {
        .rule = RULE,
        .severity = FINDING_ERROR,
        .pointer = pointer,
        .message = message,
        .observed = observed != NULL ? seen : NULL,
        .limit = (char *)limit, /* only read */
    };
    finding_add(check->findings, &finding);
    return false;
}

bool schema_report_type(struct schema_check *check, const struct schema_path *path,
                        const json_t *instance, unsigned types)
{
    static const struct {
        unsigned bits;
        const char *name;
    } names[] = {
        {SCHEMA_TYPE_OBJECT, "an object"},   {SCHEMA_TYPE_ARRAY, "an array"},
        {SCHEMA_TYPE_STRING, "a string"},    {SCHEMA_TYPE_INTEGER | SCHEMA_TYPE_REAL, "a number"},
        {SCHEMA_TYPE_INTEGER, "an integer"}, {SCHEMA_TYPE_BOOLEAN, "true or false"},
        {SCHEMA_TYPE_NULL, "null"},
    };
    if (check->findings == NULL)
        return false;
    char wanted[128] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((types & names[i].bits) != names[i].bits)
            continue;
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof(wanted) - used, "%s%s", used > 0 ? " or " : "",
                 names[i].name);
        types &= ~names[i].bits;
    }
    return schema_report(check, path, instance, wanted, "must be %s", wanted);
}

bool schema_report_enum(struct schema_check *check, const struct schema_path *path,
                        const json_t *instance, const json_t *values)
{
    if (check->findings == NULL)
        return false;
    char wanted[256] = "", value[QUOTE_MAX + 8];
    for (size_t i = 0; i < json_array_size(values); i++) {
        size_t used = strlen(wanted);
        schema_describe(json_array_get(values, i), value, sizeof(value));
        if (used + strlen(value) + 8 > sizeof(wanted)) {
            snprintf(wanted + used, sizeof(wanted) - used, ", ...");
            break;
        }
        snprintf(wanted + used, sizeof(wanted) - used, "%s%s", i > 0 ? ", " : "", value);
    }
    return schema_report(check, path, instance, wanted, "must be %s%s",
                         json_array_size(values) == 1 ? "" : "one of ", wanted);
}

/* The names that a node declares, also through $ref and allOf. */
static size_t collect_names(const struct schema_node *node, const char **names, size_t count,
                            int depth)
{
    if (node == NULL || depth > 4)
        return count;
    for (size_t i = 0; node->object != NULL && i < node->object->property_count; i++)
        if (count < NAMES_MAX)
            names[count++] = node->object->properties[i].key;
    if (node->apply == NULL)
        return count;
    count = collect_names(node->apply->ref, names, count, depth + 1);
    for (size_t i = 0; i < node->apply->all_of.count; i++)
        count = collect_names(node->apply->all_of.nodes[i], names, count, depth + 1);
    return count;
}

bool schema_report_unknown(struct schema_check *check, const struct schema_path *path,
                           const struct schema_node *node, const char *key, size_t key_len)
{
    if (check->findings == NULL)
        return false;
    const char *names[NAMES_MAX];
    char pointer[ERR_POINTER_MAX], quoted[QUOTE_MAX], message[4 * QUOTE_MAX];
    const char *meant = text_closest(key, names, collect_names(node, names, 0, 0));
    text_quote(key, key_len, quoted, sizeof(quoted));
    path_pointer(path, pointer);
    snprintf(message, sizeof(message), "unknown member '%s'%s%.64s%s", quoted,
             meant != NULL ? "; did you mean '" : "", meant != NULL ? meant : "",
             meant != NULL ? "'?" : "");
    struct finding finding = {
        .rule = RULE, .severity = FINDING_ERROR, .pointer = pointer, .message = message};
    finding_add(check->findings, &finding);
    return false;
}
