/*
 * base/schema_check.c - a compiled schema against an instance: types, numbers, strings and the
 * keywords that combine schemas; see schema_node.h. Objects and arrays have their own files.
 *
 * Without findings a check stops at the first no and allocates nothing (but for unevaluated* over
 * 256 members and uniqueItems over 24 elements). With findings it goes on and tells every problem;
 * what only decides (if, not, the branches of anyOf and oneOf) is always asked without findings.
 */
#include "base/schema_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define BRANCH_REF_MAX 8 /* references followed to learn what type a branch wants */

bool schema_marks_init(struct schema_marks *marks, size_t count)
{
    marks->all = false;
    marks->words = marks->few;
    marks->word_count = (count + 63) / 64;
    memset(marks->few, 0, sizeof(marks->few));
    if (marks->word_count > SCHEMA_MARKS_INLINE)
        marks->words = calloc(marks->word_count, sizeof(*marks->words));
    return marks->words != NULL;
}

void schema_marks_release(struct schema_marks *marks)
{
    if (marks->words != marks->few)
        free(marks->words);
}

void schema_marks_set(struct schema_marks *marks, size_t index)
{
    marks->words[index / 64] |= UINT64_C(1) << (index % 64);
}

bool schema_marks_get(const struct schema_marks *marks, size_t index)
{
    return marks->all || (marks->words[index / 64] >> (index % 64) & 1) != 0;
}

void schema_marks_merge(struct schema_marks *into, const struct schema_marks *from)
{
    into->all |= from->all;
    for (size_t i = 0; i < into->word_count; i++)
        into->words[i] |= from->words[i];
}

bool schema_check_quiet(struct schema_check *check, const struct schema_node *node,
                        const json_t *instance, struct schema_marks *marks)
{
    struct finding_list *findings = check->findings;
    check->findings = NULL;
    bool valid = schema_check_node(check, node, instance, NULL, marks);
    check->findings = findings;
    return valid;
}

/* A branch that may fail must not mark anything: it marks a copy, which is merged when it holds. */
static bool try_branch(struct schema_check *check, const struct schema_node *node,
                       const json_t *instance, struct schema_marks *marks)
{
    if (marks == NULL)
        return schema_check_quiet(check, node, instance, NULL);
    struct schema_marks own;
    if (!schema_marks_init(&own, marks->word_count * 64)) {
        check->stopped = "out of memory";
        return false;
    }
    bool valid = schema_check_quiet(check, node, instance, &own);
    if (valid)
        schema_marks_merge(marks, &own);
    schema_marks_release(&own);
    return valid;
}

static unsigned type_of(const json_t *instance)
{
    switch (json_typeof(instance)) {
    case JSON_OBJECT:
        return SCHEMA_TYPE_OBJECT;
    case JSON_ARRAY:
        return SCHEMA_TYPE_ARRAY;
    case JSON_STRING:
        return SCHEMA_TYPE_STRING;
    case JSON_INTEGER:
        return SCHEMA_TYPE_INTEGER;
    case JSON_REAL:
        return schema_is_integral(instance) ? SCHEMA_TYPE_INTEGER : SCHEMA_TYPE_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return SCHEMA_TYPE_BOOLEAN;
    case JSON_NULL:
        break;
    }
    return SCHEMA_TYPE_NULL;
}

static bool check_number(struct schema_check *check, const struct schema_node *node,
                         const json_t *instance, const struct schema_path *path)
{
    const struct schema_number_rules *rules = node->number;
    const struct {
        const json_t *bound;
        int sign, at_bound; /* sign * compare must be under at_bound */
        const char *words;
    } bounds[] = {
        {rules->minimum, -1, 1, "at least"},
        {rules->maximum, 1, 1, "at most"},
        {rules->exclusive_minimum, -1, 0, "more than"},
        {rules->exclusive_maximum, 1, 0, "less than"},
    };
    bool valid = true;
    char limit[64];
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        if (bounds[i].bound == NULL ||
            bounds[i].sign * schema_number_compare(instance, bounds[i].bound) < bounds[i].at_bound)
            continue;
        if (check->findings == NULL)
            return false;
        schema_describe(bounds[i].bound, limit, sizeof(limit));
        valid =
            schema_report(check, path, instance, limit, "must be %s %s", bounds[i].words, limit);
    }
    if (rules->multiple_of != NULL && !schema_is_multiple(instance, rules->multiple_of)) {
        schema_describe(rules->multiple_of, limit, sizeof(limit));
        valid = schema_report(check, path, instance, limit, "must be a multiple of %s", limit);
    }
    return valid;
}

/* Bytes bound the number of code points from both sides: most strings need no counting. */
static bool check_length(struct schema_check *check, const struct schema_string_rules *rules,
                         const char *text, size_t len, const struct schema_path *path)
{
    if (len <= rules->max_length && len / 4 >= rules->min_length)
        return true;
    size_t count = utf8_count(text, len);
    char limit[48];
    if (count < rules->min_length) {
        snprintf(limit, sizeof(limit), "%zu", rules->min_length);
        return schema_report(check, path, NULL, limit,
                             "must have at least %s characters, but has %zu", limit, count);
    }
    if (count > rules->max_length) {
        snprintf(limit, sizeof(limit), "%zu", rules->max_length);
        return schema_report(check, path, NULL, limit,
                             "must have at most %s characters, but has %zu", limit, count);
    }
    return true;
}

bool schema_check_string(struct schema_check *check, const struct schema_node *node,
                         const char *text, size_t len, const struct schema_path *path)
{
    const struct schema_string_rules *rules = node->string;
    char seen[80];
    bool valid = check_length(check, rules, text, len, path);
    if (rules->pattern != NULL && (valid || check->findings != NULL)) {
        enum schema_match match = schema_regex_match(rules->pattern, text, len);
        if (match == SCHEMA_MATCH_FAILED)
            check->stopped = "a pattern took too many steps";
        if (match != SCHEMA_MATCH) {
            text_quote(text, len, seen, sizeof(seen));
            valid = schema_report(check, path, NULL, rules->pattern_text,
                                  "must match the pattern %s, but is \"%s\"", rules->pattern_text,
                                  seen);
        }
    }
    if (rules->format != NULL && !rules->format(text, len)) {
        text_quote(text, len, seen, sizeof(seen));
        valid = schema_report(check, path, NULL, rules->format_name,
                              "must have the format %s, but is \"%s\"", rules->format_name, seen);
    }
    return valid;
}

static bool check_values(struct schema_check *check, const struct schema_node *node,
                         const json_t *instance, const struct schema_path *path)
{
    bool valid = true;
    if (node->const_value != NULL && !schema_equal(instance, node->const_value)) {
        char limit[80];
        schema_describe(node->const_value, limit, sizeof(limit));
        valid = schema_report(check, path, instance, limit, "must be %s", limit);
    }
    if (node->enum_values == NULL)
        return valid;
    for (size_t i = 0; i < json_array_size(node->enum_values); i++)
        if (schema_equal(instance, json_array_get(node->enum_values, i)))
            return valid;
    return schema_report_enum(check, path, instance, node->enum_values);
}

/* The types that a branch takes, looking through references. */
static unsigned branch_types(const struct schema_node *node)
{
    unsigned types = SCHEMA_TYPE_ANY;
    for (int i = 0; node != NULL && i < BRANCH_REF_MAX; i++) {
        if (node->verdict == SCHEMA_VERDICT_TRUE)
            return types;
        if (node->verdict == SCHEMA_VERDICT_FALSE)
            return 0;
        types &= node->types;
        node = node->apply != NULL ? node->apply->ref : NULL;
    }
    return types;
}

/* No branch holds. When only one is of the instance's type, its problems are the ones to tell. */
static bool report_no_branch(struct schema_check *check, const struct schema_list *branches,
                             const json_t *instance, const struct schema_path *path)
{
    if (check->findings == NULL)
        return false;
    const struct schema_node *likely = NULL;
    size_t count = 0;
    unsigned types = 0;
    for (size_t i = 0; i < branches->count; i++) {
        unsigned branch = branch_types(branches->nodes[i]);
        types |= branch;
        if (branch & type_of(instance)) {
            likely = branches->nodes[i];
            count++;
        }
    }
    if (count == 1)
        return schema_check_node(check, likely, instance, path, NULL);
    if (count == 0 && types != 0)
        return schema_report_type(check, path, instance, types);
    return schema_report(check, path, instance, NULL, "must match one of %zu alternatives",
                         branches->count);
}

static bool check_any_of(struct schema_check *check, const struct schema_list *branches,
                         const json_t *instance, const struct schema_path *path,
                         struct schema_marks *marks)
{
    bool valid = false;
    for (size_t i = 0; i < branches->count; i++) {
        valid |= try_branch(check, branches->nodes[i], instance, marks);
        if (valid && marks == NULL) /* with marks every branch that holds must leave its own */
            return true;
    }
    return valid || report_no_branch(check, branches, instance, path);
}

static bool check_one_of(struct schema_check *check, const struct schema_list *branches,
                         const json_t *instance, const struct schema_path *path,
                         struct schema_marks *marks)
{
    size_t count = 0, first = 0;
    for (size_t i = 0; i < branches->count; i++) {
        if (!try_branch(check, branches->nodes[i], instance, marks))
            continue;
        if (++count == 1)
            first = i;
        else
            return schema_report(check, path, instance, NULL,
                                 "must match exactly one alternative, but matches the %zuth and "
                                 "the %zuth",
                                 first + 1, i + 1);
    }
    return count == 1 || report_no_branch(check, branches, instance, path);
}

static bool check_conditions(struct schema_check *check, const struct schema_apply_rules *rules,
                             const json_t *instance, const struct schema_path *path,
                             struct schema_marks *marks)
{
    bool valid = true;
    if (rules->not_node != NULL && schema_check_quiet(check, rules->not_node, instance, NULL))
        valid = schema_report(check, path, instance, NULL, "must not match what is excluded here");
    if (rules->if_node == NULL)
        return valid;
    const struct schema_node *then = rules->else_node;
    if (try_branch(check, rules->if_node, instance, marks))
        then = rules->then_node;
    return (then == NULL || schema_check_node(check, then, instance, path, marks)) && valid;
}

static bool check_apply(struct schema_check *check, const struct schema_node *node,
                        const json_t *instance, const struct schema_path *path,
                        struct schema_marks *marks)
{
    const struct schema_apply_rules *rules = node->apply;
    const struct schema_node *refs[] = {rules->ref, rules->dynamic_ref};
    bool valid = true;
    for (size_t i = 0; i < 2; i++) {
        if (refs[i] != NULL && !schema_check_node(check, refs[i], instance, path, marks))
            valid = false;
        if (!valid && check->findings == NULL)
            return false;
    }
    for (size_t i = 0; i < rules->all_of.count; i++) {
        if (!schema_check_node(check, rules->all_of.nodes[i], instance, path, marks))
            valid = false;
        if (!valid && check->findings == NULL)
            return false;
    }
    if (rules->any_of.count > 0 && !check_any_of(check, &rules->any_of, instance, path, marks))
        valid = false;
    if (rules->one_of.count > 0 && !check_one_of(check, &rules->one_of, instance, path, marks))
        valid = false;
    if (!valid && check->findings == NULL)
        return false;
    return check_conditions(check, rules, instance, path, marks) && valid;
}

static bool check_rules(struct schema_check *check, const struct schema_node *node,
                        const json_t *instance, unsigned type, const struct schema_path *path,
                        struct schema_marks *marks)
{
    bool valid = true;
    if (node->enum_values != NULL || node->const_value != NULL)
        valid = check_values(check, node, instance, path);
    if (!valid && check->findings == NULL)
        return false;
    if (type == SCHEMA_TYPE_OBJECT && node->object != NULL)
        valid &= schema_check_object(check, node, instance, path, marks);
    else if (type == SCHEMA_TYPE_STRING && node->string != NULL)
        valid &= schema_check_string(check, node, json_string_value(instance),
                                     json_string_length(instance), path);
    else if (type == SCHEMA_TYPE_ARRAY && node->array != NULL)
        valid &= schema_check_array(check, node, instance, path, marks);
    else if ((type & (SCHEMA_TYPE_INTEGER | SCHEMA_TYPE_REAL)) && node->number != NULL)
        valid &= check_number(check, node, instance, path);
    if (node->apply != NULL && (valid || check->findings != NULL))
        valid &= check_apply(check, node, instance, path, marks);
    return valid;
}

/* Rules first, then what none of them has looked at. */
static bool check_unevaluated(struct schema_check *check, const struct schema_node *node,
                              const json_t *instance, unsigned type, const struct schema_path *path,
                              struct schema_marks *marks)
{
    bool is_object = type == SCHEMA_TYPE_OBJECT;
    struct schema_marks own;
    if (!schema_marks_init(&own,
                           is_object ? json_object_size(instance) : json_array_size(instance))) {
        check->stopped = "out of memory";
        return false;
    }
    bool valid = check_rules(check, node, instance, type, path, &own);
    if (valid || check->findings != NULL)
        valid &= is_object ? schema_check_unevaluated_properties(check, node, instance, path, &own)
                           : schema_check_unevaluated_items(check, node, instance, path, &own);
    schema_marks_release(&own);
    if (marks != NULL)
        marks->all = true;
    return valid;
}

bool schema_check_node(struct schema_check *check, const struct schema_node *node,
                       const json_t *instance, const struct schema_path *path,
                       struct schema_marks *marks)
{
    if (node->verdict == SCHEMA_VERDICT_TRUE)
        return true;
    if (node->verdict == SCHEMA_VERDICT_FALSE)
        return schema_report(check, path, instance, NULL, "nothing is allowed here");
    if (check->stopped != NULL)
        return false;
    if (check->depth >= SCHEMA_DEPTH_MAX)
        check->stopped = "schemas apply each other too deep";
    else if (++check->steps > SCHEMA_STEPS_MAX)
        check->stopped = "the check takes too many steps";
    if (check->stopped != NULL)
        return false;
    unsigned type = type_of(instance);
    if ((node->types & type) == 0)
        return schema_report_type(check, path, instance, node->types);
    check->depth++;
    bool valid;
    if ((type == SCHEMA_TYPE_OBJECT && node->unevaluated_properties != NULL) ||
        (type == SCHEMA_TYPE_ARRAY && node->unevaluated_items != NULL))
        valid = check_unevaluated(check, node, instance, type, path, marks);
    else
        valid = check_rules(check, node, instance, type, path, marks);
    check->depth--;
    return valid;
}
