/*
 * base/json_patch.c - see json_patch.h. The operations are a table; each works on a private copy of
 * the document, which is thrown away when one of them fails.
 */
#include "base/json_patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/schema_node.h"
#include "base/text.h"

#define SHOWN_MAX 80 /* of a pointer in a message */

struct patch {
    json_t *root;  /* owned */
    size_t weight; /* of the document and of what was added */
    char at[32];   /* pointer of the operation */
    struct err *err;
};

/* Where a pointer leads. */
struct spot {
    char *text;     /* owned: the pointer, its tokens decoded */
    json_t *parent; /* NULL = the root is meant */
    char *token;    /* the last token, in text */
    size_t index;   /* of it in an array; the array's size for "-" */
    int depth;      /* containers that the value stands in */
    json_t *value;  /* NULL = not there */
};

struct op {
    const char *name;
    bool has_from, has_value;
    enum err_code (*run)(struct patch *p, const json_t *op, struct spot *spot);
};

static enum err_code fail(struct patch *p, const char *member, const char *what,
                          const char *pointer)
{
    char where[64], shown[SHOWN_MAX];
    snprintf(where, sizeof(where), "%s%s%s", p->at, member[0] == '\0' ? "" : "/", member);
    text_quote(pointer, strlen(pointer), shown, sizeof(shown));
    return err_set_at(p->err, ERR_INVALID, where, "operation %s: %s '%s'", p->at, what, shown);
}

/* Decodes the token at `token` in place; *rest is the one after it, NULL = it was the last. */
static bool token_decode(char *token, char **rest)
{
    char *to = token, *from = token;
    for (; *from != '\0' && *from != '/'; from++) {
        if (*from != '~') {
            *to++ = *from;
            continue;
        }
        from++;
        if (*from != '0' && *from != '1')
            return false;
        *to++ = *from == '0' ? '~' : '/';
    }
    *rest = *from == '/' ? from + 1 : NULL;
    *to = '\0';
    return true;
}

/* RFC 6901 4: digits without leading zeros, or "-" for the element behind the last. */
static bool index_parse(const char *token, size_t size, size_t *out)
{
    size_t len = strlen(token);
    if (strcmp(token, "-") == 0) {
        *out = size;
        return true;
    }
    if (len == 0 || len > 9 || strspn(token, "0123456789") != len || (token[0] == '0' && len > 1))
        return false;
    *out = (size_t)strtoul(token, NULL, 10);
    return *out <= size;
}

static json_t *step(json_t *parent, const char *token, size_t *index)
{
    if (json_is_object(parent))
        return json_object_get(parent, token);
    if (json_is_array(parent) && index_parse(token, json_array_size(parent), index))
        return json_array_get(parent, *index);
    return NULL;
}

/* True when the pointer is one and everything but its last token is there. */
static bool spot_find(json_t *root, const char *pointer, struct spot *out)
{
    char *rest = NULL;
    out->parent = NULL;
    out->value = root;
    out->depth = 0;
    if (pointer[0] == '\0')
        return true;
    if (pointer[0] != '/' || (out->text = strdup(pointer)) == NULL)
        return false;
    for (char *token = out->text + 1; token != NULL; token = rest) {
        if (out->value == NULL || !token_decode(token, &rest))
            return false;
        out->parent = out->value;
        out->token = token;
        out->depth++;
        out->value = step(out->parent, token, &out->index);
    }
    return json_is_object(out->parent) ||
           (json_is_array(out->parent) &&
            index_parse(out->token, json_array_size(out->parent), &out->index));
}

const json_t *json_pointer_get(const json_t *document, const char *pointer)
{
    struct spot spot = {.text = NULL};
    bool found = spot_find((json_t *)(uintptr_t)document, pointer, &spot);
    free(spot.text);
    return found ? spot.value : NULL;
}

/* Bytes of the texts and 8 for each value: about what the canonical text has. */
static size_t weigh(const json_t *value)
{
    size_t weight = 8, index;
    const char *key;
    json_t *sub;
    if (json_is_string(value))
        weight += json_string_length(value);
    json_object_foreach((json_t *)(uintptr_t)value, key, sub)
    {
        weight += strlen(key) + weigh(sub);
    }
    json_array_foreach(value, index, sub)
    {
        weight += weigh(sub);
    }
    return weight;
}

static bool is_deeper(const json_t *value, int left)
{
    size_t index;
    const char *key;
    json_t *sub;
    if (left == 0)
        return json_is_object(value) || json_is_array(value);
    json_object_foreach((json_t *)(uintptr_t)value, key, sub)
    {
        if (is_deeper(sub, left - 1))
            return true;
    }
    json_array_foreach(value, index, sub)
    {
        if (is_deeper(sub, left - 1))
            return true;
    }
    return false;
}

/* A copy of what an operation adds. */
static enum err_code take(struct patch *p, const json_t *value, json_t **out)
{
    p->weight += weigh(value);
    if (p->weight > JSON_PATCH_WEIGHT_MAX)
        return err_set_at(p->err, ERR_LIMIT, p->at,
                          "operation %s: the patch makes the document too large (over %d bytes)",
                          p->at, JSON_PATCH_WEIGHT_MAX);
    *out = json_deep_copy(value);
    return *out == NULL ? err_nomem(p->err) : ERR_OK;
}

/* Puts value, which it takes, at the spot; an element is inserted. */
static enum err_code put(struct patch *p, struct spot *spot, json_t *value)
{
    if (is_deeper(value, JSON_DEPTH_MAX - spot->depth)) {
        json_decref(value);
        return err_set_at(p->err, ERR_LIMIT, p->at,
                          "operation %s: the document becomes nested deeper than %d", p->at,
                          JSON_DEPTH_MAX);
    }
    if (spot->parent == NULL) {
        json_decref(p->root);
        p->root = value;
        return ERR_OK;
    }
    int bad = json_is_object(spot->parent)
                  ? json_object_set_new(spot->parent, spot->token, value)
                  : json_array_insert_new(spot->parent, spot->index, value);
    return bad != 0 ? err_nomem(p->err) : ERR_OK;
}

static void cut(struct spot *spot)
{
    if (json_is_object(spot->parent))
        json_object_del(spot->parent, spot->token);
    else
        json_array_remove(spot->parent, spot->index);
}

static const char *path_of(const json_t *op, const char *member)
{
    return json_string_value(json_object_get(op, member));
}

static enum err_code run_add(struct patch *p, const json_t *op, struct spot *spot)
{
    json_t *value = NULL;
    enum err_code code = take(p, json_object_get(op, "value"), &value);
    return code != ERR_OK ? code : put(p, spot, value);
}

static enum err_code run_remove(struct patch *p, const json_t *op, struct spot *spot)
{
    if (spot->parent == NULL)
        return fail(p, "path", "the whole document cannot be removed, path", path_of(op, "path"));
    if (spot->value == NULL)
        return fail(p, "path", "there is nothing at", path_of(op, "path"));
    cut(spot);
    return ERR_OK;
}

static enum err_code run_replace(struct patch *p, const json_t *op, struct spot *spot)
{
    json_t *value = NULL;
    if (spot->value == NULL)
        return fail(p, "path", "there is nothing at", path_of(op, "path"));
    enum err_code code = take(p, json_object_get(op, "value"), &value);
    if (code != ERR_OK)
        return code;
    if (spot->parent != NULL && json_is_array(spot->parent))
        cut(spot);
    return put(p, spot, value);
}

static enum err_code run_test(struct patch *p, const json_t *op, struct spot *spot)
{
    if (spot->value == NULL)
        return fail(p, "path", "test failed, there is nothing at", path_of(op, "path"));
    if (!schema_equal(spot->value, json_object_get(op, "value")))
        return fail(p, "value", "test failed, another value stands at", path_of(op, "path"));
    return ERR_OK;
}

static enum err_code find_from(struct patch *p, const json_t *op, struct spot *from)
{
    if (!spot_find(p->root, path_of(op, "from"), from) || from->value == NULL)
        return fail(p, "from", "there is nothing at", path_of(op, "from"));
    return ERR_OK;
}

static enum err_code run_copy(struct patch *p, const json_t *op, struct spot *spot)
{
    struct spot from = {.text = NULL};
    json_t *value = NULL;
    enum err_code code = find_from(p, op, &from);
    if (code == ERR_OK)
        code = take(p, from.value, &value);
    free(from.text);
    return code != ERR_OK ? code : put(p, spot, value);
}

/* RFC 6902 4.4: a value cannot go into itself; else it is a remove and an add, in this order, so
 * the path is looked up again in between. */
static enum err_code run_move(struct patch *p, const json_t *op, struct spot *spot)
{
    struct spot from = {.text = NULL}, to = {.text = NULL};
    const char *from_path = path_of(op, "from"), *path = path_of(op, "path");
    size_t len = strlen(from_path);
    if (strcmp(from_path, path) == 0)
        return spot->value == NULL ? fail(p, "from", "there is nothing at", from_path) : ERR_OK;
    if (strncmp(path, from_path, len) == 0 && path[len] == '/')
        return fail(p, "from", "a value cannot be moved into itself, from", from_path);
    enum err_code code = find_from(p, op, &from);
    if (code == ERR_OK) {
        json_t *value = json_incref(from.value);
        cut(&from);
        if (spot_find(p->root, path, &to)) {
            code = put(p, &to, value);
        } else {
            json_decref(value);
            code = fail(p, "path", "there is no place at", path);
        }
    }
    free(from.text);
    free(to.text);
    return code;
}

static const struct op ops[] = {
    {"add", false, true, run_add},         {"remove", false, false, run_remove},
    {"replace", false, true, run_replace}, {"move", true, false, run_move},
    {"copy", true, false, run_copy},       {"test", false, true, run_test},
};

static enum err_code run_op(struct patch *p, const json_t *op)
{
    const char *name = path_of(op, "op");
    const struct op *found = NULL;
    for (size_t i = 0; name != NULL && i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strcmp(ops[i].name, name) == 0)
            found = &ops[i];
    if (!json_is_object(op))
        return fail(p, "", "an operation is an object with 'op' and 'path', not", "");
    if (found == NULL)
        return fail(p, "op", "'op' is one of add, remove, replace, move, copy, test, not",
                    name == NULL ? "" : name);
    if (path_of(op, "path") == NULL)
        return fail(p, "path", "'path' is missing or no text in", name);
    if (found->has_from && path_of(op, "from") == NULL)
        return fail(p, "from", "'from' is missing or no text in", name);
    if (found->has_value && json_object_get(op, "value") == NULL)
        return fail(p, "value", "'value' is missing in", name);
    struct spot spot = {.text = NULL};
    enum err_code code = ERR_OK;
    if (!spot_find(p->root, path_of(op, "path"), &spot))
        code = fail(p, "path", "there is no place at", path_of(op, "path"));
    else
        code = found->run(p, op, &spot);
    free(spot.text);
    return code;
}

enum err_code json_patch_apply(const json_t *document, const json_t *patch, json_t **out,
                               struct err *err)
{
    struct patch p = {.weight = weigh(document), .err = err};
    enum err_code code = ERR_OK;
    if (!json_is_array(patch))
        return err_set(err, ERR_INVALID, "a JSON Patch is an array of operations, not %s",
                       json_type_name(patch));
    if (json_array_size(patch) > JSON_PATCH_OPS_MAX)
        return err_set(err, ERR_LIMIT, "the patch has %zu operations, more than %d",
                       json_array_size(patch), JSON_PATCH_OPS_MAX);
    p.root = json_deep_copy(document);
    if (p.root == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < json_array_size(patch) && code == ERR_OK; i++) {
        snprintf(p.at, sizeof(p.at), "/%zu", i);
        code = run_op(&p, json_array_get(patch, i));
    }
    if (code == ERR_OK)
        *out = GIVE(p.root);
    json_decref(p.root);
    return code;
}

/* RFC 7386 2. Takes target (NULL = none); NULL = no memory. */
static json_t *merge(json_t *target, const json_t *patch)
{
    const char *key;
    json_t *value;
    if (!json_is_object(patch)) {
        json_decref(target);
        return json_deep_copy(patch);
    }
    if (!json_is_object(target)) {
        json_decref(target);
        target = json_object();
    }
    json_object_foreach((json_t *)(uintptr_t)patch, key, value)
    {
        if (json_is_null(value)) {
            json_object_del(target, key);
            continue;
        }
        json_t *merged = merge(json_incref(json_object_get(target, key)), value);
        if (merged == NULL || json_object_set_new(target, key, merged) != 0) {
            json_decref(target);
            return NULL;
        }
    }
    return target;
}

enum err_code json_merge_apply(const json_t *document, const json_t *patch, json_t **out,
                               struct err *err)
{
    if (weigh(document) + weigh(patch) > JSON_PATCH_WEIGHT_MAX)
        return err_set(err, ERR_LIMIT, "document and patch are too large (over %d bytes)",
                       JSON_PATCH_WEIGHT_MAX);
    if (is_deeper(patch, JSON_DEPTH_MAX))
        return err_set(err, ERR_LIMIT, "the patch is nested deeper than %d", JSON_DEPTH_MAX);
    json_t *target = json_deep_copy(document);
    json_t *result = target == NULL ? NULL : merge(target, patch);
    if (result == NULL)
        return err_nomem(err);
    *out = result;
    return ERR_OK;
}
