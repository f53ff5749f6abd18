/*
 * base/json_parse.c - JSON text to jansson values in one pass (json_parse, json_parse_limit).
 *
 * Not jansson's own parser: that one reads byte by byte through a callback (three times slower on
 * a policy, measured), takes \u0000, underflow and depth 2048, and cannot say which key is twice.
 * The fuzzer holds the two against each other: what is accepted here jansson reads as the same.
 */
#include "base/json.h"

#include <string.h>

#include "base/json_scan.h"
#include "base/own.h"
#include "base/text.h"

#define QUOTE_MAX 64

static json_t *parse_value(struct json_scan *scan);

static bool enter(struct json_scan *scan)
{
    if (scan->depth >= JSON_DEPTH_MAX)
        return json_scan_fail(scan, ERR_LIMIT, scan->p,
                              "objects and arrays are nested more than %d deep", JSON_DEPTH_MAX);
    scan->depth++;
    scan->p++;
    json_scan_blanks(scan);
    return true;
}

/* Behind an element: true on ',' (moved over), false on `close` (moved over) or an error. */
static bool next_element(struct json_scan *scan, char close, const char *wanted)
{
    json_scan_blanks(scan);
    if (scan->p < scan->end && *scan->p == ',') {
        scan->p++;
        json_scan_blanks(scan);
        return true;
    }
    if (scan->p < scan->end && *scan->p == close)
        scan->p++;
    else
        json_scan_expected(scan, scan->p, wanted);
    return false;
}

static json_t *parse_array(struct json_scan *scan)
{
    if (!enter(scan))
        return NULL;
    OWN(json) json_t *array = json_array();
    if (array == NULL)
        json_scan_nomem(scan);
    if (scan->p < scan->end && *scan->p == ']') {
        scan->p++;
    } else {
        do {
            json_t *element = scan->code == ERR_OK ? parse_value(scan) : NULL;
            if (element == NULL)
                return NULL;
            if (json_array_append_new(array, element) != 0)
                json_scan_nomem(scan);
        } while (next_element(scan, ']', "a comma or ']'"));
    }
    scan->depth--;
    return scan->code == ERR_OK ? GIVE(array) : NULL;
}

static bool parse_member(struct json_scan *scan, json_t *object)
{
    const char *at = scan->p, *key;
    size_t key_len;
    if (scan->p >= scan->end || *scan->p != '"')
        return json_scan_expected(scan, scan->p, "a member's name in double quotes");
    if (!json_scan_string(scan, &key, &key_len))
        return false;
    /* The value may reuse scratch: an unescaped name must be kept. */
    OWN(str) char *kept = NULL;
    if (key == scan->scratch) {
        kept = malloc(key_len + 1);
        if (kept == NULL)
            return json_scan_nomem(scan);
        memcpy(kept, key, key_len);
        key = kept;
    }
    json_scan_blanks(scan);
    if (scan->p >= scan->end || *scan->p != ':')
        return json_scan_expected(scan, scan->p, "':'");
    scan->p++;
    json_scan_blanks(scan);
    json_t *value = parse_value(scan);
    if (value == NULL)
        return false;
    size_t before = json_object_size(object);
    if (json_object_setn_new_nocheck(object, key, key_len, value) != 0)
        return json_scan_nomem(scan);
    if (json_object_size(object) == before) {
        char quoted[QUOTE_MAX];
        text_quote(key, key_len, quoted, sizeof(quoted));
        return json_scan_fail(scan, ERR_INVALID, at,
                              "the member '%s' stands twice in one object; keep one", quoted);
    }
    return true;
}

static json_t *parse_object(struct json_scan *scan)
{
    if (!enter(scan))
        return NULL;
    OWN(json) json_t *object = json_object();
    if (object == NULL)
        json_scan_nomem(scan);
    if (scan->p < scan->end && *scan->p == '}') {
        scan->p++;
    } else {
        do {
            if (scan->code != ERR_OK || !parse_member(scan, object))
                return NULL;
        } while (next_element(scan, '}', "a comma or '}'"));
    }
    scan->depth--;
    return scan->code == ERR_OK ? GIVE(object) : NULL;
}

static json_t *parse_word(struct json_scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    json_t *const values[] = {json_true(), json_false(), json_null()};
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(words[i]);
        if ((size_t)(scan->end - scan->p) >= len && memcmp(scan->p, words[i], len) == 0) {
            scan->p += len;
            return values[i];
        }
    }
    json_scan_expected(scan, scan->p,
                       "a value (object, array, string, number, true, false or null)");
    return NULL;
}

static json_t *parse_value(struct json_scan *scan)
{
    char c = scan->p < scan->end ? *scan->p : '\0';
    if (c == '{')
        return parse_object(scan);
    if (c == '[')
        return parse_array(scan);
    if (c == '-' || (c >= '0' && c <= '9'))
        return json_scan_number(scan);
    if (c != '"')
        return parse_word(scan);
    const char *text;
    size_t len;
    if (!json_scan_string(scan, &text, &len))
        return NULL;
    json_t *string = json_stringn_nocheck(text, len);
    if (string == NULL)
        json_scan_nomem(scan);
    return string;
}

/* Encodings other than plain UTF-8 announce themselves in the first bytes. */
static bool check_start(struct json_scan *scan)
{
    size_t len = (size_t)(scan->end - scan->text);
    if (len >= 3 && memcmp(scan->text, "\xef\xbb\xbf", 3) == 0)
        return json_scan_fail(scan, ERR_INVALID, scan->text,
                              "the text begins with a byte order mark; save it as "
                              "UTF-8 without BOM");
    if (len >= 2 &&
        (memcmp(scan->text, "\xff\xfe", 2) == 0 || memcmp(scan->text, "\xfe\xff", 2) == 0))
        return json_scan_fail(scan, ERR_INVALID, scan->text,
                              "the text is UTF-16; save it as UTF-8");
    return true;
}

enum err_code json_parse_limit(const char *text, size_t len, size_t max_len, bool any_root,
                               json_t **out, struct err *err)
{
    if (len > max_len)
        return err_set(err, ERR_LIMIT, "the document has %zu bytes; at most %zu are allowed", len,
                       max_len);
    if (text == NULL)
        text = "";
    struct json_scan scan = {.text = text, .end = text + len, .p = text, .err = err};
    OWN(json) json_t *root = NULL;
    if (check_start(&scan)) {
        json_scan_blanks(&scan);
        const char *at = scan.p;
        root = parse_value(&scan);
        if (root != NULL && !any_root && !json_is_object(root))
            json_scan_fail(&scan, ERR_INVALID, at,
                           "the document is %s; an object { ... } is expected",
                           json_type_name(root));
        json_scan_blanks(&scan);
        if (scan.code == ERR_OK && scan.p < scan.end)
            json_scan_expected(&scan, scan.p, "the end of the text");
    }
    free(scan.scratch);
    if (scan.code != ERR_OK)
        return scan.code;
    *out = GIVE(root);
    return ERR_OK;
}

enum err_code json_parse(const char *text, size_t len, json_t **out, struct err *err)
{
    return json_parse_limit(text, len, JSON_TEXT_MAX, false, out, err);
}
