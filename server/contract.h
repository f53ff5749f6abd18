#pragma once
/*
 * server/contract.h - what openapi.yaml says of an answer, asked by name: which members the items
 * of a list have. Any thread; no state.
 */

#include <stdbool.h>

#include <jansson.h>

/* The schema of the items of an operation's answer; borrowed, NULL = it is no list. */
const json_t *contract_item(const json_t *contract, const char *operation_id);
/* Whether a value of the schema may have the member; `path` is "a" or "a.b.c". Below a map with
 * free keys, and where the schema says nothing more, every name is one. */
bool contract_has(const json_t *contract, const json_t *schema, const char *path);
/* The described members of the schema, by name; borrowed, NULL = none. */
const json_t *contract_members(const json_t *contract, const json_t *schema);
