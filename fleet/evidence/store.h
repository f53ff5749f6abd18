#pragma once
/*
 * fleet/evidence/store.h - where the texts of an evidence stand: blocks that are freed together.
 * Private to fleet/evidence/.
 */

#include <stddef.h>

struct evidence_store;

struct evidence_store *store_new(void); /* NULL = no memory */
void store_free(struct evidence_store *store);
/* A copy with a NUL; NULL = no memory. */
const char *store_text(struct evidence_store *store, const char *text, size_t len);
