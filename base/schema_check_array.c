/*
 * base/schema_check_array.c - the keywords about elements; see schema_node.h.
 */
#include "base/schema_node.h"

#include <stdio.h>

static bool check_sizes(struct schema_check *check, const struct schema_array_rules *rules,
                        const json_t *array, const struct schema_path *path)
{
    size_t count = json_array_size(array);
    char limit[48];
    if (count < rules->min_items) {
        snprintf(limit, sizeof(limit), "%zu", rules->min_items);
        return schema_report(check, path, NULL, limit,
                             "must have at least %s elements, but has %zu", limit, count);
    }
    if (count > rules->max_items) {
        snprintf(limit, sizeof(limit), "%zu", rules->max_items);
        return schema_report(check, path, NULL, limit, "must have at most %s elements, but has %zu",
                             limit, count);
    }
    return true;
}

static bool check_elements(struct schema_check *check, const struct schema_array_rules *rules,
                           const json_t *array, const struct schema_path *path,
                           struct schema_marks *marks)
{
    bool valid = true;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const struct schema_node *node =
            i < rules->prefix.count ? rules->prefix.nodes[i] : rules->items;
        if (node == NULL)
            break;
        const struct schema_path element = {.up = path, .index = i};
        valid &= schema_check_node(check, node, json_array_get(array, i), &element, NULL);
        if (marks != NULL)
            schema_marks_set(marks, i);
        if (!valid && check->findings == NULL)
            return false;
    }
    return valid;
}

static bool check_contains(struct schema_check *check, const struct schema_array_rules *rules,
                           const json_t *array, const struct schema_path *path,
                           struct schema_marks *marks)
{
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (!schema_check_quiet(check, rules->contains, json_array_get(array, i), NULL))
            continue;
        found++;
        if (marks != NULL)
            schema_marks_set(marks, i);
        else if (found >= rules->min_contains && rules->max_contains == SIZE_MAX)
            return true;
    }
    char limit[48];
    if (found < rules->min_contains) {
        snprintf(limit, sizeof(limit), "%zu", rules->min_contains);
        return schema_report(check, path, NULL, limit,
                             "must have at least %s elements of the wanted kind, but has %zu",
                             limit, found);
    }
    if (found > rules->max_contains) {
        snprintf(limit, sizeof(limit), "%zu", rules->max_contains);
        return schema_report(check, path, NULL, limit,
                             "must have at most %s elements of the counted kind, but has %zu",
                             limit, found);
    }
    return true;
}

static bool check_unique(struct schema_check *check, const json_t *array,
                         const struct schema_path *path)
{
    size_t first, second;
    switch (schema_find_equal(array, &first, &second)) {
    case SCHEMA_UNIQUE:
        return true;
    case SCHEMA_NOT_UNIQUE:
        return schema_report(check, path, NULL, NULL,
                             "must not have equal elements, but %zu and %zu are equal", first,
                             second);
    case SCHEMA_UNIQUE_NOMEM:
        break;
    }
    check->stopped = "out of memory";
    return false;
}

bool schema_check_array(struct schema_check *check, const struct schema_node *node,
                        const json_t *array, const struct schema_path *path,
                        struct schema_marks *marks)
{
    const struct schema_array_rules *rules = node->array;
    bool valid = check_sizes(check, rules, array, path);
    if (!valid && check->findings == NULL)
        return false;
    if (rules->items != NULL || rules->prefix.count > 0)
        valid &= check_elements(check, rules, array, path, marks);
    if (!valid && check->findings == NULL)
        return false;
    if (rules->contains != NULL)
        valid &= check_contains(check, rules, array, path, marks);
    if (rules->unique && (valid || check->findings != NULL))
        valid &= check_unique(check, array, path);
    return valid;
}

bool schema_check_unevaluated_items(struct schema_check *check, const struct schema_node *node,
                                    const json_t *array, const struct schema_path *path,
                                    const struct schema_marks *marks)
{
    bool valid = true;
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (schema_marks_get(marks, i))
            continue;
        const struct schema_path element = {.up = path, .index = i};
        valid &= schema_check_node(check, node->unevaluated_items, json_array_get(array, i),
                                   &element, NULL);
        if (!valid && check->findings == NULL)
            return false;
    }
    return valid;
}
