/*
 * base/schema.c - schema_validate() and the product's own schemas; see schema.h. Compiling is in
 * schema_compile.c.
 */
#include "base/schema.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/json.h"
#include "base/schema_node.h"

#define OWN_SCHEMAS_MAX 128

bool schema_validate(const struct schema *schema, const json_t *instance,
                     struct finding_list *findings)
{
    struct schema_check check = {.findings = findings};
    bool valid = schema_check_node(&check, schema->root, instance, NULL, NULL);
    if (check.stopped == NULL)
        return valid;
    if (findings != NULL)
        finding_addf(findings, "schema", FINDING_ERROR, "",
                     "the document could not be checked (%s) and is refused", check.stopped);
    return false;
}

static const struct schema *compile_own(const struct embed_file *file)
{
    struct err err = ERR_INIT;
    json_t *document = NULL;
    struct schema *schema = NULL;
    if (json_parse((const char *)file->data, file->len, &document, &err) ||
        schema_compile(document, true, &schema, &err)) {
        fprintf(stderr, "schemas/%s.json: %s\n", file->name, err.text);
        abort(); /* built in and checked when it was built: our bug or no memory at the start */
    }
    json_decref(document);
    return schema;
}

const struct schema *schema_get(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const struct schema *compiled[OWN_SCHEMAS_MAX];
    for (size_t i = 0; schema_files[i].name != NULL && i < OWN_SCHEMAS_MAX; i++) {
        if (strcmp(schema_files[i].name, name) != 0)
            continue;
        pthread_mutex_lock(&lock);
        if (compiled[i] == NULL)
            compiled[i] = compile_own(&schema_files[i]);
        const struct schema *schema = compiled[i];
        pthread_mutex_unlock(&lock);
        return schema;
    }
    return NULL;
}
