/*
 * fleet/digest.c - see digest.h. The text is put together here instead of building one JSON value
 * of the whole plan: a plan of 1,000 flows is digested after each apply and on every check for
 * drift.
 */
#include "fleet/digest.h"

#include <string.h>

#define DIGEST_ROOM_MIN   8192
#define PLAIN_MEMBERS_MAX 16
#define PLAIN_DEPTH_MAX   4

void digest_init(struct digest *digest)
{
    memset(digest, 0, sizeof(*digest));
}

static char *make_room(struct digest *digest, size_t len)
{
    if (digest->nomem)
        return NULL;
    if (digest->len + len > digest->room) {
        size_t room = digest->room == 0 ? DIGEST_ROOM_MIN : 2 * digest->room;
        while (room < digest->len + len)
            room *= 2;
        char *text = realloc(digest->text, room);
        if (text == NULL) {
            digest->nomem = true;
            return NULL;
        }
        digest->text = text;
        digest->room = room;
    }
    char *at = digest->text + digest->len;
    digest->len += len;
    return at;
}

static void add_bytes(struct digest *digest, const char *bytes, size_t len)
{
    char *at = make_room(digest, len);
    if (at != NULL)
        memcpy(at, bytes, len);
}

static void add_text(struct digest *digest, const char *text)
{
    add_bytes(digest, text, strlen(text));
}

/* The general way, for values that are not plain. */
static void add_canonical(struct digest *digest, const json_t *value)
{
    size_t len = 0;
    OWN(str) char *text = value == NULL ? NULL : json_canonical(value, &len);
    if (text == NULL)
        digest->nomem = true;
    else
        add_bytes(digest, text, len);
}

static bool is_plain(const char *text, size_t *len)
{
    const char *p = text;
    while (*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\')
        p++;
    *len = (size_t)(p - text);
    return *p == '\0';
}

static void add_string(struct digest *digest, const char *text)
{
    size_t len;
    if (!is_plain(text, &len)) {
        OWN(json) json_t *string = json_string(text);
        add_canonical(digest, string);
        return;
    }
    char *at = make_room(digest, len + 2);
    if (at == NULL)
        return;
    at[0] = '"';
    memcpy(at + 1, text, len);
    at[len + 1] = '"';
}

static void add_integer(struct digest *digest, int64_t value)
{
    char text[24], *p = text + sizeof(text);
    uint64_t rest = (uint64_t)value;
    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    add_bytes(digest, p, (size_t)(text + sizeof(text) - p));
}

static void add_value(struct digest *digest, const json_t *value, int depth);

/* Members in the order of their keys; few, so that insertion sorts them. */
static void add_object(struct digest *digest, json_t *object, int depth)
{
    struct {
        const char *key;
        const json_t *value;
    } members[PLAIN_MEMBERS_MAX];
    size_t count = 0;
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        const char *key = json_object_iter_key(it);
        size_t at = count++;
        for (; at > 0 && strcmp(members[at - 1].key, key) > 0; at--)
            members[at] = members[at - 1];
        members[at].key = key;
        members[at].value = json_object_iter_value(it);
    }
    add_bytes(digest, "{", 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            add_bytes(digest, ",", 1);
        add_string(digest, members[i].key);
        add_bytes(digest, ":", 1);
        add_value(digest, members[i].value, depth + 1);
    }
    add_bytes(digest, "}", 1);
}

/*
 * The canonical text of the small values that knobs have, without an allocation each; whatever is
 * not plain goes through json_canonical(). A test holds the two together.
 */
static void add_value(struct digest *digest, const json_t *value, int depth)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        add_integer(digest, json_integer_value(value));
    } else if (json_is_string(value) &&
               strlen(json_string_value(value)) == json_string_length(value)) {
        add_string(digest, json_string_value(value));
    } else if (json_is_null(value)) {
        add_text(digest, "null");
    } else if (json_is_array(value) && depth < PLAIN_DEPTH_MAX) {
        add_bytes(digest, "[", 1);
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i > 0)
                add_bytes(digest, ",", 1);
            add_value(digest, json_array_get(value, i), depth + 1);
        }
        add_bytes(digest, "]", 1);
    } else if (json_is_object(value) && depth < PLAIN_DEPTH_MAX &&
               json_object_size(value) <= PLAIN_MEMBERS_MAX) {
        add_object(digest, (json_t *)value, depth);
    } else {
        add_canonical(digest, value);
    }
}

int digest_flags(const struct plan_knob *knob)
{
    return (knob->strict ? 1 : 0) + (knob->observe_only ? 2 : 0);
}

void digest_knob(struct digest *digest, const struct knob_kind *kind, const char *subject,
                 const char *id, int flags, const json_t *want)
{
    add_text(digest, digest->len == 0 ? "{\"knobs\":[{\"flags\":" : ",{\"flags\":");
    add_integer(digest, flags);
    add_text(digest, ",\"id\":");
    add_string(digest, id);
    add_text(digest, ",\"kind\":");
    add_string(digest, kind->name);
    add_text(digest, ",\"subject\":");
    add_string(digest, subject);
    add_text(digest, ",\"want\":");
    if (want == NULL)
        add_text(digest, "null");
    else
        add_value(digest, want, 0);
    add_text(digest, "}");
}

enum err_code digest_finish(struct digest *digest, const char *node, char out[DIGEST_TEXT_MAX],
                            struct err *err)
{
    add_text(digest, digest->len == 0 ? "{\"knobs\":[],\"node\":" : "],\"node\":");
    add_string(digest, node);
    add_text(digest, "}");
    bool nomem = digest->nomem;
    if (!nomem)
        bytes_digest(digest->text, digest->len, out);
    free(digest->text);
    digest_init(digest);
    return nomem ? err_nomem(err) : ERR_OK;
}
