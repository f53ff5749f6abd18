#pragma once
/*
 * base/embed.h - data files built into the program (base/embed.py makes the tables).
 */

#include <stddef.h>

struct embed_file {
    const char *name;          /* file name without folder and extension; NULL ends the table */
    const unsigned char *data; /* NUL-terminated */
    size_t len;                /* without the NUL */
};

extern const struct embed_file schema_files[];    /* schemas/NAME.json */
extern const struct embed_file compat_files[];    /* schemas/compat.json, data and no schema */
extern const struct embed_file migration_files[]; /* db/sql/NNNN_name.sql, in order */
extern const struct embed_file openapi_files[];   /* schemas/openapi.yaml as JSON */
