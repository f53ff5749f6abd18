/*
 * fleet/evidence/store.c - texts in blocks.
 */
#include "fleet/evidence/store.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 65536 /* a text is far shorter: EVIDENCE_VALUE_MAX */

struct block {
    struct block *next;
    size_t used;
    char data[BLOCK_SIZE];
};

struct evidence_store {
    struct block *first;
};

struct evidence_store *store_new(void)
{
    return calloc(1, sizeof(struct evidence_store));
}

void store_free(struct evidence_store *store)
{
    if (store == NULL)
        return;
    while (store->first != NULL) {
        struct block *next = store->first->next;
        free(store->first);
        store->first = next;
    }
    free(store);
}

const char *store_text(struct evidence_store *store, const char *text, size_t len)
{
    if (len == 0)
        return "";
    if (len >= BLOCK_SIZE)
        return NULL;
    struct block *block = store->first;
    if (block == NULL || BLOCK_SIZE - block->used <= len) {
        block = malloc(sizeof(*block));
        if (block == NULL)
            return NULL;
        block->next = store->first;
        block->used = 0;
        store->first = block;
    }
    char *at = block->data + block->used;
    memcpy(at, text, len);
    at[len] = '\0';
    block->used += len + 1;
    return at;
}
