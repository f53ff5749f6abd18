/*
 * base/schema_keywords.c - one function a keyword of JSON Schema; see schema_node.h.
 */
#include "base/schema_node.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define KEYWORD_ARGS                                                                               \
    struct schema_compiler *c, struct schema_node *node, const json_t *value,                      \
        const struct schema_place *place

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
RULES(object, rules->max_properties = SIZE_MAX)
RULES(apply, (void)rules)

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
    static enum err_code compile_##member(KEYWORD_ARGS)                                            \
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
    static enum err_code compile_##member(KEYWORD_ARGS)                                            \
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
    static enum err_code compile_##member(KEYWORD_ARGS)                                            \
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
    static enum err_code compile_##member(KEYWORD_ARGS)                                            \
    {                                                                                              \
        struct schema_##group##_rules *rules = group##_rules(c, node);                             \
        return rules == NULL ? err_nomem(c->err) : read_list(c, value, place, &rules->member);     \
    }
LIST_KEYWORD(array, prefix)
LIST_KEYWORD(apply, all_of)
LIST_KEYWORD(apply, any_of)
LIST_KEYWORD(apply, one_of)

#define REF_KEYWORD(member)                                                                        \
    static enum err_code compile_##member(KEYWORD_ARGS)                                            \
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

static enum err_code compile_multiple_of(KEYWORD_ARGS)
{
    struct schema_number_rules *rules = number_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (!json_is_number(value) || json_number_value(value) <= 0)
        return schema_compile_fault(c, place, "must be a number over 0");
    rules->multiple_of = value;
    return ERR_OK;
}

static enum err_code compile_items(KEYWORD_ARGS)
{
    struct schema_array_rules *rules = array_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (json_is_array(value))
        return schema_compile_fault(c, place, "must be a schema; for a list use prefixItems");
    return schema_compile_child(c, value, place, &rules->items);
}

static enum err_code compile_unique(KEYWORD_ARGS)
{
    struct schema_array_rules *rules = array_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (!json_is_boolean(value))
        return schema_compile_fault(c, place, "must be true or false");
    rules->unique = json_is_true(value);
    return ERR_OK;
}

static enum err_code compile_unevaluated_items(KEYWORD_ARGS)
{
    return schema_compile_child(c, value, place, &node->unevaluated_items);
}

static enum err_code compile_unevaluated_properties(KEYWORD_ARGS)
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

static enum err_code compile_type(KEYWORD_ARGS)
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

static enum err_code compile_enum(KEYWORD_ARGS)
{
    if (!json_is_array(value))
        return schema_compile_fault(c, place, "must be an array of values");
    node->enum_values = value;
    return ERR_OK;
}

static enum err_code compile_const(KEYWORD_ARGS)
{
    (void)c;
    (void)place;
    node->const_value = value;
    return ERR_OK;
}

static enum err_code read_pattern(struct schema_compiler *c, const char *text, size_t len,
                                  const struct schema_place *place, const struct schema_regex **out)
{
    struct err cause = ERR_INIT;
    enum err_code code = schema_regex_new(text, len, &c->schema->regexes, out, &cause);
    if (code == ERR_INVALID)
        return schema_compile_fault(c, place, "%s", cause.text);
    return code == ERR_OK ? ERR_OK : err_nomem(c->err);
}

static enum err_code compile_pattern(KEYWORD_ARGS)
{
    struct schema_string_rules *rules = string_rules(c, node);
    if (rules == NULL)
        return err_nomem(c->err);
    if (!json_is_string(value))
        return schema_compile_fault(c, place, "must be a string");
    rules->pattern_text = json_string_value(value);
    return read_pattern(c, rules->pattern_text, json_string_length(value), place, &rules->pattern);
}

static enum err_code compile_format(KEYWORD_ARGS)
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

static enum err_code compile_pattern_properties(KEYWORD_ARGS)
{
    struct schema_object_rules *rules = object_rules(c, node);
    if (!json_is_object(value))
        return schema_compile_fault(c, place, "must be an object of schemas");
    size_t count = json_object_size(value);
    if (rules != NULL)
        rules->patterns = schema_compile_alloc(c, (count + 1) * sizeof(*rules->patterns));
    if (rules == NULL || rules->patterns == NULL)
        return err_nomem(c->err);
    struct schema_place child = {.up = place, .base = place->base, .depth = place->depth + 1};
    json_t *member;
    json_object_foreach((json_t *)value, child.key, member)
    {
        struct schema_pattern_property *pattern = &rules->patterns[rules->pattern_count];
        enum err_code code =
            read_pattern(c, child.key, strlen(child.key), &child, &pattern->pattern);
        if (code == ERR_OK)
            code = schema_compile_child(c, member, &child, &pattern->node);
        if (code != ERR_OK)
            return code;
        rules->pattern_count++;
    }
    return ERR_OK;
}

static bool is_string_array(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            return false;
    return json_is_array(value);
}

/* dependentRequired or dependentSchemas: adds to what the other one has left. */
static enum err_code add_dependencies(KEYWORD_ARGS, bool schemas)
{
    struct schema_object_rules *rules = object_rules(c, node);
    if (!json_is_object(value))
        return schema_compile_fault(c, place, "must be an object");
    size_t before = rules != NULL ? rules->dependency_count : 0;
    struct schema_dependency *all = schema_compile_alloc(c, (before + json_object_size(value) + 1) *
                                                                sizeof(struct schema_dependency));
    if (rules == NULL || all == NULL)
        return err_nomem(c->err);
    for (size_t i = 0; i < before; i++)
        all[i] = rules->dependencies[i];
    rules->dependencies = all;
    struct schema_place child = {.up = place, .base = place->base, .depth = place->depth + 1};
    json_t *member;
    json_object_foreach((json_t *)value, child.key, member)
    {
        struct schema_dependency *dependency = &all[rules->dependency_count];
        dependency->key = child.key;
        enum err_code code = ERR_OK;
        if (schemas)
            code = schema_compile_child(c, member, &child, &dependency->node);
        else if (is_string_array(member))
            dependency->keys = member;
        else
            code = schema_compile_fault(c, &child, "must be an array of strings");
        if (code != ERR_OK)
            return code;
        rules->dependency_count++;
    }
    return ERR_OK;
}

static enum err_code compile_dependent_required(KEYWORD_ARGS)
{
    return add_dependencies(c, node, value, place, false);
}

static enum err_code compile_dependent_schemas(KEYWORD_ARGS)
{
    return add_dependencies(c, node, value, place, true);
}

/* $defs compile, too, although nothing points there by itself: an error in them is an error. */
static enum err_code compile_defs(KEYWORD_ARGS)
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

static void add_slot(struct schema_object_rules *rules, size_t index)
{
    uint32_t slot = rules->properties[index].hash & rules->slot_mask;
    while (rules->slots[slot] != 0)
        slot = (slot + 1) & rules->slot_mask;
    rules->slots[slot] = (uint32_t)index + 1;
}

uint32_t schema_key_hash(const char *key, size_t len)
{
    uint32_t hash = 2166136261U; /* FNV-1a; the table holds keys of the schema only */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619U;
    return hash;
}

static struct schema_property *add_property(struct schema_object_rules *rules, const char *key)
{
    for (size_t i = 0; i < rules->property_count; i++)
        if (strcmp(rules->properties[i].key, key) == 0)
            return &rules->properties[i];
    struct schema_property *property = &rules->properties[rules->property_count];
    property->key = key;
    property->key_len = strlen(key);
    property->hash = schema_key_hash(key, property->key_len);
    rules->property_count++;
    return property;
}

static enum err_code compile_properties(struct schema_compiler *c,
                                        struct schema_object_rules *rules, const json_t *value,
                                        const struct schema_place *here)
{
    struct schema_place place = {
        .up = here, .key = "properties", .base = here->base, .depth = here->depth + 1};
    if (!json_is_object(value))
        return schema_compile_fault(c, &place, "must be an object of schemas");
    struct schema_place child = {.up = &place, .base = here->base, .depth = here->depth + 2};
    json_t *member;
    json_object_foreach((json_t *)value, child.key, member)
    {
        struct schema_property *property = add_property(rules, child.key);
        enum err_code code = schema_compile_child(c, member, &child, &property->node);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

static enum err_code compile_required(struct schema_compiler *c, struct schema_object_rules *rules,
                                      const json_t *value, const struct schema_place *here)
{
    struct schema_place place = {.up = here, .key = "required", .base = here->base};
    if (!is_string_array(value))
        return schema_compile_fault(c, &place, "must be an array of strings");
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct schema_property *property =
            add_property(rules, json_string_value(json_array_get(value, i)));
        rules->required_count += !property->required;
        property->required = true;
    }
    return ERR_OK;
}

enum err_code schema_keywords_finish(struct schema_compiler *c, struct schema_node *node,
                                     const json_t *json, const struct schema_place *here)
{
    const json_t *properties = json_object_get(json, "properties");
    const json_t *required = json_object_get(json, "required");
    if (properties == NULL && required == NULL)
        return ERR_OK;
    struct schema_object_rules *rules = object_rules(c, node);
    size_t count = json_object_size(properties) + json_array_size(required), slots = 4;
    while (slots < 2 * count)
        slots *= 2;
    if (rules != NULL) {
        rules->properties = schema_compile_alloc(c, (count + 1) * sizeof(*rules->properties));
        rules->slots = schema_compile_alloc(c, slots * sizeof(*rules->slots));
    }
    if (rules == NULL || rules->properties == NULL || rules->slots == NULL)
        return err_nomem(c->err);
    rules->slot_mask = (uint32_t)slots - 1;
    enum err_code code = ERR_OK;
    if (properties != NULL)
        code = compile_properties(c, rules, properties, here);
    if (code == ERR_OK && required != NULL)
        code = compile_required(c, rules, required, here);
    for (size_t i = 0; i < rules->property_count; i++)
        add_slot(rules, i);
    return code;
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
    {"dependentRequired", SCHEMA_HOLDS_NONE, compile_dependent_required},
    {"dependentSchemas", SCHEMA_HOLDS_MAP, compile_dependent_schemas},
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
    {"patternProperties", SCHEMA_HOLDS_MAP, compile_pattern_properties},
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
