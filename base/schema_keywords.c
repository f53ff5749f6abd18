/*
 * base/schema_keywords.c - one function a keyword of JSON Schema; see schema_node.h.
 */
#include "base/schema_node.h"
#include "base/schema_keywords.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The rules of a group are made when the first keyword of the group is met. */
#define RULES(group, unlimited)                                                                    \
    static struct schema_##group##_rules *group##_rules(struct schema_compiler *c,                 \
                                                        struct schema_node *node)                  \
    {                                                                                              \
        if (node->group == NULL) {                                                                 \
            node->group = schema_compile_alloc(c, sizeof(*node->group));                           \
            if (node->group != NULL) {                                                             \
                struct schema_##group##_rules *rules = node->group;                                \
                unlimited;                                                                         \
            }                                                                                      \
        }                                                                                          \
        return node->group;                                                                        \
    }
RULES(number, (void)rules)
RULES(string, rules->max_length = SIZE_MAX)
RULES(array, (rules->max_items = rules->max_contains = SIZE_MAX, rules->min_contains = 1))
RULES(apply, (void)rules)
#define object_rules schema_object_rules_of

static enum err_code read_size(struct schema_compiler *c, const json_t *value,
                               const struct schema_place *place, size_t *out)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || !schema_is_integral(value) || number < 0 || number > 1e15)
        return schema_compile_fault(c, place, "must be a whole number from 0 to 10^15");
    *out = (size_t)number;
    return ERR_OK;
}

static enum err_code read_list(struct schema_compiler *c, const json_t *value,
                               const struct schema_place *place, struct schema_list *out)
{
    size_t count = json_array_size(value);
    if (count == 0)
        return schema_compile_fault(c, place, "must be an array of one schema or more");
    out->nodes = schema_compile_alloc(c, count * sizeof(struct schema_node *));
    if (out->nodes == NULL)
        return err_nomem(c->err);
    struct schema_place child = {.up = place, .base = place->base, .depth = place->depth + 1};
    for (; child.index < count; child.index++) {
        enum err_code code = schema_compile_child(c, json_array_get(value, child.index), &child,
                                                  &out->nodes[child.index]);
        if (code != ERR_OK)
            return code;
    }
    out->count = count;
    return ERR_OK;
}

#define SIZE_KEYWORD(group, member)                                                                \
    static enum err_code compile_##member(SCHEMA_KEYWORD_ARGS)                                     \
    {                                                                                              \
        struct schema_##group##_rules *rules = group##_rules(c, node);                             \
        return rules == NULL ? err_nomem(c->err) : read_size(c, value, place, &rules->member);     \
    }
SIZE_KEYWORD(string, min_length)
SIZE_KEYWORD(string, max_length)
SIZE_KEYWORD(array, min_items)
SIZE_KEYWORD(array, max_items)
SIZE_KEYWORD(array, min_contains)
SIZE_KEYWORD(array, max_contains)
SIZE_KEYWORD(object, min_properties)
SIZE_KEYWORD(object, max_properties)

#define NUMBER_KEYWORD(member)                                                                     \
    static enum err_code compile_##member(SCHEMA_KEYWORD_ARGS)                                     \
    {                                                                                              \
        struct schema_number_rules *rules = number_rules(c, node);                                 \
        if (rules == NULL)                                                                         \
            return err_nomem(c->err);                                                              \
        if (!json_is_number(value))                                                                \
            return schema_compile_fault(c, place, "must be a number");                             \
        rules->member = value;                                                                     \
        return ERR_OK;                                                                             \
    }
NUMBER_KEYWORD(minimum)
NUMBER_KEYWORD(maximum)
NUMBER_KEYWORD(exclusive_minimum)
NUMBER_KEYWORD(exclusive_maximum)

#define SCHEMA_KEYWORD(group, member)                                                              \
    static enum err_code compile_##member(SCHEMA_KEYWORD_ARGS)                                     \
    {                                                                                              \
        struct schema_##group##_rules *rules = group##_rules(c, node);                             \
        return rules == NULL ? err_nomem(c->err)                                                   \
                             : schema_compile_child(c, value, place, &rules->member);              \
    }
SCHEMA_KEYWORD(array, contains)
SCHEMA_KEYWORD(object, additional)
SCHEMA_KEYWORD(object, names)
SCHEMA_KEYWORD(apply, not_node)
SCHEMA_KEYWORD(apply, if_node)
SCHEMA_KEYWORD(apply, then_node)
SCHEMA_KEYWORD(apply, else_node)

#define LIST_KEYWORD(group, member)                                                                \
    static enum err_code compile_##member(SCHEMA_KEYWORD_ARGS)                                     \
    {                                                                                              \
        struct schema_##group##_rules *rules = group##_rules(c, node);                             \
        return rules == NULL ? err_nomem(c->err) : read_list(c, value, place, &rules->member);     \
    }
LIST_KEYWORD(array, prefix)
LIST_KEYWORD(apply, all_of)
LIST_KEYWORD(apply, any_of)
LIST_KEYWORD(apply, one_of)

#define REF_KEYWORD(member)                                                                        \
    static enum err_code compile_##member(SCHEMA_KEYWORD_ARGS)                                     \
    {                                                                                              \
        struct schema_apply_rules *rules = apply_rules(c, node);                                   \
        if (rules == NULL)                                                                         \
            return err_nomem(c->err);                                                              \
        if (!json_is_string(value))                                                                \
            return schema_compile_fault(c, place, "must be a string");                             \
        return schema_compile_ref(c, json_string_value(value), place, &rules->member);             \
    }
REF_KEYWORD(ref)
/* Static: the first dynamic anchor of the document itself. Our schemas are never extended from
 * outside, where the dynamic scope would make a difference. */
REF_KEYWORD(dynamic_ref)

static enum err_code compile_multiple_of(SCHEMA_KEYWORD_ARGS)
{
    struct schema_number_rules *rules = number_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (!json_is_number(value) || json_number_value(value) <= 0)
        return schema_compile_fault(c, place, "must be a number over 0");
    rules->multiple_of = value;
    return ERR_OK;
}

static enum err_code compile_items(SCHEMA_KEYWORD_ARGS)
{
    struct schema_array_rules *rules = array_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (json_is_array(value))
        return schema_compile_fault(c, place, "must be a schema; for a list use prefixItems");
    return schema_compile_child(c, value, place, &rules->items);
}

static enum err_code compile_unique(SCHEMA_KEYWORD_ARGS)
{
    struct schema_array_rules *rules = array_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (!json_is_boolean(value))
        return schema_compile_fault(c, place, "must be true or false");
    rules->unique = json_is_true(value);
    return ERR_OK;
}

static enum err_code compile_unevaluated_items(SCHEMA_KEYWORD_ARGS)
{
    return schema_compile_child(c, value, place, &node->unevaluated_items);
}

static enum err_code compile_unevaluated_properties(SCHEMA_KEYWORD_ARGS)
{
    return schema_compile_child(c, value, place, &node->unevaluated_properties);
}

static unsigned type_bit(const json_t *name)
{
    static const struct {
        const char *name;
        unsigned bit;
    } types[] = {
        {"object", SCHEMA_TYPE_OBJECT},
        {"array", SCHEMA_TYPE_ARRAY},
        {"string", SCHEMA_TYPE_STRING},
        {"integer", SCHEMA_TYPE_INTEGER},
        {"boolean", SCHEMA_TYPE_BOOLEAN},
        {"null", SCHEMA_TYPE_NULL},
        {"number", SCHEMA_TYPE_INTEGER | SCHEMA_TYPE_REAL},
    };
    for (size_t i = 0; json_is_string(name) && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(json_string_value(name), types[i].name) == 0)
            return types[i].bit;
    return 0;
}

static enum err_code compile_type(SCHEMA_KEYWORD_ARGS)
{
    unsigned types = type_bit(value);
    bool wrong = false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        unsigned bit = type_bit(json_array_get(value, i));
        wrong |= bit == 0;
        types |= bit;
    }
    if (types == 0 || wrong)
        return schema_compile_fault(c, place,
                                    "must be one or a list of object, array, string, "
                                    "integer, number, boolean, null");
    node->types = types;
    return ERR_OK;
}

static enum err_code compile_enum(SCHEMA_KEYWORD_ARGS)
{
    if (!json_is_array(value))
        return schema_compile_fault(c, place, "must be an array of values");
    node->enum_values = value;
    return ERR_OK;
}

static enum err_code compile_const(SCHEMA_KEYWORD_ARGS)
{
    (void)c;
    (void)place;
    node->const_value = value;
    return ERR_OK;
}

enum err_code schema_compile_regex(struct schema_compiler *c, const char *text, size_t len,
                                   const struct schema_place *place,
                                   const struct schema_regex **out)
{
    struct err cause = ERR_INIT;
    enum err_code code = schema_regex_new(text, len, &c->schema->regexes, out, &cause);
    if (code == ERR_INVALID)
        return schema_compile_fault(c, place, "%s", cause.text);
    return code == ERR_OK ? ERR_OK : err_nomem(c->err);
}

static enum err_code compile_pattern(SCHEMA_KEYWORD_ARGS)
{
    struct schema_string_rules *rules = string_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (!json_is_string(value))
        return schema_compile_fault(c, place, "must be a string");
    rules->pattern_text = json_string_value(value);
    return schema_compile_regex(c, rules->pattern_text, json_string_length(value), place,
                                &rules->pattern);
}

static enum err_code compile_format(SCHEMA_KEYWORD_ARGS)
{
    if (!json_is_string(value))
        return schema_compile_fault(c, place, "must be a string");
    bool known;
    schema_format_fn *format = schema_format_find(json_string_value(value), &known);
    if (!known && c->strict)
        return schema_compile_fault(c, place, "this format is unknown");
    if (format == NULL)
        return ERR_OK;
    struct schema_string_rules *rules = string_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    rules->format = format;
    rules->format_name = json_string_value(value);
    return ERR_OK;
}

/* $defs compile, too, although nothing points there by itself: an error in them is an error. */
static enum err_code compile_defs(SCHEMA_KEYWORD_ARGS)
{
    (void)node;
    if (!json_is_object(value))
        return schema_compile_fault(c, place, "must be an object of schemas");
    struct schema_place child = {.up = place, .base = place->base, .depth = place->depth + 1};
    json_t *member;
    json_object_foreach((json_t *)value, child.key, member)
    {
        const struct schema_node *ignored;
        enum err_code code = schema_compile_child(c, member, &child, &ignored);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* Sorted by strcmp(). Rows without a function are annotations or are read by another row. */
static const struct schema_keyword keywords[] = {
    {"$anchor", SCHEMA_HOLDS_NONE, NULL},
    {"$comment", SCHEMA_HOLDS_NONE, NULL},
    {"$defs", SCHEMA_HOLDS_MAP, compile_defs},
    {"$dynamicAnchor", SCHEMA_HOLDS_NONE, NULL},
    {"$dynamicRef", SCHEMA_HOLDS_NONE, compile_dynamic_ref},
    {"$id", SCHEMA_HOLDS_NONE, NULL},
    {"$ref", SCHEMA_HOLDS_NONE, compile_ref},
    {"$schema", SCHEMA_HOLDS_NONE, NULL},
    {"$vocabulary", SCHEMA_HOLDS_NONE, NULL},
    {"additionalProperties", SCHEMA_HOLDS_ONE, compile_additional},
    {"allOf", SCHEMA_HOLDS_LIST, compile_all_of},
    {"anyOf", SCHEMA_HOLDS_LIST, compile_any_of},
    {"const", SCHEMA_HOLDS_NONE, compile_const},
    {"contains", SCHEMA_HOLDS_ONE, compile_contains},
    {"contentEncoding", SCHEMA_HOLDS_NONE, NULL},
    {"contentMediaType", SCHEMA_HOLDS_NONE, NULL},
    {"contentSchema", SCHEMA_HOLDS_ONE, NULL},
    {"default", SCHEMA_HOLDS_NONE, NULL},
    {"definitions", SCHEMA_HOLDS_MAP, compile_defs},
    {"dependentRequired", SCHEMA_HOLDS_NONE, schema_compile_dependent_required},
    {"dependentSchemas", SCHEMA_HOLDS_MAP, schema_compile_dependent_schemas},
    {"deprecated", SCHEMA_HOLDS_NONE, NULL},
    {"description", SCHEMA_HOLDS_NONE, NULL},
    {"else", SCHEMA_HOLDS_ONE, compile_else_node},
    {"enum", SCHEMA_HOLDS_NONE, compile_enum},
    {"examples", SCHEMA_HOLDS_NONE, NULL},
    {"exclusiveMaximum", SCHEMA_HOLDS_NONE, compile_exclusive_maximum},
    {"exclusiveMinimum", SCHEMA_HOLDS_NONE, compile_exclusive_minimum},
    {"format", SCHEMA_HOLDS_NONE, compile_format},
    {"if", SCHEMA_HOLDS_ONE, compile_if_node},
    {"items", SCHEMA_HOLDS_ONE, compile_items},
    {"maxContains", SCHEMA_HOLDS_NONE, compile_max_contains},
    {"maxItems", SCHEMA_HOLDS_NONE, compile_max_items},
    {"maxLength", SCHEMA_HOLDS_NONE, compile_max_length},
    {"maxProperties", SCHEMA_HOLDS_NONE, compile_max_properties},
    {"maximum", SCHEMA_HOLDS_NONE, compile_maximum},
    {"minContains", SCHEMA_HOLDS_NONE, compile_min_contains},
    {"minItems", SCHEMA_HOLDS_NONE, compile_min_items},
    {"minLength", SCHEMA_HOLDS_NONE, compile_min_length},
    {"minProperties", SCHEMA_HOLDS_NONE, compile_min_properties},
    {"minimum", SCHEMA_HOLDS_NONE, compile_minimum},
    {"multipleOf", SCHEMA_HOLDS_NONE, compile_multiple_of},
    {"not", SCHEMA_HOLDS_ONE, compile_not_node},
    {"oneOf", SCHEMA_HOLDS_LIST, compile_one_of},
    {"pattern", SCHEMA_HOLDS_NONE, compile_pattern},
    {"patternProperties", SCHEMA_HOLDS_MAP, schema_compile_pattern_properties},
    {"prefixItems", SCHEMA_HOLDS_LIST, compile_prefix},
    {"properties", SCHEMA_HOLDS_MAP, NULL},
    {"propertyNames", SCHEMA_HOLDS_ONE, compile_names},
    {"readOnly", SCHEMA_HOLDS_NONE, NULL},
    {"required", SCHEMA_HOLDS_NONE, NULL},
    {"then", SCHEMA_HOLDS_ONE, compile_then_node},
    {"title", SCHEMA_HOLDS_NONE, NULL},
    {"type", SCHEMA_HOLDS_NONE, compile_type},
    {"unevaluatedItems", SCHEMA_HOLDS_ONE, compile_unevaluated_items},
    {"unevaluatedProperties", SCHEMA_HOLDS_ONE, compile_unevaluated_properties},
    {"uniqueItems", SCHEMA_HOLDS_NONE, compile_unique},
    {"writeOnly", SCHEMA_HOLDS_NONE, NULL},
};

static int keyword_order(const void *name, const void *row)
{
    return strcmp(name, ((const struct schema_keyword *)row)->name);
}

const struct schema_keyword *schema_keyword_find(const char *name)
{
    return bsearch(name, keywords, sizeof(keywords) / sizeof(keywords[0]), sizeof(keywords[0]),
                   keyword_order);
}
