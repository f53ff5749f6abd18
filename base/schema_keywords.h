#pragma once
/*
 * base/schema_keywords.h - what schema_keywords.c (the table) and schema_members.c (keywords about
 * members) share. Private to them.
 */

#include "base/schema_node.h"

#define SCHEMA_KEYWORD_ARGS                                                                        \
    struct schema_compiler *c, struct schema_node *node, const json_t *value,                      \
        const struct schema_place *place

/* The node's rules about members, made when they are first asked for. NULL without memory. */
struct schema_object_rules *schema_object_rules_of(struct schema_compiler *c,
                                                   struct schema_node *node);
ERR_MUST_CHECK enum err_code schema_compile_regex(struct schema_compiler *c, const char *text,
                                                  size_t len, const struct schema_place *place,
                                                  const struct schema_regex **out);
ERR_MUST_CHECK enum err_code schema_compile_pattern_properties(SCHEMA_KEYWORD_ARGS);
ERR_MUST_CHECK enum err_code schema_compile_dependent_required(SCHEMA_KEYWORD_ARGS);
ERR_MUST_CHECK enum err_code schema_compile_dependent_schemas(SCHEMA_KEYWORD_ARGS);
