/*
 * base/schema_check_object.c - the keywords about members; see schema_node.h.
 */
#include "base/schema_node.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct schema_property *find_property(const struct schema_object_rules *rules,
                                                   const char *key, size_t len)
{
    if (rules->slots == NULL)
        return NULL;
    uint32_t hash = schema_key_hash(key, len);
    for (uint32_t slot = hash & rules->slot_mask; rules->slots[slot] != 0;
         slot = (slot + 1) & rules->slot_mask) {
        const struct schema_property *property = &rules->properties[rules->slots[slot] - 1];
        if (property->hash == hash && property->key_len == len &&
            memcmp(property->key, key, len) == 0)
            return property;
    }
    return NULL;
}

static bool check_sizes(struct schema_check *check, const struct schema_object_rules *rules,
                        const json_t *object, const struct schema_path *path)
{
    size_t count = json_object_size(object);
    char limit[48];
    if (count < rules->min_properties) {
        snprintf(limit, sizeof(limit), "%zu", rules->min_properties);
        return schema_report(check, path, NULL, limit, "must have at least %s members, but has %zu",
                             limit, count);
    }
    if (count > rules->max_properties) {
        snprintf(limit, sizeof(limit), "%zu", rules->max_properties);
        return schema_report(check, path, NULL, limit, "must have at most %s members, but has %zu",
                             limit, count);
    }
    return true;
}

/* A name is checked as the string that it is; simple rules need no JSON value for that. */
static bool check_name(struct schema_check *check, const struct schema_node *node, const char *key,
                       size_t len, const struct schema_path *path)
{
    for (int i = 0; node->apply != NULL && node->apply->ref != NULL && i < 8; i++) {
        struct schema_apply_rules only = {.ref = node->apply->ref};
        if (node->string != NULL || node->enum_values != NULL || node->const_value != NULL ||
            !(node->types & SCHEMA_TYPE_STRING) || memcmp(node->apply, &only, sizeof(only)) != 0)
            break;
        node = node->apply->ref;
    }
    if (node->verdict == SCHEMA_VERDICT_TRUE)
        return true;
    if (node->apply == NULL && node->enum_values == NULL && node->const_value == NULL &&
        (node->types & SCHEMA_TYPE_STRING) && node->verdict == SCHEMA_VERDICT_RULES)
        return node->string == NULL || schema_check_string(check, node, key, len, path);
    OWN(json) json_t *name = json_stringn(key, len);
    if (name == NULL) {
        check->stopped = "out of memory";
        return false;
    }
    return schema_check_node(check, node, name, path, NULL);
}

/* One member against patternProperties and additionalProperties; *evaluated becomes true when
 * something was said about it. */
static bool check_undeclared(struct schema_check *check, const struct schema_node *node,
                             const struct schema_path *member, size_t key_len, const json_t *value,
                             bool *evaluated)
{
    const struct schema_object_rules *rules = node->object;
    bool valid = true;
    for (size_t i = 0; i < rules->pattern_count; i++) {
        enum schema_match match =
            schema_regex_match(rules->patterns[i].pattern, member->key, key_len);
        if (match == SCHEMA_MATCH_FAILED)
            check->stopped = "a pattern took too many steps";
        if (match != SCHEMA_MATCH)
            continue;
        *evaluated = true;
        valid &= schema_check_node(check, rules->patterns[i].node, value, member, NULL);
    }
    if (*evaluated || rules->additional == NULL)
        return valid;
    *evaluated = true;
    if (rules->additional->verdict == SCHEMA_VERDICT_FALSE)
        return schema_report_unknown(check, member, node, member->key, key_len);
    return schema_check_node(check, rules->additional, value, member, NULL) && valid;
}

static bool report_missing(struct schema_check *check, const struct schema_object_rules *rules,
                           const json_t *object, const struct schema_path *path)
{
    for (size_t i = 0; check->findings != NULL && i < rules->property_count; i++) {
        const struct schema_property *property = &rules->properties[i];
        if (!property->required ||
            json_object_getn(object, property->key, property->key_len) != NULL)
            continue;
        const struct schema_path member = {.up = path, .key = property->key};
        schema_report(check, &member, NULL, NULL, "is missing");
    }
    return false;
}

static bool check_members(struct schema_check *check, const struct schema_node *node,
                          json_t *object, const struct schema_path *path,
                          struct schema_marks *marks)
{
    const struct schema_object_rules *rules = node->object;
    bool valid = true;
    size_t index = 0, required = 0;
    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it), index++) {
        const struct schema_path member = {.up = path, .key = json_object_iter_key(it)};
        size_t key_len = json_object_iter_key_len(it);
        const json_t *value = json_object_iter_value(it);
        const struct schema_property *property = find_property(rules, member.key, key_len);
        bool evaluated = false;
        if (property != NULL) {
            required += property->required;
            evaluated = property->node != NULL;
            if (evaluated)
                valid &= schema_check_node(check, property->node, value, &member, NULL);
        }
        if (rules->pattern_count > 0 || !evaluated)
            valid &= check_undeclared(check, node, &member, key_len, value, &evaluated);
        if (rules->names != NULL) {
            const struct schema_path name = {.up = path, .key = member.key, .is_the_name = true};
            valid &= check_name(check, rules->names, member.key, key_len, &name);
        }
        if (evaluated && marks != NULL)
            schema_marks_set(marks, index);
        if (!valid && check->findings == NULL)
            return false;
    }
    if (required < rules->required_count)
        valid = report_missing(check, rules, object, path);
    return valid;
}

static bool check_dependencies(struct schema_check *check, const struct schema_object_rules *rules,
                               const json_t *object, const struct schema_path *path,
                               struct schema_marks *marks)
{
    bool valid = true;
    for (size_t i = 0; i < rules->dependency_count; i++) {
        const struct schema_dependency *dependency = &rules->dependencies[i];
        if (json_object_get(object, dependency->key) == NULL)
            continue;
        if (dependency->node != NULL)
            valid &= schema_check_node(check, dependency->node, object, path, marks);
        for (size_t k = 0; k < json_array_size(dependency->keys); k++) {
            const char *key = json_string_value(json_array_get(dependency->keys, k));
            if (json_object_get(object, key) != NULL)
                continue;
            const struct schema_path member = {.up = path, .key = key};
            valid = schema_report(check, &member, NULL, NULL,
                                  "is missing, but is needed beside '%s'", dependency->key);
        }
    }
    return valid;
}

bool schema_check_object(struct schema_check *check, const struct schema_node *node,
                         const json_t *object, const struct schema_path *path,
                         struct schema_marks *marks)
{
    const struct schema_object_rules *rules = node->object;
    bool valid = check_sizes(check, rules, object, path);
    if (!valid && check->findings == NULL)
        return false;
    if (rules->property_count > 0 || rules->pattern_count > 0 || rules->additional != NULL ||
        rules->names != NULL) /* jansson's iterators want a mutable object, but do not change it */
        valid &= check_members(check, node, (json_t *)object, path, marks);
    if (rules->dependency_count > 0 && (valid || check->findings != NULL))
        valid &= check_dependencies(check, rules, object, path, marks);
    return valid;
}

bool schema_check_unevaluated_properties(struct schema_check *check, const struct schema_node *node,
                                         const json_t *instance, const struct schema_path *path,
                                         const struct schema_marks *marks)
{
    json_t *object = (json_t *)instance;
    const struct schema_node *rest = node->unevaluated_properties;
    bool valid = true;
    size_t index = 0;
    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it), index++) {
        if (schema_marks_get(marks, index))
            continue;
        const struct schema_path member = {.up = path, .key = json_object_iter_key(it)};
        if (rest->verdict == SCHEMA_VERDICT_FALSE)
            valid = schema_report_unknown(check, &member, node, member.key,
                                          json_object_iter_key_len(it));
        else
            valid &= schema_check_node(check, rest, json_object_iter_value(it), &member, NULL);
        if (!valid && check->findings == NULL)
            return false;
    }
    return valid;
}
