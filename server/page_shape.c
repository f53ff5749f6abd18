/*
 * server/page_shape.c - see page_shape.h.
 */
#include "server/page_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "server/contract.h"

#define COLUMNS_MAX  256 /* more are left out of the table, and the header says so */
#define COLUMN_SIZE  512 /* of a name */
#define MORE_COLUMNS "(more columns: use fields)"

enum err_code page_fields_parse(const char *text, const json_t *contract, const json_t *schema,
                                struct page_fields *out, struct err *err)
{
    char *rest = NULL;
    out->count = 0;
    if (strlen(text) >= sizeof(out->text))
        return err_set(err, ERR_LIMIT, "fields has more than %zu bytes", sizeof(out->text) - 1);
    strcpy(out->text, text);
    for (char *name = out->text; name != NULL; name = rest) {
        rest = strchr(name, ',');
        if (rest != NULL)
            *rest++ = '\0';
        if (out->count == PAGE_FIELDS_MAX)
            return err_set(err, ERR_LIMIT, "fields names more than %d members", PAGE_FIELDS_MAX);
        if (!contract_has(contract, schema, name))
            return err_set(err, ERR_INVALID,
                           "fields: the items of this list have no member '%.64s'", name);
        out->names[out->count++] = name;
    }
    return ERR_OK;
}

/* The member at "a.b.c". Keys of maps may hold dots themselves, so the longest name comes first. */
static const json_t *member_at(const json_t *value, const char *path)
{
    char part[PAGE_FIELDS_SIZE];
    const json_t *found = json_object_get(value, path);
    const char *dot = found == NULL ? strchr(path, '.') : NULL;
    if (dot == NULL || (size_t)(dot - path) >= sizeof(part))
        return found;
    memcpy(part, path, (size_t)(dot - path));
    part[dot - path] = '\0';
    const json_t *sub = json_object_get(value, part);
    return sub == NULL ? NULL : member_at(sub, dot + 1);
}

/* A value that is put into another one, too: what has no parts is shared. New reference. */
static json_t *part_of(const json_t *value)
{
    bool has_parts = json_is_object(value) || json_is_array(value);
    return has_parts ? json_deep_copy(value) : json_incref((json_t *)(uintptr_t)value);
}

/* Puts the value at the path, making objects where the item has them. */
static bool put_at(json_t *out, const json_t *item, const char *path, const json_t *value)
{
    char part[PAGE_FIELDS_SIZE];
    const char *dot = json_object_get(item, path) == NULL ? strchr(path, '.') : NULL;
    if (dot == NULL)
        return json_object_set_new(out, path, part_of(value)) == 0;
    memcpy(part, path, (size_t)(dot - path));
    part[dot - path] = '\0';
    json_t *sub = json_object_get(out, part);
    if (!json_is_object(sub)) {
        sub = json_object();
        if (json_object_set_new(out, part, sub) != 0)
            return false;
    }
    return put_at(sub, json_object_get(item, part), dot + 1, value);
}

json_t *page_fields_pick(const struct page_fields *fields, const json_t *item)
{
    OWN(json) json_t *out = json_object();
    for (size_t i = 0; i < fields->count && out != NULL; i++) {
        const json_t *value = member_at(item, fields->names[i]);
        if (value != NULL && !put_at(out, item, fields->names[i], value))
            return NULL;
    }
    return GIVE(out);
}

/* Columns: an object whose keys are their names, in order. ------------------------------------- */

static bool add_column(json_t *columns, const char *name)
{
    if (json_object_get(columns, name) != NULL)
        return true;
    return json_object_size(columns) >= COLUMNS_MAX + 1 ||
           json_object_set_new(columns, name, json_null()) == 0;
}

/* The leaves of a value at `name`. */
static bool add_leaves(json_t *columns, const char *name, const json_t *value)
{
    char path[COLUMN_SIZE];
    const char *key;
    json_t *sub;
    if (!json_is_object(value) || json_object_size(value) == 0)
        return json_is_object(value) || add_column(columns, name);
    json_object_foreach((json_t *)(uintptr_t)value, key, sub)
    {
        if ((size_t)snprintf(path, sizeof(path), "%s.%s", name, key) < sizeof(path) &&
            !add_leaves(columns, path, sub))
            return false;
    }
    return true;
}

/* The member's leaves in all items; the member itself when no item has one. */
static bool add_member(json_t *columns, const char *name, const json_t *items)
{
    size_t before = json_object_size(columns), i;
    json_t *item;
    json_array_foreach(items, i, item)
    {
        const json_t *value = json_object_get(item, name);
        if (value != NULL && !add_leaves(columns, name, value))
            return false;
    }
    return json_object_size(columns) > before || add_column(columns, name);
}

static json_t *make_columns(const struct page_fields *fields, const json_t *members,
                            const json_t *items)
{
    OWN(json) json_t *columns = json_object();
    OWN(json) json_t *seen = json_object(); /* top-level names that have their columns */
    bool ok = columns != NULL && seen != NULL;
    const char *name;
    json_t *item, *value;
    size_t i;
    for (i = 0; i < fields->count && ok; i++)
        ok = add_column(columns, fields->names[i]);
    if (fields->count > 0)
        return ok ? GIVE(columns) : NULL;
    json_object_foreach((json_t *)(uintptr_t)members, name, value)
    {
        ok = ok && json_object_set_new(seen, name, json_true()) == 0 &&
             add_member(columns, name, items);
    }
    json_array_foreach(items, i, item)
    {
        json_object_foreach(item, name, value)
        {
            if (ok && json_object_get(seen, name) == NULL)
                ok = json_object_set_new(seen, name, json_true()) == 0 &&
                     add_member(columns, name, items);
        }
    }
    return ok ? GIVE(columns) : NULL;
}

/* Cells ---------------------------------------------------------------------------------------- */

static void write_cell(FILE *out, const char *text, bool is_text)
{
    /* OWASP, CSV injection: what a spreadsheet would run must not begin a cell. */
    bool guarded = is_text && text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
    bool quoted = guarded || strpbrk(text, ",\"\r\n") != NULL || text[0] == ' ';
    if (quoted)
        fputc('"', out);
    if (guarded)
        fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    if (quoted)
        fputc('"', out);
}

static bool write_value(FILE *out, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return true;
    if (json_is_string(value)) {
        write_cell(out, json_string_value(value), true);
        return true;
    }
    OWN(str) char *text = json_canonical(value, NULL);
    if (text != NULL)
        write_cell(out, text, false);
    return text != NULL;
}

static bool write_rows(FILE *out, const json_t *columns, const json_t *items)
{
    const char *name, *comma = "";
    json_t *item, *unused;
    size_t i, n = 0;
    bool ok = true;
    json_object_foreach((json_t *)(uintptr_t)columns, name, unused)
    {
        fputs(comma, out);
        write_cell(out, n++ == COLUMNS_MAX ? MORE_COLUMNS : name, true);
        comma = ",";
    }
    fputs("\r\n", out);
    json_array_foreach(items, i, item)
    {
        comma = "";
        n = 0;
        json_object_foreach((json_t *)(uintptr_t)columns, name, unused)
        {
            fputs(comma, out);
            ok = ok && (n++ == COLUMNS_MAX || write_value(out, member_at(item, name)));
            comma = ",";
        }
        fputs("\r\n", out);
    }
    return ok;
}

char *page_csv(const struct page_fields *fields, const json_t *members, const json_t *items)
{
    OWN(json) json_t *columns = make_columns(fields, members, items);
    char *text = NULL;
    size_t len = 0;
    FILE *out = columns == NULL ? NULL : open_memstream(&text, &len);
    if (out == NULL)
        return NULL;
    bool ok = write_rows(out, columns, items);
    if (fclose(out) != 0 || !ok) {
        free(text);
        return NULL;
    }
    return text;
}
