#pragma once
/*
 * base/schema_node.h - a compiled schema: a graph of nodes, one for each subschema. Private to
 * schema*.c.
 *
 *   schema_compile.c   JSON -> nodes (schema_keywords.c, schema_members.c: one function a keyword)
 *   schema_resolve.c   $id, $anchor, $ref -> the JSON they name
 *   schema_check.c     nodes x instance -> valid or not, findings
 *   (schema_check_object.c, schema_check_array.c, schema_report.c: the texts)
 *   schema_equal.c     equality and order of JSON values as JSON Schema means them
 *   schema_regex.c     patterns; schema_format.c: formats
 *
 * Nodes are read-only after compile and shared by threads. Everything lives in the schema's arena;
 * texts and values are borrowed from the schema's own copy of the document.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/schema.h"

#define SCHEMA_STEPS_MAX 5000000 /* applications of a node in one validation; more: a finding */
#define SCHEMA_NODES_MAX 100000  /* subschemas of one document; more: ERR_LIMIT */

/* Bits of schema_node.types. A real without a fraction counts as an integer (1.0). */
enum schema_type {
    SCHEMA_TYPE_OBJECT = 1,
    SCHEMA_TYPE_ARRAY = 2,
    SCHEMA_TYPE_STRING = 4,
    SCHEMA_TYPE_INTEGER = 8,
    SCHEMA_TYPE_REAL = 16,
    SCHEMA_TYPE_BOOLEAN = 32,
    SCHEMA_TYPE_NULL = 64,
    SCHEMA_TYPE_ANY = 127,
};

enum schema_verdict {
    SCHEMA_VERDICT_RULES = 0,
    SCHEMA_VERDICT_TRUE,  /* the schema `true` */
    SCHEMA_VERDICT_FALSE, /* the schema `false` */
};

struct schema_regex; /* schema_regex.c */
typedef bool schema_format_fn(const char *text, size_t len);

struct schema_list {
    const struct schema_node **nodes;
    size_t count;
};

struct schema_number_rules {
    const json_t *minimum, *maximum, *exclusive_minimum, *exclusive_maximum, *multiple_of;
};

struct schema_string_rules {
    size_t min_length, max_length; /* code points */
    const struct schema_regex *pattern;
    const char *pattern_text;
    schema_format_fn *format;
    const char *format_name;
};

struct schema_array_rules {
    size_t min_items, max_items;
    size_t min_contains, max_contains;
    bool unique;
    struct schema_list prefix;
    const struct schema_node *items, *contains;
};

/* A member that the schema names: in `properties` (node), in `required`, or both. */
struct schema_property {
    const char *key;
    size_t key_len;
    uint32_t hash;
    bool required;
    const struct schema_node *node;
};

struct schema_pattern_property {
    const struct schema_regex *pattern;
    const struct schema_node *node;
};

/* dependentRequired (keys) and dependentSchemas (node). */
struct schema_dependency {
    const char *key;
    const json_t *keys;
    const struct schema_node *node;
};

struct schema_object_rules {
    size_t min_properties, max_properties;
    struct schema_property *properties;
    size_t property_count, required_count;
    uint32_t *slots; /* hash table of indices + 1 into properties; 0 = empty */
    uint32_t slot_mask;
    struct schema_pattern_property *patterns;
    size_t pattern_count;
    struct schema_dependency *dependencies;
    size_t dependency_count;
    const struct schema_node *additional, *names;
};

struct schema_apply_rules {
    struct schema_list all_of, any_of, one_of;
    const struct schema_node *not_node, *if_node, *then_node, *else_node;
    const struct schema_node *ref, *dynamic_ref;
};

struct schema_node {
    enum schema_verdict verdict;
    unsigned types;
    const json_t *enum_values; /* array or NULL */
    const json_t *const_value;
    struct schema_number_rules *number;
    struct schema_string_rules *string;
    struct schema_array_rules *array;
    struct schema_object_rules *object;
    struct schema_apply_rules *apply;
    const struct schema_node *unevaluated_items, *unevaluated_properties;
};

/* Memory that is freed with the schema; zeroed. NULL without memory. */
struct schema_arena {
    struct schema_arena_chunk *chunks;
    size_t used, room;
};
void *schema_arena_alloc(struct schema_arena *arena, size_t size);

struct schema {
    json_t *document; /* our own copy */
    const struct schema_node *root;
    struct schema_arena arena;
    struct schema_regex *regexes; /* list of all, to free them */
};

/* schema_equal.c ----------------------------------------------------------------------------- */

/* -1, 0, 1: the exact order of two numbers, integers and reals mixed. */
int schema_number_compare(const json_t *a, const json_t *b);
/* Integers exactly; reals within the rounding of one division. */
bool schema_is_multiple(const json_t *value, const json_t *divisor);
/* A number without a fraction. */
bool schema_is_integral(const json_t *value);
/* JSON Schema's equality: 1 and 1.0 are equal, the order of members does not count. */
bool schema_equal(const json_t *a, const json_t *b);
enum schema_unique { SCHEMA_UNIQUE, SCHEMA_NOT_UNIQUE, SCHEMA_UNIQUE_NOMEM };
/* On SCHEMA_NOT_UNIQUE *first and *second are the indices of two equal elements. */
enum schema_unique schema_find_equal(const json_t *array, size_t *first, size_t *second);

/* schema_regex.c ------------------------------------------------------------------------------ */

ERR_MUST_CHECK enum err_code schema_regex_new(const char *pattern, size_t len,
                                              struct schema_regex **list,
                                              const struct schema_regex **out, struct err *err);
void schema_regex_free_all(struct schema_regex *list);
enum schema_match { SCHEMA_MATCH, SCHEMA_NO_MATCH, SCHEMA_MATCH_FAILED };
/* SCHEMA_MATCH_FAILED: the pattern ran into its limits, or no memory. */
enum schema_match schema_regex_match(const struct schema_regex *regex, const char *text,
                                     size_t len);

/* schema_format.c ----------------------------------------------------------------------------- */

/* The check of a format, or NULL; *known says whether the name is one of the standard's. */
schema_format_fn *schema_format_find(const char *name, bool *known);

/* schema_resolve.c ---------------------------------------------------------------------------- */

/* Where identified subschemas stand. URIs are absolute or relative to the (unknown) place of the
 * document; both work, because nothing outside of the document is ever fetched. */
struct schema_registry {
    struct schema_resource *resources;
    size_t count, room;
};
void schema_registry_release(struct schema_registry *registry);

/* A new string: `reference` as seen from `base` (RFC 3986 section 5.2). NULL without memory. */
char *schema_uri_resolve(const char *base, const char *reference);

/* Notes that `uri` (without an empty fragment, perhaps with #anchor) is `json`. Takes over uri. */
ERR_MUST_CHECK enum err_code schema_registry_add(struct schema_registry *registry, char *uri,
                                                 const json_t *json, struct err *err);

/* What `reference` names, seen from `base`; *out_base (malloc'ed) is the base of what is found.
 * ERR_INVALID when the document has no such thing. */
ERR_MUST_CHECK enum err_code schema_registry_find(const struct schema_registry *registry,
                                                  const char *base, const char *reference,
                                                  const json_t **out, char **out_base,
                                                  struct err *err);

/* schema_keywords.c, schema_members.c
 * --------------------------------------------------------------------------- */

struct schema_compiler;

/* Where the compiler stands in the document: for the pointers of errors, and the base URI. */
struct schema_place {
    const struct schema_place *up; /* NULL at the root */
    const char *key;
    size_t index;     /* when key is NULL */
    const char *base; /* URI */
    int depth;
};

/* How a keyword holds subschemas. */
enum schema_holds {
    SCHEMA_HOLDS_NONE,
    SCHEMA_HOLDS_ONE,
    SCHEMA_HOLDS_LIST,
    SCHEMA_HOLDS_MAP,
};

struct schema_keyword {
    const char *name;
    enum schema_holds holds;
    /* NULL = an annotation, or read by another keyword */
    enum err_code (*compile)(struct schema_compiler *c, struct schema_node *node,
                             const json_t *value, const struct schema_place *place);
};
const struct schema_keyword *schema_keyword_find(const char *name);

/* After all keywords of a node: builds the hash table of its members. */
ERR_MUST_CHECK enum err_code schema_keywords_finish(struct schema_compiler *c,
                                                    struct schema_node *node, const json_t *json,
                                                    const struct schema_place *here);
uint32_t schema_key_hash(const char *key, size_t len);

/* schema_compile.c, for schema_keywords.c ------------------------------------------------------ */

struct schema_pending {
    const json_t *json;
    char *base;
    struct schema_pending *next;
};

struct schema_compiler {
    struct schema *schema;
    bool strict;
    struct err *err;
    struct schema_registry registry;
    struct schema_node_map {
        const json_t *json;
        struct schema_node *node;
        bool compiled;
    } * map; /* open addressing by json */
    size_t map_count, map_room;
    struct schema_pending *pending; /* targets of $ref that are not compiled yet */
};

/* ERR_INVALID with the place's pointer. */
enum err_code schema_compile_fault(struct schema_compiler *c, const struct schema_place *place,
                                   const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The node of the subschema `json` that stands at place/key or place/index. */
ERR_MUST_CHECK enum err_code schema_compile_child(struct schema_compiler *c, const json_t *json,
                                                  const struct schema_place *place,
                                                  const struct schema_node **out);
/* The node that a reference names; it may be compiled later. */
ERR_MUST_CHECK enum err_code schema_compile_ref(struct schema_compiler *c, const char *reference,
                                                const struct schema_place *place,
                                                const struct schema_node **out);
void *schema_compile_alloc(struct schema_compiler *c, size_t size);

/* schema_check*.c ------------------------------------------------------------------------------ */

struct schema_path {
    const struct schema_path *up;
    const char *key;
    size_t index;     /* when key is NULL */
    bool is_the_name; /* the name of the member itself is checked, not its value */
};

/* Which members or elements of one instance have been evaluated (for unevaluated*). */
#define SCHEMA_MARKS_INLINE 4
struct schema_marks {
    bool all;
    uint64_t *words;
    size_t word_count;
    uint64_t few[SCHEMA_MARKS_INLINE];
};

struct schema_check {
    struct finding_list *findings; /* NULL = only yes or no, stop at the first no */
    int depth;
    long steps;
    const char *stopped; /* why no verdict is possible (then: not valid), or NULL */
};

bool schema_check_node(struct schema_check *check, const struct schema_node *node,
                       const json_t *instance, const struct schema_path *path,
                       struct schema_marks *marks);
bool schema_check_object(struct schema_check *check, const struct schema_node *node,
                         const json_t *object, const struct schema_path *path,
                         struct schema_marks *marks);
bool schema_check_array(struct schema_check *check, const struct schema_node *node,
                        const json_t *array, const struct schema_path *path,
                        struct schema_marks *marks);
bool schema_check_string(struct schema_check *check, const struct schema_node *node,
                         const char *text, size_t len, const struct schema_path *path);
bool schema_check_unevaluated_properties(struct schema_check *check, const struct schema_node *node,
                                         const json_t *object, const struct schema_path *path,
                                         const struct schema_marks *marks);
bool schema_check_unevaluated_items(struct schema_check *check, const struct schema_node *node,
                                    const json_t *array, const struct schema_path *path,
                                    const struct schema_marks *marks);
/* The same question without findings. */
bool schema_check_quiet(struct schema_check *check, const struct schema_node *node,
                        const json_t *instance, struct schema_marks *marks);

bool schema_marks_init(struct schema_marks *marks, size_t count);
void schema_marks_release(struct schema_marks *marks);
void schema_marks_set(struct schema_marks *marks, size_t index);
bool schema_marks_get(const struct schema_marks *marks, size_t index);
void schema_marks_merge(struct schema_marks *into, const struct schema_marks *from);

/* schema_report.c ------------------------------------------------------------------------------ */

/* Each returns false, so that checks write `return schema_report(...)`; they do nothing when
 * check->findings is NULL. */
bool schema_report(struct schema_check *check, const struct schema_path *path,
                   const json_t *observed, const char *limit, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool schema_report_type(struct schema_check *check, const struct schema_path *path,
                        const json_t *instance, unsigned types);
bool schema_report_enum(struct schema_check *check, const struct schema_path *path,
                        const json_t *instance, const json_t *values);
bool schema_report_unknown(struct schema_check *check, const struct schema_path *path,
                           const struct schema_node *node, const char *key, size_t key_len);
/* A value in a message: "the string \"x\"", "8", "an object". */
void schema_describe(const json_t *value, char *out, size_t size);
