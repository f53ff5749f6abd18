/*
 * base/json.c - canonical text and digests of JSON values, JSON Pointers, names of types. See
 * json.h; the parser is json_parse.c, the reader json_reader.c.
 */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/sha2.h>

#include "base/file.h"

#define WRITE_DEPTH_MAX  256 /* of values that programs build; what is parsed has JSON_DEPTH_MAX */
#define MEMBERS_ON_STACK 32
#define NUMBER_TEXT_MAX  40

struct buffer {
    char *data;
    size_t len, room;
    bool failed;
};

struct member {
    const char *key;
    size_t key_len;
    const json_t *value;
};

static void write_value(struct buffer *out, const json_t *value, int depth);

/* Room for `more` bytes at the end, or NULL (then `failed` is set). */
static char *reserve(struct buffer *out, size_t more)
{
    if (out->failed)
        return NULL;
    if (out->room - out->len < more) {
        size_t room = 2 * out->room;
        if (room < out->len + more)
            room = out->len + more;
        char *data = realloc(out->data, room);
        if (data == NULL) {
            out->failed = true;
            return NULL;
        }
        out->data = data;
        out->room = room;
    }
    return out->data + out->len;
}

static void put(struct buffer *out, const char *text, size_t len)
{
    char *to = reserve(out, len);
    if (to == NULL)
        return;
    memcpy(to, text, len);
    out->len += len;
}

/* Only what RFC 8259 wants escaped: quote, backslash, C0 controls; the rest stays UTF-8. */
static char *put_escape(char *to, unsigned char c)
{
    static const char short_names[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    *to++ = '\\';
    if (c == '"' || c == '\\') {
        *to++ = (char)c;
    } else if (short_names[c] != '\0') {
        *to++ = short_names[c];
    } else {
        memcpy(to, "u00", 3);
        hex_encode(&c, 1, to + 3);
        to += 5;
    }
    return to;
}

static void write_string(struct buffer *out, const char *text, size_t len)
{
    char *to = reserve(out, 6 * len + 3); /* the longest escape, quotes, hex_encode()'s NUL */
    if (to == NULL)
        return;
    *to++ = '"';
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == '"' || c == '\\')
            to = put_escape(to, c);
        else
            *to++ = (char)c;
    }
    *to++ = '"';
    out->len = (size_t)(to - out->data);
}

static void write_integer(struct buffer *out, json_int_t value)
{
    char text[NUMBER_TEXT_MAX];
    char *p = text + sizeof(text);
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--p = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (value < 0)
        *--p = '-';
    put(out, p, (size_t)(text + sizeof(text) - p));
}

/* The fewest digits that read back as the same double. A real always looks like a real ("1.0"):
 * read again it is a real again, and its digest stays. */
static void write_real(struct buffer *out, double value)
{
    char text[NUMBER_TEXT_MAX];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (char *p = text; *p != '\0'; p++)
        if (*p == ',') /* a program may run in a locale with a decimal comma */
            *p = '.';
    if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    put(out, text, strlen(text));
}

static int member_order(const void *a, const void *b)
{
    const struct member *ma = a, *mb = b;
    size_t shorter = ma->key_len < mb->key_len ? ma->key_len : mb->key_len;
    int order = memcmp(ma->key, mb->key, shorter);
    if (order != 0)
        return order;
    return (ma->key_len > mb->key_len) - (ma->key_len < mb->key_len);
}

static void write_object(struct buffer *out, json_t *object, int depth)
{
    struct member few[MEMBERS_ON_STACK], *members = few;
    size_t count = json_object_size(object), at = 0;
    OWN(mem) void *many = NULL;
    if (count > MEMBERS_ON_STACK) {
        members = many = malloc(count * sizeof(*members));
        if (members == NULL) {
            out->failed = true;
            return;
        }
    }
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it))
        members[at++] = (struct member){json_object_iter_key(it), json_object_iter_key_len(it),
                                        json_object_iter_value(it)};
    qsort(members, count, sizeof(*members), member_order);
    put(out, "{", 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            put(out, ",", 1);
        write_string(out, members[i].key, members[i].key_len);
        put(out, ":", 1);
        write_value(out, members[i].value, depth + 1);
    }
    put(out, "}", 1);
}

static void write_array(struct buffer *out, const json_t *array, int depth)
{
    put(out, "[", 1);
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i > 0)
            put(out, ",", 1);
        write_value(out, json_array_get(array, i), depth + 1);
    }
    put(out, "]", 1);
}

static void write_value(struct buffer *out, const json_t *value, int depth)
{
    if (depth > WRITE_DEPTH_MAX) {
        out->failed = true;
        return;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        /* jansson's iterators want a mutable object, but do not change it. */
        write_object(out, (json_t *)value, depth);
        break;
    case JSON_ARRAY:
        write_array(out, value, depth);
        break;
    case JSON_STRING:
        write_string(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        write_integer(out, json_integer_value(value));
        break;
    case JSON_REAL:
        write_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
        put(out, "true", 4);
        break;
    case JSON_FALSE:
        put(out, "false", 5);
        break;
    case JSON_NULL:
        put(out, "null", 4);
        break;
    }
}

char *json_canonical(const json_t *value, size_t *out_len)
{
    if (value == NULL)
        return NULL; /* json_canonical(make()) where make() had no memory */
    struct buffer out = {.data = malloc(512), .room = 512};
    if (out.data == NULL)
        return NULL;
    write_value(&out, value, 0);
    put(&out, "", 1);
    if (out.failed) {
        free(out.data);
        return NULL;
    }
    if (out_len != NULL)
        *out_len = out.len - 1;
    return out.data;
}

void bytes_digest(const void *data, size_t len, char out[DIGEST_TEXT_MAX])
{
    /* nettle uses the processor's SHA instructions; libsodium's plain C took 3-6 times as long. */
    uint8_t hash[SHA256_DIGEST_SIZE];
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, len, data);
    sha256_digest(&ctx, sizeof(hash), hash);
    memcpy(out, "sha256:", 7);
    hex_encode(hash, sizeof(hash), out + 7);
}

bool digest_is_valid(const char *text)
{
    const size_t prefix = strlen("sha256:"), hex = 2 * SHA256_DIGEST_SIZE;
    return strncmp(text, "sha256:", prefix) == 0 &&
           strspn(text + prefix, "0123456789abcdef") == hex && text[prefix + hex] == '\0';
}

enum err_code json_digest(const json_t *value, char out[DIGEST_TEXT_MAX], struct err *err)
{
    size_t len;
    OWN(str) char *text = json_canonical(value, &len);
    if (text == NULL)
        return err_nomem(err);
    bytes_digest(text, len, out);
    return ERR_OK;
}

bool json_same(const json_t *a, const json_t *b)
{
    return a == NULL || b == NULL ? a == b : json_equal(a, b) != 0;
}

const char *json_type_name(const json_t *value)
{
    static const char *const names[] = {"an object",     "an array", "a string", "an integer",
                                        "a real number", "true",     "false",    "null"};
    return names[json_typeof(value)];
}

void json_pointer_push(char *pointer, size_t size, const char *token)
{
    size_t at = strlen(pointer);
    if (at + 1 >= size)
        return;
    pointer[at++] = '/';
    for (const char *p = token; *p != '\0'; p++) {
        bool escaped = *p == '~' || *p == '/';
        if (at + escaped + 1 >= size)
            break;
        if (escaped)
            pointer[at++] = '~';
        pointer[at++] = *p == '~' ? '0' : *p == '/' ? '1' : *p;
    }
    pointer[at] = '\0';
}
