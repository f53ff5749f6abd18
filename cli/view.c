/*
 * cli/view.c - see view.h.
 */
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define PATH_MEMBER_MAX 64

size_t view_columns(const struct view *view)
{
    size_t count = 0;
    while (count < VIEW_COLUMNS_MAX && view->columns[count].title != NULL)
        count++;
    return count;
}

static const json_t *find(const json_t *item, const char *path)
{
    while (item != NULL && *path != '\0') {
        char member[PATH_MEMBER_MAX];
        size_t len = strcspn(path, ".");
        if (len >= sizeof(member))
            return NULL;
        memcpy(member, path, len);
        member[len] = '\0';
        item = json_object_get(item, member);
        path += len + (path[len] == '.');
    }
    return item;
}

static void put_value(FILE *out, const json_t *value);

static void put_json(FILE *out, const json_t *value)
{
    OWN(str) char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    if (text != NULL)
        fputs(text, out);
}

static bool is_flat(const json_t *value)
{
    size_t i;
    const char *key;
    json_t *member;
    json_array_foreach(value, i,
                       member) if (json_is_object(member) || json_is_array(member)) return false;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (json_is_object(member) || json_is_array(member))
            return false;
    }
    return true;
}

static void put_list(FILE *out, const json_t *value)
{
    const char *key, *comma = "";
    json_t *member;
    size_t i;
    json_array_foreach(value, i, member)
    {
        fputs(comma, out);
        put_value(out, member);
        comma = ",";
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        fprintf(out, "%s%s=", comma, key);
        put_value(out, member);
        comma = ",";
    }
}

static void put_value(FILE *out, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return;
    if (json_is_string(value))
        fputs(json_string_value(value), out);
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", out);
    else if (json_is_number(value) || !is_flat(value))
        put_json(out, value);
    else
        put_list(out, value);
}

char *view_cell(const json_t *item, const char *path)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return NULL;
    put_value(out, find(item, path));
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe in front.
 * Programs get the characters as they are, a terminal those that can be seen. */
static void put_csv(const struct context *context, const char *text)
{
    FILE *out = context->out;
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted)
        fputc('"', out);
    if (*text != '\0' && strchr("=+-@\t\r", *text) != NULL)
        fputc('\'', out);
    while (*text != '\0') {
        size_t len = strcspn(text, "\"");
        if (context->width > 0)
            print_visible(out, text, len);
        else
            fwrite(text, 1, len, out);
        text += len;
        if (*text == '"') {
            fputs("\"\"", out);
            text++;
        }
    }
    if (quoted)
        fputc('"', out);
}

static enum err_code print_csv(struct context *context, const struct view *view,
                               const json_t *items, struct err *err)
{
    size_t columns = view_columns(view), row;
    json_t *item;
    for (size_t i = 0; i < columns && context->headings; i++)
        fprintf(context->out, "%s%s", i > 0 ? "," : "", view->columns[i].title);
    if (context->headings)
        fputs("\r\n", context->out);
    json_array_foreach(items, row, item)
    {
        for (size_t i = 0; i < columns; i++) {
            OWN(str) char *cell = view_cell(item, view->columns[i].path);
            if (cell == NULL)
                return err_nomem(err);
            if (i > 0)
                fputc(',', context->out);
            put_csv(context, cell);
        }
        fputs("\r\n", context->out);
    }
    return ERR_OK;
}

static enum err_code print_names(struct context *context, const struct view *view,
                                 const json_t *items, struct err *err)
{
    size_t row;
    json_t *item;
    json_array_foreach(items, row, item)
    {
        OWN(str) char *cell = view_cell(item, view->name);
        if (cell == NULL)
            return err_nomem(err);
        print_text(context->out, cell);
        fputc('\n', context->out);
    }
    return ERR_OK;
}

static enum err_code print_lines(struct context *context, const json_t *items, struct err *err)
{
    size_t row;
    json_t *item;
    json_array_foreach(items, row, item)
    {
        enum err_code code = print_json(context->out, item, 0, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

enum err_code view_print(struct context *context, const struct view *view, const json_t *items,
                         struct err *err)
{
    switch (context->output) {
    case OUTPUT_JSON: {
        OWN(json) json_t *list = json_pack("{s:O}", "items", items);
        if (context->unreported && json_object_set_new(list, "reported", json_false()) != 0)
            return err_nomem(err);
        return list != NULL ? print_json(context->out, list, 2, err) : err_nomem(err);
    }
    case OUTPUT_JSONL:
        return print_lines(context, items, err);
    case OUTPUT_CSV:
        return print_csv(context, view, items, err);
    case OUTPUT_NAME:
        return print_names(context, view, items, err);
    case OUTPUT_TABLE:
    case OUTPUT_COUNT:
        break;
    }
    return table_print(context, view, items, err);
}

enum err_code view_print_one(struct context *context, const struct view *view, json_t *item,
                             struct err *err)
{
    if (context->output == OUTPUT_JSON)
        return print_json(context->out, item, 2, err);
    OWN(json) json_t *items = json_pack("[O]", item);
    return items != NULL ? view_print(context, view, items, err) : err_nomem(err);
}

enum exit_code view_show(struct context *context, const struct view *view, const json_t *items)
{
    struct err err = ERR_INIT;
    return view_print(context, view, items, &err) == ERR_OK ? EXIT_DONE
                                                            : context_fail(context, &err);
}

enum exit_code view_show_json(struct context *context, const json_t *document)
{
    struct err err = ERR_INIT;
    int indent = context->output == OUTPUT_JSON ? 2 : 0;
    return print_json(context->out, document, indent, &err) == ERR_OK ? EXIT_DONE
                                                                      : context_fail(context, &err);
}
