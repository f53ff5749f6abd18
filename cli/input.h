#pragma once
/*
 * cli/input.h - documents from files, folders and standard input.
 *
 * A file holds one JSON object or several, one after another. What a document is, its content says:
 *   {"fabric_profile": ...}                      the fabric profile
 *   {"qos_policy": ...}                          a policy; its tenant comes from --tenant
 *   {"kind": "placement", "tenant": "a", "name": "nlp_job", "document": {...}}
 *                                                any kind that can be written, by its name
 *   {"items": [...]}                             several of these
 */

#include <stdio.h>

#include <jansson.h>

#include "base/own.h"
#include "cli/arguments.h"
#include "cli/kind.h"

#define INPUT_BYTES_MAX     (16 * 1024 * 1024) /* of one file */
#define INPUT_FILES_MAX     10000              /* of one folder */
#define INPUT_DOCUMENTS_MAX 100000

struct document {
    char where[300]; /* "policy.json" or "all.json, document 3" */
    const struct kind *kind;
    char name[128];   /* "" for what there is only one of */
    char tenant[128]; /* of kinds with a parent; "" = none */
    json_t *body;     /* owned */
};

struct documents {
    struct document *items;
    size_t count, room;
};

ERR_MUST_CHECK enum err_code input_read(FILE *in, char **out, size_t *out_len, struct err *err);

/* All documents of all -f options, in order: files of a folder (*.json) by name. ERR_INVALID says
 * in which file and where. The list must be released in any case. */
ERR_MUST_CHECK enum err_code input_documents(const struct arguments *arguments, FILE *in,
                                             struct documents *out, struct err *err);
void documents_release(struct documents *documents);
#define OWN_DOCUMENTS __attribute__((cleanup(documents_release)))
