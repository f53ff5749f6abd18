/*
 * base/schema_members.c - the keywords about members of objects; see schema_node.h.
 */
#include "base/schema_node.h"
#include "base/schema_keywords.h"

#include <string.h>

struct schema_object_rules *schema_object_rules_of(struct schema_compiler *c,
                                                   struct schema_node *node)
{
    if (node->object == NULL) {
        node->object = schema_compile_alloc(c, sizeof(*node->object));
        if (node->object != NULL)
            node->object->max_properties = SIZE_MAX;
    }
    return node->object;
}

enum err_code schema_compile_pattern_properties(SCHEMA_KEYWORD_ARGS)
{
    struct schema_object_rules *rules = schema_object_rules_of(c, node);
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
            schema_compile_regex(c, child.key, strlen(child.key), &child, &pattern->pattern);
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
static enum err_code add_dependencies(SCHEMA_KEYWORD_ARGS, bool schemas)
{
    struct schema_object_rules *rules = schema_object_rules_of(c, node);
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

enum err_code schema_compile_dependent_required(SCHEMA_KEYWORD_ARGS)
{
    return add_dependencies(c, node, value, place, false);
}

enum err_code schema_compile_dependent_schemas(SCHEMA_KEYWORD_ARGS)
{
    return add_dependencies(c, node, value, place, true);
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
    struct schema_object_rules *rules = schema_object_rules_of(c, node);
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
