/*
 * server/contract.c - see contract.h.
 */
#include "server/contract.h"

#include <string.h>

#define REFS_MAX 8   /* references that follow each other */
#define PART_MAX 128 /* bytes of one name in a path */

/* Follows "#/components/schemas/NAME"; NULL when a reference leads elsewhere, which is into a
 * document's own schema: that one says nothing to us. */
static const json_t *resolve(const json_t *contract, const json_t *schema)
{
    static const char prefix[] = "#/components/schemas/";
    const json_t *schemas = json_object_get(json_object_get(contract, "components"), "schemas");
    for (int i = 0; i < REFS_MAX; i++) {
        const char *ref = json_string_value(json_object_get(schema, "$ref"));
        if (ref == NULL)
            return schema;
        if (strncmp(ref, prefix, sizeof(prefix) - 1) != 0)
            return NULL;
        schema = json_object_get(schemas, ref + sizeof(prefix) - 1);
    }
    return NULL;
}

static const json_t *find_operation(const json_t *contract, const char *operation_id)
{
    const char *path, *method;
    json_t *item, *operation;
    json_object_foreach(json_object_get(contract, "paths"), path, item)
    {
        json_object_foreach(item, method, operation)
        {
            const char *id = json_string_value(json_object_get(operation, "operationId"));
            if (id != NULL && strcmp(id, operation_id) == 0)
                return operation;
        }
    }
    return NULL;
}

const json_t *contract_item(const json_t *contract, const char *operation_id)
{
    const json_t *answer = json_object_get(
        json_object_get(find_operation(contract, operation_id), "responses"), "200");
    const json_t *content = json_object_get(json_object_get(answer, "content"), "application/json");
    const json_t *list = resolve(contract, json_object_get(content, "schema"));
    const json_t *items = json_object_get(json_object_get(list, "properties"), "items");
    return resolve(contract, json_object_get(items, "items"));
}

const json_t *contract_members(const json_t *contract, const json_t *schema)
{
    return json_object_get(resolve(contract, schema), "properties");
}

bool contract_has(const json_t *contract, const json_t *schema, const char *path)
{
    char part[PART_MAX];
    const char *dot = strchr(path, '.');
    size_t len = dot == NULL ? strlen(path) : (size_t)(dot - path);
    const json_t *known = resolve(contract, schema);
    const json_t *members = json_object_get(known, "properties");
    const char *type = json_string_value(json_object_get(known, "type"));
    if (len == 0 || len >= PART_MAX)
        return false;
    if (type != NULL && strcmp(type, "object") != 0)
        return false;
    if (members == NULL)
        return true;
    memcpy(part, path, len);
    part[len] = '\0';
    const json_t *member = json_object_get(members, part);
    if (member == NULL || dot == NULL)
        return member != NULL;
    return contract_has(contract, member, dot + 1);
}
