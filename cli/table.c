/*
 * cli/table.c - tables for people, through libsmartcols (its only user): see view.h.
 */
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

#include "base/own.h"
#include "cli/view.h"

OWN_DEFINE(scols, struct libscols_table *, scols_unref_table)

/* What a state's word means for the reader. */
static const char *colour_of(const char *text)
{
    static const struct {
        const char *word, *colour;
    } words[] = {
        {"in-sync", "green"},    {"applied", "green"},     {"done", "green"},
        {"confirmed", "green"},  {"ok", "green"},          {"compliant", "green"},
        {"succeeded", "green"},  {"pending", "yellow"},    {"planning", "yellow"},
        {"held", "yellow"},      {"confirming", "yellow"}, {"running", "yellow"},
        {"warning", "yellow"},   {"paused", "yellow"},     {"preparing", "yellow"},
        {"returning", "yellow"}, {"failed", "red"},        {"error", "red"},
        {"critical", "red"},     {"below", "red"},         {"expired", "red"},
        {"rolled-back", "red"},  {"interrupted", "red"},   {"quarantined", "red"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].word, text) == 0)
            return words[i].colour;
    return NULL;
}

/* The cell as it may reach a terminal; "-" when it is empty. */
static char *visible_cell(const json_t *item, const struct column *column)
{
    OWN(str) char *raw = view_cell(item, column->path);
    char *text = NULL;
    size_t len;
    FILE *out = raw != NULL ? open_memstream(&text, &len) : NULL;
    if (out == NULL)
        return NULL;
    print_text(out, raw[0] != '\0' ? raw : "-");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static enum err_code add_row(struct context *context, struct libscols_table *table,
                             const struct view *view, const json_t *item, struct err *err)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    size_t columns = view_columns(view);
    for (size_t i = 0; line != NULL && i < columns; i++) {
        char *text = visible_cell(item, &view->columns[i]);
        if (text == NULL || scols_line_refer_data(line, i, text) != 0) {
            free(text);
            return err_nomem(err);
        }
        const char *colour = context->colours && view->columns[i].state ? colour_of(text) : NULL;
        if (colour != NULL)
            scols_cell_set_color(scols_line_get_cell(line, i), colour);
    }
    return line != NULL ? ERR_OK : err_nomem(err);
}

static enum err_code set_up(struct context *context, struct libscols_table *table,
                            const struct view *view, struct err *err)
{
    size_t columns = view_columns(view);
    scols_table_set_stream(table, context->out);
    scols_table_enable_noheadings(table, !context->headings);
    scols_table_enable_colors(table, context->colours);
    scols_table_set_column_separator(table, "  ");
    /* Only a terminal has a width; a pipe gets every character. */
    if (context->width > 0) {
        scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
        scols_table_set_termwidth(table, context->width);
    } else {
        scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
    }
    bool follows = !context->headings && context->shown == view && context->width == 0;
    for (size_t i = 0; i < columns; i++) {
        int flags = view->columns[i].right ? SCOLS_FL_RIGHT : 0;
        if ((view->columns[i].is_long || i == columns - 1) && context->width > 0)
            flags |= SCOLS_FL_TRUNC;
        size_t least = follows ? context->widths[i] : 0;
        if (least > strlen(view->columns[i].title)) /* else the title's width is what it has */
            flags |= SCOLS_FL_STRICTWIDTH;
        if (scols_table_new_column(table, view->columns[i].title, (double)least, flags) == NULL)
            return err_nomem(err);
    }
    return ERR_OK;
}

/* For rows that follow without titles. */
static void keep_widths(struct context *context, struct libscols_table *table,
                        const struct view *view)
{
    context->shown = view;
    for (size_t i = 0; i < view_columns(view); i++)
        context->widths[i] = scols_column_get_width(scols_table_get_column(table, i));
}

enum err_code table_print(struct context *context, const struct view *view, const json_t *items,
                          struct err *err)
{
    OWN(scols) struct libscols_table *table = scols_new_table();
    size_t row;
    json_t *item;
    if (table == NULL)
        return err_nomem(err);
    enum err_code code = set_up(context, table, view, err);
    json_array_foreach(items, row, item)
    {
        if (code == ERR_OK)
            code = add_row(context, table, view, item, err);
    }
    /* The library prints nothing at all for a table without lines. */
    if (code == ERR_OK && json_array_size(items) == 0)
        fputs(context->unreported ? "unknown: nothing of this was reported yet\n" : "none\n",
              context->err);
    else if (code == ERR_OK && scols_print_table(table) != 0)
        code = err_nomem(err);
    else if (code == ERR_OK)
        keep_widths(context, table, view);
    return code;
}
