#pragma once
/*
 * fleet/shape.h - the members of an object as a table: type, range, and where the value goes. For
 * documents with many members that are only kept and shown. Private to fleet/inventory*.c.
 */

#include <stddef.h>

#include "base/json.h"

enum shape_kind {
    SHAPE_TEXT,   /* up to max bytes */
    SHAPE_INT,    /* min..max, kept in an int */
    SHAPE_NUMBER, /* the same, kept in an int64_t */
    SHAPE_BOOL,
    SHAPE_ENUM, /* one of names; kept as text, or as its index in an int (SHAPE_INDEX) */
    SHAPE_INDEX,
    SHAPE_OBJECT,  /* of `sub` */
    SHAPE_OBJECTS, /* array of up to max objects of `sub`; checked, not kept */
    SHAPE_TEXTS,   /* array of up to max texts of up to INVENTORY_TEXT_MAX - 1 bytes; not kept */
    SHAPE_ANY,
};

#define SHAPE_UNKEPT SIZE_MAX

struct shape {
    const char *key; /* NULL ends the table */
    enum shape_kind kind;
    int64_t min, max;
    size_t offset; /* in the struct; SHAPE_UNKEPT = it is only checked */
    const char *const *names;
    const struct shape *sub; /* its offsets are in the same struct */
    bool required;
};

/* Reads every member of the table; what is absent stays as it is in *out. The caller ends the
 * reader. out may be NULL when nothing is kept. */
void shape_read(struct json_reader *r, const struct shape *table, void *out);
