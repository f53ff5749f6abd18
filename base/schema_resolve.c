/*
 * base/schema_resolve.c - what $id, $anchor and $ref name, inside one document; see schema_node.h.
 */
#include "base/schema_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define RESOURCES_MAX 10000
#define QUOTE_MAX     128

struct schema_resource {
    char *uri;
    const json_t *json;
};

/* A URI in its five parts (RFC 3986 appendix B); pointers into the text, NULL = absent. */
struct uri {
    const char *scheme, *authority, *path, *query, *fragment;
    size_t scheme_len, authority_len, path_len, query_len, fragment_len;
};

static struct uri uri_split(const char *text)
{
    struct uri uri = {0};
    size_t n = strcspn(text, ":/?#");
    if (text[n] == ':' && n > 0) {
        uri.scheme = text;
        uri.scheme_len = n;
        text += n + 1;
    }
    if (text[0] == '/' && text[1] == '/') {
        uri.authority = text + 2;
        uri.authority_len = strcspn(uri.authority, "/?#");
        text = uri.authority + uri.authority_len;
    }
    uri.path = text;
    uri.path_len = strcspn(text, "?#");
    text += uri.path_len;
    if (*text == '?') {
        uri.query = text + 1;
        uri.query_len = strcspn(uri.query, "#");
        text = uri.query + uri.query_len;
    }
    if (*text == '#') {
        uri.fragment = text + 1;
        uri.fragment_len = strlen(uri.fragment);
    }
    return uri;
}

/* Section 5.2.4, in place: "/a/b/../c" becomes "/a/c". */
static void remove_dots(char *path)
{
    char *out = path;
    const char *in = path;
    while (*in != '\0') {
        size_t n = strcspn(in + 1, "/") + 1; /* one segment with the slash before it */
        bool one = n == 2 && memcmp(in, "/.", 2) == 0;
        bool two = n == 3 && memcmp(in, "/..", 3) == 0;
        if (two)
            while (out > path && *--out != '/')
                ;
        if (one || two) {
            if (in[n] == '\0')
                *out++ = '/';
        } else {
            memmove(out, in, n);
            out += n;
        }
        in += n;
    }
    *out = '\0';
}

/* The path of `reference` merged with that of `base` (section 5.2.3). */
static char *merge_path(const struct uri *base, const struct uri *reference)
{
    size_t keep = 0;
    bool absolute = reference->path_len > 0 && reference->path[0] == '/';
    if (!absolute && reference->path_len == 0)
        keep = base->path_len;
    else if (!absolute)
        for (size_t i = 0; i < base->path_len; i++)
            if (base->path[i] == '/')
                keep = i + 1;
    const char *root = !absolute && keep == 0 && base->authority != NULL ? "/" : "";
    char *path;
    if (asprintf(&path, "%.*s%s%.*s", (int)keep, base->path, root, (int)reference->path_len,
                 reference->path) < 0)
        return NULL;
    if (path[0] == '/')
        remove_dots(path);
    return path;
}

/* ".../x#" and ".../x" are the same resource. */
static char *join(const struct uri *head, const char *path, const struct uri *query,
                  const struct uri *fragment)
{
    char *text;
    bool has_fragment = fragment->fragment_len > 0;
    int n = asprintf(&text, "%.*s%s%s%.*s%s%s%.*s%s%s", (int)head->scheme_len,
                     head->scheme != NULL ? head->scheme : "", head->scheme != NULL ? ":" : "",
                     head->authority != NULL ? "//" : "", (int)head->authority_len,
                     head->authority != NULL ? head->authority : "", path,
                     query->query != NULL ? "?" : "", (int)query->query_len,
                     query->query != NULL ? query->query : "", has_fragment ? "#" : "",
                     has_fragment ? fragment->fragment : "");
    return n < 0 ? NULL : text;
}

char *schema_uri_resolve(const char *base_text, const char *reference_text)
{
    struct uri base = uri_split(base_text), reference = uri_split(reference_text);
    if (reference.scheme != NULL) {
        bool bare = reference.fragment != NULL && reference.fragment_len == 0;
        return strndup(reference_text, strlen(reference_text) - bare);
    }
    struct uri head = reference.authority != NULL ? reference : base;
    head.scheme = base.scheme;
    head.scheme_len = base.scheme_len;
    char *path = reference.authority != NULL ? strndup(reference.path, reference.path_len)
                                             : merge_path(&base, &reference);
    if (path == NULL)
        return NULL;
    bool same = reference.authority == NULL && reference.path_len == 0 && reference.query == NULL;
    char *text = join(&head, path, same ? &base : &reference, &reference);
    free(path);
    return text;
}

void schema_registry_release(struct schema_registry *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        free(registry->resources[i].uri);
    free(registry->resources);
    memset(registry, 0, sizeof(*registry));
}

static const json_t *lookup(const struct schema_registry *registry, const char *uri, size_t len)
{
    for (size_t i = 0; i < registry->count; i++) {
        const char *known = registry->resources[i].uri;
        if (strncmp(known, uri, len) == 0 && known[len] == '\0')
            return registry->resources[i].json;
    }
    return NULL;
}

enum err_code schema_registry_add(struct schema_registry *registry, char *uri, const json_t *json,
                                  struct err *err)
{
    OWN(str) char *owned = uri;
    if (owned == NULL)
        return err_nomem(err);
    const json_t *other = lookup(registry, uri, strlen(uri));
    if (other == json)
        return ERR_OK;
    char quoted[QUOTE_MAX];
    text_quote(uri, strlen(uri), quoted, sizeof(quoted));
    if (other != NULL)
        return err_set(err, ERR_INVALID, "two subschemas are named '%s'", quoted);
    if (registry->count >= RESOURCES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d named subschemas", RESOURCES_MAX);
    if (registry->count == registry->room) {
        size_t room = registry->room == 0 ? 8 : 2 * registry->room;
        void *resources = realloc(registry->resources, room * sizeof(*registry->resources));
        if (resources == NULL)
            return err_nomem(err);
        registry->resources = resources;
        registry->room = room;
    }
    registry->resources[registry->count++] = (struct schema_resource){GIVE(owned), json};
    return ERR_OK;
}

/* %25 -> %, in place. */
static void percent_decode(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        int high = in[0] == '%' ? hex_value(in[1]) : -1;
        int low = high >= 0 ? hex_value(in[2]) : -1;
        if (low >= 0 && high * 16 + low != 0) {
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
}

/* ~1 -> /, ~0 -> ~, in place. */
static void pointer_decode(char *token)
{
    char *out = token;
    for (const char *in = token; *in != '\0'; in++) {
        bool escape = in[0] == '~' && (in[1] == '0' || in[1] == '1');
        *out++ = escape ? (in[1] == '0' ? '~' : '/') : *in;
        in += escape;
    }
    *out = '\0';
}

static const json_t *step(const json_t *json, const char *token)
{
    if (json_is_object(json))
        return json_object_get(json, token);
    if (!json_is_array(json) || token[0] == '\0' || strspn(token, "0123456789") != strlen(token) ||
        strlen(token) > 9 || (token[0] == '0' && token[1] != '\0'))
        return NULL;
    return json_array_get(json, (size_t)atol(token));
}

/* Follows a JSON Pointer ("/a/b", consumed) and keeps *base right across every $id on the way. */
static const json_t *follow(const json_t *json, char *pointer, char **base)
{
    char *rest = pointer;
    while (json != NULL && *rest == '/') {
        char *token = rest + 1;
        rest = token + strcspn(token, "/");
        char kept = *rest;
        *rest = '\0';
        pointer_decode(token);
        json = step(json, token);
        *rest = kept;
        const char *id = json_string_value(json_object_get(json, "$id"));
        if (id != NULL) {
            char *inner = schema_uri_resolve(*base, id);
            free(*base);
            *base = inner;
            if (inner == NULL)
                return NULL;
        }
    }
    return json;
}

static enum err_code not_found(struct err *err, const char *reference, bool resource_known)
{
    char quoted[QUOTE_MAX];
    text_quote(reference, strlen(reference), quoted, sizeof(quoted));
    if (resource_known)
        return err_set(err, ERR_INVALID, "'%s' names nothing in this document", quoted);
    return err_set(err, ERR_INVALID,
                   "'%s' names another document; nothing is fetched: put it "
                   "under $defs with its $id",
                   quoted);
}

enum err_code schema_registry_find(const struct schema_registry *registry, const char *base,
                                   const char *reference, const json_t **out, char **out_base,
                                   struct err *err)
{
    OWN(str) char *uri = schema_uri_resolve(base, reference);
    if (uri == NULL)
        return err_nomem(err);
    size_t resource_len = strcspn(uri, "#");
    OWN(str) char *found_base = strndup(uri, resource_len);
    if (found_base == NULL)
        return err_nomem(err);
    char *fragment = uri + resource_len;
    const json_t *json = lookup(registry, uri, resource_len);
    bool resource_known = json != NULL;
    if (*fragment == '#') {
        percent_decode(++fragment);
        if (*fragment == '/')
            json = follow(json, fragment, &found_base);
        else if (*fragment != '\0')
            json = lookup(registry, uri, strlen(uri));
    }
    if (found_base == NULL)
        return err_nomem(err);
    if (json == NULL)
        return not_found(err, reference, resource_known);
    *out = json;
    *out_base = GIVE(found_base);
    return ERR_OK;
}
