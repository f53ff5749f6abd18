/*
 * fleet/shape.c - see shape.h.
 */
#include "fleet/shape.h"

#include <string.h>

#include "base/text.h"
#include "fleet/inventory.h"
#include "fleet/read.h"

static void *at(void *out, const struct shape *row)
{
    return out == NULL || row->offset == SHAPE_UNKEPT ? NULL : (char *)out + row->offset;
}

static void read_string(struct json_reader *r, const struct shape *row, char *out)
{
    const char *text;
    if (json_reader_string(r, row->key, row->required, (size_t)row->min, (size_t)row->max, &text) &&
        out != NULL)
        text_copy(out, (size_t)row->max + 1, text);
}

static void read_number(struct json_reader *r, const struct shape *row, void *out)
{
    int64_t value;
    if (!json_reader_int(r, row->key, row->required, row->min, row->max, &value) || out == NULL)
        return;
    if (row->kind == SHAPE_INT)
        *(int *)out = (int)value;
    else
        *(int64_t *)out = value;
}

static void read_enum(struct json_reader *r, const struct shape *row, void *out)
{
    int index;
    if (!json_reader_enum(r, row->key, row->required, row->names, &index) || out == NULL)
        return;
    if (row->kind == SHAPE_INDEX)
        *(int *)out = index;
    else
        text_copy(out, (size_t)row->max + 1, row->names[index]);
}

static void read_texts(struct json_reader *r, const struct shape *row)
{
    const json_t *array;
    uint32_t hidden;
    if (!json_reader_array(r, row->key, row->required, (size_t)row->max, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const char *text = json_string_value(item);
        if (text == NULL || json_string_length(item) >= INVENTORY_TEXT_MAX ||
            text_find_hidden(text, json_string_length(item), &hidden))
            read_problem(r, row->key, "item %zu is no text of up to %d bytes", i,
                         INVENTORY_TEXT_MAX - 1);
    }
}

static void read_objects(struct json_reader *r, const struct shape *row)
{
    const json_t *array;
    if (!json_reader_array(r, row->key, row->required, (size_t)row->max, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct json_reader element;
        json_reader_element(r, row->key, i, json_array_get(array, i), &element);
        shape_read(&element, row->sub, NULL);
        json_reader_end(&element);
    }
}

static void read_row(struct json_reader *r, const struct shape *row, void *out)
{
    struct json_reader sub;
    const json_t *any;
    switch (row->kind) {
    case SHAPE_TEXT:
        read_string(r, row, at(out, row));
        break;
    case SHAPE_INT:
    case SHAPE_NUMBER:
        read_number(r, row, at(out, row));
        break;
    case SHAPE_BOOL: {
        bool value;
        if (json_reader_bool(r, row->key, row->required, &value) && at(out, row) != NULL)
            *(bool *)at(out, row) = value;
        break;
    }
    case SHAPE_ENUM:
    case SHAPE_INDEX:
        read_enum(r, row, at(out, row));
        break;
    case SHAPE_OBJECT:
        if (json_reader_object(r, row->key, row->required, &sub)) {
            shape_read(&sub, row->sub, out);
            json_reader_end(&sub);
        }
        break;
    case SHAPE_OBJECTS:
        read_objects(r, row);
        break;
    case SHAPE_TEXTS:
        read_texts(r, row);
        break;
    case SHAPE_ANY:
        json_reader_any(r, row->key, row->required, &any);
        break;
    }
}

void shape_read(struct json_reader *r, const struct shape *table, void *out)
{
    for (; table->key != NULL; table++)
        read_row(r, table, out);
}
