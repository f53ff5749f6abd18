#pragma once
/*
 * fleet/evidence/yaml_part.h - a YAML document among the lines of a file, as a tree with the lines
 * of its values. Private to fleet/evidence/; its .c is the only user of libyaml.
 */

#include <stdbool.h>
#include <stddef.h>

#include "fleet/evidence/reader.h"

#define YAML_NODES_MAX   20000             /* of one document */
#define YAML_BYTES_MAX   (2 * 1024 * 1024) /* the same; etcd takes no larger object */
#define YAML_DEPTH_MAX   32
#define YAML_ANCHORS_MAX 100                  /* of one document */
#define YAML_EVENTS_MAX  (4 * YAML_NODES_MAX) /* a pair is one node, its key an event */

enum yaml_kind { YAML_SCALAR = 0, YAML_MAP, YAML_LIST };

struct yaml_node {
    enum yaml_kind kind;
    const char *key;  /* in a map; "" elsewhere */
    const char *text; /* of a scalar */
    bool block;       /* of several lines: "|" and ">" */
    bool quoted;      /* "true" is a text, true is none */
    size_t line;      /* index in the job */
    size_t column;    /* from 1 */
    int child, next;  /* indexes; -1 = none */
};

struct yaml_part {
    struct yaml_node *nodes; /* [0] is the root */
    size_t count;
    const struct yaml_node *root; /* the object that is looked at: [0], or an item of a list */
    void *document;               /* what the texts stand in */
    char *text;                   /* what was read */
    size_t next;                  /* the line behind it */
};

/* Reads the document at line i up to "---", a prompt or the end of the file. What is no YAML is a
 * finding, count is 0 then. */
void yaml_part_read(struct evidence_job *job, size_t i, struct yaml_part *out);
void yaml_part_release(struct yaml_part *part);

/* The member of a map; NULL = there is none. */
const struct yaml_node *yaml_get(const struct yaml_part *part, const struct yaml_node *map,
                                 const char *key);
const char *yaml_text(const struct yaml_part *part, const struct yaml_node *map, const char *key);
const struct yaml_node *yaml_child(const struct yaml_part *part, const struct yaml_node *node);
const struct yaml_node *yaml_next(const struct yaml_part *part, const struct yaml_node *node);
