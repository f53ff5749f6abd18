/*
 * fleet/evidence/json_part.c - a JSON document among the lines of a file.
 */
#include "fleet/evidence/json_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fleet/evidence/rules_logs.h"

#define PEEK_BYTES 2048

/* The line that the byte stands in. */
static size_t line_of(const struct evidence_job *job, size_t offset)
{
    size_t low = 0, high = job->line_count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (job->lines[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A bracket inside a document that nobody knows begins no other one. */
static bool is_inside(const struct evidence_job *job, size_t i)
{
    while (i > 0 && job_is_blank(job, i - 1))
        i--;
    struct slice before = job_line(job, i > 0 ? i - 1 : job->line_count);
    return before.len > 0 && strchr("{[,:", before.at[before.len - 1]) != NULL;
}

bool json_part_begins(const struct evidence_job *job, size_t i, const char *const *keys)
{
    struct slice line = job_line(job, i);
    if (line.len == 0 || (line.at[0] != '{' && line.at[0] != '[') || is_inside(job, i))
        return false;
    struct slice next = slice_trim((struct slice){.at = line.at + 1, .len = line.len - 1});
    if (next.len > 0 && strchr("\"{}[", next.at[0]) == NULL)
        return false;
    size_t offset = job->lines[i].offset;
    size_t len = job->len - offset < PEEK_BYTES ? job->len - offset : PEEK_BYTES;
    for (size_t k = 0; keys[k] != NULL; k++) {
        if (memmem(job->bytes + offset, len, keys[k], strlen(keys[k])) != NULL)
            return true;
    }
    return false;
}

/* Bytes of an escape sequence (ECMA-48: CSI, or two bytes) at the front of the text; 0 = none. */
static size_t escape(const char *text, size_t len)
{
    size_t n = 2;
    if (len < 2 || text[0] != '\x1b')
        return 0;
    while (text[1] == '[' && n < len && !(text[n] >= 0x40 && text[n] <= 0x7e))
        n++;
    return text[1] == '[' && n < len ? n + 1 : n;
}

/* Bytes up to the bracket that closes the first one; 0 = it is not there. */
static size_t extent(const char *text, size_t len)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '\x1b') {
            i += escape(text + i, len - i) > 0 ? escape(text + i, len - i) - 1 : 0;
        } else if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Up to the next prompt: what is cut off ends there. */
static size_t cut_end(const struct evidence_job *job, size_t i)
{
    for (i++; i < job->line_count && !job_is_prompt(job, i, NULL); i++)
        ;
    return i;
}

/* The same text with blanks for escape sequences: places stay. */
static bool blank_escapes(struct json_part *part)
{
    size_t len = (size_t)(part->end - part->text);
    if (memchr(part->text, '\x1b', len) == NULL)
        return true;
    part->copy = malloc(len);
    if (part->copy == NULL)
        return false;
    memcpy(part->copy, part->text, len);
    for (size_t i = 0; i < len; i++) {
        size_t n = escape(part->copy + i, len - i);
        memset(part->copy + i, ' ', n);
    }
    part->text = part->cursor = part->copy;
    part->end = part->copy + len;
    return true;
}

static void parse(struct evidence_job *job, struct json_part *out)
{
    struct err err = ERR_INIT;
    size_t len = (size_t)(out->end - out->text);
    if (json_parse_limit(out->text, len, EVIDENCE_BYTES_MAX, true, &out->root, &err) == ERR_OK)
        return;
    job->nomem = job->nomem || err.code == ERR_NOMEM;
    job_subject(job, "document");
    put_finding(job, out->first, RULE_DOCUMENT_BROKEN,
                "the document that begins at line %zu is no right JSON: %s", out->first + 1,
                err.text);
}

void json_part_read(struct evidence_job *job, size_t i, struct json_part *out)
{
    size_t offset = job->lines[i].offset, skip;
    while (offset < job->len && job->bytes[offset] != '{' && job->bytes[offset] != '[') {
        skip = escape(job->bytes + offset, job->len - offset);
        offset += skip > 0 ? skip : 1;
    }
    const char *text = job->bytes + offset;
    size_t len = extent(text, job->len - offset);
    *out = (struct json_part){
        .first = i, .text = text, .cursor = text, .end = text + len, .offset = offset, .job = job};
    if (len == 0) {
        out->next = cut_end(job, i);
        job_subject(job, "document");
        put_finding(job, out->next - 1, RULE_DOCUMENT_BROKEN,
                    "the document that begins at line %zu does not end: it was cut off", i + 1);
        return;
    }
    out->next = line_of(job, offset + len - 1) + 1;
    if (blank_escapes(out))
        parse(job, out);
    else
        job->nomem = true;
}

void json_part_release(struct json_part *part)
{
    json_decref(part->root);
    free(part->copy);
    part->root = NULL;
    part->copy = NULL;
}

size_t json_part_line(struct json_part *part, const char *key)
{
    char quoted[EVIDENCE_NAME_MAX + 4];
    int len = snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    const char *found = NULL;
    if (len > 0 && (size_t)len < sizeof(quoted))
        found = memmem(part->cursor, (size_t)(part->end - part->cursor), quoted, (size_t)len);
    size_t at = part->offset + (size_t)((found != NULL ? found : part->cursor) - part->text);
    if (found != NULL)
        part->cursor = found + len;
    return line_of(part->job, at);
}

/* "0012345", "12E4567": serial and part numbers, whose zeros and letters are part of them. */
static bool is_identity(struct slice value)
{
    bool digit = value.len > 1 && value.at[0] >= '0' && value.at[0] <= '9';
    bool hex = digit && (value.at[1] == 'x' || value.at[1] == 'X');
    bool zero = digit && value.at[0] == '0' && value.at[1] >= '0' && value.at[1] <= '9';
    return zero || (digit && !hex && (slice_has(value, "e") || slice_has(value, "E")));
}

void put_listed(struct evidence_job *job, size_t line, const char *name, struct slice value,
                const char *unit)
{
    if (slice_has(value, ",") || (is_identity(value) && number_read(value).kind != NUMBER_NONE))
        put_text(job, line, name, value);
    else
        put_value(job, line, name, value, unit);
}

void json_part_put(struct evidence_job *job, size_t line, const char *name, const json_t *value,
                   const char *unit)
{
    char number[64];
    switch (json_typeof(value)) {
    case JSON_STRING:
        put_listed(job, line, name, slice_of(json_string_value(value)), unit);
        break;
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        put_number(job, line, name, slice_of(number), unit);
        break;
    case JSON_REAL: {
        char *text = json_canonical(value, NULL);
        job->nomem = job->nomem || text == NULL;
        if (text != NULL)
            put_number(job, line, name, slice_of(text), unit);
        free(text);
        break;
    }
    case JSON_TRUE:
    case JSON_FALSE:
        put_text(job, line, name, slice_of(json_is_true(value) ? "true" : "false"));
        break;
    case JSON_NULL:
        put_unknown(job, line, name);
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
}
