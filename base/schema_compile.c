/*
 * base/schema_compile.c - a schema document to nodes; see schema_node.h.
 *
 * First a walk over all subschemas notes what $id and $anchor name; then nodes are made from the
 * root down. A $ref only notes its target: what is not reached through the keywords themselves is
 * compiled from the list of pending targets, so that the recursion never follows references.
 */
#include "base/schema_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define ARENA_CHUNK    8192
#define FAULT_TEXT_MAX 400

struct schema_arena_chunk {
    struct schema_arena_chunk *next;
    max_align_t data[];
};

static const struct schema_node node_true = {.verdict = SCHEMA_VERDICT_TRUE};
static const struct schema_node node_false = {.verdict = SCHEMA_VERDICT_FALSE};

void *schema_arena_alloc(struct schema_arena *arena, size_t size)
{
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (arena->chunks == NULL || arena->room - arena->used < size) {
        size_t room = size > ARENA_CHUNK ? size : ARENA_CHUNK;
        struct schema_arena_chunk *chunk = calloc(1, sizeof(*chunk) + room);
        if (chunk == NULL)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
        arena->room = room;
    }
    char *memory = (char *)arena->chunks->data + arena->used;
    arena->used += size;
    return memory;
}

static void arena_release(struct schema_arena *arena)
{
    while (arena->chunks != NULL) {
        struct schema_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        free(chunk);
    }
}

void *schema_compile_alloc(struct schema_compiler *c, size_t size)
{
    return schema_arena_alloc(&c->schema->arena, size);
}

static void place_pointer(const struct schema_place *place, char out[ERR_POINTER_MAX])
{
    char number[24];
    if (place == NULL || place->up == NULL) {
        out[0] = '\0';
        return;
    }
    place_pointer(place->up, out);
    if (place->key == NULL)
        snprintf(number, sizeof(number), "%zu", place->index);
    json_pointer_push(out, ERR_POINTER_MAX, place->key != NULL ? place->key : number);
}

enum err_code schema_compile_fault(struct schema_compiler *c, const struct schema_place *place,
                                   const char *fmt, ...)
{
    char pointer[ERR_POINTER_MAX], text[FAULT_TEXT_MAX];
    place_pointer(place, pointer);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set_at(c->err, ERR_INVALID, pointer, "schema at '%s': %s", pointer, text);
}

/* What schema_registry_*() said, with the place in front. */
static enum err_code fault_at(struct schema_compiler *c, const struct schema_place *place,
                              const struct err *cause)
{
    if (cause->code == ERR_INVALID)
        return schema_compile_fault(c, place, "%s", cause->text);
    return err_set(c->err, cause->code, "%s", cause->text);
}

/* The walk that fills the registry ------------------------------------------------------------ */

static enum err_code walk(struct schema_compiler *c, const json_t *json,
                          const struct schema_place *place);

static enum err_code walk_children(struct schema_compiler *c, enum schema_holds holds,
                                   const json_t *value, const struct schema_place *place)
{
    enum err_code code = ERR_OK;
    struct schema_place child = {.up = place, .base = place->base, .depth = place->depth + 1};
    if (holds == SCHEMA_HOLDS_ONE)
        return walk(c, value, place);
    if (holds == SCHEMA_HOLDS_LIST && json_is_array(value)) {
        for (; child.index < json_array_size(value) && code == ERR_OK; child.index++)
            code = walk(c, json_array_get(value, child.index), &child);
    } else if (holds == SCHEMA_HOLDS_MAP && json_is_object(value)) {
        json_t *member;
        json_object_foreach((json_t *)value, child.key, member)
        {
            code = walk(c, member, &child);
            if (code != ERR_OK)
                break;
        }
    }
    return code;
}

static enum err_code add_name(struct schema_compiler *c, const json_t *json, const char *base,
                              const char *anchor, const struct schema_place *place)
{
    struct err cause = ERR_INIT;
    char *uri;
    if (asprintf(&uri, "%s%s%s", base, anchor != NULL ? "#" : "", anchor != NULL ? anchor : "") < 0)
        return err_nomem(c->err);
    if (schema_registry_add(&c->registry, uri, json, &cause))
        return fault_at(c, place, &cause);
    return ERR_OK;
}

/* The base inside of `json`: its own $id, or NULL when it has none (or memory is out: *code). */
static char *own_base(struct schema_compiler *c, const json_t *json,
                      const struct schema_place *place, enum err_code *code)
{
    const json_t *id = json_object_get(json, "$id");
    *code = ERR_OK;
    if (id == NULL)
        return NULL;
    char *base = NULL;
    if (!json_is_string(id))
        *code = schema_compile_fault(c, place, "$id must be a string");
    else if ((base = schema_uri_resolve(place->base, json_string_value(id))) == NULL)
        *code = err_nomem(c->err);
    else if (strchr(base, '#') != NULL)
        *code = schema_compile_fault(c, place, "$id must not hold a fragment; use $anchor");
    return base;
}

static enum err_code walk_names(struct schema_compiler *c, const json_t *json, bool has_id,
                                const struct schema_place *here)
{
    static const char *const anchors[] = {"$anchor", "$dynamicAnchor"};
    enum err_code code = has_id ? add_name(c, json, here->base, NULL, here) : ERR_OK;
    for (size_t i = 0; i < 2 && code == ERR_OK; i++) {
        const json_t *anchor = json_object_get(json, anchors[i]);
        if (anchor != NULL && !json_is_string(anchor))
            code = schema_compile_fault(c, here, "%s must be a string", anchors[i]);
        else if (anchor != NULL)
            code = add_name(c, json, here->base, json_string_value(anchor), here);
    }
    return code;
}

static enum err_code walk(struct schema_compiler *c, const json_t *json,
                          const struct schema_place *place)
{
    if (!json_is_object(json))
        return ERR_OK;
    if (place->depth > SCHEMA_DEPTH_MAX)
        return err_set(c->err, ERR_LIMIT, "the schema is nested more than %d deep",
                       SCHEMA_DEPTH_MAX);
    enum err_code code;
    OWN(str) char *base = own_base(c, json, place, &code);
    struct schema_place here = *place;
    if (base != NULL)
        here.base = base;
    if (code == ERR_OK)
        code = walk_names(c, json, base != NULL, &here);
    struct schema_place child = {.up = &here, .base = here.base, .depth = place->depth + 1};
    json_t *value;
    if (code == ERR_OK) {
        json_object_foreach((json_t *)json, child.key, value)
        {
            const struct schema_keyword *keyword = schema_keyword_find(child.key);
            if (keyword != NULL && keyword->holds != SCHEMA_HOLDS_NONE)
                code = walk_children(c, keyword->holds, value, &child);
            if (code != ERR_OK)
                break;
        }
    }
    return code;
}

/* Nodes --------------------------------------------------------------------------------------- */

static size_t map_slot(const struct schema_compiler *c, const json_t *json)
{
    size_t slot = (size_t)((uintptr_t)json >> 4) * 2654435761U & (c->map_room - 1);
    while (c->map[slot].json != NULL && c->map[slot].json != json)
        slot = (slot + 1) & (c->map_room - 1);
    return slot;
}

static bool map_grow(struct schema_compiler *c)
{
    struct schema_node_map *old = c->map;
    size_t old_room = c->map_room, room = old_room == 0 ? 64 : 2 * old_room;
    struct schema_node_map *map = calloc(room, sizeof(*map));
    if (map == NULL)
        return false;
    c->map = map;
    c->map_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].json != NULL)
            c->map[map_slot(c, old[i].json)] = old[i];
    free(old);
    return true;
}

/* The entry of a subschema, made when it is new. */
static enum err_code map_entry(struct schema_compiler *c, const json_t *json,
                               struct schema_node_map **out)
{
    if (c->map_count >= SCHEMA_NODES_MAX)
        return err_set(c->err, ERR_LIMIT, "more than %d subschemas", SCHEMA_NODES_MAX);
    if (2 * (c->map_count + 1) > c->map_room && !map_grow(c))
        return err_nomem(c->err);
    struct schema_node_map *entry = &c->map[map_slot(c, json)];
    if (entry->json == NULL) {
        struct schema_node *node = schema_compile_alloc(c, sizeof(*node));
        if (node == NULL)
            return err_nomem(c->err);
        node->types = SCHEMA_TYPE_ANY;
        *entry = (struct schema_node_map){.json = json, .node = node};
        c->map_count++;
    }
    *out = entry;
    return ERR_OK;
}

static enum err_code unknown_keyword(struct schema_compiler *c, const struct schema_place *place)
{
    if (!c->strict || strncmp(place->key, "x-", 2) == 0)
        return ERR_OK;
    char quoted[64];
    text_quote(place->key, strlen(place->key), quoted, sizeof(quoted));
    return schema_compile_fault(c, place->up,
                                "the keyword '%s' is unknown (own notes begin with 'x-')", quoted);
}

static enum err_code compile_keywords(struct schema_compiler *c, const json_t *json,
                                      struct schema_node *node, const struct schema_place *here)
{
    struct schema_place place = {.up = here, .base = here->base, .depth = here->depth + 1};
    json_t *value;
    json_object_foreach((json_t *)json, place.key, value)
    {
        const struct schema_keyword *keyword = schema_keyword_find(place.key);
        enum err_code code = ERR_OK;
        if (keyword == NULL)
            code = unknown_keyword(c, &place);
        else if (keyword->compile != NULL)
            code = keyword->compile(c, node, value, &place);
        if (code != ERR_OK)
            return code;
    }
    return schema_keywords_finish(c, node, json, here);
}

enum err_code schema_compile_child(struct schema_compiler *c, const json_t *json,
                                   const struct schema_place *place, const struct schema_node **out)
{
    if (json_is_boolean(json)) {
        *out = json_is_true(json) ? &node_true : &node_false;
        return ERR_OK;
    }
    if (!json_is_object(json))
        return schema_compile_fault(c, place, "a schema must be an object, true or false");
    if (place->depth > SCHEMA_DEPTH_MAX)
        return err_set(c->err, ERR_LIMIT, "the schema is nested more than %d deep",
                       SCHEMA_DEPTH_MAX);
    struct schema_node_map *entry;
    enum err_code code = map_entry(c, json, &entry);
    if (code != ERR_OK)
        return code;
    struct schema_node *node = entry->node;
    *out = node;
    if (entry->compiled)
        return ERR_OK;
    entry->compiled = true; /* the map may move while children compile: entry ends here */
    OWN(str) char *base = own_base(c, json, place, &code);
    if (code != ERR_OK)
        return code;
    struct schema_place here = *place;
    if (base != NULL)
        here.base = base;
    return compile_keywords(c, json, node, &here);
}

enum err_code schema_compile_ref(struct schema_compiler *c, const char *reference,
                                 const struct schema_place *place, const struct schema_node **out)
{
    const json_t *json;
    char *found;
    struct err cause = ERR_INIT;
    if (schema_registry_find(&c->registry, place->base, reference, &json, &found, &cause))
        return fault_at(c, place, &cause);
    OWN(str) char *base = found;
    if (json_is_boolean(json)) {
        *out = json_is_true(json) ? &node_true : &node_false;
        return ERR_OK;
    }
    if (!json_is_object(json))
        return schema_compile_fault(c, place, "'%s' names something that is no schema", reference);
    struct schema_node_map *entry;
    enum err_code code = map_entry(c, json, &entry);
    if (code != ERR_OK)
        return code;
    *out = entry->node;
    if (entry->compiled)
        return ERR_OK;
    struct schema_pending *pending = calloc(1, sizeof(*pending));
    if (pending == NULL)
        return err_nomem(c->err);
    *pending = (struct schema_pending){.json = json, .base = GIVE(base), .next = c->pending};
    c->pending = pending;
    return ERR_OK;
}

/* The base of a target already is its own $id; resolving that against itself changes nothing. */
static enum err_code compile_pending(struct schema_compiler *c)
{
    enum err_code code = ERR_OK;
    while (c->pending != NULL) {
        struct schema_pending *pending = c->pending;
        c->pending = pending->next;
        struct schema_place place = {.base = pending->base};
        const struct schema_node *node;
        if (code == ERR_OK)
            code = schema_compile_child(c, pending->json, &place, &node);
        free(pending->base);
        free(pending);
    }
    return code;
}

enum err_code schema_compile(const json_t *document, bool strict, struct schema **out,
                             struct err *err)
{
    OWN(schema) struct schema *schema = calloc(1, sizeof(*schema));
    if (schema == NULL || (schema->document = json_deep_copy(document)) == NULL)
        return err_nomem(err);
    struct schema_compiler c = {.schema = schema, .strict = strict, .err = err};
    struct schema_place root = {.base = ""};
    enum err_code code = add_name(&c, schema->document, "", NULL, &root);
    if (code == ERR_OK)
        code = walk(&c, schema->document, &root);
    if (code == ERR_OK)
        code = schema_compile_child(&c, schema->document, &root, &schema->root);
    enum err_code pending_code = compile_pending(&c);
    if (code == ERR_OK)
        code = pending_code;
    schema_registry_release(&c.registry);
    free(c.map);
    if (code == ERR_OK)
        *out = GIVE(schema);
    return code;
}

void schema_free(struct schema *schema)
{
    if (schema == NULL)
        return;
    schema_regex_free_all(schema->regexes);
    arena_release(&schema->arena);
    json_decref(schema->document);
    free(schema);
}
